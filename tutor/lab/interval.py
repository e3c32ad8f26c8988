"""A mean over independent replications, with Student's 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from tutor.lab.surprise import Range

COVERAGE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """What so many runs say."""

    mean: float
    low: float
    high: float
    runs: int

    @property
    def interval(self) -> Range:
        """Where the mean of endlessly many runs lies, with 95 %."""
        return Range(self.low, self.high)

    @property
    def exact(self) -> bool:
        """Whether all runs gave the same: nothing in the scenario is random for this number."""
        return self.low == self.high


def estimate(values: Sequence[float]) -> Estimate | None:
    """Mean and interval; None without a value. One value alone, and equal ones, have an interval without width."""
    if not values:
        return None
    mean = fmean(values)
    if len(values) == 1 or len(set(values)) == 1:
        return Estimate(mean, mean, mean, len(values))
    # Imported here, since it takes a quarter of a second.
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    half = float(stdtrit(len(values) - 1, (1 + COVERAGE) / 2)) * stdev(values) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half, len(values))
