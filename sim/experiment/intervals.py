"""Intervals over independent replications: Student's, mended for skewness, and Welch's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev, variance

_STRAIGHT = 1e-6
"""Skewness below which the cube root is a straight line to the last digit that counts."""


def mean_interval(values: Sequence[float], alpha: float) -> tuple[float, float]:
    """Where the mean of endlessly many replications lies, with confidence 1 - alpha.

    Student's interval read through Hall's transformation, which takes out the skewness of the mean to first order:
    times in a queue, and differences of them, are so skewed that Student's alone misses the truth in 8 to 12 of 100
    instead of 5 (`benchmarks.lab_statistics`). For values that are not skewed it is Student's.
    Source: P. Hall, "On the removal of skewness by transformation", J. R. Statist. Soc. B 54, 1992.

    Values that are all equal have an interval without width: nothing in them is random. One value alone says nothing
    about its own spread, and its interval is everything.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    mean = fmean(values)
    if len(values) == 1:
        return -math.inf, math.inf
    if all(value == values[0] for value in values):
        return values[0], values[0]
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    count, spread = len(values), stdev(values)
    if not spread:  # they differ by less than the arithmetic can tell
        return mean, mean
    skewness = fmean(((value - mean) / spread) ** 3 for value in values)
    half = float(stdtrit(count - 1, 1 - alpha / 2)) / math.sqrt(count)
    return mean - spread * _unbent(half, skewness, count), mean - spread * _unbent(-half, skewness, count)


def _unbent(y: float, skewness: float, count: int) -> float:
    """Hall's inverse transformation, with its two constants for a mean, 1/3 and 1/6."""
    shifted = y - skewness / (6 * count)
    if abs(skewness) < _STRAIGHT:
        return shifted
    return (math.cbrt(1 + skewness * shifted) - 1) * 3 / skewness


def welch_interval(first: Sequence[float], second: Sequence[float], alpha: float) -> tuple[float, float]:
    """Where the difference of two means lies (first minus second), the two not paired and of unlike spread.

    Source: B. Welch, "The generalization of Student's problem when several different population variances are
    involved", Biometrika 34, 1947, with his degrees of freedom. Raises ValueError with fewer than two values a side.
    """
    if len(first) < 2 or len(second) < 2:
        raise ValueError("Welch's interval needs two values a side")
    difference = fmean(first) - fmean(second)
    parts = [variance(side) / len(side) for side in (first, second)]
    if not sum(parts):
        return difference, difference
    from scipy.special import stdtrit

    freedom = sum(parts) ** 2 / sum(p**2 / (len(s) - 1) for p, s in zip(parts, (first, second), strict=True))
    half = float(stdtrit(freedom, 1 - alpha / 2)) * math.sqrt(sum(parts))
    return difference - half, difference + half
