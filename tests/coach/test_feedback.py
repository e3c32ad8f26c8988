"""Feedback: one line a criterion, without praise, without the solution, without numbers of its own."""

from __future__ import annotations

import asyncio

import pytest

from question_bank import build_question
from tests.coach.coach_kit import EXERCISE, bank, endpoint, speaking
from tests.llm.faulty_server import FaultyServer, status
from tutor.coach.feedback import Comment, comment_of, feedback
from tutor.grading import grade_answer
from tutor.llm.errors import LlmError

ANSWER = "TTFT is 300 ms. It ends at 1,075 ms because 31 tokens come 25 ms apart."


def comments(server: FaultyServer, answer: str = ANSWER) -> list[Comment]:
    question = build_question(bank().item(EXERCISE), 0)

    async def go() -> list[Comment]:
        grade = await grade_answer(question, answer, endpoint=None, capabilities=None)
        return [each async for each in feedback(question, answer, grade, endpoint(server))]

    return asyncio.run(go())


def test_each_criterion_gets_its_line_as_it_comes() -> None:
    text = (
        "result: the answer multiplies by tokens where gaps are asked for.\n"
        "**reasoning**: it says what is added, not why the count is one less.\n"
        "- failure: nothing is said of a doubled queue.\nverification: no observation is named.\n"
    )
    with speaking(text) as server:
        found = comments(server)
    assert [each.criterion for each in found] == ["result", "reasoning", "failure", "verification"]
    assert found[1].text == "it says what is added, not why the count is one less."


@pytest.mark.parametrize(
    "line",
    [
        "result: 31 tokens leave 30 gaps.",
        "result: it should be 1,050 ms.",
        "result: 300 + 30*25 is what was asked for.",
        "result: on an A100 it takes 77 ms.",
        "result: Great work on the first token!",
        "result: you are right.",
        "This is a strong answer.",
        "grade: 4 of 4",
        "",
    ],
)
def test_what_gives_away_praises_or_is_made_up_is_dropped(line: str) -> None:
    with speaking(f"{line}\nfailure: the doubled queue is missing.\n") as server:
        found = comments(server)
    assert [each.criterion for each in found] == ["failure"]


def test_the_candidates_own_numbers_may_stand() -> None:
    with speaking("result: 1,075 ms counts one gap too many; 300 ms stands.\n") as server:
        assert len(comments(server)) == 1


def test_only_the_first_line_of_a_criterion_that_says_something_counts() -> None:
    with speaking("result: met.\nresult: the first one counts.\nresult: the second does not.\n") as server:
        assert [each.text for each in comments(server)] == ["the first one counts."]


def test_a_model_that_fails_raises_and_changes_nothing() -> None:
    with FaultyServer(status(500)) as server, pytest.raises(LlmError):
        comments(server)


@pytest.mark.parametrize(
    "text", ["result", "results: x", "the result: x", "verification - ", ": x", "result: met.", "failure: not met"]
)
def test_lines_of_another_form_and_bare_verdicts_are_none(text: str) -> None:
    assert comment_of(text) is None
