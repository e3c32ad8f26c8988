"""What an interview looks like from outside: everything that faces read, nothing that changes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from question_bank.question import FollowUp, Question
from rubrics.schema import CriterionId
from tutor.errors import TutorError
from tutor.interview import events as ev
from tutor.interview.follow_ups import choose_follow_up
from tutor.interview.history import Entry, transcript
from tutor.interview.plan import Mode, Plan
from tutor.interview.state import EntryState, Mark, Phase, State, Verdict, apply
from tutor.interview.views import EntryView, Pending, read_question
from tutor.store import Draft, Store

if TYPE_CHECKING:
    from question_bank.load import Bank
    from tutor.grading.models import Grade

Clock = Callable[[], datetime]


class SessionError(TutorError):
    """A command that does not fit where the interview stands; nothing was changed."""


class SessionView:
    """The reading half of `Session`."""

    def __init__(self, store: Store, bank: Bank, interview_id: str, clock: Clock) -> None:
        """Read an interview that is in the store; `Session.start` and `Session.resume` do."""
        self.interview_id = interview_id
        self._store = store
        self._bank = bank
        self._clock = clock
        self._stream = f"{ev.STREAM_PREFIX}{interview_id}"
        self._seq = 0
        self._folded: State | None = None
        self._applied: list[tuple[ev.Payload, datetime]] = []
        self._questions: dict[int, Question] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read what another program has added to this interview."""
        for event in self._store.events(self._stream, after=self._seq):
            payload = ev.parse(event.kind, event.payload)
            after = apply(self._folded, payload, event.at)
            self._seq = event.seq
            if after is not None:
                self._folded = after
                self._applied.append((payload, event.at))

    @property
    def state(self) -> State:
        """All that is known, grades of an unfinished interview included; prefer the properties below."""
        if self._folded is None:
            raise SessionError(f"There is no interview {self.interview_id}.", hint="Start a new one.")
        return self._folded

    @property
    def plan(self) -> Plan:
        """What is asked."""
        return self.state.plan

    @property
    def mode(self) -> Mode:
        """`study` shows each grade at once, `interview` none before the end."""
        return self.state.plan.mode

    @property
    def phase(self) -> Phase:
        """What is to be done next; `grading` also after a kill, until `record_grade` or `record_ungraded`."""
        return self.state.phase

    @property
    def position(self) -> int:
        """The question at hand, counted from 0; the last one when finished."""
        return max(0, len(self.state.entries) - 1)

    @property
    def of(self) -> int:
        """Number of questions in the plan."""
        return len(self.state.plan.entries)

    @property
    def started_at(self) -> datetime:
        """When the interview began."""
        return self.state.started_at

    @property
    def question(self) -> Question | None:
        """The question at hand, exactly as it was first presented; None when finished."""
        return None if self.state.current is None else self._question(self.position)

    @property
    def entries(self) -> tuple[EntryView, ...]:
        """Every question presented so far with what happened to it."""
        return tuple(self.entry(entry.position) for entry in self.state.entries)

    def entry(self, position: int | None = None) -> EntryView:
        """One question with what happened to it; the one at hand by default.

        Raises:
            SessionError: no question was presented at this position.
        """
        entry = self._entry(position)
        return EntryView(entry, self._question(entry.position), self.state.grades_visible)

    @property
    def grade_visible(self) -> bool:
        """Whether grades may be shown now: always in study mode, else only when finished."""
        return self.state.grades_visible

    @property
    def grade(self) -> Grade | None:
        """The grade of the question at hand; None before it, and while an interview keeps it back."""
        return self.entry().grade

    def effective(self, criterion: CriterionId, position: int | None = None) -> Verdict:
        """The verdict that counts: the candidate's own where there is one, else the grader's."""
        return self.entry(position).effective(criterion)

    def mark(self, criterion: CriterionId, position: int | None = None) -> Mark | None:
        """The candidate's own verdict on a criterion, with its kind and note."""
        return self._entry(position).marks.get(criterion)

    @property
    def pending_attempt(self) -> tuple[str, str] | None:
        """Id and text of the answer at hand that is stored and has no grade: being graded, or stopped."""
        attempt = self.state.current.attempt if self.state.current is not None else None
        if attempt is None or attempt.status == "graded":
            return None
        return attempt.id, attempt.text

    @property
    def pending_attempts(self) -> tuple[Pending, ...]:
        """Every answer of the interview that waits for a grade, of earlier questions too."""
        return tuple(
            Pending(entry.position, entry.attempt.id, entry.attempt.text, self._question(entry.position))
            for entry in self.state.entries
            if entry.attempt is not None and entry.attempt.status != "graded"
        )

    @property
    def draft(self) -> str:
        """The text being typed: what was saved last, else the stored answer whose grading was stopped, else ''."""
        saved = self._draft()
        if saved is not None:
            return saved.text
        if self.phase in {"answering", "grading"} and (pending := self.pending_attempt) is not None:
            return pending[1]
        return ""

    @property
    def draft_saved_at(self) -> datetime | None:
        """When the draft was saved; None when there is none."""
        saved = self._draft()
        return saved.at if saved is not None else None

    @property
    def follow_up(self) -> FollowUp | None:
        """The follow-up that was asked and waits, else the one to ask next; None when none fits."""
        current = self.state.current
        if current is None or current.phase not in {"graded", "follow_up"}:
            return None
        question = self._question(current.position)
        if current.phase == "follow_up":
            asked = current.follow_ups[-1]
            return FollowUp(id=asked.id, criterion=asked.criterion, misconception=None, text=asked.text)
        return choose_follow_up(question, current)

    @property
    def hints_used(self) -> int:
        """How many hints were taken for the question at hand."""
        return self.state.current.hints_used if self.state.current is not None else 0

    @property
    def hints_total(self) -> int:
        """How many hints there are; none in interview mode."""
        question = self.question
        return len(question.hints) if question is not None and self.mode == "study" else 0

    @property
    def may_advance(self) -> bool:
        """Whether `advance` would be accepted now."""
        return self.state.finished is None and self.state.may_advance

    @property
    def history(self) -> tuple[Entry, ...]:
        """The transcript, without what an interview keeps back until its end."""
        return transcript(self.state, self._applied)

    def _entry(self, position: int | None) -> EntryState:
        wanted = self.position if position is None else position
        entry = self.state.entry_at(wanted)
        if entry is None:
            raise SessionError(f"Question {wanted + 1} has not been asked yet.")
        return entry

    def _question(self, position: int) -> Question:
        if position not in self._questions:
            entry = self._entry(position)
            asked = self.plan.entries[position].chosen(entry.item_id)
            assert asked is not None  # the fold has passed over everything else
            self._questions[position] = read_question(entry, self._bank, asked.seed)
        return self._questions[position]

    def _slot(self) -> str | None:
        """Which editor is open: the answer's, a follow-up's, or none."""
        if self.phase in {"confidence", "answering", "grading"}:
            return "answer"
        if self.phase in {"graded", "follow_up"} and (follow_up := self.follow_up) is not None:
            return f"follow_up:{follow_up.id}"
        return None

    def _draft(self) -> Draft | None:
        current = self.state.current
        saved = self._store.draft(self._stream, current.position) if current is not None else None
        return saved if saved is not None and saved.slot == self._slot() else None
