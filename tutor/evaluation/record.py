"""What is kept of one graded answer: enough for every figure, without grading again."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from rubrics import CriterionId
from tutor.grading.models import Decider, Verdict


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CriterionRecord(_Frozen):
    """One criterion as it was graded, and what the grade was made of."""

    verdict: Verdict
    decided_by: Decider | None = None
    p_met: float | None = Field(default=None, ge=0, le=1)
    reason: str = ""
    quote: str = ""
    shown: Verdict | None = None
    """What the program shows where it differs: without a model it lets the candidate mark what only evidence found."""
    features: dict[str, float] = {}
    """The measures of the evidence; empty where code alone decides, or where no sentence could be quoted."""
    alone: float | None = Field(default=None, ge=0, le=1)
    """P(met) by the evidence without a model."""
    anchored: float | None = None
    """The model's logit less the middle of the item's examples; None where it was not asked."""


class AnswerRecord(_Frozen):
    """One answer, graded once. Tokens are those of the answer itself; the item's examples are scored apart."""

    case_id: str
    content_hash: str
    run: int = Field(ge=0)
    criteria: dict[CriterionId, CriterionRecord]
    seconds: float = Field(ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    """All that were sent."""
    cached_tokens: int = Field(default=0, ge=0)
    """Of those, the ones that the server had computed before."""
    completion_tokens: int = Field(default=0, ge=0)

    @property
    def evaluated_tokens(self) -> int:
        """Prompt tokens that the model had to compute."""
        return max(0, self.prompt_tokens - self.cached_tokens)

    @property
    def failed(self) -> bool:
        """Whether the model's trouble left something without a grade; such an answer is graded again."""
        return any(c.verdict == "not_graded" and c.decided_by is None for c in self.criteria.values())


class GraderIdentity(_Frozen):
    """What a grade depends on besides the question and the answer."""

    model: str | None
    """None: code and evidence alone."""
    source: str
    counts: bool = True
    """False for a model that is known to be too small: in the program its verdicts do not count."""
    provider: str = "none"
    grader_version: str
    prompt_hash: str
    rubric_hash: str
    code_hash: str
    """SHA-256 (hex) of the grading code and its coefficients."""
    encoder: bool = False
    """Whether the sentence encoder's measure is part of the evidence."""
    coefficients: str = ""
    """A hash of the coefficients; empty where they are those filed for the model."""

    @property
    def key(self) -> str:
        """A short name for all of it, 16 hex digits: results under another key are another grader's."""
        import hashlib

        parts = (self.model or "", self.provider, self.grader_version, self.prompt_hash, self.rubric_hash)
        more = ("encoder",) if self.encoder else ()
        return hashlib.sha256("\n".join((*parts, self.code_hash, *more, self.coefficients)).encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """For a person."""
        return self.model or "no model"
