"""Step costs fitted to published measurements, each with where they come from and how far off the fit is."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, Field, field_validator

from sim.cost.hardware import gpu, model_shape
from sim.cost.knee import MixedMaxCost
from sim.cost.simple import LinearCost
from sim.cost.work import CostModel, StepWork, attention_pairs
from sim.errors import nearest
from sim.fields import Name, Part, Positive, Seconds
from sim.ticks import to_ticks


class Point(Part):
    """One measured step: a prompt chunk, a decode batch, or both."""

    seconds: Annotated[float, Field(gt=0)]
    prefill_tokens: Annotated[int, Field(ge=0)] = 0
    before_tokens: Annotated[int, Field(ge=0)] = 0
    """Tokens of the prompt already in the cache."""
    decode_seqs: Annotated[int, Field(ge=0)] = 0
    context_tokens: Annotated[int, Field(ge=0)] = 0
    """Of all decoding sequences together."""

    def work(self) -> StepWork:
        """The step as a cost model sees it."""
        kind: Literal["prefill", "decode", "mixed"] = (
            "decode" if not self.prefill_tokens else "mixed" if self.decode_seqs else "prefill"
        )
        context = self.context_tokens + self.before_tokens
        pairs = attention_pairs(self.prefill_tokens, self.before_tokens)
        return StepWork(kind, self.prefill_tokens, self.decode_seqs, context, pairs)


def _known_model(name: str) -> str:
    model_shape(name)
    return name


def _known_gpu(name: str) -> str:
    gpu(name)
    return name


class FitError(Part):
    """How far the fit is from what it was fitted to, percent."""

    mean_percent: Annotated[float, Field(ge=0)]
    max_percent: Annotated[float, Field(ge=0)]


class RunSettings(Part):
    """How the engine of a measured run was set."""

    max_seqs: Positive
    token_budget: Positive
    kv_blocks: Positive


class Preset(Part):
    """A fitted step cost. Its error is over `points`, or over the figures of the whole run called `run`."""

    description: Name
    source: str
    """Who measured, with what, and under which licence the figures are published."""
    date: str
    """When the source was read, or the run was made."""
    valid_for: str
    """Steps the fit was made from; beyond them it is a guess."""
    model: Annotated[str, AfterValidator(_known_model)]
    gpu: Annotated[str, AfterValidator(_known_gpu)]
    tensor_parallel: Positive = 1
    cost: Annotated[LinearCost | MixedMaxCost, Field(discriminator="kind")]
    error: FitError
    points: tuple[Point, ...] = ()
    run: str | None = None
    """A measured run: a file of the test data, without its ending."""
    settings: RunSettings | None = None
    """The engine of that run."""


class PresetCost(Part):
    """A fitted step cost by name: `{kind: preset, name: h100-llama-3.1-8b}`."""

    kind: Literal["preset"]
    name: Annotated[str, Field(min_length=1, max_length=80)]
    overhead_s: Seconds = 0.0
    """Time added to every step, for a slower CPU than the one measured."""

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        preset(name)
        return name

    def build(self) -> CostModel:
        """The model of the preset."""
        model = preset(self.name).cost.build()
        return WithOverhead(model, to_ticks(self.overhead_s)) if self.overhead_s else model

    @property
    def takes_no_time(self) -> bool:
        """Never: a preset's steps take time."""
        return False


class WithOverhead:
    """Another model and a time added to every step."""

    def __init__(self, model: CostModel, overhead: int) -> None:
        self._model = model
        self._overhead = overhead

    def ticks(self, work: StepWork) -> int:
        return self._model.ticks(work) + self._overhead

    def decode_run(self, seqs: int, context: int) -> tuple[int, int, int]:
        first, growth, steps = self._model.decode_run(seqs, context)
        return first + self._overhead, growth, steps


def presets_dir() -> Path:
    """The folder of the preset files."""
    return Path(__file__).parent.parent / "presets"


def preset_names() -> list[str]:
    """Names that `preset` takes."""
    return sorted(path.stem for path in presets_dir().glob("*.yaml"))


@cache
def preset(name: str) -> Preset:
    """A preset by its name. Raises ValueError for a name that is not there."""
    names = preset_names()
    if name not in names:
        raise ValueError(f"there is no preset {name!r}{nearest(name, names)}; choose one of {', '.join(names)}")
    return Preset.model_validate(yaml.safe_load((presets_dir() / f"{name}.yaml").read_text(encoding="utf-8")))


def point_errors(cost: CostModel, points: tuple[Point, ...]) -> list[float]:
    """Relative error of each point, percent: above zero where the model is slower than the measurement."""
    return [100 * (cost.ticks(point.work()) / to_ticks(point.seconds) - 1) for point in points]
