"""The search without derivatives, on functions whose minimum is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.fit.least_squares import Array
from sim.fit.simplex import nelder_mead


def test_the_valley_of_rosenbrock() -> None:
    def banana(point: Array) -> float:
        return float(100 * (point[1] - point[0] ** 2) ** 2 + (1 - point[0]) ** 2)

    found = nelder_mead(banana, np.array([-1.2, 1.0]), 0.5, 400)
    assert found == pytest.approx([1, 1], abs=1e-3)


@given(at=st.lists(st.floats(-3, 3), min_size=1, max_size=4), calls=st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_it_never_ends_worse_than_it_began(at: list[float], calls: int) -> None:
    target = np.array(at)
    made = 0

    def value_of(point: Array) -> float:
        nonlocal made
        made += 1
        return float(np.abs(point - target).sum())

    start = np.zeros(len(at))
    found = nelder_mead(value_of, start, 0.1, calls)
    assert np.abs(found - target).sum() <= np.abs(start - target).sum()
    assert made <= max(calls, len(at) + 1) + len(at) + 2
