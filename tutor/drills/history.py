"""What happened, day by day: read from the log, each review as it counts now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from tutor.drills import events as ev
from tutor.drills.log import DrillLog, standing
from tutor.drills.memory import Memory, MemoryModel, Rating

if TYPE_CHECKING:
    from tutor.drills.drills import Drills


@dataclass(frozen=True, slots=True)
class Counted:
    """A review that moved the schedule."""

    item_id: str
    day: date
    rating: Rating
    elapsed_days: int | None
    """Since the one before; None at the first."""
    expected: float | None
    """The chance that it would be remembered, by FSRS; None at the first."""
    review: ev.Reviewed


@dataclass(frozen=True, slots=True)
class Period:
    """Some days together."""

    first_day: date
    reviews: int
    """Items answered, each once a day."""
    new: int
    repeated: int
    remembered: int
    """Of the repeated ones."""
    expected: float | None
    """Mean chance to be remembered of the repeated ones, by FSRS."""
    minutes: float

    @property
    def retention(self) -> float | None:
        """Share of the repeated items that were remembered."""
        return self.remembered / self.repeated if self.repeated else None


def counted(log: DrillLog, model: MemoryModel) -> Iterator[Counted]:
    """Every review that moved the schedule, item by item; after a reset an item begins anew."""
    for item_id in log.item_ids():
        entries = log.entries(item_id)
        resets = sorted(entry.at for entry in entries if isinstance(entry.payload, ev.Reset))
        memory: Memory | None = None
        last: date | None = None
        version = 0
        for entry in standing(entries):
            while resets and resets[0] <= entry.at:
                resets.pop(0)
                memory, last = None, None
            review = entry.payload
            assert isinstance(review, ev.Reviewed)
            if review.version > version:
                version, memory, last = review.version, None, None
            if review.rating is None or (last is not None and review.day <= last):
                continue
            elapsed = (review.day - last).days if last is not None else None
            expected = model.retrievability(memory.stability, elapsed) if memory and elapsed is not None else None
            yield Counted(item_id, review.day, review.rating, elapsed, expected, review)
            memory, last = model.after(memory, review.rating, elapsed or 0), review.day


def weeks(drills: Drills) -> tuple[Period, ...]:
    """The history week by week, from Monday, oldest first; weeks without a review are left out."""
    drills.cache.catch_up()
    by_week: dict[date, list[Counted]] = defaultdict(list)
    for each in counted(drills.log, drills.cache.model):
        by_week[each.day - timedelta(days=each.day.weekday())].append(each)
    return tuple(period(day, by_week[day]) for day in sorted(by_week))


def period(first_day: date, reviews: list[Counted]) -> Period:
    """Some reviews summed up."""
    repeated = [each for each in reviews if each.expected is not None]
    return Period(
        first_day=first_day,
        reviews=len(reviews),
        new=len(reviews) - len(repeated),
        repeated=len(repeated),
        remembered=sum(each.rating is not Rating.AGAIN for each in repeated),
        expected=sum(each.expected or 0.0 for each in repeated) / len(repeated) if repeated else None,
        minutes=sum(each.review.duration_ms or 0 for each in reviews) / 60_000,
    )
