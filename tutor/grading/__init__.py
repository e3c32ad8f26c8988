"""Grading: an answer and a question in, four criteria with evidence out."""

from rubrics import CriterionId
from tutor.grading.grade import answer_hash, grade_answer
from tutor.grading.judge import AnchorCache
from tutor.grading.models import (
    CRITERIA,
    GRADER_VERSION,
    CriterionGrade,
    Decider,
    Grade,
    Provenance,
    Quote,
    Verdict,
    self_mark,
)
from tutor.grading.result import grade_result
from tutor.grading.text import MAX_ANSWER_BYTES

__all__ = [
    "CRITERIA",
    "GRADER_VERSION",
    "MAX_ANSWER_BYTES",
    "AnchorCache",
    "CriterionGrade",
    "CriterionId",
    "Decider",
    "Grade",
    "Provenance",
    "Quote",
    "Verdict",
    "answer_hash",
    "grade_answer",
    "grade_result",
    "self_mark",
]
