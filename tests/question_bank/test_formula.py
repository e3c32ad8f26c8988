"""The evaluator: arithmetic and nothing else."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank import FormulaError
from question_bank.formula import MAX_MAGNITUDE, evaluate, names_in


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("100 + 40 + 160", 300),
        ("300 + (31 - 1) * 25", 1050),
        ("-2 ** 2", -4),
        ("7 // 2 + 7 % 2", 4),
        ("2 ** 10", 1024),
        ("1 < 2", 1),
        ("1 < 2 < 2", 0),
        ("1 <= 2 <= 2", 1),
        ("1 == 1 and not 2 > 3", 1),
        ("0 or 0", 0),
        ("min(3, 1, 2) + max(3, 1, 2)", 4),
        ("ceil(8192 / 500) + floor(2.9)", 19),
        ("round(12.2222, 1)", 12.2),
        ("log2(4096)", 12),
        ("sum(1, 2, 3.5)", 6.5),
        ("abs(-4)", 4),
        ("queue_ms * 2", 200),
    ],
)
def test_arithmetic(formula: str, value: float) -> None:
    assert evaluate(formula, {"queue_ms": 100}) == pytest.approx(value)


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("1 / 0", "divides by zero"),
        ("1 % (2 - 2)", "divides by zero"),
        ("0 ** -1", "no value"),
        ("(-8) ** 0.5", "no real value"),
        ("2 ** 65", "exponent"),
        ("10 ** 18 * 10", "range"),
        ("9" * 400, "range"),
        ("queue + 1", "did you mean 'queue_ms'"),
        ("maxx(1)", "did you mean 'max'"),
        ("round(1, 2, 3)", "3 arguments"),
        ("round(1.5, 0.5)", "whole number"),
        ("log2(0)", "not positive"),
        ("", "empty"),
        ("1 +", "not an arithmetic"),
        ("1 + " * 200 + "1", "limit is 500"),
        ("-" * 60 + "1", "nested"),
        ("True", "only numbers"),
        ("'a'", "only numbers"),
        ("1j", "only numbers"),
        ("[1, 2]", "only numbers"),
        ("lambda: 1", "only numbers"),
        ("queue_ms.real", "only numbers"),
        ("queue_ms[0]", "only numbers"),
        ("__import__('os')", "not a known function"),
        ("max(*queue_ms)", "only numbers"),
        ("max(1, key=2)", "only numbers"),
        ("(max)(1)(2)", "only numbers"),
        ("1 if 1 else 2", "only numbers"),
        ("1 << 60", "only numbers"),
        ("1 in (1, 2)", "only numbers"),
        ("(x := 1)", "only numbers"),
        ("f'{1}'", "only numbers"),
        ("\x00", "not an arithmetic"),
    ],
)
def test_anything_else_is_a_clear_error(formula: str, says: str) -> None:
    with pytest.raises(FormulaError) as caught:
        evaluate(formula, {"queue_ms": 100.0})
    assert says in str(caught.value)


def test_names_without_functions() -> None:
    assert names_in("max(a, b) + c / max(1, a)") == {"a", "b", "c"}


def test_a_value_outside_the_bounds_is_refused_on_the_way_in() -> None:
    with pytest.raises(FormulaError, match="range"):
        evaluate("a", {"a": math.inf})


_PIECES = st.lists(
    st.sampled_from(
        [*"0123456789.+-*/%()<>=,[]{}'\"", "**", "//", "a", "b", "max", "log2", "round", " ", "__", "lambda", "9e9"]
    ),
    max_size=40,
).map("".join)


@given(st.one_of(_PIECES, st.text(max_size=60)), st.floats(), st.floats())
def test_any_text_gives_a_bounded_number_or_a_formula_error(formula: str, a: float, b: float) -> None:
    # Anything but FormulaError fails the test.
    with contextlib.suppress(FormulaError):
        value = evaluate(formula, {"a": a, "b": b})
        assert isinstance(value, float)
        assert abs(value) <= MAX_MAGNITUDE


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(1, 1000))
def test_agrees_with_python(a: int, b: int, c: int) -> None:
    values = {"a": a, "b": b, "c": c}
    assert evaluate("a + b * c - a // c + b % c", values) == a + b * c - a // c + b % c
