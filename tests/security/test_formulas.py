"""Formulas of a pack are arithmetic: whatever is written, evaluating it ends at once and runs nothing."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank.errors import FormulaError
from question_bank.formula import FUNCTIONS, MAX_LENGTH, MAX_MAGNITUDE, evaluate

LIMIT_S = 0.5

EXPLOSIVE = {
    "towers": "9**9**9",
    "towers, hidden": "(9**9)**(9**9)",
    "a square of a square of": "(" * 20 + "99" + ")**64" * 20,
    "factors": "*".join(["999999999"] * 40),
    "many digits": "9" * 400,
    "shifts": "1 << 9999999",
    "nesting": "(1+" * 100 + "1" + ")" * 100,
    "signs": "-" * 400 + "1",
    "calls inside calls": "min(" * 60 + "1" + ")" * 60,
    "too long": "1+" * MAX_LENGTH + "1",
    "a loop": "sum(x for x in range(10**9))",
    "a list": "[1] * 10**9",
    "a text": "'a' * 10**9",
    "a function of Python": "__import__('os').system('true')",
    "an attribute": "(1).__class__",
    "an index": "min[0]",
    "a lambda": "(lambda: 1)()",
    "an assignment": "(x := 1)",
    "a star": "max(*[1])",
    "a keyword": "round(1, ndigits=2)",
    "text in braces": "f'{1}'",
    "no numbers": "1e999 - 1e999",
    "nothing over nothing": "0 / 0",
    "imaginary": "(0 - 1) ** 0.5",
    "round to far": "round(1, 999999999)",
    "a NUL": "1\0",
}


@pytest.mark.parametrize("formula", EXPLOSIVE.values(), ids=EXPLOSIVE)
def test_a_formula_that_explodes_is_refused_at_once(formula: str) -> None:
    began = time.perf_counter()
    with pytest.raises(FormulaError):
        evaluate(formula, {"x": 1.0})
    assert time.perf_counter() - began < LIMIT_S


_NUMBERS = st.sampled_from(["0", "1", "9", "64", "0.5", "1e18", "x", "999999999"])
_FORMULAS = st.recursive(
    _NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "<", " and ", " or "]), inner).map(
            lambda parts: f"({''.join(parts)})"
        ),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, min_size=1, max_size=3)).map(
            lambda call: f"{call[0]}({','.join(call[1])})"
        ),
        inner.map(lambda part: f"-{part}"),
    ),
    max_leaves=12,
)


@given(_FORMULAS)
def test_any_formula_gives_a_bounded_number_or_a_sentence(formula: str) -> None:
    try:
        value = evaluate(formula, {"x": 3.0})
    except FormulaError:
        return
    assert isinstance(value, float)
    assert math.isfinite(value)
    assert abs(value) <= MAX_MAGNITUDE
