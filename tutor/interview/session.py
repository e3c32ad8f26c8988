"""An interview that is being held: commands append events, and what is shown is folded from them.

Each command is one transaction that first reads what another program may have added, so that two windows on one
interview agree. When a command returns, what it did is on the disk.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import ValidationError

from question_bank.question import FollowUp
from rubrics.schema import CriterionId
from tutor.interview import events as ev
from tutor.interview.adaptive import next_item
from tutor.interview.health import check_interviews
from tutor.interview.plan import Plan
from tutor.interview.session_talk import TalkingPart
from tutor.interview.session_view import Clock, SessionError
from tutor.interview.state import CLARIFY, EntryState, Mark, apply
from tutor.interview.views import Summary, unfinished
from tutor.store import Store
from tutor.text import sanitize

if TYPE_CHECKING:
    from question_bank.load import Bank
    from tutor.grading.models import Grade

__all__ = ["MAX_ANSWER_CHARS", "Clock", "Session", "SessionError", "Summary", "check_interviews", "unfinished"]

MAX_ANSWER_CHARS: Final = 20_000
MAX_NOTE_CHARS: Final = 2_000


class Session(TalkingPart):
    """One interview. `start` begins a new one, `resume` takes one up exactly where it was left."""

    @classmethod
    def start(cls, store: Store, bank: Bank, plan: Plan, clock: Clock, *, interview_id: str | None = None) -> Session:
        """Begin an interview and present its first question.

        Args:
            store: where it is kept.
            bank: the questions; every item of the plan must be in it.
            plan: what is asked.
            clock: gives the time with its offset.
            interview_id: a new identity; drawn when not given.

        Raises:
            BankError: an item of the plan is not in the bank, or its numbers cannot be drawn.
            StoreError: the store cannot be written.
        """
        for entry in plan.entries:
            for choice in entry.choices:
                bank.item(choice.item_id)
        session = cls(store, bank, interview_id or secrets.token_hex(8), clock)
        if session._folded is not None:
            raise SessionError(f"There is an interview {interview_id} already.", hint="Resume it.")
        with session._change():
            session._emit(ev.Started(plan=plan))
            session._present_next()
        return session

    @classmethod
    def resume(cls, store: Store, bank: Bank, interview_id: str, clock: Clock) -> Session:
        """Take up an interview, finished or not.

        Raises:
            SessionError: there is no such interview.
            EventError: its log cannot be read.
        """
        session = cls(store, bank, interview_id, clock)
        if session._folded is None:
            raise SessionError(f"There is no interview {interview_id}.", hint="Start a new one.")
        if not session.state.entries and session.state.finished is None:
            with session._change():
                session._present_next()
        return session

    # -- answering ------------------------------------------------------------------------------------------------

    def set_confidence(self, level: int) -> None:
        """State how sure one is, 1 to 3, before answering; may be changed until the answer is in."""
        if level not in (1, 2, 3):
            raise SessionError("Confidence is 1, 2 or 3.", hint="1 is not yet, 3 is confident.")
        with self._change():
            entry = self._current()
            if entry.answered:
                raise SessionError("The answer is in, so the confidence stands.", hint="Set it before answering.")
            self._emit(ev.ConfidenceSet(position=entry.position, level=level))

    def save_draft(self, text: str) -> datetime | None:
        """Write the text being typed to the disk now; callers wait for a pause of at most 2 s between keys.

        Returns when it was saved, or None when there is nothing to keep: no editor is open in this phase, or the
        text is the answer that is being graded.

        Raises:
            StoreError: the store cannot be written.
        """
        current = self.state.current
        slot = self._slot()
        text = sanitize(text)
        if current is None or slot is None:
            return None
        if self.phase == "grading" and (pending := self.pending_attempt) is not None and pending[1] == text:
            return None
        at = self._clock()
        self._store.save_draft(self._stream, current.position, text, at, slot=slot)
        return at

    def submit(self, text: str) -> str:
        """Store an answer and return the id of the attempt, which now waits for a grade.

        While an attempt is being graded its id is returned and nothing is stored. The same text again after its
        grading was stopped goes on with the same attempt.

        Raises:
            SessionError: it is not time to answer, or the text is too long.
            StoreError: it could not be stored; the draft is untouched.
        """
        text = sanitize(text)
        with self._change():
            entry = self._current()
            attempt = entry.attempt
            if attempt is not None and attempt.status == "pending":
                return attempt.id
            if attempt is not None and attempt.status == "stopped" and attempt.text == text:
                self._emit(ev.GradingRestarted(attempt_id=attempt.id))
                self._store.clear_draft(self._stream, entry.position)
                return attempt.id
            if entry.kind == "checkpoint":
                raise SessionError("This question is answered by choosing an option.", hint="Choose one.")
            if entry.confidence is None:
                raise SessionError("Say first how sure you are.", hint="Press 1, 2 or 3.")
            if entry.phase != "answering":
                raise SessionError("This question has been answered.", hint="Go on to the next one.")
            _bounded(text, MAX_ANSWER_CHARS, "answer")
            number = len(entry.attempts) + 1
            attempt_id = f"{self.interview_id}.{entry.position + 1}.{number}"
            self._emit(ev.Submitted(position=entry.position, attempt_id=attempt_id, number=number, text=text))
            self._store.clear_draft(self._stream, entry.position)
            return attempt_id

    def record_grade(self, attempt_id: str, grade: Grade) -> bool:
        """Store the grade of an attempt. False, and nothing stored, when it comes too late to count."""
        return self._about_attempt(ev.Graded(attempt_id=attempt_id, grade=grade.model_dump(mode="json")))

    def record_ungraded(self, attempt_id: str, reason: str) -> bool:
        """Store that grading was stopped, such as by the candidate; the answer is kept and can be graded again.

        False, and nothing stored, when the attempt is not being graded.
        """
        return self._about_attempt(ev.GradingStopped(attempt_id=attempt_id, reason=reason))

    def regrade(self, position: int | None = None) -> str:
        """Let a stored answer be graded again: its grading was stopped, or a criterion was not graded.

        Returns the attempt's id; `record_grade` follows. An attempt that is waiting already just keeps waiting.
        """
        with self._change():
            entry = self._entry(position)
            if entry.attempt is None:
                raise SessionError("There is no answer to grade.", hint="Submit one first.")
            if entry.attempt.status == "pending":
                return entry.attempt.id
            event = ev.GradingRestarted(attempt_id=entry.attempt.id)
            if apply(self.state, event, self._clock()) is None:
                raise SessionError("This answer has its grade.", hint="Contest a criterion that you see differently.")
            self._emit(event)
            return entry.attempt.id

    def choose_option(self, option_id: str) -> bool:
        """Answer a checkpoint by an option's id; returns whether it was right (an interview does not show it)."""
        with self._change():
            entry = self._current()
            option = self._question(entry.position).option(option_id)
            if entry.kind != "checkpoint" or option is None:
                raise SessionError(f"This question has no option {option_id}.", hint="Choose one that is shown.")
            if entry.choice is not None:
                raise SessionError("An option was chosen already.", hint="Go on to the next question.")
            self._emit(ev.OptionChosen(position=entry.position, option_id=option_id, correct=option.correct))
            return option.correct

    def set_recall(self, text: str, level: int) -> None:
        """Store what was explained from memory and how sure one is of it, 1 to 3."""
        text = sanitize(text)
        _bounded(text, MAX_ANSWER_CHARS, "text")
        if level not in (1, 2, 3):
            raise SessionError("Confidence is 1, 2 or 3.", hint="1 is not yet, 3 is confident.")
        with self._change():
            entry = self._current()
            if entry.kind != "recall" or entry.answered:
                raise SessionError("There is nothing to recall here.", hint="Go on to the next question.")
            self._emit(ev.RecallGiven(position=entry.position, text=text, level=level))
            self._store.clear_draft(self._stream, entry.position)

    # -- after the grade ------------------------------------------------------------------------------------------

    def contest(self, criterion: CriterionId, note: str = "", position: int | None = None) -> Mark:
        """Hold against the grader's verdict: a met criterion becomes not met, any other becomes met.

        Both verdicts are kept; the candidate's counts.
        """
        note = sanitize(note)
        _bounded(note, MAX_NOTE_CHARS, "note")
        with self._change():
            entry = self._markable(position)
            assert entry.attempt is not None
            verdict: ev.Binary = "not_met" if entry.attempt.verdicts.get(criterion) == "met" else "met"
            self._emit(ev.Contested(position=entry.position, criterion=criterion, verdict=verdict, note=note))
            return self._entry(entry.position).marks[criterion]

    def self_mark(self, criterion: CriterionId, verdict: ev.Binary, position: int | None = None) -> Mark:
        """Mark a criterion that the grader left unsure or not graded."""
        with self._change():
            entry = self._markable(position)
            assert entry.attempt is not None
            if entry.attempt.verdicts.get(criterion) in {"met", "not_met"}:
                raise SessionError(f"The criterion {criterion} has been decided.", hint="Contest it instead.")
            self._emit(ev.SelfMarked(position=entry.position, criterion=criterion, verdict=verdict))
            return self._entry(entry.position).marks[criterion]

    def withdraw_mark(self, criterion: CriterionId, position: int | None = None) -> None:
        """Take back a contest or a self-mark; the grader's verdict counts again."""
        with self._change():
            entry = self._markable(position)
            if criterion not in entry.marks:
                raise SessionError(f"You have not marked the criterion {criterion}.")
            self._emit(ev.MarkWithdrawn(position=entry.position, criterion=criterion))

    def ask_follow_up(self) -> FollowUp | None:
        """Put the next follow-up to the candidate; None when none fits. Asking again gives the same one."""
        with self._change():
            follow_up = self.follow_up
            entry = self.state.current
            if follow_up is not None and entry is not None and entry.phase == "graded":
                self._emit(
                    ev.FollowUpAsked(
                        position=entry.position,
                        follow_up_id=follow_up.id,
                        criterion=follow_up.criterion,
                        text=follow_up.text,
                    )
                )
            return follow_up

    def answer_follow_up(self, text: str) -> None:
        """Answer `follow_up`, which need not have been asked by `ask_follow_up`."""
        text = sanitize(text)
        _bounded(text, MAX_ANSWER_CHARS, "answer")
        with self._change():
            follow_up, position = self._open_follow_up()
            self._emit(ev.FollowUpAnswered(position=position, follow_up_id=follow_up.id, text=text))
            if follow_up.id.startswith(CLARIFY):
                self._clarify(position)
            self._store.clear_draft(self._stream, position)

    def skip_follow_up(self) -> None:
        """Leave `follow_up` unanswered; it is not asked again."""
        with self._change():
            follow_up, position = self._open_follow_up()
            self._emit(ev.FollowUpSkipped(position=position, follow_up_id=follow_up.id))

    def take_hint(self) -> str | None:
        """The next hint, counted; None when there is none left, or none is given in this mode or phase."""
        with self._change():
            entry = self.state.current
            if entry is None or entry.phase not in {"confidence", "answering"}:
                return None
            if entry.hints_used >= self.hints_total:
                return None
            text = self._question(entry.position).hints[entry.hints_used]
            self._emit(ev.HintTaken(position=entry.position, number=entry.hints_used + 1, text=text))
            return text

    def show_reference(self, position: int | None = None) -> str:
        """The reference answer as Markdown; given only after the answer, in interview mode only after the end."""
        with self._change():
            entry = self._entry(position)
            if not self.state.grades_visible:
                raise SessionError("An interview shows the reference answers at its end.")
            if entry is self.state.current and not entry.skipped:
                if entry.phase not in {"graded", "follow_up", "reference"}:
                    raise SessionError(
                        "The reference answer comes after yours.", hint="Take a hint, or submit what you have."
                    )
                if entry.phase != "reference":
                    self._emit(ev.ReferenceShown(position=entry.position))
            return self._question(entry.position).reference

    def predict(self, name: str, value: float, low: float | None = None, high: float | None = None) -> None:
        """Lock a predicted value, in the unit of the expected result of that name; it cannot be changed.

        `low` and `high` are the range that is thought to hold what comes out.
        """
        with self._change():
            entry = self._current()
            if name in entry.predictions:
                raise SessionError(f"The prediction of {name} is locked.", hint="Run the simulator to compare.")
            try:
                event = ev.PredictionLocked(position=entry.position, name=name, value=value, low=low, high=high)
            except ValidationError:
                raise SessionError("A prediction is a finite number.", hint="Write it as digits.") from None
            if apply(self.state, event, self._clock()) is None:
                raise SessionError("It is not time to predict.", hint="A prediction comes before the result is seen.")
            self._emit(event)

    def predict_direction(self, metric: str, change: Literal["lower", "higher", "same"]) -> None:
        """Lock which way a metric of the simulator goes; it cannot be changed."""
        with self._change():
            entry = self._current()
            event = ev.DirectionLocked(position=entry.position, metric=metric, change=change)
            if apply(self.state, event, self._clock()) is None:
                raise SessionError("It is not time to predict.", hint="A prediction comes before the result is seen.")
            self._emit(event)

    def explain_prediction(self, text: str, position: int | None = None) -> None:
        """Store why the simulator gave what it gave, in one line."""
        with self._change():
            entry = self._entry(position)
            try:
                event = ev.PredictionExplained(position=entry.position, text=" ".join(text.split()))
            except ValidationError:
                raise SessionError("An explanation has 1 to 500 characters.", hint="Say it in one line.") from None
            if apply(self.state, event, self._clock()) is None:
                raise SessionError("There is nothing to explain before the run.", hint="Run the simulator first.")
            self._emit(event)

    def record_simulation(self, summary: Mapping[str, Any], position: int | None = None) -> None:
        """Store what the simulator gave, as JSON values. What was predicted must be locked, or answered, before."""
        with self._change():
            entry = self._entry(position)
            event = ev.SimulationRecorded(position=entry.position, summary=dict(summary))
            if apply(self.state, event, self._clock()) is None:
                if entry.kind == "prediction":
                    raise SessionError("Lock a prediction before the run.", hint="Predict a value first.")
                raise SessionError("The simulator shows the results, so it runs after the grade.")
            self._emit(event)

    # -- going on -------------------------------------------------------------------------------------------------

    def skip(self) -> None:
        """Leave the question unanswered and go on."""
        with self._change():
            entry = self._current()
            if entry.phase == "grading":
                raise SessionError("The answer is being graded.", hint="Wait for it, or cancel the grading.")
            if not self.state.may_advance:
                self._emit(ev.Skipped(position=entry.position))
            self._go_on()

    def advance(self) -> None:
        """Go on to the next question, or finish after the last one."""
        with self._change():
            self._current()
            if not self.state.may_advance:
                hint = "Cancel the grading first." if self.phase == "grading" else "Answer it, or skip it."
                raise SessionError("This question is not done.", hint=hint)
            self._go_on()

    def finish(self) -> None:
        """End the interview here; what was answered stays. Doing it twice is one end."""
        with self._change():
            if self.state.finished is None:
                self._emit(ev.Finished(reason="stopped"))

    # -- within ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _change(self) -> Iterator[None]:
        """One transaction on the newest state; in memory too, nothing remains of one that fails."""
        before = (self._seq, self._folded, len(self._applied))
        try:
            with self._store.writing():
                self.refresh()
                yield
        except BaseException:
            self._seq, self._folded, length = before
            del self._applied[length:]
            raise

    def _emit(self, payload: ev.Payload) -> None:
        at = self._clock()
        # As the store will give it back, so that the live state and a replayed one are the same.
        fields = json.loads(payload.model_dump_json())
        payload = ev.parse(payload.kind, fields)
        after = apply(self._folded, payload, at)
        if after is None:
            raise SessionError("This does not fit where the interview stands.", hint="Open the interview again.")
        self._seq = self._store.append(self._stream, payload.kind, fields, at).seq
        self._folded = after
        self._applied.append((payload, at))

    def _about_attempt(self, payload: ev.Graded | ev.GradingStopped) -> bool:
        with self._change():
            if apply(self.state, payload, self._clock()) is None:
                return False
            self._emit(payload)
            return True

    def _clarify(self, position: int) -> None:
        """Let the replies to the clarifying questions decide the result, as code reads them."""
        from tutor.grading.clarify import settle_result

        entry = self._entry(position)
        asked = [one for one in entry.follow_ups if one.clarifies and one.answer is not None]
        if entry.attempt is None or not asked:
            return
        replies = [one.answer or "" for one in asked]
        settled = settle_result(self._question(position), entry.attempt.text, replies)
        event = ev.Clarified(
            attempt_id=entry.attempt.id, criterion="result", asked=asked[-1].text, reply=replies[-1],
            grade=settled.model_dump(mode="json"),
        )  # fmt: skip
        if apply(self.state, event, self._clock()) is not None:
            self._emit(event)

    def _present_next(self) -> None:
        from question_bank.variants import build_question

        position = len(self.state.entries)
        planned = next_item(self.state)
        question = build_question(self._bank.item(planned.item_id), planned.seed)
        self._emit(
            ev.Presented(
                position=position,
                item_id=planned.item_id,
                item_kind=question.kind,
                question=question.model_dump(mode="json"),
            )
        )
        self._questions[position] = question

    def _go_on(self) -> None:
        if len(self.state.entries) == self.of:
            self._emit(ev.Finished(reason="completed"))
        else:
            self._present_next()

    def _current(self) -> EntryState:
        current = self.state.current
        if current is None:
            raise SessionError("The interview is finished.", hint="Start a new one.")
        return current

    def _markable(self, position: int | None) -> EntryState:
        entry = self._entry(position)
        if not self.state.grades_visible:
            raise SessionError("An interview shows its grades at the end.", hint="Mark them then.")
        if entry.attempt is None or entry.attempt.status != "graded":
            raise SessionError("There is no grade yet.", hint="Submit an answer first.")
        return entry

    def _open_follow_up(self) -> tuple[FollowUp, int]:
        follow_up = self.ask_follow_up()
        if follow_up is None:
            raise SessionError("There is no follow-up now.", hint="Go on to the next question.")
        return follow_up, self.position


def _bounded(text: str, limit: int, what: str) -> None:
    if len(text) > limit:
        raise SessionError(f"The {what} has {len(text):,} characters; at most {limit:,} are taken.", hint="Shorten it.")
