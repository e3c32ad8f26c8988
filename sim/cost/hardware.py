"""What the roofline knows of models and GPUs, and the sizes that follow: weights, KV cache, blocks."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import BeforeValidator, Field, model_validator

from sim.errors import nearest
from sim.fields import Part, plain_number, whole_number

Count = Annotated[int, BeforeValidator(whole_number), Field(ge=1, le=10_000_000)]
Amount = Annotated[float, BeforeValidator(plain_number), Field(gt=0, le=1e9, allow_inf_nan=False)]
Bytes = Annotated[float, BeforeValidator(plain_number), Field(gt=0, le=8)]

TOKENS_PER_BLOCK = 16

_Kind = TypeVar("_Kind")


class Gpu(Part):
    """One accelerator, as its data sheet has it. Giga and tera are powers of ten, but for the memory."""

    tflops: Amount
    """Dense matrix arithmetic in 16 bits, 10^12 operations a second."""
    bandwidth_gb_per_s: Amount
    memory_gib: Amount
    """What the data sheet calls GB is 2^30 bytes."""
    link_gb_per_s: Amount
    """To the other GPUs of its server, one direction."""
    source: str = ""


class ModelShape(Part):
    """A decoder-only transformer. `ffn` is the width of one feed-forward part (of one expert)."""

    layers: Count
    hidden: Count
    heads: Count
    kv_heads: Count
    head_dim: Count
    ffn: Count
    vocab: Count
    gated: bool = True
    """Three matrices a feed-forward part (gate, up, down); two when not gated."""
    tied_embeddings: bool = False
    experts: Count = 1
    active_experts: Count = 1
    source: str = ""

    @model_validator(mode="after")
    def _possible(self) -> ModelShape:
        if self.heads % self.kv_heads:
            raise ValueError(f"heads {self.heads} must be a multiple of kv_heads {self.kv_heads}")
        if self.active_experts > self.experts:
            raise ValueError(f"active_experts {self.active_experts} must not be above experts {self.experts}")
        return self

    @property
    def attention_parameters(self) -> int:
        """Of all layers: the matrices for queries, keys, values and the output."""
        width = self.heads * self.head_dim
        return self.layers * self.hidden * 2 * (width + self.kv_heads * self.head_dim)

    @property
    def expert_parameters(self) -> int:
        """Of one expert (or of the only feed-forward part), all layers."""
        return self.layers * (3 if self.gated else 2) * self.hidden * self.ffn

    @property
    def head_parameters(self) -> int:
        """Of the matrix that turns the last state into a distribution over the vocabulary."""
        return self.vocab * self.hidden

    @property
    def parameters(self) -> int:
        """Weights held in memory. Norms, biases, routers and position tables are left out: under a percent."""
        embeddings = self.head_parameters * (1 if self.tied_embeddings else 2)
        return self.attention_parameters + self.experts * self.expert_parameters + embeddings

    @property
    def active_parameters(self) -> int:
        """Weights one token is multiplied with in the layers."""
        return self.attention_parameters + self.active_experts * self.expert_parameters

    def kv_bytes_per_token(self, bytes_per_value: float = 2) -> float:
        """Keys and values of one token in all layers, bytes; over all GPUs together."""
        return 2 * self.layers * self.kv_heads * self.head_dim * bytes_per_value


def kv_blocks(
    model: ModelShape,
    gpu: Gpu,
    *,
    tensor_parallel: int = 1,
    memory_share: float = 0.9,
    reserve_gb: float = 1.7,
    weight_bytes: float = 2,
    kv_bytes: float = 2,
    block_tokens: int = TOKENS_PER_BLOCK,
) -> int:
    """Blocks of KV cache that fit: `memory_share` of the memory less the weights and `reserve_gb` on each GPU.

    The reserve stands for activations, graphs and the allocator. Raises ValueError when not one block fits.
    """
    # With more GPUs than KV heads, every GPU keeps a copy of one head.
    kv_split = min(tensor_parallel, model.kv_heads)
    free = gpu.memory_gib * 2**30 * memory_share - reserve_gb * 1e9 - model.parameters * weight_bytes / tensor_parallel
    blocks = int(free * kv_split // (model.kv_bytes_per_token(kv_bytes) * block_tokens))
    if blocks < 1:
        raise ValueError(
            f"the weights leave no room for a KV cache on {tensor_parallel} of these GPUs; "
            "raise tensor_parallel, or take a smaller model or a larger GPU"
        )
    return blocks


@cache
def _data() -> tuple[dict[str, Gpu], dict[str, ModelShape]]:
    data = yaml.safe_load((Path(__file__).parent / "hardware.yaml").read_text(encoding="utf-8"))
    gpus = {name: Gpu.model_validate(values) for name, values in data["gpus"].items()}
    return gpus, {name: ModelShape.model_validate(values) for name, values in data["models"].items()}


def gpu_names() -> list[str]:
    """Names that `gpu` takes."""
    return sorted(_data()[0])


def model_names() -> list[str]:
    """Names that `model_shape` takes."""
    return sorted(_data()[1])


def gpu(name: str) -> Gpu:
    """A GPU of the data file. Raises ValueError for a name that is not there."""
    return _named(_data()[0], name, "GPU")


def model_shape(name: str) -> ModelShape:
    """A model of the data file. Raises ValueError for a name that is not there."""
    return _named(_data()[1], name, "model")


def _named(known: dict[str, _Kind], name: str, what: str) -> _Kind:
    if name not in known:
        raise ValueError(
            f"there is no {what} {name!r} in the data file{nearest(name, known)}; choose one of "
            f"{', '.join(sorted(known))}, or give its figures"
        )
    return known[name]
