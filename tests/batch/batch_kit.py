"""What the tests of batches share."""

from __future__ import annotations

from tutor.batch.files import BatchAnswer, GradedAnswer
from tutor.grading.models import CRITERIA, CriterionGrade, Grade, Provenance


def graded(answer: BatchAnswer, met: int = 4) -> GradedAnswer:
    """A grade with so many points."""
    criteria = tuple(
        CriterionGrade(criterion=each, verdict="met" if n < met else "not_met", decided_by="code", reason="because")
        for n, each in enumerate(CRITERIA)
    )
    provenance = Provenance(item_id=answer.item, item_version=1, seed=answer.seed, answer_hash="h")
    return GradedAnswer(
        id=answer.id,
        item=answer.item,
        seed=answer.seed,
        candidate=answer.candidate,
        content_hash=answer.content_hash,
        grade=Grade(criteria=criteria, provenance=provenance),
    )
