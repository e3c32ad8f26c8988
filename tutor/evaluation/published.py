"""The figures of other graders in `published.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

Metric = Literal["kappa", "accuracy", "auc", "rmse", "r"]
SAME_ANSWERS = frozenset({"khan", "saf"})


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Line(_Frozen):
    """One published figure."""

    set: str
    grader: str
    metric: Metric
    value: float
    accuracy: float | None = None
    same_in_three_runs: float | None = None
    """Share of answers with the same verdict in three runs."""
    source: str


class Published(_Frozen):
    """All figures with what their sources are called."""

    lines: tuple[Line, ...]
    sources: dict[str, str]

    @model_validator(mode="after")
    def _sourced(self) -> Published:
        unknown = {line.source for line in self.lines} ^ set(self.sources)
        if unknown:
            raise ValueError(f"sources do not match: {', '.join(sorted(unknown))}")
        return self

    def beside(self, kind: str) -> tuple[Line, ...]:
        """The lines to set beside an evaluation: those on the same answers, else those on other answers."""
        same = tuple(line for line in self.lines if line.set == kind)
        return same or tuple(line for line in self.lines if line.set not in SAME_ANSWERS)


@cache
def load_published() -> Published:
    """The shipped figures."""
    return Published.model_validate(yaml.safe_load(Path(__file__).with_name("published.yaml").read_text("utf-8")))
