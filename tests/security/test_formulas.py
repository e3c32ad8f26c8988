"""Formulas of a pack are arithmetic: whatever is written, evaluating it ends at once and runs nothing."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank import load_bank
from question_bank.errors import BankError, DrawError, FormulaError
from question_bank.formula import FUNCTIONS, MAX_LENGTH, MAX_MAGNITUDE, evaluate
from question_bank.schema_items import Exercise
from question_bank.variants import build_question
from tests.question_bank.bank_kit import exercise, lesson, write_pack

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


ENDLESS: dict[str, dict[str, Any]] = {
    "a range of a thousand billion": {"range": [0, 1e12], "step": 0.001},
    "steps of next to nothing": {"range": [80, 120], "step": 1e-300},
}


@pytest.mark.parametrize("range_", ENDLESS.values(), ids=ENDLESS)
def test_a_parameter_with_endless_values_is_refused(range_: dict[str, Any], tmp_path: Path) -> None:
    parameters = exercise()["parameters"]
    parameters["wait_ms"] = {"label": "wait", "unit": "ms", "default": 100, **range_}
    with pytest.raises(BankError, match="steps"):
        item_in(tmp_path, parameters=parameters)


def test_a_draw_that_can_never_succeed_ends(tmp_path: Path) -> None:
    began = time.perf_counter()
    with pytest.raises(DrawError, match="no values found"):
        build_question(item_in(tmp_path, constraints=["wait_ms > 1000"]), 3)
    assert time.perf_counter() - began < 4 * LIMIT_S


def item_in(folder: Path, **changes: Any) -> Exercise:
    """The only exercise of a pack that holds nothing else."""
    write_pack(folder, lesson(exercise(**changes)))
    item = load_bank([folder], built_in=False).item("tiny/lesson/sum")
    assert isinstance(item, Exercise)
    return item


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
