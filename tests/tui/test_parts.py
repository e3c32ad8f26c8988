"""The pure parts: keys, words, numbers, and foreign text made safe."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from question_bank import Bank, build_question
from tests.tui.conftest import EXERCISE, FULL_ANSWER
from tutor.checking import run_checks, stated_values
from tutor.grading import CriterionGrade, Quote
from tutor.text import unmarked
from tutor.tui.bindings import KEYS, bindings, key_for
from tutor.tui.model_state import short_model
from tutor.tui.safe import plain
from tutor.tui.words import ago, clip_cells, criterion_content, number, parse_number, total_words

# What tmux and plain terminals turn into something else.
LOST_KEYS = {"ctrl+enter", "alt+enter", "shift+enter", "ctrl+i", "ctrl+m", "ctrl+h", "ctrl+j", "ctrl+["}


def test_every_key_has_an_id_of_its_own_a_sentence_and_a_group() -> None:
    assert len({key.id for key in KEYS}) == len(KEYS)
    for key in KEYS:
        assert key.tooltip.endswith(".")
        assert key.group
        assert key.label
        assert not LOST_KEYS & set(key.keys.split(","))


def test_a_live_binding_leads_back_to_its_entry() -> None:
    for binding in bindings("submit", "confidence-1", "next-section"):
        assert not isinstance(binding, tuple)
        key = key_for(binding)
        assert key is not None
        assert binding.key in key.keys.split(",")


@given(st.text(), st.integers(20, 160))
def test_a_criterion_fits_its_width_whatever_the_answer_held(text: str, width: int) -> None:
    quote = Quote(text=text, start=0, end=len(text))
    grade = CriterionGrade(
        criterion="verification", verdict="unsure", decided_by="evidence", quote=quote, reason="names no outcome"
    )
    content = criterion_content(grade, width)
    assert "\x1b" not in content.plain
    assert content.plain.startswith("? verification")
    if width >= 60:
        assert cell_len(content.plain.split("\n")[0]) <= width


@given(st.text(), st.integers(1, 50))
def test_clipped_text_is_never_wider_than_asked(text: str, cells: int) -> None:
    assert cell_len(clip_cells(text.replace("\n", " "), cells)) <= cells


def test_totals_count_what_is_open() -> None:
    assert total_words(["met", "met", "not_met", "unsure"]) == "2 of 4 · 1 unsure"
    assert total_words(["met", "not_graded", "not_graded", "unsure"]) == "1 of 4 · 1 unsure · 2 not graded"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s ago"), (59, "59 s ago"), (60, "1 minute ago"), (7200, "2 hours ago")]
)
def test_ages_are_told_in_one_unit(seconds: int, words: str) -> None:
    now = datetime(2025, 1, 2, tzinfo=UTC)
    assert ago(now - timedelta(seconds=seconds), now) == words


def test_numbers_have_no_idle_zeros() -> None:
    assert number(1050.0, "ms") == "1,050 ms"
    assert number(0.125) == "0.125"
    assert number(26.0) == "26"


@pytest.mark.parametrize(
    ("typed", "value"), [("1,050", 1050.0), (" 300 ", 300.0), ("", None), ("[/]", None), ("nan", None), ("inf", None)]
)
def test_predictions_are_read_as_people_type_them(typed: str, value: float | None) -> None:
    assert parse_number(typed) == value


def test_model_names_are_short() -> None:
    assert short_model("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf") == "qwen2.5-coder-1.5b"
    assert short_model("Qwen/Qwen3-14B-AWQ") == "Qwen3-14B"
    assert short_model("qwen3:8b") == "qwen3:8b"


def test_markdown_becomes_plain_paragraphs() -> None:
    assert unmarked("**One** two\nthree `x`\n\n1. a\n2. b\n300 ms") == "One two three x\n\n1. a\n2. b 300 ms"


def test_foreign_text_is_never_markup() -> None:
    assert plain("a[/]b \x1b[31mred list[int]").plain == "a[/]b red list[int]"


def test_stated_values_are_in_the_units_asked_for(bank: Bank) -> None:
    question = build_question(bank.item(EXERCISE), 0)
    assert stated_values(question, FULL_ANSWER) == {"ttft": 300.0, "completion": 1050.0}
    assert stated_values(question, "TTFT is 0.3 s")["ttft"] == pytest.approx(300)
    assert stated_values(question, "") == {}


def test_the_simulator_agrees_with_every_reference_that_has_a_check(bank: Bank) -> None:
    for item in bank.items:
        question = build_question(item, 0)
        if question.simulation is None:
            continue
        run = run_checks(question, {})
        checked = {check.expected for check in question.simulation.checks}
        tolerances = {expected.name: expected.rel_tolerance for expected in question.expected}
        for value in run.values:
            if value.name in checked:
                # A formula may leave out what the engine does not, such as a context that grows by a token.
                tolerance = max(1e-6, tolerances.get(value.name, 0.0))
                assert value.simulated == pytest.approx(value.reference, rel=tolerance), (item.id, value.name)
        assert re.search("[a-z]", run.note)
