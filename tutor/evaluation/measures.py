"""What a grade was made of: the measures of the evidence and the model's anchored logit, read beside the grade."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import tutor.grading
from question_bank import Question
from rubrics import CriterionId, load_rubric
from tutor.evaluation.record import CriterionRecord
from tutor.grading import AnchorCache, CriterionGrade
from tutor.grading.grade import compose
from tutor.grading.judge import JudgeError, judge
from tutor.grading.models import CRITERIA
from tutor.grading.text import content_words
from tutor.llm.types import Capabilities, Deadlines, Endpoint


class ScratchCache(AnchorCache):
    """One answer's logits, in front of those of its item's examples.

    Nothing that the model says about an answer may come from an earlier run, or a flip could not be seen.
    """

    def __init__(self, anchors: AnchorCache) -> None:
        super().__init__()
        self._anchors = anchors

    def get(self, key: str) -> float | None:
        """The logit kept under a key, here or for the item."""
        own = super().get(key)
        return own if own is not None else self._anchors.get(key)


@dataclass
class Asked:
    """A model that is asked, and what scoring an item's examples has cost."""

    endpoint: Endpoint
    capabilities: Capabilities
    deadlines: Deadlines
    anchors: AnchorCache = field(default_factory=AnchorCache)
    """Logits of the items' examples, scored once a run."""
    trusted: bool = True


def judged(question: Question) -> tuple[CriterionId, ...]:
    """The criteria that a model may be asked about: a result in numbers is decided by code."""
    return tuple(c for c in CRITERIA if c in question.criteria and not (c == "result" and question.expected))


async def score_examples(asked: Asked, base: Question) -> None:
    """Scores an item's example answers, so that no answer pays for them; what fails, the grade itself tells."""
    try:
        for which in ("met", "nearly"):
            text = compose(base, which)
            for criterion in judged(base):
                await judge(asked.endpoint, asked.capabilities, base, text, criterion, asked.deadlines, asked.anchors)
    except JudgeError:
        return


@cache
def rubric_words() -> frozenset[str]:
    """Stems of the rubric's own wording, which earn nothing by themselves."""
    texts = [t for c in load_rubric().criteria for t in (c.question, c.earns, *c.not_enough)]
    return frozenset(word for text in texts for word in content_words(text))


def record_of(grade: CriterionGrade) -> CriterionRecord:
    """One criterion's grade with what it was made of."""
    by_code = grade.decided_by == "code"
    return CriterionRecord(
        verdict=grade.verdict,
        decided_by=grade.decided_by,
        p_met=grade.p_met,
        reason=grade.reason,
        quote=grade.quote.text if grade.quote else "",
        # Where nothing could be quoted P(met) is 0 whatever was measured.
        features={} if by_code or (grade.quote is None and grade.p_met == 0.0) else grade.features,
        alone=None if by_code else grade.alone,
        anchored=grade.anchored,
    )


@cache
def grading_code_hash() -> str:
    """SHA-256 (hex) of all files that decide a grade: the grading package and its coefficients."""
    folder = Path(tutor.grading.__file__).parent
    digest = hashlib.sha256()
    for path in sorted((*folder.glob("*.py"), *folder.glob("*.yaml"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
