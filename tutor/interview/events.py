"""What can happen in an interview, as typed payloads.

A payload carries all that the fold needs, so that an interview replays without its bank: the question as it was
shown, the text of a hint, whether an option was right. The kind is the event's name in the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, JsonValue

from question_bank.question import ItemKind
from rubrics.schema import CriterionId
from tutor.errors import TutorError
from tutor.interview.plan import Plan
from tutor.store.payloads import read_payload

STREAM_PREFIX: Final = "interview:"

Position = Annotated[int, Field(ge=0)]
"""Of a question in its interview, counted from 0."""
Level = Literal[1, 2, 3]
Binary = Literal["met", "not_met"]


class EventError(TutorError):
    """A stored event cannot be understood."""


class Payload(BaseModel):
    """The base of all; `kind` names the event."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: ClassVar[str]


class Started(Payload):
    kind: ClassVar[str] = "interview.started"
    plan: Plan


class Presented(Payload):
    kind: ClassVar[str] = "question.presented"
    position: Position
    item_id: str
    item_kind: ItemKind
    question: dict[str, JsonValue]
    """The whole question as shown."""


class ConfidenceSet(Payload):
    kind: ClassVar[str] = "confidence.set"
    position: Position
    level: Level


class Submitted(Payload):
    kind: ClassVar[str] = "answer.submitted"
    position: Position
    attempt_id: str
    number: Annotated[int, Field(ge=1)]
    text: str


class Graded(Payload):
    kind: ClassVar[str] = "attempt.graded"
    attempt_id: str
    grade: dict[str, JsonValue]


class GradingStopped(Payload):
    kind: ClassVar[str] = "grading.stopped"
    attempt_id: str
    reason: str


class GradingRestarted(Payload):
    kind: ClassVar[str] = "grading.restarted"
    attempt_id: str


class Contested(Payload):
    kind: ClassVar[str] = "criterion.contested"
    position: Position
    criterion: CriterionId
    verdict: Binary
    note: str


class SelfMarked(Payload):
    kind: ClassVar[str] = "criterion.self_marked"
    position: Position
    criterion: CriterionId
    verdict: Binary


class MarkWithdrawn(Payload):
    kind: ClassVar[str] = "criterion.mark_withdrawn"
    position: Position
    criterion: CriterionId


class FollowUpAsked(Payload):
    kind: ClassVar[str] = "follow_up.asked"
    position: Position
    follow_up_id: str
    criterion: CriterionId | None
    text: str


class FollowUpAnswered(Payload):
    kind: ClassVar[str] = "follow_up.answered"
    position: Position
    follow_up_id: str
    text: str


class Clarified(Payload):
    """The reply to a clarifying question decided a criterion; what was recorded before stays in its own event."""

    kind: ClassVar[str] = "criterion.clarified"
    attempt_id: str
    criterion: CriterionId
    asked: str
    reply: str
    grade: dict[str, JsonValue]
    """As a `tutor.grading` CriterionGrade."""


class FollowUpSkipped(Payload):
    kind: ClassVar[str] = "follow_up.skipped"
    position: Position
    follow_up_id: str


class HintTaken(Payload):
    kind: ClassVar[str] = "hint.taken"
    position: Position
    number: Annotated[int, Field(ge=1)]
    text: str


class ReferenceShown(Payload):
    kind: ClassVar[str] = "reference.shown"
    position: Position


class OptionChosen(Payload):
    kind: ClassVar[str] = "option.chosen"
    position: Position
    option_id: str
    correct: bool


class RecallGiven(Payload):
    kind: ClassVar[str] = "recall.given"
    position: Position
    text: str
    level: Level


class PredictionLocked(Payload):
    kind: ClassVar[str] = "prediction.locked"
    position: Position
    name: str
    value: FiniteFloat
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    """The range that was stated, if one was."""


class DirectionLocked(Payload):
    """Which way a metric of the simulator was predicted to go."""

    kind: ClassVar[str] = "prediction.direction_locked"
    position: Position
    metric: str
    change: Literal["lower", "higher", "same"]


class PredictionExplained(Payload):
    """Why the simulator gave what it gave, in the candidate's words; the last one counts."""

    kind: ClassVar[str] = "prediction.explained"
    position: Position
    text: Annotated[str, Field(min_length=1, max_length=500)]


class SimulationRecorded(Payload):
    kind: ClassVar[str] = "simulation.recorded"
    position: Position
    summary: dict[str, JsonValue]


class ContestJudged(Payload):
    """A contested criterion was judged once more, with the candidate's line as data."""

    kind: ClassVar[str] = "criterion.judged_again"
    attempt_id: str
    criterion: CriterionId
    grade: dict[str, JsonValue]
    """As a `tutor.grading` CriterionGrade."""


class CommentMade(Payload):
    """What the model said about a criterion after the grade; it decides nothing."""

    kind: ClassVar[str] = "criterion.commented"
    attempt_id: str
    criterion: CriterionId
    text: str
    model: str


class TalkAsked(Payload):
    """The candidate asked instead of answering."""

    kind: ClassVar[str] = "talk.asked"
    position: Position
    text: Annotated[str, Field(min_length=1, max_length=2_000)]


class TalkPiece(BaseModel):
    """One piece of a reply."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    text: str
    source: Literal["code", "lesson", "model", "hint"]
    unchecked: tuple[str, ...] = ()
    """Numbers that were held against nothing."""


class TalkReplied(Payload):
    """What the tutor replied, as far as it came."""

    kind: ClassVar[str] = "talk.replied"
    position: Position
    pieces: tuple[TalkPiece, ...]
    model: str = ""
    broken_off: bool = False


class Skipped(Payload):
    kind: ClassVar[str] = "question.skipped"
    position: Position


class Finished(Payload):
    kind: ClassVar[str] = "interview.finished"
    reason: Literal["completed", "stopped"]


KINDS: Final[Mapping[str, type[Payload]]] = {
    model.kind: model
    for model in (
        Started,
        Presented,
        ConfidenceSet,
        Submitted,
        Graded,
        GradingStopped,
        GradingRestarted,
        Contested,
        SelfMarked,
        MarkWithdrawn,
        FollowUpAsked,
        FollowUpAnswered,
        Clarified,
        FollowUpSkipped,
        HintTaken,
        ReferenceShown,
        OptionChosen,
        RecallGiven,
        PredictionLocked,
        DirectionLocked,
        PredictionExplained,
        SimulationRecorded,
        ContestJudged,
        CommentMade,
        TalkAsked,
        TalkReplied,
        Skipped,
        Finished,
    )
}


def parse(kind: str, payload: Mapping[str, Any]) -> Payload:
    """The typed payload of a stored event.

    Raises:
        EventError: the kind is unknown, or the payload is not of its form.
    """
    return read_payload(KINDS, kind, payload, EventError, "an event")
