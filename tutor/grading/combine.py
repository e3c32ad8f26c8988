"""From evidence and the model's anchored logit to P(met): a logistic sum that can be read and checked by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field

from rubrics import CriterionId
from tutor.grading.models import Verdict

COEFFICIENTS = Path(__file__).with_name("coefficients.yaml")
"""Those for no model and no encoder."""
CAUTIOUS = 0.3
"""The weight of an anchored logit of a model that was never set beside labels: it tips what is close, no more."""
_MAX_BYTES = 64 * 1024
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
    kappa: dict[CriterionId, float] = {}
    """Agreement with labels on items held out of the fit; empty for coefficients that were never measured."""
    criteria: dict[CriterionId, Weights]

    def probability(self, criterion: CriterionId, features: Mapping[str, float], anchored: float) -> float:
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
    """The coefficients of a file; those for no model and no encoder when none is named."""
    return _read(path)


def _read(path: Path) -> Combiner:
    """A file of coefficients, which may come from anybody. Raises OSError, ValueError or yaml.YAMLError."""
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError(f"larger than {_MAX_BYTES // 1024} KiB")
    text = path.read_text("utf-8")
    try:
        # Aliases make an enormous value of a small text, and an error about it would be written out in full.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.CSafeLoader)):
            raise ValueError("aliases (*name) are not allowed")
        return Combiner.model_validate(yaml.safe_load(text))
    except (LookupError, OverflowError, RecursionError) as error:
        raise ValueError("not plain YAML") from error


def calibration_name(model: str | None, encoder: bool) -> str:
    """What the coefficients of a model are filed under, e.g. "none", "none+encoder", "qwen3-8b"."""
    plain = re.sub(r"[^a-z0-9.-]+", "-", (model or "none").lower()).strip("-.") or "model"
    return f"{plain}+encoder" if encoder else plain


def combiner_for(model: str | None, encoder: bool, folder: Path | None = None) -> Combiner:
    """The coefficients for a model: the user's own, the shipped ones, or evidence with a cautious weight for it.

    `folder` holds what `tutor eval calibrate` wrote on this machine, one file a model. A damaged file there counts as
    none, so that a bad edit cannot stop grading.
    """
    name = calibration_name(model, encoder)
    if folder is not None and (own := folder / f"{name}.yaml").is_file():
        try:
            return _read(own)
        except (OSError, ValueError, yaml.YAMLError):
            pass
    if name == "none":
        return load_combiner()
    shipped = COEFFICIENTS.with_name(f"coefficients-{name}.yaml")
    if shipped.is_file():
        return load_combiner(shipped)
    return load_combiner() if model is None else _cautious(encoder)


@cache
def _cautious(encoder: bool) -> Combiner:
    alone = combiner_for(None, encoder)
    criteria = {c: w.model_copy(update={"logit": CAUTIOUS}) for c, w in alone.criteria.items()}
    return alone.model_copy(
        update={
            "provenance": f"{alone.provenance} The model's weight is a cautious one: it has not been measured.",
            "kappa": {},
            "criteria": criteria,
        }
    )
