"""Agreement and calibration against tables worked out by hand and against formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.evaluation import metrics

MARKS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40)
LEVELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


def test_kappa_of_a_table_worked_out_by_hand() -> None:
    # 35 of 50 agree: .7; chance: 25/50 · 30/50 + 25/50 · 20/50 = .5; (.7 − .5) / (1 − .5) = .4
    table = np.array([[20.0, 5.0], [10.0, 15.0]])
    assert metrics.kappa(table) == pytest.approx(0.4)
    assert metrics.accuracy(table) == pytest.approx(0.7)


def test_two_tables_with_the_same_agreement_differ_in_kappa_by_their_margins() -> None:
    # 60 of 100 agree in both. Chance: .6·.7 + .4·.3 = .54, and .6·.3 + .4·.7 = .46
    assert metrics.kappa(np.array([[45.0, 15.0], [25.0, 15.0]])) == pytest.approx(0.06 / 0.46)
    assert metrics.kappa(np.array([[25.0, 35.0], [5.0, 35.0]])) == pytest.approx(0.14 / 0.54)


def test_quadratic_kappa_worked_out_by_hand() -> None:
    # Only the last pair differs, by 2 levels: 4. Expected: (1·0 + 1·1 + 4·1 + 1·2 + 0 + 1·1 + 4·4 + 1·2 + 0) / 4 = 6.5
    table = metrics.counts([0, 1, 2, 2], [0, 1, 2, 0], levels=3)
    assert metrics.quadratic_kappa(table) == pytest.approx(1 - 4 / 6.5)


@given(MARKS)
def test_with_two_levels_both_kappas_are_one(pairs: list[tuple[int, int]]) -> None:
    ours, theirs = zip(*pairs, strict=True)
    table = metrics.counts(ours, theirs)
    plain, quadratic = metrics.kappa(table), metrics.quadratic_kappa(table)
    assert (plain is None) == (quadratic is None)
    assert plain is None or plain == pytest.approx(quadratic)


@given(LEVELS)
def test_kappas_are_symmetric_and_at_most_one(pairs: list[tuple[int, int]]) -> None:
    ours, theirs = zip(*pairs, strict=True)
    for statistic in (metrics.kappa, metrics.quadratic_kappa):
        one, other = statistic(metrics.counts(ours, theirs, 5)), statistic(metrics.counts(theirs, ours, 5))
        assert one == pytest.approx(other)
        assert one is None or -1.0000001 <= one <= 1.0000001


def test_kappa_is_undefined_where_nothing_varies() -> None:
    assert metrics.kappa(metrics.counts([1, 1, 1], [1, 1, 1])) is None
    assert metrics.kappa(metrics.counts([], [])) is None
    assert metrics.kappa(metrics.counts([1, 1, 1], [1, 0, 1])) == pytest.approx(0.0)


def test_calibration_error_worked_out_by_hand() -> None:
    # Half of the answers at .95 of which half is met: .45 · ½; the other half at .15, none met: .15 · ½
    bins = metrics.reliability([0.95, 0.95, 0.15, 0.15], [True, False, False, False])
    assert [(b.low, b.count, b.observed) for b in bins] == [(0.1, 2, 0.0), (0.9, 2, 0.5)]
    assert metrics.calibration_error(bins) == pytest.approx(0.225 + 0.075)


def test_probability_one_falls_into_the_last_bin() -> None:
    bins = metrics.reliability([1.0, 0.0], [True, False])
    assert [(b.low, b.high) for b in bins] == [(0.0, 0.1), (0.9, 1.0)]
    assert metrics.calibration_error(bins) == 0.0
    assert metrics.calibration_error(()) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50))
def test_every_answer_is_in_one_bin_and_the_error_is_a_share(pairs: list[tuple[float, bool]]) -> None:
    bins = metrics.reliability([p for p, _ in pairs], [met for _, met in pairs])
    assert sum(b.count for b in bins) == len(pairs)
    error = metrics.calibration_error(bins)
    assert error is not None
    assert 0 <= error <= 1


def test_brier_auc_correlation_and_rmse_by_hand() -> None:
    assert metrics.brier([0.8, 0.4], [True, False]) == pytest.approx((0.04 + 0.16) / 2)
    # Of the 2 × 2 pairs: .9 beats both, .4 loses to .6 and ties with .4
    assert metrics.area_under_curve([0.9, 0.4, 0.6, 0.4], [True, True, False, False]) == pytest.approx(2.5 / 4)
    assert metrics.area_under_curve([0.9], [True]) is None
    assert metrics.correlation([1, 2, 3], [2, 4, 6]) == pytest.approx(1.0)
    assert metrics.correlation([1, 1], [0, 1]) is None
    assert metrics.root_mean_square([0.0, 1.0], [0.3, 0.6]) == pytest.approx(math.sqrt((0.09 + 0.16) / 2))


def test_coverage_at_an_agreement_takes_the_surest_answers() -> None:
    # From sure to unsure: right, right, wrong, right, wrong; of the first four 3 are right, of all 3 of 5.
    p, met = [0.99, 0.02, 0.9, 0.15, 0.55], [True, False, False, False, False]
    share, margin = metrics.coverage_at(p, met, 0.75)
    assert share == pytest.approx(0.8)
    assert margin == pytest.approx(0.35)
    assert metrics.coverage_at(p, met, 0.6)[0] == 1.0
    assert metrics.coverage_at(p, met, 1.0)[0] == pytest.approx(0.4)
    assert metrics.coverage_at([0.9], [False], 0.5) == (0.0, 0.5)
    assert metrics.coverage_at([], [], 0.9) == (0.0, 0.5)


def _accuracies(tables: metrics.Floats) -> metrics.Floats:
    shares: metrics.Floats = np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2))
    return shares


def test_bootstrap_by_answer_is_the_binomial_interval() -> None:
    # 320 of 400 right: .8 ± 1.96 · √(.8 · .2 / 400) = .7608 to .8392
    ours, theirs = [1] * 400, [1] * 320 + [0] * 80
    found = metrics.interval(ours, theirs, _accuracies, seed=1)
    assert found is not None
    assert found.low == pytest.approx(0.7608, abs=0.006)
    assert found.high == pytest.approx(0.8392, abs=0.006)


def test_bootstrap_by_item_knows_that_answers_to_one_item_resemble_each_other() -> None:
    # 20 items of 20 answers, each item wholly right or wholly wrong: 20 observations, not 400.
    ours = [1] * 400
    theirs = [int(n // 20 < 16) for n in range(400)]
    items = [f"item {n // 20}" for n in range(400)]
    found = metrics.interval(ours, theirs, _accuracies, seed=1, groups=items)
    assert found is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * math.sqrt(0.8 * 0.2 / 20), abs=0.05)


def test_bootstrap_is_repeatable_and_says_when_there_is_no_figure() -> None:
    ours, theirs = [0, 1] * 10, [0, 1, 1, 1] * 5
    assert metrics.interval(ours, theirs, metrics.kappas, 3) == metrics.interval(ours, theirs, metrics.kappas, 3)
    assert metrics.interval(ours, theirs, metrics.kappas, 3) != metrics.interval(ours, theirs, metrics.kappas, 4)
    assert metrics.interval([1] * 5, [1] * 5, metrics.kappas, 0) is None
    assert metrics.interval([], [], metrics.kappas, 0) is None
    perfect = metrics.interval([0, 1] * 20, [0, 1] * 20, metrics.kappas, 0)
    assert perfect is not None
    assert (perfect.low, perfect.high) == (1.0, 1.0)
