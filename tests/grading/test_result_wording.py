"""Turns of phrase around values: what is asserted is read whichever of the values is the right one."""

from __future__ import annotations

import pytest

from question_bank.question import Question
from tests.grading.phrasings import ALONE, CONTRADICTED, CORRECTED, NOTHING, OFFERED, REJECTED, SUPPOSED
from tests.grading.questions import make_question
from tutor.grading.result import Found, grade_result, read_results

BOTH = make_question()
ONE = BOTH.model_copy(update={"expected": BOTH.expected[1:], "slips": BOTH.slips[:1]})
# x, y and z of the phrases, and y in ms: the right value as y, as x, and as neither
VALUES = [
    ("1,075 ms", "1,050 ms", "1,150 ms", 1050.0),
    ("1,050 ms", "1,075 ms", "1,150 ms", 1075.0),
    ("1.2 s", "1.05 s", "1.15 s", 1050.0),
    ("1050 ms", "1200 ms", "1150 ms", 1200.0),
]


def written(phrase: str, x: str, y: str, z: str) -> str:
    return phrase.replace("\\n", "\n").format(x=x, y=y, z=z)


def completion(question: Question, answer: str) -> Found:
    return read_results(question, answer)["e2e_ms"]


@pytest.mark.parametrize("phrase", [*ALONE, *REJECTED, *CORRECTED, *SUPPOSED])
def test_the_value_asserted_is_read_whatever_stands_beside_it(phrase: str) -> None:
    for x, y, z, value in VALUES:
        found = completion(ONE, written(phrase, x, y, z))
        assert found.kind == "value"
        assert found.values == pytest.approx((value,))


@pytest.mark.parametrize("phrase", OFFERED)
def test_several_on_offer_are_never_one(phrase: str) -> None:
    for x, y, z, _ in VALUES:
        answer = written(phrase, x, y, z)
        assert completion(ONE, answer).kind == "offered"
        assert grade_result(ONE, answer).verdict == "not_met"


@pytest.mark.parametrize("phrase", CONTRADICTED)
def test_two_values_that_nothing_tells_apart_are_asked_about(phrase: str) -> None:
    for x, y, z, _ in VALUES:
        grade = grade_result(ONE, written(phrase, x, y, z))
        assert grade.verdict == "unsure"
        assert grade.clarify is not None
        assert "completion time" in grade.clarify
        assert grade.clarify.endswith("?")


@pytest.mark.parametrize("phrase", NOTHING)
def test_what_is_denied_asked_or_reported_asserts_nothing(phrase: str) -> None:
    for x, y, z, _ in VALUES:
        assert completion(ONE, written(phrase, x, y, z)).kind == "none"


@pytest.mark.parametrize("frame", ["TTFT is 300 ms. {}", "TTFT = 300 ms\nCompletion: {}", "{}. First token: 300 ms."])
@pytest.mark.parametrize("phrases", [REJECTED, CORRECTED, OFFERED, CONTRADICTED, SUPPOSED])
def test_no_phrase_earns_the_point_for_a_value_that_it_does_not_assert(frame: str, phrases: list[str]) -> None:
    asserts = phrases not in (OFFERED, CONTRADICTED)
    for phrase in phrases:
        for x, y, z, value in VALUES:
            answer = frame.format(written(phrase, x, y, z))
            if not (asserts and value == 1050):
                assert grade_result(BOTH, answer).verdict != "met", answer


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("TTFT is 300 ms. Completion is 1,050 ms. Completion is 1,075 ms.",
         "Which is your final completion time: 1,050 ms or 1,075 ms?"),
        ("1050 ms and 300 ms", "Which of your values is the time to first token: 300 ms or 1050 ms?"),
    ],
)  # fmt: skip
def test_the_question_that_clarifies_names_the_quantity_and_the_values(answer: str, asked: str) -> None:
    grade = grade_result(BOTH, answer)
    assert (grade.verdict, grade.clarify) == ("unsure", asked)


@pytest.mark.parametrize("answer", ["300 ms, 1050 ms", "300 ms, 1075 ms", "not 300 ms"])
def test_only_what_is_unsure_is_asked_about(answer: str) -> None:
    assert grade_result(BOTH, answer).clarify is None
