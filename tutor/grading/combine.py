"""From evidence and the model's anchored logit to P(met): a logistic sum that can be read and checked by hand."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field

from rubrics import CriterionId
from tutor.grading.models import Verdict

COEFFICIENTS = Path(__file__).with_name("coefficients.yaml")
_ANCHORED_LIMIT = 4.0


class Weights(BaseModel):
    """One criterion's coefficients; `features` multiply the evidence, `logit` the anchored logit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bias: float
    logit: float
    features: dict[str, float]


class Combiner(BaseModel):
    """All coefficients, where they come from, and how close to one half is too close to say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provenance: str
    margin: float = Field(ge=0, lt=0.5)
    criteria: dict[CriterionId, Weights]

    def probability(self, criterion: CriterionId, features: dict[str, float], anchored: float) -> float:
        """P(met) for one criterion; `anchored` is the logit less the middle of the item's two examples."""
        weights = self.criteria[criterion]
        clipped = max(-_ANCHORED_LIMIT, min(_ANCHORED_LIMIT, anchored))
        total = weights.bias + weights.logit * clipped
        total += sum(weight * features.get(name, 0.0) for name, weight in weights.features.items())
        return 1 / (1 + math.exp(-total))

    def verdict(self, p_met: float) -> Verdict:
        """Met, not met, or unsure inside the margin around one half."""
        if abs(p_met - 0.5) < self.margin:
            return "unsure"
        return "met" if p_met > 0.5 else "not_met"


@cache
def load_combiner(path: Path = COEFFICIENTS) -> Combiner:
    """The shipped coefficients."""
    return Combiner.model_validate(yaml.safe_load(path.read_text("utf-8")))
