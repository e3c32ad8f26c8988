"""What a grade is: four criteria, each with a verdict, who decided it, and the words it rests on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rubrics.schema import CRITERION_IDS, CriterionId

Verdict = Literal["met", "not_met", "unsure", "not_graded"]
Decider = Literal["code", "model", "evidence", "self"]

CRITERIA: tuple[CriterionId, ...] = CRITERION_IDS
GRADER_VERSION = "2"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Quote(_Frozen):
    """A stretch of the candidate's own text; `start` and `end` are offsets into the answer as submitted."""

    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Quote:
        if self.end < self.start:
            raise ValueError("a quote ends before it starts")
        return self


class CriterionGrade(_Frozen):
    """One criterion's verdict.

    `p_met` is a probability (0 to 1) where one was estimated. `reason` is one sentence; for
    "not_graded" it says why, and may carry what code found in the answer. `clarify` is the one question to
    put to the candidate where the verdict is "unsure" because the answer can be read in more than one way.
    """

    criterion: CriterionId
    verdict: Verdict
    decided_by: Decider | None = None
    p_met: float | None = Field(default=None, ge=0, le=1)
    quote: Quote | None = None
    reason: str
    slip_id: str | None = None
    clarify: str | None = None
    features: dict[str, float] = {}
    """What was measured in the answer, by name; empty where code alone decides."""
    alone: float | None = Field(default=None, ge=0, le=1)
    """P(met) by the evidence without a model's word."""
    anchored: float | None = None
    """The model's logit less the middle of the item's two examples; None where no model was asked."""


class Provenance(_Frozen):
    """All that is needed to say how a grade came about, and to see whether it would come again."""

    grader_version: str = GRADER_VERSION
    model: str | None = None
    model_source: str = "none"
    prompt_hash: str = ""
    rubric_hash: str = ""
    item_id: str
    item_version: int
    seed: int
    answer_hash: str
    seconds: float = Field(default=0.0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    calibration: str = ""
    """Under which name the coefficients are filed that made P(met)."""
    agreement: dict[CriterionId, float] = {}
    """Their agreement (κ) with labels on items held out; empty where it was never measured."""


class Grade(_Frozen):
    """Four criteria in the rubric's order; the totals are sums made here, never by a model."""

    criteria: tuple[CriterionGrade, ...]
    provenance: Provenance

    @model_validator(mode="after")
    def _all_four(self) -> Grade:
        if tuple(c.criterion for c in self.criteria) != CRITERIA:
            raise ValueError("a grade has each of the four criteria once, in the rubric's order")
        return self

    def _count(self, verdict: Verdict) -> int:
        return sum(c.verdict == verdict for c in self.criteria)

    @property
    def met_count(self) -> int:
        return self._count("met")

    @property
    def of(self) -> int:
        return len(self.criteria)

    @property
    def unsure_count(self) -> int:
        return self._count("unsure")

    @property
    def not_graded_count(self) -> int:
        return self._count("not_graded")

    def criterion(self, criterion: CriterionId) -> CriterionGrade:
        """The verdict on one criterion."""
        return self.criteria[CRITERIA.index(criterion)]

    def missing(self) -> tuple[CriterionId, ...]:
        """The criteria that did not earn their point, in the rubric's order."""
        return tuple(c.criterion for c in self.criteria if c.verdict != "met")


def self_mark(grade: Grade, criterion: CriterionId, verdict: Literal["met", "not_met"]) -> Grade:
    """A copy of the grade in which the candidate has marked one criterion; the original stays as it was."""
    marked = tuple(
        CriterionGrade(
            criterion=c.criterion,
            verdict=verdict,
            decided_by="self",
            quote=c.quote,
            reason="marked by you against the rubric",
        )
        if c.criterion == criterion
        else c
        for c in grade.criteria
    )
    return Grade(criteria=marked, provenance=grade.provenance)
