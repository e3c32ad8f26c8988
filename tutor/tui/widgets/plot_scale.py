"""Axes of terminal plots: from values to places, and round numbers for the ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """From `low` to `high`, evenly or by logarithm."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """0 at `low`, 1 at `high`; outside for values outside."""
        if self.log:
            value, low, high = (math.log10(max(one, 1e-300)) for one in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return (value - low) / (high - low)

    def ticks(self, most: int) -> list[float]:
        """At most so many round values within the scale, rising."""
        most = max(2, most)
        found = _log_ticks(self.low, self.high, most) if self.log else []
        return found if len(found) >= 2 else _even_ticks(self.low, self.high, most)


def scale_of(values: Sequence[float], *, zero: bool = False, log: bool | None = None, high: float = 0.0) -> Scale:
    """A scale that holds all values.

    Args:
        values: what is drawn; without any the scale goes from 0 to 1.
        zero: the scale begins at 0.
        log: by logarithm or not; None: where all are above 0 and the largest is over 20 times the smallest.
        high: the scale reaches at least to here.
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return Scale(0.0, max(high, 1.0))
    least, most = min(finite), max(*finite, high)
    by_log = least > 0 and most > 20 * least if log is None else log and least > 0
    if by_log:
        return Scale(least / 1.05, max(most * 1.05, least * 2), log=True)
    least = min(least, 0.0) if zero else least
    span = (most - least) or abs(most) or 1.0
    return Scale(least if zero else least - 0.03 * span, most + 0.03 * span)


def _even_ticks(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / (most - 1) if most > 1 else high - low
    size = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    for factor in (1, 2, 2.5, 5, 10, 20):
        step = size * factor
        first = math.ceil(low / step - 1e-9)
        count = math.floor(high / step + 1e-9) - first + 1
        if count <= most:
            return [float(f"{(first + number) * step:.12g}") for number in range(max(count, 0))]
    return []


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1,)):
        found = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
        if len(found) <= most:
            return found
    return found[:: -(-len(found) // most)]


def tick_words(value: float) -> str:
    """A tick's number, short: 1,500 · 20k · 0.25."""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:g}M"
    if size >= 1e4:
        return f"{value / 1e3:g}k"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
