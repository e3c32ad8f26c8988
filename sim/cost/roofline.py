"""A step cost from first principles: what the arithmetic and the memory traffic of a step take on a GPU.

A step passes each part of the model once, and each part takes the longer of its arithmetic and its memory
traffic (Williams et al., "Roofline", CACM 2009). No part is ever faster than the chip's peak:

- matrices: 2 operations for each weight and token, or reading the weights once, whichever is longer; of
  experts, those that at least one token is expected to choose, each token choosing evenly;
- the last matrix, over the vocabulary, only for tokens that are sampled;
- attention: 4 operations for each query head, dimension and pair of tokens, or reading the cached context;
- with several GPUs, two all-reduces a layer, as a ring: 2 (g - 1) / g times the tokens' states over the link.

Only tokens that are really computed count: those taken from the prefix cache are context and nothing else.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from sim.cost.hardware import Bytes, Gpu, ModelShape, gpu, model_shape
from sim.cost.work import FOREVER, StepWork
from sim.fields import Part, Seconds, plain_number, whole_number
from sim.ticks import TICKS_PER_S, to_ticks

Efficiency = Annotated[float, BeforeValidator(plain_number), Field(gt=0, le=1)]

STATE_BYTES = 2
"""A token's state between layers is kept in 16 bits."""


def _of_gpu(value: object) -> object:
    return gpu(value) if isinstance(value, str) else value


def _of_model(value: object) -> object:
    return model_shape(value) if isinstance(value, str) else value


class RooflineCost(Part):
    """Model and GPU by a name of the data file, or with all their figures."""

    kind: Literal["roofline"]
    model: Annotated[ModelShape, BeforeValidator(_of_model)]
    gpu: Annotated[Gpu, BeforeValidator(_of_gpu)]
    tensor_parallel: Annotated[int, BeforeValidator(whole_number), Field(ge=1, le=64)] = 1
    compute_efficiency: Efficiency = 0.7
    """Share of the peak arithmetic that large matrices reach."""
    bandwidth_efficiency: Efficiency = 0.8
    """Share of the peak memory bandwidth that reading weights and cache reaches."""
    weight_bytes: Bytes = 2
    """Bytes for each weight: 2 in 16 bits, 1 in 8, 0.5 in 4."""
    kv_bytes: Bytes = 2
    overhead_s: Seconds = 0.001
    """Time of every step on the CPU: scheduling, preparing inputs, launching."""
    all_reduce_latency_s: Seconds = 10e-6
    """Start-up of one all-reduce; two a layer when tensor_parallel is above 1."""

    @model_validator(mode="after")
    def _divides(self) -> RooflineCost:
        if self.model.heads % self.tensor_parallel:
            raise ValueError(f"tensor_parallel {self.tensor_parallel} must divide the model's {self.model.heads} heads")
        return self

    def build(self) -> RooflineModel:
        """The model with these figures."""
        return RooflineModel(self)

    @property
    def takes_no_time(self) -> bool:
        """Never: arithmetic takes time."""
        return False


class RooflineModel:
    """The formulas of this module, rounded up to whole ticks part by part, so that no bound is undercut."""

    def __init__(self, cost: RooflineCost) -> None:
        shape, chip, gpus = cost.model, cost.gpu, cost.tensor_parallel
        per_operation = _per_unit(chip.tflops * 1e12, cost.compute_efficiency, gpus)
        per_byte = _per_unit(chip.bandwidth_gb_per_s * 1e9, cost.bandwidth_efficiency, gpus)
        # With more GPUs than KV heads every GPU reads a whole head, so the cache is split no further.
        per_kv_byte = _per_unit(chip.bandwidth_gb_per_s * 1e9, cost.bandwidth_efficiency, min(gpus, shape.kv_heads))
        weight = Fraction(cost.weight_bytes) * per_byte
        self._shape = shape
        self._token = 2 * shape.active_parameters * per_operation
        self._dense_weights = shape.attention_parameters * weight
        self._expert_weights = shape.expert_parameters * weight
        self._sampled = 2 * shape.head_parameters * per_operation
        self._head_weights = shape.head_parameters * weight
        # Whole ticks a pair and a context token, so that a decode run grows by the same amount each step.
        self._pair = ceil(4 * shape.layers * shape.heads * shape.head_dim * per_operation)
        self._context = ceil(Fraction(shape.kv_bytes_per_token(cost.kv_bytes)) * per_kv_byte)
        self._fixed = to_ticks(cost.overhead_s)
        self._sent = Fraction(0)
        if gpus > 1:
            self._fixed += 2 * shape.layers * to_ticks(cost.all_reduce_latency_s)
            sent_bytes = Fraction(2 * (gpus - 1), gpus) * shape.hidden * STATE_BYTES
            self._sent = 2 * shape.layers * sent_bytes * _per_unit(chip.link_gb_per_s * 1e9, 1, 1)
        self._matrices = lru_cache(maxsize=65536)(self._matrix_ticks)

    def ticks(self, work: StepWork) -> int:
        _, prefill_tokens, decode_seqs, context_tokens, prefill_pairs = work
        attention = max(self._pair * (prefill_pairs + context_tokens), self._context * context_tokens)
        # How many prompts end in this step is not known here: at most one is assumed to be sampled from.
        return self._matrices(prefill_tokens + decode_seqs, decode_seqs + bool(prefill_tokens)) + attention

    def decode_run(self, seqs: int, context: int) -> tuple[int, int, int]:
        first = self.ticks(StepWork("decode", 0, seqs, context))
        return first, max(self._pair, self._context) * seqs, FOREVER

    def _matrix_ticks(self, tokens: int, sampled: int) -> int:
        shape = self._shape
        touched = Fraction(1)
        if shape.experts > 1:
            missed = Fraction(shape.experts - shape.active_experts, shape.experts)
            # Past a few hundred tokens every expert is in use; the exact power would only be slow.
            touched = shape.experts * (1 - missed ** min(tokens, 512)) if tokens else Fraction(0)
        layers = max(self._token * tokens, self._dense_weights + self._expert_weights * touched)
        head = max(self._sampled * sampled, self._head_weights)
        return self._fixed + ceil(layers) + ceil(head) + ceil(self._sent * tokens)


def _per_unit(peak: float, efficiency: float, gpus: int) -> Fraction:
    """Ticks for one operation or byte, exactly."""
    return TICKS_PER_S / (Fraction(repr(peak)) * Fraction(repr(efficiency)) * gpus)
