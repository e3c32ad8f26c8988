"""What faces read of an interview: questions with their answers and grades, and the list of unfinished ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from question_bank.question import Question
from rubrics.schema import CriterionId
from tutor.interview import events as ev
from tutor.interview.state import AskedFollowUp, Choice, EntryState, Mark, Phase, RecallAnswer, Talk, Verdict
from tutor.store import Store

if TYPE_CHECKING:
    from question_bank.load import Bank
    from tutor.grading.models import Grade


@dataclass(frozen=True, slots=True)
class Pending:
    """An answer that is stored and waits for a grade."""

    position: int
    attempt_id: str
    text: str
    question: Question


@dataclass(frozen=True, slots=True)
class Summary:
    """An interview that was not finished."""

    interview_id: str
    title: str
    mode: str
    position: int
    """The question at hand, counted from 0."""
    of: int
    draft_chars: int
    started_at: datetime
    last_at: datetime
    """When something last happened in it."""


@dataclass(frozen=True, slots=True)
class EntryView:
    """One question with what happened to it; without its grade while an interview keeps that back."""

    state: EntryState
    question: Question
    grade_visible: bool

    @property
    def position(self) -> int:
        """Counted from 0."""
        return self.state.position

    @property
    def phase(self) -> Phase:
        """What is to be done next with this question."""
        return self.state.phase

    @property
    def confidence(self) -> int | None:
        """How sure the candidate was, 1 to 3."""
        return self.state.confidence

    @property
    def answer(self) -> str | None:
        """The text of the attempt that counts."""
        return self.state.attempt.text if self.state.attempt is not None else None

    @property
    def attempt_id(self) -> str | None:
        """The attempt that counts."""
        return self.state.attempt.id if self.state.attempt is not None else None

    @property
    def grade(self) -> Grade | None:
        """The grader's own verdicts; None before a grade, while it is kept back, or in a form of another version."""
        attempt = self.state.attempt
        if attempt is None or attempt.grade is None or not self.grade_visible:
            return None
        return read_grade(attempt.grade)

    @property
    def marks(self) -> Mapping[CriterionId, Mark]:
        """The candidate's own verdicts."""
        return self.state.marks

    @property
    def comments(self) -> Mapping[CriterionId, str]:
        """What the model said about each criterion."""
        return self.state.comments if self.grade_visible else {}

    @property
    def talk(self) -> tuple[Talk, ...]:
        """What the candidate asked, with the replies."""
        return self.state.talk

    @property
    def follow_ups(self) -> tuple[AskedFollowUp, ...]:
        """Those that were asked, with their answers."""
        return self.state.follow_ups

    @property
    def choice(self) -> Choice | None:
        """The option chosen at a checkpoint; None while an interview keeps the outcome back."""
        return self.state.choice if self.grade_visible else None

    @property
    def chosen_option_id(self) -> str | None:
        """The option chosen at a checkpoint, whether or not its outcome may be seen."""
        return self.state.choice.option_id if self.state.choice is not None else None

    @property
    def recall(self) -> RecallAnswer | None:
        """What was explained from memory."""
        return self.state.recall

    @property
    def predictions(self) -> Mapping[str, float]:
        """Locked values by name of the expected result, in its unit."""
        return self.state.predictions

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Ranges that were stated around predictions, lowest and highest, by name."""
        return self.state.ranges

    @property
    def directions(self) -> Mapping[str, str]:
        """Predicted moves of the simulator's metrics: lower, higher or same."""
        return self.state.directions

    @property
    def explanation(self) -> str:
        """Why the simulator gave what it gave, in the candidate's words."""
        return self.state.explanation

    @property
    def simulation(self) -> Mapping[str, Any] | None:
        """The last recorded run, as the caller summed it up."""
        return self.state.simulation

    @property
    def hints_used(self) -> int:
        """How many hints were taken."""
        return self.state.hints_used

    @property
    def skipped(self) -> bool:
        """Whether it was left unanswered."""
        return self.state.skipped

    def effective(self, criterion: CriterionId) -> Verdict:
        """The verdict that counts; `not_graded` while it is kept back."""
        return self.state.effective(criterion) if self.grade_visible else "not_graded"

    @property
    def effective_met(self) -> int:
        """How many criteria are met, the candidate's own verdicts counting."""
        attempt = self.state.attempt
        criteria = attempt.verdicts if attempt is not None else ()
        return sum(self.effective(criterion) == "met" for criterion in criteria)


def read_grade(stored: Mapping[str, Any]) -> Grade | None:
    """A stored grade, or None when it has the form of another version."""
    from tutor.grading.models import Grade

    try:
        return Grade.model_validate_json(json.dumps(stored))
    except ValidationError:
        return None


def read_question(entry: EntryState, bank: Bank, seed: int) -> Question:
    """The question as it was presented; drawn anew when it was stored in the form of another version.

    Raises:
        BankError: it has to be drawn anew and its item is no longer in the bank.
    """
    try:
        return Question.model_validate_json(json.dumps(entry.question))
    except ValidationError:
        from question_bank.variants import build_question

        return build_question(bank.item(entry.item_id), seed)


def unfinished(store: Store) -> list[Summary]:
    """The interviews that can be continued, the one touched last first."""
    rows = store.query(
        """
        SELECT started.stream,
               json_extract(started.payload, '$.plan.title'),
               json_extract(started.payload, '$.plan.mode'),
               json_array_length(started.payload, '$.plan.entries'),
               started.at,
               (SELECT at FROM events WHERE stream = started.stream ORDER BY seq DESC LIMIT 1),
               (SELECT count(*) FROM events WHERE stream = started.stream AND kind = ?)
          FROM events AS started
         WHERE started.kind = ?
           AND NOT EXISTS (SELECT 1 FROM events WHERE kind = ? AND stream = started.stream)
         ORDER BY started.seq
        """,
        (ev.Presented.kind, ev.Started.kind, ev.Finished.kind),
    )
    found = [
        Summary(
            interview_id=str(stream).removeprefix(ev.STREAM_PREFIX),
            title=str(title),
            mode=str(mode),
            position=max(0, presented - 1),
            of=of,
            draft_chars=_draft_chars(store, stream, max(0, presented - 1)),
            started_at=datetime.fromisoformat(started_at),
            last_at=datetime.fromisoformat(last_at),
        )
        for stream, title, mode, of, started_at, last_at, presented in rows
    ]
    return sorted(found, key=lambda summary: summary.last_at, reverse=True)


def _draft_chars(store: Store, stream: str, position: int) -> int:
    draft = store.draft(stream, position)
    return len(draft.text) if draft is not None else 0
