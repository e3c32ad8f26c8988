"""What FSRS says about a memory: how it changes by an answer, how likely it is still there, when to ask again.

The `fsrs` package does the mathematics of an answer (https://github.com/open-spaced-repetition/py-fsrs, MIT), with
its learning steps and its fuzz off: items are asked once a day. It is told whole local days, not hours. The two
closed forms below are the forgetting curve of FSRS-6 and its inverse; tests hold them equal to the package's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final

import fsrs
from fsrs.scheduler import DEFAULT_PARAMETERS, FUZZ_RANGES

from tutor.errors import TutorError

MAX_INTERVAL_DAYS: Final = 36_500
_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)


class Rating(IntEnum):
    """How an answer went; only `AGAIN` is a failure."""

    AGAIN = 1
    HARD = 2
    GOOD = 3
    EASY = 4


@dataclass(frozen=True, slots=True)
class Memory:
    """FSRS's two numbers for one item."""

    stability: float
    """Days until the chance to remember has fallen to 90 %."""
    difficulty: float
    """1 (easy) to 10 (hard)."""


class MemoryModel:
    """FSRS with one set of parameters; a pure function of what it is given."""

    def __init__(self, parameters: Sequence[float] = DEFAULT_PARAMETERS) -> None:
        """Raises TutorError when there are not 21 parameters, or one is out of FSRS's bounds."""
        ordered = list(parameters)
        # The first four are the stabilities after a first Again, Hard, Good and Easy; a fit may leave them out of
        # order, and then a better answer would come back sooner than a worse one.
        for index in range(1, min(4, len(ordered))):
            ordered[index] = max(ordered[index], ordered[index - 1])
        try:
            self._scheduler = fsrs.Scheduler(
                parameters=ordered,
                desired_retention=0.9,
                learning_steps=(),
                relearning_steps=(),
                maximum_interval=MAX_INTERVAL_DAYS,
                enable_fuzzing=False,
            )
        except ValueError as error:
            raise TutorError(
                f"These scheduling parameters cannot be used: {str(error).splitlines()[-1]}.",
                hint="Give FSRS-6's 21 numbers, or none for its defaults.",
            ) from None
        self.parameters: tuple[float, ...] = tuple(ordered)
        self._decay = -self.parameters[20]
        self._factor = 0.9 ** (1 / self._decay) - 1

    def after(self, memory: Memory | None, rating: Rating, elapsed_days: int) -> Memory:
        """The memory after an answer, `elapsed_days` local days after the one before (0: on the same day)."""
        card = fsrs.Card(card_id=0, state=fsrs.State.Learning, due=_EPOCH)
        if memory is not None:
            card = fsrs.Card(
                card_id=0,
                state=fsrs.State.Review,
                stability=memory.stability,
                difficulty=memory.difficulty,
                due=_EPOCH,
                last_review=_EPOCH,
            )
        moment = _EPOCH + timedelta(days=elapsed_days)
        changed, _ = self._scheduler.review_card(card, fsrs.Rating(int(rating)), moment)
        assert changed.stability is not None
        assert changed.difficulty is not None
        return Memory(changed.stability, changed.difficulty)

    def retrievability(self, stability: float, elapsed_days: float) -> float:
        """The chance that it is remembered `elapsed_days` after the last answer: (1 + F·t/S)^−w20."""
        value: float = (1 + self._factor * max(0.0, elapsed_days) / stability) ** self._decay
        return value

    def interval_days(self, stability: float, desired_retention: float, longest_days: int = MAX_INTERVAL_DAYS) -> int:
        """Days until the chance to remember has fallen to `desired_retention`: whole, at least 1."""
        exact: float = stability / self._factor * (desired_retention ** (1 / self._decay) - 1)
        return min(max(round(exact), 1), longest_days)


def fuzz_bounds(interval_days: int) -> tuple[int, int]:
    """The shortest and longest interval that may stand in for one, by FSRS's ranges; itself below 2.5 days."""
    if interval_days < 2.5:
        return interval_days, interval_days
    delta = 1.0
    for each in FUZZ_RANGES:
        delta += each["factor"] * max(min(float(interval_days), each["end"]) - each["start"], 0.0)
    return max(2, round(interval_days - delta)), round(interval_days + delta)


def fuzzed(interval_days: int, item_id: str, count: int) -> int:
    """The interval moved within its bounds, always alike for the same item and number of reviews.

    It spreads items that were learned together. A longer interval is never moved below a shorter one of the same
    item and count, so that ratings keep their order.
    """
    low, high = fuzz_bounds(interval_days)
    return low + int(_share("fuzz", item_id, count) * (high - low + 1))


def spread_days(left: int, item_id: str, count: int) -> int:
    """How many days before the last of `left` an item that has to come by then is asked: 0 to a week or a quarter.

    Without it everything would be due on the eve of an interview.
    """
    return int(_share("spread", item_id, count) * (min(7, left // 4) + 1))


def _share(what: str, item_id: str, count: int) -> float:
    """A number from 0 up to 1, always the same for the same item and count."""
    digest = hashlib.sha256(f"{what}:{item_id}:{count}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
