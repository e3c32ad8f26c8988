"""One sitting of drills: confidence, answer, outcome, next interval; and what it came to at the end.

It holds nothing that would be lost with it: every answer is in the log before its outcome is given back. Both faces
drive it; it knows of no screen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Final

from tutor.drills.drills import Answered, Drills, Presentation
from tutor.drills.events import stream_of
from tutor.drills.log import DrillError, Undo
from tutor.drills.marking import mark_choice, mark_numbers, mark_prediction
from tutor.drills.memory import Rating
from tutor.drills.rating import SELF_MARKS, Outcome, rating_from_self_mark
from tutor.text import sanitize

if TYPE_CHECKING:
    from question_bank import Question

MAX_ANSWER_CHARS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Learned:
    """One item of a sitting."""

    item_id: str
    title: str
    topics: tuple[str, ...]
    rating: Rating | None
    confidence: int | None
    due_day: date | None


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What a sitting came to."""

    answered: int
    right: int
    wrong: int
    not_counted: int
    ratings: Mapping[Rating, int]
    learned: tuple[Learned, ...]
    """Items got right in the end, in the order in which they were asked."""
    missed: tuple[Learned, ...]
    """Items missed at the first answer."""
    confident_misses: tuple[Learned, ...]
    """Of these, those that the candidate had been sure of; they come first tomorrow."""
    next_due: date | None
    """The earliest day on which anything of the deck is due again."""
    due_then: int
    """How many are due on that day."""
    left_today: int
    seconds: float


class DrillSession:
    """One sitting. `current` is the item at hand, None when nothing is left."""

    def __init__(
        self,
        drills: Drills,
        clock: Callable[[], datetime],
        *,
        limit: int | None = None,
        kinds: Collection[str] = (),
        lessons: Sequence[str] = (),
        full: bool = False,
    ) -> None:
        """Begin a sitting and present its first item.

        Args:
            drills: of the store.
            clock: gives the time with its offset.
            limit: how many answers it ends after; none: when nothing is left today.
            kinds: of items to ask; none: all.
            lessons: beginnings of item ids; none: all.
            full: exercises and probes are answered in full, in an interview of one question.
        """
        self.drills = drills
        self._clock = clock
        self._limit, self._kinds, self._lessons, self._full = limit, tuple(kinds), tuple(lessons), full
        self._started = clock()
        self._skipped: set[str] = set()
        self._done: list[Answered] = []
        self.told: tuple[str, ...] = drills.sync(self._started)
        """Items whose facts changed, a sentence each."""
        self.confidence: int | None = None
        self.hints_taken: tuple[str, ...] = ()
        self.revealed = False
        self.answered: Answered | None = None
        """What became of the item at hand, once it is answered."""
        self.current: Presentation | None = None
        self.advance()

    # -- the item at hand -------------------------------------------------------------------------------------------

    @property
    def done(self) -> tuple[Answered, ...]:
        """What was answered in this sitting and not undone."""
        return tuple(self._done)

    def advance(self) -> Presentation | None:
        """Go on to the next item; None at the end of the sitting. Over a rollover the new day's items follow."""
        self.confidence, self.hints_taken, self.revealed, self.answered = None, (), False, None
        if self._limit is not None and len(self._done) >= self._limit:
            self.current = None
        else:
            self.current = self.drills.next(
                self._clock(), kinds=self._kinds, lessons=self._lessons, without=self._skipped, full=self._full
            )
        return self.current

    def set_confidence(self, level: int) -> None:
        """State how sure one is, 1 to 3, before the answer.

        Raises:
            DrillError: the level is none of these, or the answer is in.
        """
        if level not in (1, 2, 3):
            raise DrillError("Confidence is 1, 2 or 3.", hint="1 is not yet, 3 is confident.")
        if self.answered is not None or self.revealed:
            raise DrillError("The answer is in, so the confidence stands.", hint="Set it before answering.")
        self.confidence = level

    def hint(self) -> str | None:
        """The next hint, counted; None when there is none left or the answer is in."""
        question = self._now().question
        if question is None or self.answered is not None or self.revealed:
            return None
        if len(self.hints_taken) >= len(question.hints):
            return None
        text = question.hints[len(self.hints_taken)]
        self.hints_taken = (*self.hints_taken, text)
        return text

    def save_draft(self, text: str) -> None:
        """Write the text being typed to the disk; it is there again when the item is, with the same numbers."""
        if self.answered is None:
            stream = stream_of(self._now().item.id)
            self.drills.store.save_draft(stream, 0, self._text(text), self._clock())

    @property
    def draft(self) -> str:
        """The text that was being typed for the item at hand; empty when there is none."""
        kept = self.drills.store.draft(stream_of(self._now().item.id), 0)
        return kept.text if kept is not None else ""

    def previews(self) -> dict[Rating, int]:
        """For each rating, the days until the item would be due again."""
        return self.drills.previews(self._now(), self._clock(), confidence=self.confidence)

    def choose(self, option_id: str) -> Answered:
        """Answer a checkpoint by an option's id."""
        self._in_mode("checkpoint")
        question = self._question()
        outcome = mark_choice(question, option_id, confidence=self._sure(), hints=len(self.hints_taken))
        return self._record(outcome, option_id)

    def give_numbers(self, text: str) -> Answered:
        """Answer an exercise by its numbers alone."""
        self._in_mode("numbers")
        text = self._text(text)
        outcome = mark_numbers(self._question(), text, confidence=self._sure(), hints=len(self.hints_taken))
        return self._record(outcome, text)

    def predict(self, values: Mapping[str, float], found: Mapping[str, float | None] | None = None) -> Answered:
        """Answer a prediction, by name of the expected result; `found` is what the simulator gave, where it ran."""
        self._in_mode("prediction")
        outcome = mark_prediction(self._question(), values, found, confidence=self._sure())
        return self._record(outcome, "; ".join(f"{name} = {value:g}" for name, value in values.items()))

    def reveal(self) -> str:
        """The reference of an item that is recalled, as Markdown; the confidence stands from here on."""
        self._in_mode("recall")
        self._sure()
        self.revealed = True
        return self._question().reference

    def mark(self, mark: str, text: str = "") -> Answered:
        """Say how a recall went against its reference: `missed`, `partly`, `well` or `easily`.

        Raises:
            DrillError: the reference was not shown yet, or the mark is none of these.
        """
        self._in_mode("recall")
        if mark not in SELF_MARKS:
            raise DrillError(f"{mark} is no mark.", hint=f"Give one of {', '.join(SELF_MARKS)}.")
        if not self.revealed:
            raise DrillError("The mark comes after the reference.", hint="Have it shown first.")
        return self._record(rating_from_self_mark(mark, hints=len(self.hints_taken)), self._text(text))

    def take_full_answer(self) -> Answered | None:
        """Take over the grade of the interview in which the item at hand was answered in full; None without one."""
        self._in_mode("full")
        if self.answered is None:
            self.answered = self.drills.full_answered(self._now(), self._clock())
            if self.answered is not None:
                self._done.append(self.answered)
        return self.answered

    # -- other actions ----------------------------------------------------------------------------------------------

    def skip(self) -> Presentation | None:
        """Leave the item for later: it is not asked again in this sitting, and nothing is recorded."""
        item_id = self._now().item.id
        self._skipped.add(item_id)
        self.drills.queue.skip(item_id)
        return self.advance()

    def bury(self) -> Presentation | None:
        """Leave the item until tomorrow."""
        self.drills.bury(self._now().item.id, self._clock())
        return self.advance()

    def suspend(self) -> Presentation | None:
        """Do not ask the item any more, until it is resumed."""
        self.drills.suspend(self._now().item.id, self._clock())
        return self.advance()

    def note(self, text: str) -> None:
        """Keep a note of one's own on the item at hand."""
        self.drills.note(self._now().item.id, text, self._clock())

    def undo(self) -> Undo | None:
        """Take back the last action. An answer of this sitting is presented again; otherwise the order goes on."""
        undone = self.drills.undo(self._clock())
        if undone is None:
            return None
        last = self._done[-1] if self._done else None
        if undone.kind == "drill.reviewed" and last is not None and last.presentation.item.id == undone.item_id:
            self._done.pop()
            self._skipped.discard(undone.item_id)
            why = last.presentation.why
            self.confidence, self.hints_taken, self.revealed, self.answered = None, (), False, None
            self.current = self.drills.present(undone.item_id, why, self._clock(), full=self._full)
        elif self.answered is None:
            self.advance()
        return undone

    def summary(self) -> SessionSummary:
        """What the sitting came to so far."""
        now = self._clock()
        counts = self.drills.counts(now)
        first: dict[str, Learned] = {}
        last: dict[str, Learned] = {}
        for each in self._done:
            if each.outcome.rating is not None:
                seen = _learned(each)
                first.setdefault(seen.item_id, seen)
                last[seen.item_id] = seen
        missed = tuple(each for each in first.values() if each.rating is Rating.AGAIN)
        ratings = Counter(each.outcome.rating for each in self._done if each.outcome.rating is not None)
        next_due, due_then = self.drills.queue.next_due(now)
        return SessionSummary(
            answered=len(self._done),
            right=ratings.total() - ratings[Rating.AGAIN],
            wrong=ratings[Rating.AGAIN],
            not_counted=len(self._done) - ratings.total(),
            ratings=ratings,
            learned=tuple(each for each in last.values() if each.rating is not Rating.AGAIN),
            missed=missed,
            confident_misses=tuple(each for each in missed if each.confidence == 3),
            next_due=next_due,
            due_then=due_then,
            left_today=counts.today,
            seconds=max(0.0, (now - self._started).total_seconds()),
        )

    # -- inner ------------------------------------------------------------------------------------------------------

    def _now(self) -> Presentation:
        if self.current is None:
            raise DrillError("Nothing is left to drill now.", hint="Come back when something is due.")
        return self.current

    def _question(self) -> Question:
        question = self._now().question
        if question is None:
            raise DrillError("The question cannot be shown without its bank.")
        return question

    def _in_mode(self, mode: str) -> None:
        at_hand = self._now().mode
        if at_hand != mode:
            raise DrillError(f"This item is answered as {at_hand}, not as {mode}.")

    def _sure(self) -> int:
        if self.confidence is None:
            raise DrillError("Say first how sure you are.", hint="Press 1, 2 or 3.")
        return self.confidence

    def _text(self, text: str) -> str:
        text = sanitize(text)
        if len(text) > MAX_ANSWER_CHARS:
            raise DrillError(
                f"The answer has {len(text):,} characters; at most {MAX_ANSWER_CHARS:,} are taken.", hint="Shorten it."
            )
        return text

    def _record(self, outcome: Outcome, answer: str) -> Answered:
        """Into the log, once: a second submission gives back what the first one came to."""
        if self.answered is None:
            self.answered = self.drills.record(
                self._now(),
                outcome,
                self._clock(),
                confidence=self.confidence,
                hints=len(self.hints_taken),
                answer=answer,
            )
            self._done.append(self.answered)
        return self.answered


def _learned(answered: Answered) -> Learned:
    item = answered.presentation.item
    return Learned(
        item.id,
        item.title,
        item.topics,
        answered.outcome.rating,
        answered.recorded.review.confidence,
        answered.due_day,
    )
