"""An item's state as a row of the cache, and back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from tutor.drills.fold import CardState
from tutor.drills.memory import Memory, Rating

_TALLY: Final = ("right1", "wrong1", "right2", "wrong2", "right3", "wrong3")
COLUMNS: Final = (
    "item_id", "version", "stability", "difficulty", "first_day", "last_day", "due_day", "reviews", "presentations",
    "lapses", "misses", "streak", "successes", "last_rating", "last_right", "last_seed", "last_numbers",
    "confident_wrong", "unsettled_day", "suspended", "buried_until", "note", "last_at", *_TALLY,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CachedCard:
    """An item's state and the day it is due, by the plan that fits it."""

    state: CardState
    due_day: date | None


def ordinal(day: date | None) -> int | None:
    """A day as a number that sorts and subtracts; None stays."""
    return None if day is None else day.toordinal()


def _day(number: int | None) -> date | None:
    return None if number is None else date.fromordinal(number)


def to_row(card: CachedCard) -> tuple[object, ...]:
    """A row of `COLUMNS`."""
    state = card.state
    return (
        state.item_id,
        state.version,
        state.memory.stability if state.memory else None,
        state.memory.difficulty if state.memory else None,
        ordinal(state.first_day),
        ordinal(state.last_day),
        ordinal(card.due_day),
        state.reviews,
        state.presentations,
        state.lapses,
        state.misses_in_row,
        state.streak,
        state.successes,
        int(state.last_rating) if state.last_rating is not None else None,
        int(state.last_right) if state.last_right is not None else None,
        state.last_seed,
        state.last_numbers,
        int(state.confident_wrong),
        ordinal(state.unsettled_day),
        int(state.suspended),
        ordinal(state.buried_until),
        state.note,
        state.last_at.isoformat() if state.last_at else None,
        *state.tally,
    )


def from_row(row: tuple[Any, ...]) -> CachedCard:
    """The state in a row of `COLUMNS`; what only the fold needs is not in it."""
    (
        item_id, version, stability, difficulty, first_day, last_day, due_day, reviews, presentations, lapses, misses,
        streak, successes, rating, right, seed, numbers, confident_wrong, unsettled, suspended, buried, note, last_at,
        *tally,
    ) = row  # fmt: skip
    state = CardState(
        item_id=item_id,
        version=version,
        memory=Memory(stability, difficulty) if stability is not None else None,
        first_day=_day(first_day),
        last_day=_day(last_day),
        reviews=reviews,
        presentations=presentations,
        lapses=lapses,
        misses_in_row=misses,
        streak=streak,
        successes=successes,
        last_rating=Rating(rating) if rating is not None else None,
        last_right=bool(right) if right is not None else None,
        last_seed=seed,
        last_numbers=numbers,
        confident_wrong=bool(confident_wrong),
        unsettled_day=_day(unsettled),
        suspended=bool(suspended),
        buried_until=_day(buried),
        note=note,
        tally=(tally[0], tally[1], tally[2], tally[3], tally[4], tally[5]),
        last_at=datetime.fromisoformat(last_at) if last_at else None,
    )
    return CachedCard(state, _day(due_day))
