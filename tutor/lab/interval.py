"""A mean over independent replications, with its 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from sim.experiment.intervals import mean_interval
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
    if len(values) == 1:
        return Estimate(values[0], values[0], values[0], 1)
    low, high = mean_interval(values, 1 - COVERAGE)
    return Estimate(fmean(values), low, high, len(values))
