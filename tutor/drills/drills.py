"""The drills of one store: what is due, presenting it, and recording what became of it.

Both faces use this one door. Every call takes the time, so that a screen left open over a rollover goes on with the
new day.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from tutor.drills import events as ev
from tutor.drills.cache import Cache
from tutor.drills.day import local_day, next_rollover
from tutor.drills.deck import Deck, DrillItem, variant_seed
from tutor.drills.fold import CONFIDENT, CardState
from tutor.drills.health import checked
from tutor.drills.log import DrillError, DrillLog, Recorded, Settings, Undo
from tutor.drills.marking import QUICK_MODE
from tutor.drills.memory import Rating
from tutor.drills.plan import DrillPlan
from tutor.drills.queue import Counts, Queue, Why
from tutor.drills.rating import Outcome
from tutor.drills.rows import CachedCard
from tutor.drills.way_in import WayIn, way_in
from tutor.store import Problem, Store

if TYPE_CHECKING:
    from question_bank import Question
    from question_bank.load import Bank

CLOCK_SLACK: Final = timedelta(minutes=5)
EXAMPLE: Final = -1
"""The draw of numbers kept for worked examples; presentations never use it."""
LONGEST_TIMES_MINUTES: Final = 2
"""An answer that took longer than this many times the item's minutes was not being written all that time."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """An item put before the candidate. Its id is what makes an answer to it count once."""

    id: str
    item: DrillItem
    why: Why
    mode: ev.Mode
    seed: int
    numbers: str
    question: Question | None
    """None where the deck was made without a bank."""
    card: CardState
    at: datetime
    way_in: WayIn | None = None
    """For an item that keeps being forgotten: what to look at first."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What was recorded for a presentation, and what follows from it."""

    presentation: Presentation
    outcome: Outcome
    recorded: Recorded
    card: CardState
    """Afterwards."""
    due_day: date | None
    days: int | None
    """From its last review to the day it is due; None while nothing counts for it."""
    counts: bool
    """Whether it moved the schedule: it was decided, and the first of its day."""
    way_in: WayIn | None
    """Another way in, when this miss made or kept the item a leech."""

    @property
    def leech(self) -> bool:
        """Whether the candidate is to be told that asking once more will not do."""
        return self.way_in is not None


class Drills:
    """All about drills in one store."""

    def __init__(self, store: Store, deck: Deck, *, new_id: Callable[[], str] = lambda: secrets.token_hex(8)) -> None:
        """Open what is derived from the store's log; `new_id` gives each presentation its identity."""
        self.store, self.deck = store, deck
        self.log = DrillLog(store)
        self.cache = Cache(self.log)
        self.queue = Queue(self.cache, deck)
        self._new_id = new_id

    @classmethod
    def open(cls, store: Store, bank: Bank) -> Drills:
        """The drills of all items of a bank."""
        return cls(store, Deck.from_bank(bank))

    def close(self) -> None:
        """Close the cache; the store stays open."""
        self.cache.close()

    def __enter__(self) -> Drills:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def settings(self) -> Settings:
        """Plans and parameters as they stand."""
        return self.cache.settings

    # -- what is due ----------------------------------------------------------------------------------------------

    def sync(self, now: datetime) -> tuple[str, ...]:
        """Take in graded interviews and changed items; returns a sentence for each item that was reset by it, and for
        each interview that cannot be read.

        Doing it again changes nothing.
        """
        from tutor.drills.bridge import take_in_interviews

        told = list(take_in_interviews(self, now))
        self.queue.refresh(now)
        before = len(told)
        for item_id, old, new in self.cache.outdated():
            if self.log.reset(item_id, old, new, now):
                told.append(
                    f"{self.deck.item(item_id).title}: the facts changed (version {old} → {new}), so it is asked anew."
                )
        if len(told) > before:
            self.queue.refresh(now)
        return tuple(told)

    def counts(self, now: datetime) -> Counts:
        """How much is due, new, overdue, and left today."""
        return self.queue.counts(now)

    def today(self, now: datetime) -> date:
        """The local day of a moment."""
        return self.queue.today(now)

    def clock_warning(self, now: datetime) -> str | None:
        """A sentence when the clock says an earlier time than the last record; None when all is well."""
        rows = self.store.query("SELECT at FROM events ORDER BY seq DESC LIMIT 1")
        last = datetime.fromisoformat(rows[0][0]) if rows else now
        if last - now <= CLOCK_SLACK:
            return None
        there = last.astimezone(now.tzinfo)
        return (
            f"The clock says {now:%Y-%m-%d %H:%M}, and the last record is of {there:%Y-%m-%d %H:%M}: one is wrong. "
            "Set the clock; if it had been ahead, undo what was answered then."
        )

    def day_ends(self, now: datetime) -> datetime:
        """When the local day ends: a screen asks for the next item again then."""
        return next_rollover(now, self.cache.settings.base.rollover_h)

    def card(self, item_id: str) -> CachedCard:
        """An item's state and the day it is due.

        Raises:
            DrillError: there is no such item.
        """
        self.deck.item(item_id)
        self.cache.catch_up()
        return self.cache.card(item_id)

    def next(
        self,
        now: datetime,
        *,
        kinds: Collection[str] = (),
        lessons: Sequence[str] = (),
        without: Collection[str] = (),
        full: bool = False,
    ) -> Presentation | None:
        """Present the next item of today; None when nothing is left.

        Args:
            now: the time with its offset.
            kinds: of items to ask; none: all.
            lessons: beginnings of item ids to ask; none: all.
            without: items to leave out.
            full: exercises and probes are answered in full, in an interview of one question.
        """
        found = self.queue.next(now, kinds=kinds, lessons=lessons, without=without)
        return None if found is None else self.present(found.item_id, found.why, now, full=full)

    def present(self, item_id: str, why: Why, now: datetime, *, full: bool = False) -> Presentation:
        """Present a certain item, with other numbers than the last time.

        Raises:
            DrillError: there is no such item.
        """
        item = self.deck.item(item_id)
        card = self.cache.card(item_id).state
        seed, numbers, question = self.deck.draw(item_id, card.presentations, card.last_numbers)
        mode: ev.Mode = QUICK_MODE[item.kind]
        if mode == "numbers" and question is not None and not question.expected:
            mode = "recall"
        if full and item.kind in ("exercise", "probe"):
            mode = "full"
        hint = way_in(item, card, self.deck) if card.leech else None
        return Presentation(self._new_id(), item, why, mode, seed, numbers, question, card, now, hint)

    def worked_example(self, item_id: str) -> Question | None:
        """The item with numbers that it is not asked with next, for its solution to be read; None without a bank."""
        item = self.deck.item(item_id)
        if self.deck.bank is None:
            return None
        from question_bank.variants import build_question

        count = self.cache.card(item_id).state.presentations
        return build_question(self.deck.bank.item(item.id), variant_seed(item_id, count, EXAMPLE))

    def previews(
        self, presentation: Presentation, now: datetime, *, confidence: int | None = None
    ) -> dict[Rating, int]:
        """For each rating, the days until the item would be due again if it were given now.

        Empty for an item that was answered today already: no rating moves its schedule any more.
        """
        card, today = presentation.card, self.today(now)
        if card.last_day is not None and card.last_day >= today:
            return {}
        elapsed = (today - card.last_day).days if card.last_day else 0
        plan = self.cache.settings.plan_for(presentation.item.id)
        return {
            rating: plan.interval_days(
                self.cache.model,
                self.cache.model.after(card.memory, rating, elapsed),
                card.item_id,
                card.reviews + 1,
                today,
                tomorrow=rating is Rating.AGAIN and confidence == CONFIDENT,
            )
            for rating in Rating
        }

    # -- answering ------------------------------------------------------------------------------------------------

    def record(
        self,
        presentation: Presentation,
        outcome: Outcome,
        now: datetime,
        *,
        confidence: int | None = None,
        hints: int = 0,
        answer: str = "",
    ) -> Answered:
        """Record what became of a presentation; once, however often it is called.

        Raises:
            StoreError: it could not be stored.
        """
        rollover_h = self.cache.settings.base.rollover_h
        review = ev.Reviewed(
            presentation_id=presentation.id,
            version=presentation.item.version,
            seed=presentation.seed,
            numbers=presentation.numbers,
            day=local_day(now, rollover_h),
            rollover_h=rollover_h,
            rating=outcome.rating,
            right=outcome.right,
            reason=outcome.reason,
            confidence=confidence,
            hints=hints,
            duration_ms=_duration_ms(presentation, now),
            mode=presentation.mode,
            marked=outcome.marked,
            answer=answer,
        )
        before = self.cache.card(presentation.item.id).state
        with self.store.writing():
            recorded = self.log.record(presentation.item.id, review, now)
            if recorded.added:
                self.store.clear_draft(ev.stream_of(presentation.item.id), 0)
        self.queue.refresh(now)
        return self.answered(presentation, recorded, before)

    def answered(self, presentation: Presentation, recorded: Recorded, before: CardState) -> Answered:
        """What follows from a recorded review, given the item's state before it."""
        review = recorded.review
        outcome = Outcome(review.rating, review.right, review.reason, review.marked)
        after = self.cache.card(presentation.item.id)
        days = (after.due_day - after.state.last_day).days if after.due_day and after.state.last_day else None
        told = outcome.rating is Rating.AGAIN and after.state.leech and after.state.tell_leech
        return Answered(
            presentation,
            outcome,
            recorded,
            after.state,
            after.due_day,
            days,
            counts=after.state.reviews > before.reviews,
            way_in=way_in(presentation.item, after.state, self.deck) if told else None,
        )

    def full_answered(self, presentation: Presentation, now: datetime) -> Answered | None:
        """What follows from the answer in full to a presentation, once its interview has graded it.

        None while the grade decides nothing; see `bridge.full_answer` for that interview.
        """
        from tutor.drills.bridge import full_answer, presentation_id, take_in_interviews

        interview_id, _ = full_answer(presentation)
        take_in_interviews(self, now)
        self.queue.refresh(now)
        recorded = self.log.find(presentation_id(interview_id, 0))
        return None if recorded is None else self.answered(presentation, recorded, presentation.card)

    # -- other actions --------------------------------------------------------------------------------------------

    def undo(self, now: datetime) -> Undo | None:
        """Take back the last action, whatever it was; None when there is none."""
        undone = self.log.undo(now)
        self.queue.refresh(now)
        return undone

    def bury(self, item_id: str, now: datetime, *, days: int = 1) -> date:
        """Leave an item until tomorrow, or for more days; returns the day on which it may come again."""
        until = self.today(now) + timedelta(days=days)
        self._about(item_id, now, lambda: self.log.bury(item_id, until, now))
        return until

    def suspend(self, item_id: str, now: datetime) -> None:
        """Do not ask an item until it is resumed."""
        self._about(item_id, now, lambda: self.log.suspend(item_id, now))

    def resume(self, item_id: str, now: datetime) -> None:
        """Ask an item again that was suspended or buried."""
        self._about(item_id, now, lambda: self.log.resume(item_id, now))

    def note(self, item_id: str, text: str, now: datetime) -> None:
        """Keep a note of the candidate's own on an item; it changes nothing else."""
        self._about(item_id, now, lambda: self.log.note(item_id, text, now))

    def set_plan(self, plan: DrillPlan, now: datetime) -> None:
        """Use a plan from now on; the days on which items are due change with it, and undo brings them back.

        Raises:
            DrillError: a lesson or pack that it names holds no item.
        """
        for each in plan.lessons:
            if all(plan.model_copy(update={"lessons": (each,)}).covers(item.id) < 0 for item in self.deck.items):
                raise DrillError(f"No item belongs to {each}.", hint="'tutor bank list' shows lessons and items.")
        self.log.set_plan(plan, now)
        self.queue.refresh(now)

    def _about(self, item_id: str, now: datetime, act: Callable[[], None]) -> None:
        self.deck.item(item_id)
        act()
        self.queue.refresh(now)

    # -- health ---------------------------------------------------------------------------------------------------

    def check(self, *, repair: bool = False) -> list[Problem]:
        """Where the derived state is not the replayed one; `repair` replays it."""
        return checked(self.log, self.cache, repair=repair)


def _duration_ms(presentation: Presentation, now: datetime) -> int | None:
    seconds = (now - presentation.at).total_seconds()
    if seconds < 0:
        return None
    return round(min(seconds, LONGEST_TIMES_MINUTES * presentation.item.minutes * 60) * 1000)
