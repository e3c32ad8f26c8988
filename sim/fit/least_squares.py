"""Least squares with coefficients that cannot be negative, and with outliers held down."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HUBER = 1.5
"""Residuals beyond so many standard deviations count by their size, not by its square."""
NORMAL_MAD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


def nonnegative(matrix: Array, target: Array) -> Array:
    """The x >= 0 that makes |matrix · x - target| smallest.

    Lawson and Hanson, Solving Least Squares Problems (1974), algorithm NNLS. Columns are scaled first, as
    coefficients here differ by six orders of magnitude.
    """
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0] = 1.0
    scaled = matrix / scale
    size = matrix.shape[1]
    free = np.zeros(size, dtype=bool)
    x = np.zeros(size)
    tolerance = 1e-10 * max(float(np.abs(scaled.T @ target).max(initial=0.0)), 1e-300)
    for _ in range(10 * size):
        gain = np.where(free, -np.inf, scaled.T @ (target - scaled @ x))
        if gain.max(initial=-np.inf) <= tolerance:
            break
        free[int(gain.argmax())] = True
        while free.any():
            trial = np.zeros(size)
            trial[free] = np.linalg.lstsq(scaled[:, free], target, rcond=None)[0]
            negative = free & (trial <= 0)
            if not negative.any():
                x = trial
                break
            # Go towards the trial as far as no coefficient becomes negative, and hold those that end at zero.
            step = float((x[negative] / (x[negative] - trial[negative])).min())
            x = x + step * (trial - x)
            free &= x > 1e-14
            x[~free] = 0.0
    return np.asarray(x / scale, dtype=np.float64)


def robust(matrix: Array, target: Array, rounds: int = 8) -> Array:
    """As `nonnegative`, with Huber's weights found in `rounds` repetitions."""
    weights = np.ones(len(target))
    solution = nonnegative(matrix, target)
    for _ in range(rounds):
        residuals = np.abs(target - matrix @ solution)
        limit = HUBER * NORMAL_MAD * float(np.median(residuals))
        if limit <= 0:
            break
        weights = np.sqrt(limit / np.maximum(residuals, limit))
        solution = nonnegative(matrix * weights[:, None], target * weights)
    return solution
