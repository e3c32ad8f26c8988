"""The figures of an evaluation, as a report holds them."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict

from rubrics import CriterionId
from tutor.evaluation.metrics import Bin


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Bounded(_Frozen):
    """A figure with its 95 % bootstrap intervals; None where it is not defined (one side never varies)."""

    value: float | None
    by_answer: tuple[float, float] | None
    by_item: tuple[float, float] | None
    """Whole items drawn: the honest one for items that the grader has not seen."""


class Agreement(_Frozen):
    """Verdicts beside labels; "false accept" is met by the grader alone, "false reject" met by the label alone."""

    answers: int
    accuracy: float | None
    kappa: Bounded
    false_accepts: int
    false_rejects: int
    labelled_met: int
    graded_met: int

    @property
    def met_bias(self) -> float | None:
        """Share graded met less share labelled met: above 0 the grader is generous."""
        return (self.graded_met - self.labelled_met) / self.answers if self.answers else None


class AtMargin(_Frozen):
    """What a margin around one half leaves undecided, and the agreement on the rest."""

    margin: float
    coverage: float
    kappa: float | None
    accuracy: float | None


class Reliability(_Frozen):
    """How far P(met) is to be believed."""

    answers: int
    ece: float | None
    brier: float | None
    area_under_curve: float | None
    bins: tuple[Bin, ...]


class CriterionFigures(_Frozen):
    """One criterion."""

    criterion: CriterionId
    labelled: int
    unsure: int
    not_graded: int
    decided: Agreement
    """The verdicts that were given."""
    at_half: Agreement
    """Every P(met) cut at one half, those of unsure verdicts too."""
    in_numbers: Agreement | None
    """The verdicts where the question asks for numbers, so that code alone decides; only for the result."""
    evidence_alone: Agreement | None
    """The same without the model's part; only where there was a model."""
    margins: tuple[AtMargin, ...]
    coverage_at_90: float
    """Largest share of the answers with an estimate, surest first, of which 90 % agree with the label."""
    reliability: Reliability

    @property
    def coverage(self) -> float | None:
        """Share of the labelled answers with a verdict."""
        return self.decided.answers / self.labelled if self.labelled else None


class Totals(_Frozen):
    """Sums of the labelled criteria, over answers of which each of them was decided."""

    answers: int
    of_answers: int
    criteria: int
    qwk: Bounded
    exact: float | None
    within_one: float | None
    mean_difference: float | None
    """Points by the grader less points by the labels, of one answer."""


class Flips(_Frozen):
    """Verdicts that differ between runs on the same answer."""

    runs: int
    verdicts: int
    flipped: int
    answers_with_a_flip: int
    answers: int


class Cost(_Frozen):
    """Means of one answer. Scoring an item's examples is paid once an item and stands apart."""

    answers: int
    seconds: float
    seconds_median: float
    seconds_p95: float
    evaluated_tokens: float
    cached_tokens: float
    completion_tokens: float
    example_seconds: float | None
    """Mean for the examples of one item; None where none was scored in this sitting."""


class PartialCredit(_Frozen):
    """P(met) beside a score from 0 to 1."""

    answers: int
    correlation: float | None
    rmse: float | None
    rmse_of_mean: float | None
    """What naming the mean score for every answer would give."""


class KindFigures(_Frozen):
    """The answers that try the same thing, their criteria pooled, every estimate cut at one half."""

    kind: str
    answers: int
    verdicts: int
    without: int
    """Labelled criteria without an estimate."""
    accuracy: float | None
    kappa: float | None
    false_accepts: int
    false_rejects: int


class Summary(_Frozen):
    """All figures of one evaluation."""

    answers: int
    items: int
    criteria: tuple[CriterionFigures, ...]
    totals: Totals | None
    flips: Flips | None
    cost: Cost
    partial_credit: PartialCredit | None
    kinds: tuple[KindFigures, ...] = ()
    """By what the answers try, where the source says so; an answer may be of several kinds."""

    @property
    def mean_kappa(self) -> float | None:
        """Mean of the criteria's κ at one half; None where one is not defined."""
        values = [c.at_half.kappa.value for c in self.criteria]
        return None if not values or None in values else float(np.mean([v for v in values if v is not None]))
