"""How much an outcome surprised: bits, from the number, the range and the confidence that were stated before.

A prediction is read as a belief. Its number is the middle; its range holds the truth with the chance that the stated
confidence stands for (`tutor.drills.calibration.STATED`); beyond it the belief falls off as a normal curve does, of
the logarithm where everything is above zero, since latencies miss by factors. Below and above the number the width is
that side's own. With z the distance of the outcome from the number in standard deviations of that side,

    surprise = −log2 P(|Z| ≥ |z|) = −log2 erfc(|z| / √2)

bits: 0 when the number was hit, 1 when an outcome at least as far away had one chance in two. At the edge of a range
stated with confidence (85 %) it is 2.7 bits, at the edge of one stated as "not yet" (30 %) 0.5. Of someone whose
ranges are honest P is uniform, so that the mean is 1 / ln 2 = 1.44 bits: above it the ranges were too narrow for the
confidence, below it too wide. An outcome that is known as an interval counts as its point nearest to the number: what
the simulator itself cannot tell is nobody's surprise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import Final

from tutor.drills.calibration import STATED

CALIBRATED_BITS: Final = 1 / math.log(2)
"""Mean surprise of someone whose ranges hold the truth as often as they say."""
MOST_BITS: Final = 20.0
"""One in a million; more says nothing more."""
FINEST: Final = 0.01
"""No range counts as narrower than one percent of the number on either side."""
_NUMBER: Final = r"[-+]?(?:\d[\d,_ ]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BETWEEN: Final = re.compile(rf"^\s*\[?\s*({_NUMBER})\s*(?:to|-|–|—|,|;|\.\.+|…|and)\s*({_NUMBER})\s*\]?\s*$")
_AROUND: Final = re.compile(rf"^\s*(?:(?:±|\+/?-)\s*({_NUMBER})\s*(%?)|({_NUMBER})\s*%)\s*$")


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, both within."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the value lies within, up to what a stored decimal may be off."""
        slack = 1e-9 * max(abs(self.low), abs(self.high))
        return self.low - slack <= value <= self.high + slack


def read_range(text: str, value: float | None = None) -> Range | str:
    """The range as typed, such as `30 to 50`, `30-50`, `±10 %` or `± 5`; or a sentence about what is wrong with it.

    `value` is the number that it stands around; without one only a lower and an upper end are a range.
    """
    if value is not None and (around := _AROUND.match(text)):
        by = abs(_number(around[1] or around[3])) * (abs(value) / 100 if around[2] or around[3] else 1)
        return Range(value - by, value + by)
    between = _BETWEEN.match(text)
    if between is None:
        return f"“{text.strip()}” is no range. Write it as 30 to 50{', or as ±10 %' if value is not None else ''}."
    low, high = sorted((_number(between[1]), _number(between[2])))
    if value is not None and not low <= value <= high:
        return f"The range {low:g} to {high:g} does not hold your own number {value:g}."
    return Range(low, high)


def read_number(text: str) -> float | None:
    """A number as typed, with or without thousands separators; None when it is none."""
    return _number(text) if re.fullmatch(rf"\s*{_NUMBER}\s*", text) else None


def _number(text: str) -> float:
    return float(re.sub(r"[,_\s]", "", text))


def surprise_bits(
    predicted: float, stated: Range, confidence: int, outcome: float, interval: Range | None = None
) -> float:
    """Bits of surprise, 0 to 20; the formula is at the top of this file.

    Args:
        predicted: the number.
        stated: the range around it.
        confidence: 1 to 3.
        outcome: what came out, in the same unit.
        interval: where the outcome is known to lie only.
    """
    if interval is not None:
        outcome = min(max(predicted, interval.low), interval.high)
    inside = NormalDist().inv_cdf((1 + STATED[confidence]) / 2)
    edge = stated.high if outcome >= predicted else stated.low
    if min(predicted, outcome, edge) > 0:
        width = max(abs(math.log(edge / predicted)), FINEST)
        distance = abs(math.log(outcome / predicted))
    else:
        width = max(abs(edge - predicted), FINEST * abs(predicted), 1e-12)
        distance = abs(outcome - predicted)
    chance = math.erfc(distance / width * inside / math.sqrt(2))
    return MOST_BITS if chance <= 2**-MOST_BITS else max(0.0, -math.log2(chance))


@dataclass(frozen=True, slots=True)
class TopicSurprise:
    """Predictions on one topic."""

    topic: str
    predictions: int
    inside: int
    """Whose range held the outcome."""
    mean_bits: float
    most_bits: float
    stated: float
    """Mean chance that was stated for being inside."""


def by_topic(predictions: Iterable[tuple[tuple[str, ...], float, bool, int]]) -> tuple[TopicSurprise, ...]:
    """Means by topic, the most surprising topic first.

    Args:
        predictions: the topics, the bits, whether it was inside, and the confidence of each.
    """
    found: dict[str, list[tuple[float, bool, int]]] = {}
    for topics, bits, inside, confidence in predictions:
        for topic in topics:
            found.setdefault(topic, []).append((bits, inside, confidence))
    rows = [
        TopicSurprise(
            topic,
            len(those),
            sum(inside for _, inside, _ in those),
            fmean(bits for bits, _, _ in those),
            max(bits for bits, _, _ in those),
            fmean(STATED[confidence] for _, _, confidence in those),
        )
        for topic, those in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.mean_bits, row.topic)))
