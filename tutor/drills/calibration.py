"""Whether the candidate is as often right as they think: stated confidence against what came out.

Every answer that was decided and had its confidence stated before counts, repeated ones of a day too. The three levels
stand for chances only where a single number needs one (the Brier score, the gap); the rate observed per level is what
to go by. Intervals are Wilson's (1927) at 95 %; under 20 answers there is no verdict, because even at 20 the
interval is ± 20 points.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from tutor.drills.fold import NO_TALLY, Tally

if TYPE_CHECKING:
    from tutor.drills.drills import Drills

ENOUGH: Final = 20
"""Answers below which nothing is said about a person."""
STATED: Final[Mapping[int, float]] = {1: 0.30, 2: 0.60, 3: 0.85}
"""The chance of being right that "not yet", "getting there" and "confident" are taken for."""
_Z: Final = 1.959963984540054

CalibrationVerdict = Literal["overconfident", "underconfident", "in line"]


@dataclass(frozen=True, slots=True)
class LevelRate:
    """How often answers at one level of confidence were right."""

    level: int
    stated: float
    answers: int
    right: int
    rate: float | None
    """None without answers."""
    low: float
    high: float
    """The 95 % interval of the rate."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Confidence against outcome, over all answers or those of one topic."""

    topic: str
    """Empty for all."""
    levels: tuple[LevelRate, LevelRate, LevelRate]
    answers: int
    stated: float | None
    """Mean of what was stated."""
    observed: float | None
    """Share that was right."""
    brier: float | None
    """Mean squared difference of stated and outcome: 0 is perfect, 0.25 is what always saying 50 % gives."""
    verdict: CalibrationVerdict | None
    """None below 20 answers."""

    @property
    def gap(self) -> float | None:
        """Stated minus observed: above 0 is too confident."""
        return None if self.stated is None or self.observed is None else self.stated - self.observed


def wilson(right: int, answers: int) -> tuple[float, float]:
    """The 95 % interval of a rate; (0, 1) without answers."""
    if answers == 0:
        return 0.0, 1.0
    rate = right / answers
    middle = rate + _Z**2 / (2 * answers)
    half = _Z * math.sqrt(rate * (1 - rate) / answers + _Z**2 / (4 * answers**2))
    scale = 1 + _Z**2 / answers
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def calibration_of(tallies: Iterable[Tally], topic: str = "") -> Calibration:
    """The calibration of the answers in some tallies."""
    total = list(NO_TALLY)
    for tally in tallies:
        total = [a + b for a, b in zip(total, tally, strict=True)]
    levels = []
    for level, stated in STATED.items():
        right, wrong = total[2 * level - 2], total[2 * level - 1]
        low, high = wilson(right, right + wrong)
        rate = right / (right + wrong) if right + wrong else None
        levels.append(LevelRate(level, stated, right + wrong, right, rate, low, high))
    answers, right = sum(total), sum(total[::2])
    if answers == 0:
        return Calibration(topic, (levels[0], levels[1], levels[2]), 0, None, None, None, None)
    said = sum(each.stated * each.answers for each in levels) / answers
    brier = sum(each.right * (1 - each.stated) ** 2 + (each.answers - each.right) * each.stated**2 for each in levels)
    low, high = wilson(right, answers)
    verdict: CalibrationVerdict | None = None
    if answers >= ENOUGH:
        verdict = "overconfident" if said > high else "underconfident" if said < low else "in line"
    return Calibration(
        topic, (levels[0], levels[1], levels[2]), answers, said, right / answers, brier / answers, verdict
    )


def calibration(drills: Drills) -> tuple[Calibration, tuple[Calibration, ...]]:
    """Over all answers, and by topic in the deck's order; topics without answers are left out."""
    drills.cache.catch_up()
    everything: list[Tally] = []
    by_topic: dict[str, list[Tally]] = defaultdict(list)
    for card in drills.cache.cards():
        tally = card.state.tally
        everything.append(tally)
        item = drills.deck.by_id.get(card.state.item_id)
        for topic in item.topics if item is not None else ():
            by_topic[topic].append(tally)
    topics = (calibration_of(by_topic[topic], topic) for topic in drills.deck.topics if topic in by_topic)
    return calibration_of(everything), tuple(each for each in topics if each.answers)
