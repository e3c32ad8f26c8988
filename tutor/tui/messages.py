"""What the grading worker tells the interview screen; each names the attempt, so that late ones can be passed over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from tutor.grading import CriterionGrade, Grade


@dataclass
class CriterionDecided(Message):
    """One criterion has a verdict."""

    attempt_id: str
    grade: CriterionGrade


@dataclass
class GradingMoved(Message):
    """What is being done now, in words."""

    attempt_id: str
    what: str


@dataclass
class AnswerGraded(Message):
    """All four criteria have a verdict."""

    attempt_id: str
    grade: Grade


@dataclass
class GradingFailed(Message):
    """The answer could not be graded; it is kept."""

    attempt_id: str
    reason: str
