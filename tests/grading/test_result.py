"""The result by code: what the candidate asserts as the answer decides, not any number that happens to match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank.question import Question
from tests.grading.questions import make_question
from tutor.grading.result import grade_result

QUESTION = make_question()

RIGHT = [
    "300 ms, 1050 ms",
    "300 and 1050",
    "TTFT 300 ms, completion 1,050 ms",
    "0.3 s and 1.05 s",
    (
        "First token: 100+40+160 = 300 ms. 31 tokens leave 30 gaps, so completion is 300 + 30 × 25 = "
        "1,050 ms. If the queue doubles, TTFT becomes 400 ms and completion 1150 ms; ITL stays 25 ms."
    ),
    (
        "Queue 100 ms, prep 40 ms, prefill 160 ms, so the first token arrives at 300 ms. Then 30 gaps of "
        "25 ms = 750 ms, total 1050 ms."
    ),
    "three hundred milliseconds, and one thousand fifty milliseconds for completion",
    "first token and completion: 300 ms and 1050 ms",
    "300 ms for the first token and 1050 ms for completion.",
    "TTFT = 300 ms; E2E = TTFT + 30*25 = 1050 ms, not 1075 ms",
    "1075 ms? no, wait: 30 gaps, so 1050 ms. TTFT 300 ms.",
    "Completion = TTFT + 30*25 = 300 + 750 = 1050",
    "completion is 1050 ms after 300 ms TTFT",
    "It completes at 1.05 s; TTFT is 0.3 s.",
    "300ms/1050ms",
    (
        "First token at 300 ms. Multiplying by 31 would give 1075 ms, which is wrong; with 30 gaps the "
        "last token comes at 1050 ms."
    ),
    "$100+40+160=300$ ms and $300+30\\times 25=1050$ ms",
    "TTFT≈300 ms, E2E≈1.05 s",
    "The first token arrives after 100 ms + 40 ms + 160 ms = 300 ms and the last one 750 ms later at 1050 ms",
    "1. First token 300 ms\n2. Last 1050 ms",
    "| metric | value |\n| TTFT | 300 ms |\n| completion | 1,050 ms |",
    (
        "I got 300 ms to first token and completion takes 1050 ms. With the queue at 200 ms they would "
        "be 400 and 1150 ms."
    ),
    "first token 300 ms, complete 1050 ms, and doubling the queue makes it 400 ms and 1150 ms",
    "My answer: TTFT=.3s, done by 1.05s",
]
WRONG = [
    "300 ms, 1075 ms",
    "TTFT 160 ms, completion 1050 ms",
    "TTFT 1050 ms, completion 300 ms",
    "300 ms",
    "1050 ms",
    "TTFT 300 ms, completion 1050 or 1075 ms",
    "either 300 or 200 ms and 1050 ms",
    "300 s and 1050 s",
    "First token: 100+40+160 = 300 ms. completion is 300 + 31 × 25 = 1,075 ms.",
    "TTFT is 300 ms, completion is 1050 ms. Actually it is 1075 ms.",
    "The queue is 100 ms, prefill 160 ms, 31 tokens with 25 ms gaps.",
    "first token 300-400 ms, completion 1000-1100 ms",
    "not 300 ms and not 1050 ms",
    "TTFT 200 ms and completion 950 ms",
    "I'd use Prometheus",
    "completion is not 1050 ms; TTFT is 300 ms",
    "about 300 ms for TTFT; completion 300+30*25 = 1150 ms",
    "if it were 300 ms I would be surprised",
]


@pytest.mark.parametrize("answer", RIGHT)
def test_both_values_asserted_earn_the_point(completion_question: Question, answer: str) -> None:
    grade = grade_result(completion_question, answer)
    assert (grade.verdict, grade.decided_by) == ("met", "code")
    assert grade.quote is not None
    assert answer[grade.quote.start : grade.quote.end] == grade.quote.text


@pytest.mark.parametrize("answer", WRONG)
def test_wrong_missing_hedged_or_taken_back_values_earn_nothing(completion_question: Question, answer: str) -> None:
    assert grade_result(completion_question, answer).verdict == "not_met"


@pytest.mark.parametrize(
    ("answer", "slip"),
    [
        ("300 ms, 1075 ms", "n-gaps"),
        ("First token: 100+40+160 = 300 ms. Completion is 300 + 31 × 25 = 1,075 ms.", "n-gaps"),
        ("TTFT 160 ms, completion 1050 ms", "prefill-only"),
        ("TTFT 200 ms and completion 1050 ms", "no-queue"),
        ("TTFT is 300 ms, completion is 1050 ms. Actually it is 1075 ms.", "n-gaps"),
    ],
)
def test_a_known_slip_is_named_and_explained(completion_question: Question, answer: str, slip: str) -> None:
    grade = grade_result(completion_question, answer)
    assert (grade.verdict, grade.slip_id) == ("not_met", slip)
    diagnosis = next(s.diagnosis for s in completion_question.slips if s.id == slip)
    assert diagnosis in grade.reason


@pytest.mark.parametrize(
    "answer",
    [
        "TTFT is 300 ms. Completion is 1075 ms. Completion is 1050 ms.",
        "TTFT is 300 ms and completion is 1.050 ms",
    ],
)
def test_what_could_mean_two_things_is_asked_about(completion_question: Question, answer: str) -> None:
    assert grade_result(completion_question, answer).verdict == "unsure"


def test_a_wrong_unit_is_said_to_be_one(completion_question: Question) -> None:
    grade = grade_result(completion_question, "TTFT 300 s, completion 1050 s")
    assert grade.verdict == "not_met"
    assert "wrong unit" in grade.reason


def test_a_missing_value_is_named(completion_question: Question) -> None:
    assert grade_result(completion_question, "TTFT is 300 ms").reason == "No value is stated for completion time."


_TTFT = st.sampled_from(["300 ms", "0.3 s", "300ms", "three hundred ms", "３００ ms", "300.0 ms"])
_E2E = st.sampled_from(["1050 ms", "1,050 ms", "1.05 s", "1 050 ms", "one thousand and fifty milliseconds"])
_WRONG_E2E = st.sampled_from(["1075 ms", "1,075 ms", "1.075 s", "950 ms", "1.5 s", "750 ms", "10.5 s"])
_FRAME = st.sampled_from(
    [
        "{0}, {1}",
        "TTFT is {0} and completion is {1}.",
        "First token: {0}\nCompletion: {1}",
        "The last token comes at {1}; the first token came at {0}.",
        "The first token arrives after {0}, and it is complete after {1}.",
        "- TTFT = {0}\n- E2E = {1}",
        "Waiting, preprocessing and prefill give {0} to the first token. The answer is complete at {1}.",
    ]
)


@given(_FRAME, _TTFT, _E2E)
def test_right_values_in_any_frame_are_met(frame: str, ttft: str, e2e: str) -> None:
    assert grade_result(QUESTION, frame.format(ttft, e2e)).verdict == "met"


@given(_FRAME, _TTFT, _WRONG_E2E)
def test_no_frame_accepts_a_wrong_value(frame: str, ttft: str, e2e: str) -> None:
    assert grade_result(QUESTION, frame.format(ttft, e2e)).verdict != "met"


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    assert grade_result(QUESTION, text).verdict in {"met", "not_met", "unsure"}
