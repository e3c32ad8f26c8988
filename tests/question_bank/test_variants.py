"""Drawing numbers and filling texts."""

from __future__ import annotations

import pytest

from question_bank import DrawError, FormulaError, build_question, format_number
from question_bank.variants import fill, fill_scenario
from tests.question_bank.bank_kit import exercise, item_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (300.0, "300"),
        (1050.0, "1,050"),
        (1_234_567, "1,234,567"),
        (0.25, "0.25"),
        (12.2222, "12.22"),
        (12.5, "12.5"),
        (3413.333, "3,413"),
        (123.456, "123.5"),
        (0.000123456, "0.0001235"),
        (-40.0, "-40"),
        (0.1 + 0.2, "0.3"),
        (1000.04, "1,000"),
    ],
)
def test_format_number(value: float, text: str) -> None:
    assert format_number(value) == text


def test_fill_takes_formulas_decimals_and_braces() -> None:
    assert fill("{a}, {a * 2}, {a / 3|1}, {{a}}", {"a": 1000}) == "1,000, 2,000, 333.3, {a}"
    with pytest.raises(FormulaError, match="decimals"):
        fill("{a|x}", {"a": 1})
    with pytest.raises(FormulaError, match="did you mean 'queue_ms'"):
        fill("{queu_ms}", {"queue_ms": 1})


def test_fill_scenario_keeps_whole_numbers_whole() -> None:
    template = {"a": "=x + 1", "b": ["=x / 4", "text", 3, None, True], "c": {"d": 0.5}}
    filled = fill_scenario(template, {"x": 2})
    assert filled == {"a": 3, "b": [0.5, "text", 3, None, True], "c": {"d": 0.5}}
    assert isinstance(filled, dict)
    assert isinstance(filled["a"], int)


def test_fill_scenario_keeps_nanoseconds() -> None:
    """A coefficient of 0.8 ns is small, not nothing."""
    assert fill_scenario({"per_pair_s": "=ns / 1000000000"}, {"ns": 0.8}) == {
        "per_pair_s": pytest.approx(8e-10, rel=1e-12)
    }
    assert fill_scenario(["=a - a", "=3 * 0.1 / 0.1"], {"a": 0.8}) == [0, 3]


def test_the_same_seed_gives_the_same_question() -> None:
    item = item_of(exercise())
    assert build_question(item, 7) == build_question(item, 7)
    assert build_question(item, -3).parameters != {}


def test_seed_zero_gives_the_defaults() -> None:
    question = build_question(item_of(exercise()), 0)
    assert question.parameters == {"wait_ms": 100, "work_ms": 30}
    assert question.expected[0].value == 130


def test_draws_keep_constraints() -> None:
    item = item_of(exercise(constraints=["wait_ms > 3 * work_ms"]))
    for seed in range(100):
        values = build_question(item, seed).parameters
        assert values["wait_ms"] > 3 * values["work_ms"]


def test_constraints_that_cannot_be_kept_end_after_bounded_tries() -> None:
    item = item_of(exercise(constraints=["wait_ms < 0 or wait_ms == 100"]))
    build_question(item, 0)
    with pytest.raises(DrawError, match="no values found"):
        build_question(item_of(exercise(constraints=["wait_ms == 100 and work_ms == 31"], work=31)), 1)


def test_defaults_that_break_a_constraint_are_an_error() -> None:
    with pytest.raises(DrawError, match="defaults break"):
        build_question(item_of(exercise(constraints=["wait_ms > 100"])), 0)


def test_a_range_includes_both_ends() -> None:
    drawn = {build_question(item_of(exercise()), seed).parameters["wait_ms"] for seed in range(1, 300)}
    assert drawn == {80, 100, 120}
