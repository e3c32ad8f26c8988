"""Least squares without negative coefficients, against its optimality conditions and planted solutions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.fit.least_squares import nonnegative, robust


@given(seed=st.integers(0, 10**6), rows=st.integers(3, 40), columns=st.integers(1, 6))
@settings(max_examples=150, deadline=None)
def test_the_solution_is_optimal(seed: int, rows: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-6, 3, size=columns)
    target = rng.normal(size=rows)
    x = nonnegative(matrix, target)
    assert (x >= 0).all()
    # Karush, Kuhn and Tucker: no gain from raising any, none from lowering one above zero.
    gain = (matrix / np.linalg.norm(matrix, axis=0)).T @ (target - matrix @ x)
    assert (gain <= 1e-7).all()
    assert (np.abs(gain[x > 0]) <= 1e-7).all()


@given(seed=st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_exact_data_give_their_coefficients_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    planted = np.array([2e-2, 8e-5, 0.0, 1e-7])
    matrix = np.column_stack(
        [np.ones(60), rng.integers(0, 2048, 60), rng.integers(0, 256, 60), rng.integers(0, 300_000, 60)]
    ).astype(float)
    np.testing.assert_allclose(nonnegative(matrix, matrix @ planted), planted, rtol=1e-8, atol=1e-14)


def test_a_few_wild_values_hardly_move_a_robust_fit() -> None:
    rng = np.random.default_rng(7)
    matrix = np.column_stack([np.ones(200), rng.uniform(0, 1000, 200)])
    target = matrix @ np.array([0.02, 1e-4]) + rng.normal(0, 1e-4, 200)
    target[::40] += 1.0
    plain, held = nonnegative(matrix, target), robust(matrix, target)
    assert abs(held[0] - 0.02) < 3e-4
    assert abs(plain[0] - 0.02) > 3e-3
