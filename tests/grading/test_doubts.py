"""Sentences that state, deny, ask, report or leave open; and how denials in unknown words are taken."""

from __future__ import annotations

import pytest

from question_bank.question import Question
from tutor.grading import grade_result
from tutor.grading.doubts import stance


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The gaps do not change, because no queue lies between two tokens.", "stated"),
        ("If the queue stays flat, my explanation is wrong.", "stated"),
        ("I would log the queue and see how it grows.", "stated"),
        ("It is not true that a longer queue delays the first token.", "denied"),
        ("I do not believe that the gaps stay.", "denied"),
        ("A longer queue delays the first token, which is wrong.", "denied"),
        ("Somebody might say that the gaps stay.", "reported"),
        ("People often think that prefill is to blame.", "reported"),
        ("Do the gaps stay?", "asked"),
        ("I don't know what happens to the gaps.", "unknown"),
    ],
)
def test_what_a_sentence_does(sentence: str, expected: str) -> None:
    assert stance(sentence) == expected


@pytest.mark.parametrize(
    "said",
    [
        "I refuse to believe that it completes at {}.",
        "It surely does not complete at {}.",
        "That it completes at {} is a fairy tale.",
        "A completion of {} is out of the question.",
        "Nobody could seriously defend {} as the completion time.",
        "It would be ridiculous to say {}.",
        "Whether it completes at {} remains to be seen.",
        "The one before me answered {}.",
    ],
)
def test_a_denial_in_whatever_words_earns_nothing(completion_question: Question, said: str) -> None:
    answer = f"The first token arrives at 300 ms. {said.format('1,050 ms')}"
    assert grade_result(completion_question, answer).verdict != "met"


def test_a_retraction_without_another_value_is_asked_about(completion_question: Question) -> None:
    answer = "First token 300 ms, completion 1,050 ms. On second thought I take that back."
    assert grade_result(completion_question, answer).verdict == "unsure"


def test_a_condition_is_no_retraction(completion_question: Question) -> None:
    answer = "First token 300 ms, completion 1,050 ms. If a trace says otherwise, I take it back."
    assert grade_result(completion_question, answer).verdict == "met"
