"""Which numbers a sentence of the tutor may hold, on the exercise with 300 and 1,050 ms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank import Question, build_question, load_bank
from tutor.coach.figures import Figures, has_numbers, without_numbers


@pytest.fixture(scope="module")
def question() -> Question:
    return build_question(load_bank().item("serving/prefill-decode/completion-time"), 0)


@pytest.mark.parametrize(
    "sentence",
    [
        "The first token arrives after 300 ms.",
        "It ends at 1,050 ms.",
        "It ends at 1.05 s.",
        "After a bit more than a second: 1050.",
        "one thousand fifty milliseconds",
        "1 049 ms",
        "You add 100 + 40 + 160 and are done.",
        "31 tokens leave 30 gaps.",
        "The decode part lasts 30 × 25 ms.",
        "300 + 30*25",
        "０.3 s",
        "\\frac{1050}{1000} s, that is 1.05 s",
    ],
)
def test_results_steps_and_sums_that_come_to_them_give_away(question: Question, sentence: str) -> None:
    assert Figures(question).gives_away(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The queue lasts 100 ms and preprocessing 40 ms.",
        "31 tokens come 25 ms apart.",
        "Think of what happens before the first token, and count the gaps, not the tokens.",
        "A queue of 200 ms would be twice as long.",
    ],
)
def test_what_the_question_says_gives_nothing_away(question: Question, sentence: str) -> None:
    assert not Figures(question).gives_away(sentence)


def test_the_candidates_own_numbers_may_be_repeated(question: Question) -> None:
    assert not Figures(question).gives_away("The answer states 1,050 ms.", ("I get 1050 ms",))
    assert Figures(question).gives_away("The answer states 1,050 ms, and 300 ms first.", ("I get 1050 ms",))


def test_numbers_that_are_nobodys_are_found(question: Question) -> None:
    figures = Figures(question, ("my guess is 1075 ms",))
    unknown = figures.unknown("31 tokens and 30 gaps give 1,050 ms; you had 1,075 ms, and vLLM would take 850 ms.")
    assert [read.text for read in unknown] == ["850 ms"]


@given(st.text(max_size=80))
def test_no_digit_of_any_script_passes(text: str) -> None:
    assert not any(char.isdigit() for char in without_numbers(text))


@pytest.mark.parametrize("text", ["1050", "one thousand fifty", "is it ３００?", "about 1.05e3", "thirty gaps", "²"])
def test_numbers_in_any_dress_are_seen(text: str) -> None:
    assert has_numbers(text)
    assert "thousand" not in without_numbers(text)
