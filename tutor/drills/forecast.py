"""What will be due on which day, and how long a backlog takes to work off."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from tutor.drills.fold import CardState
from tutor.drills.log import DrillError
from tutor.drills.memory import Memory, Rating

if TYPE_CHECKING:
    from tutor.drills.drills import Drills

RUNS: Final = 5
LONGEST_DAYS: Final = 120


@dataclass(frozen=True, slots=True)
class DueDay:
    """How many items are due on a day, by what is known now."""

    day: date
    due: int


@dataclass(frozen=True, slots=True)
class CatchUpForecast:
    """How long until nothing is left over at the end of a day, simulated with FSRS as the learner."""

    backlog: int
    """Due now."""
    per_day: int
    days: tuple[int, ...]
    """One number a simulated run, in order; `LONGEST_DAYS` + 1 where the run did not get there."""
    left: tuple[float, ...]
    """Mean number of items left over at the end of each day, today first."""

    @property
    def never(self) -> bool:
        """Whether most runs did not get there: too few a day."""
        return self.days[len(self.days) // 2] > LONGEST_DAYS


def due_days(drills: Drills, now: datetime, days: int = 30) -> tuple[DueDay, ...]:
    """How many items are due on each of the next days; what is overdue counts for today."""
    today = drills.queue.refresh(now)
    found: dict[int, int] = defaultdict(int)
    for day, due in drills.cache.rows(
        "SELECT max(due_day, coalesce(buried_until, 0), ?), count(*) FROM cards WHERE due_day IS NOT NULL "
        "AND suspended = 0 AND item_id IN (SELECT item_id FROM items) GROUP BY 1",
        (today.toordinal(),),
    ):
        found[int(day)] += int(due)
    return tuple(
        DueDay(today + timedelta(days=ahead), found[today.toordinal() + ahead]) for ahead in range(max(1, days))
    )


def catch_up(drills: Drills, now: datetime, *, per_day: int | None = None, seed: int = 0) -> CatchUpForecast:
    """How many days a backlog takes at `per_day` answers, no new items meanwhile.

    Args:
        drills: of the store.
        now: the time with its offset.
        per_day: answers a day; the plan's limit when not given.
        seed: of the simulated answers; each is right with the chance that FSRS gives it.

    Raises:
        DrillError: `per_day` is below 1.
    """
    per_day = drills.cache.settings.base.reviews_per_day if per_day is None else per_day
    if per_day < 1:
        raise DrillError("At least one answer a day is needed to catch up.")
    today = drills.queue.refresh(now)
    cards = [
        card
        for card in drills.cache.cards()
        if card.due_day is not None and not card.state.suspended and card.state.item_id in drills.deck.by_id
    ]
    backlog = sum(card.due_day is not None and card.due_day <= today for card in cards)
    if backlog == 0:
        return CatchUpForecast(0, per_day, (0,) * RUNS, ())
    days, left = [], [0.0] * (LONGEST_DAYS + 1)
    for run in range(RUNS):
        start = [(card.state, card.due_day) for card in cards if card.due_day is not None]
        course = _run(drills, start, today, per_day, random.Random(f"{seed}:{run}"))
        days.append(len(course) if course[-1] == 0 else LONGEST_DAYS + 1)
        for day, waiting in enumerate(course):
            left[day] += waiting / RUNS
    days.sort()
    return CatchUpForecast(backlog, per_day, tuple(days), tuple(left[: min(days[-1], LONGEST_DAYS + 1)]))


def _run(
    drills: Drills, cards: list[tuple[CardState, date]], today: date, per_day: int, rng: random.Random
) -> list[int]:
    """Items left over at the end of each day, until none is."""
    model, settings = drills.cache.model, drills.cache.settings
    first = today.toordinal()
    memories: list[Memory] = []
    last: list[int] = []
    due: dict[int, list[int]] = defaultdict(list)
    for index, (card, due_day) in enumerate(cards):
        assert card.memory is not None
        assert card.last_day is not None
        memories.append(card.memory)
        last.append(card.last_day.toordinal())
        due[max(first, due_day.toordinal())].append(index)
    plans = [settings.plan_for(card.item_id) for card, _ in cards]
    waiting: list[int] = []
    course: list[int] = []
    for day in range(first, first + LONGEST_DAYS + 1):
        waiting += due.pop(day, [])
        # As the queue has it: the least likely to be remembered first.
        waiting.sort(key=lambda index: (last[index] - day) / memories[index].stability)
        for index in waiting[:per_day]:
            elapsed = day - last[index]
            known = rng.random() < model.retrievability(memories[index].stability, elapsed)
            memories[index] = model.after(memories[index], Rating.GOOD if known else Rating.AGAIN, elapsed)
            last[index] = day
            interval = plans[index].interval_days(
                model, memories[index], cards[index][0].item_id, day, date.fromordinal(day)
            )
            due[day + interval].append(index)
        waiting = waiting[per_day:]
        course.append(len(waiting))
        if not waiting:
            break
    return course
