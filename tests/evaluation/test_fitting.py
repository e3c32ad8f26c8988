"""The fit of the combiner: closed forms, the conditions of a minimum, and what is held out."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from tutor.evaluation.fitting import Row, fit, folds, gradient, held_out, probability
from tutor.grading.combine import Weights


def make_row(number: int, item: str, reference: float, met: bool, anchored: float | None = None) -> Row:
    return Row(f"a{number}", item, {"reference": reference, "focus": 0.0}, anchored, met)


def test_without_evidence_that_varies_the_bias_is_the_log_odds() -> None:
    rows = [make_row(n, "i", 0.0, n < 30) for n in range(40)]
    weights = fit(rows, "result")
    assert weights.bias == pytest.approx(math.log(3), abs=0.005)
    assert weights.features == {"reference": 0.0, "focus": 0.0}


def test_one_measure_of_two_values_gives_the_log_odds_of_both_groups() -> None:
    # Saturated model without penalty: bias = logit(1/4), weight = logit(3/4) − logit(1/4) = 2 ln 3
    rows = [make_row(n, "i", 0.0, n % 4 == 0) for n in range(40)]
    rows += [make_row(40 + n, "i", 1.0, n % 4 != 0) for n in range(40)]
    weights = fit(rows, "result", penalty=0.0)
    assert weights.bias == pytest.approx(-math.log(3), abs=0.006)
    assert weights.features["reference"] == pytest.approx(2 * math.log(3), abs=0.006)


def test_a_measure_that_speaks_against_the_point_gets_no_weight() -> None:
    rows = [make_row(n, "i", float(n % 2), n % 2 == 0) for n in range(40)]
    assert fit(rows, "result").features["reference"] == 0.0


def test_a_slip_may_only_take_away() -> None:
    features = {"steps": 0.5, "own": 0.0}
    against = [Row(f"a{n}", "i", {**features, "slip": float(n % 2)}, None, n % 2 == 0) for n in range(40)]
    rewarded = [Row(f"a{n}", "i", {**features, "slip": float(n % 2)}, None, n % 2 == 1) for n in range(40)]
    assert fit(against, "reasoning").features["slip"] < -1
    assert fit(rewarded, "reasoning").features["slip"] == 0.0


def _noisy_rows(seed: int, count: int = 120) -> list[Row]:
    chance = random.Random(seed)
    rows = []
    for n in range(count):
        reference, focus, anchored = chance.random(), chance.random(), chance.gauss(0, 1)
        p = 1 / (1 + math.exp(-(-2 + 2.5 * reference + 1.5 * focus + 0.8 * anchored)))
        features = {"reference": reference, "focus": focus}
        rows.append(Row(f"a{n}", f"item {n % 6}", features, anchored, chance.random() < p))
    return rows


def test_a_fit_without_rounding_would_move_no_further() -> None:
    rows = _noisy_rows(5)
    found = fit(rows, "result")
    x = np.array([[1.0, r.anchored or 0.0, r.features["reference"], r.features["focus"]] for r in rows])
    y = np.array([float(r.met) for r in rows])
    pull = 0.008 * np.array([0, 1 / 8, 1, 1])
    slope = gradient(x, y, pull, np.array([found.bias, found.logit, *found.features.values()]))
    # Inside the bounds the slope is zero, up to coefficients of two decimals.
    assert min(found.logit, *found.features.values()) > 0
    assert float(np.abs(slope).max()) < 0.003


def test_an_encoders_measure_is_fitted_where_the_answers_have_it() -> None:
    rows = _noisy_rows(8, 60)
    with_it = [replace(r, features={**r.features, "near": float(r.met)}) for r in rows]
    assert fit(with_it, "result").features["near"] > 1
    assert "near" not in fit(rows, "result").features


def test_without_a_model_its_logit_has_no_weight() -> None:
    assert fit(_noisy_rows(3), "result", with_model=False).logit == 0.0


def test_answers_without_a_quote_are_never_met_and_not_fitted_on() -> None:
    weights = Weights(bias=5.0, logit=0.0, features={"reference": 1.0, "focus": 1.0})
    silent = Row("s", "i", {}, None, True)
    assert probability(weights, silent) == 0.0
    rows = _noisy_rows(4)
    assert fit(rows, "result") == fit([*rows, silent], "result")


def test_one_kind_of_label_cannot_be_fitted() -> None:
    with pytest.raises(ValueError, match="both kinds"):
        fit([make_row(n, "i", 0.5, True) for n in range(9)], "result")


def test_folds_keep_items_whole_and_do_not_depend_on_the_order() -> None:
    items = ["c", "a", "b", "a", "d", "e"]
    parts = folds(items, 2)
    assert parts == (("a", "c", "e"), ("b", "d"))
    assert folds(list(reversed(items)), 2) == parts
    assert folds(["a"], 10) == (("a",),)


def test_a_held_out_item_is_told_by_the_others_alone() -> None:
    # In item z all labels are turned round: coefficients that saw it would say otherwise.
    rows = [make_row(n, f"item {n % 4}", float(n % 8 < 4), n % 8 < 4) for n in range(64)]
    turned = [make_row(100 + n, "z", float(n % 2), n % 2 == 0) for n in range(40)]
    told = held_out([*rows, *turned], "result", 10)
    assert all(told[r.case_id] > 0.5 for r in turned if r.features["reference"])
    assert set(told) == {r.case_id for r in (*rows, *turned)}
    with pytest.raises(ValueError, match="two items"):
        held_out([r for r in rows if r.item == "item 0"], "result", 10)
