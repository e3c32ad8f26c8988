"""Student's intervals over independent replications."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev


def t_interval(values: Sequence[float], alpha: float) -> tuple[float, float]:
    """Where the mean of endlessly many replications lies, with confidence 1 - alpha.

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

    half = float(stdtrit(len(values) - 1, 1 - alpha / 2)) * stdev(values) / math.sqrt(len(values))
    return mean - half, mean + half
