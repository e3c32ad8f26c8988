"""The state of one item, as a pure fold over its events.

Which review counts: of one local day only the first that was decided. A later one on that day is kept, tells about
calibration, and can settle a miss for today, but says nothing about what lasts until tomorrow.

Events are folded in the order of their times, so that a log put together from two machines gives one state however
it was put together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from tutor.drills import events as ev
from tutor.drills.memory import Memory, MemoryModel, Rating

LEECH_AT: Final = 4
"""Lapses after which going on in the same way is not worth it; told again at every second lapse from there."""
TRIES_A_DAY: Final = 3
"""An item missed so often in one day is left until tomorrow: more of the same that day does not last."""
LEECH_CURED_BY: Final = 2
"""Right answers in a row, on different days, after which an item is no leech any more."""

CONFIDENT: Final = 3
"""The highest level of confidence."""

Tally = tuple[int, int, int, int, int, int]
"""Answers given at confidence 1, 2 and 3, each as right, wrong."""
NO_TALLY: Final[Tally] = (0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One stored event, parsed."""

    id: str
    at: datetime
    payload: ev.Payload


@dataclass(frozen=True, slots=True)
class CardState:
    """What is known about one item from its events alone."""

    item_id: str
    version: int | None = None
    """Of the content that was last answered; None before the first answer."""
    memory: Memory | None = None
    """None while the item is new."""
    first_day: date | None = None
    last_day: date | None = None
    """Of the reviews that count."""
    reviews: int = 0
    """That count, since the last reset."""
    presentations: int = 0
    """Answers of any kind ever recorded, undone ones too; it gives the next numbers."""
    lapses: int = 0
    """Times it was forgotten after it had been asked before."""
    misses_in_row: int = 0
    streak: int = 0
    """Right answers in a row that count."""
    successes: int = 0
    """Since the last miss: right answers on different days with different numbers."""
    last_rating: Rating | None = None
    last_right: bool | None = None
    last_seed: int | None = None
    last_numbers: str = ""
    confident_wrong: bool = False
    """The last review that counts was wrong, and the candidate had been confident."""
    unsettled_day: date | None = None
    """The day on which it was missed and has not been got right since; not after the third try of that day."""
    suspended: bool = False
    buried_until: date | None = None
    note: str = ""
    tally: Tally = NO_TALLY
    last_at: datetime | None = None
    tries: int = 0
    """Answers on the day of the last review that counts."""
    success_keys: frozenset[str] = field(default_factory=frozenset)

    @property
    def new(self) -> bool:
        """Whether it has to be learned from the beginning."""
        return self.memory is None

    @property
    def leech(self) -> bool:
        """Whether it keeps being forgotten, so that another way in is better than asking once more."""
        return self.lapses >= LEECH_AT and self.streak < LEECH_CURED_BY

    @property
    def tell_leech(self) -> bool:
        """Whether the last review is one after which the candidate is told."""
        over = self.lapses - LEECH_AT
        return self.last_rating is Rating.AGAIN and over >= 0 and over % (LEECH_AT // 2) == 0


def fold(item_id: str, entries: Iterable[LogEntry], model: MemoryModel) -> CardState:
    """The state of an item after all of its events, in whatever order they are given."""
    ordered = sorted(entries, key=lambda entry: (entry.at, entry.id))
    undone = {entry.payload.target for entry in ordered if isinstance(entry.payload, ev.Undone)}
    amended = {
        entry.payload.presentation_id: entry.payload for entry in ordered if isinstance(entry.payload, ev.Amended)
    }
    state = CardState(item_id)
    seen: set[str] = set()
    for entry in ordered:
        payload = entry.payload
        _put(state, last_at=entry.at)
        if isinstance(payload, ev.Reviewed):
            if payload.presentation_id in seen:
                continue
            seen.add(payload.presentation_id)
            _put(
                state,
                presentations=state.presentations + 1,
                last_seed=payload.seed,
                last_numbers=payload.numbers,
            )
            if entry.id not in undone:
                _reviewed(state, payload, amended.get(payload.presentation_id), model)
        elif entry.id not in undone:
            _other(state, payload)
    return state


def _put(state: CardState, **changes: object) -> None:
    """Change a state in place: while it is folded it belongs to the fold alone, and a copy a step costs most of it."""
    for name, value in changes.items():
        object.__setattr__(state, name, value)


def _other(state: CardState, payload: ev.Payload) -> None:
    match payload:
        case ev.Buried():
            _put(state, buried_until=payload.until)
        case ev.Suspended():
            _put(state, suspended=True)
        case ev.Resumed():
            _put(state, suspended=False, buried_until=None)
        case ev.Noted():
            _put(state, note=payload.text)
        case ev.Reset():
            if state.version is None or payload.to_version > state.version:
                _begin_anew(state, payload.to_version)


def _begin_anew(state: CardState, version: int) -> None:
    """The facts changed: what was remembered may be wrong. Notes, suspension and calibration stay."""
    _put(
        state,
        version=version,
        memory=None,
        first_day=None,
        last_day=None,
        reviews=0,
        lapses=0,
        misses_in_row=0,
        streak=0,
        successes=0,
        success_keys=frozenset(),
        last_rating=None,
        last_right=None,
        confident_wrong=False,
        unsettled_day=None,
    )


def _reviewed(state: CardState, review: ev.Reviewed, amended: ev.Amended | None, model: MemoryModel) -> None:
    rating = review.rating if amended is None else amended.rating
    right = review.right if amended is None else amended.right
    if state.version is None:
        _put(state, version=review.version)
    elif review.version > state.version:
        # Answered in its new form before anything said that it has one.
        _begin_anew(state, review.version)
    if right is not None and review.confidence is not None:
        tally = list(state.tally)
        tally[2 * (review.confidence - 1) + (0 if right else 1)] += 1
        _put(state, tally=(tally[0], tally[1], tally[2], tally[3], tally[4], tally[5]))
    if rating is None:
        return
    if state.last_day is not None and review.day <= state.last_day:
        if review.day != state.last_day:
            return
        tries = state.tries + 1
        settled = rating is not Rating.AGAIN or tries >= TRIES_A_DAY
        _put(state, tries=tries, unsettled_day=None if settled else state.unsettled_day)
        return
    elapsed = (review.day - state.last_day).days if state.last_day is not None else 0
    missed = rating is Rating.AGAIN
    keys = frozenset() if missed else state.success_keys | {review.numbers or f"@{review.day}"}
    _put(
        state,
        memory=model.after(state.memory, rating, elapsed),
        first_day=state.first_day or review.day,
        last_day=review.day,
        reviews=state.reviews + 1,
        lapses=state.lapses + (missed and state.reviews > 0),
        misses_in_row=state.misses_in_row + 1 if missed else 0,
        streak=0 if missed else state.streak + 1,
        success_keys=keys,
        successes=len(keys),
        tries=1,
        last_rating=rating,
        last_right=right,
        confident_wrong=missed and review.confidence == CONFIDENT,
        unsettled_day=review.day if missed else None,
        buried_until=None,
    )
