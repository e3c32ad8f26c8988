"""Evidence: measured in sentences, with a quote that stands in the answer; lists and headings earn nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank.question import Question
from rubrics import CriterionId
from tests.grading.questions import make_question
from tutor.grading.combine import load_combiner
from tutor.grading.evidence import FEATURES, find_evidence, quote_stands
from tutor.grading.evidence_words import says_something
from tutor.grading.models import CRITERIA

QUESTION = make_question()


def test_right_steps_are_counted_and_quoted(completion_question: Question) -> None:
    answer = "100 + 40 + 160 = 300 ms. 31 tokens leave 30 gaps, so 30 × 25 = 750 ms follow. I like it."
    evidence = find_evidence(completion_question, answer, "reasoning")
    assert evidence.features["steps"] == 1.0
    assert evidence.quote is not None
    assert "750 ms follow" in evidence.quote.text


def test_a_wrong_equation_is_no_step(completion_question: Question) -> None:
    answer = "100 + 40 + 160 = 400 ms, and 28 × 25 = 800 ms."
    assert find_evidence(completion_question, answer, "reasoning").features["steps"] == 0


def test_a_known_slip_counts_against_the_reasoning(completion_question: Question) -> None:
    answer = "First token 100 + 40 + 160 = 300 ms, and 300 + 31 × 25 = 1075 ms for completion."
    assert find_evidence(completion_question, answer, "reasoning").features["slip"] == 1


def test_a_measurement_with_a_refuting_outcome(completion_question: Question) -> None:
    answer = "300 ms. I would log the queue time; if it stayed flat while TTFT grew, I would be wrong."
    evidence = find_evidence(completion_question, answer, "verification")
    assert (evidence.features["measure"], evidence.features["refute"]) == (1, 1)
    assert evidence.note == "names a measurement and an outcome that would refute"
    assert evidence.quote is not None
    assert "wrong" in evidence.quote.text


def test_a_dashboard_is_a_measurement_without_an_outcome(completion_question: Question) -> None:
    evidence = find_evidence(completion_question, "I would watch the queue time on the dashboard.", "verification")
    assert (evidence.features["measure"], evidence.features["refute"]) == (1, 0)


def test_the_failures_effect_and_size(completion_question: Question) -> None:
    answer = "If the queue doubles, first token and completion rise by 100 ms, while the gaps stay the same."
    features = find_evidence(completion_question, answer, "failure").features
    assert features["effect"] == 1
    assert features["size"] == 0  # one of the two sizes, read around one half
    assert features["against"] == 0


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    "answer",
    [
        "300 ms, 1050 ms",
        "Prefill, decode, queue, TTFT, ITL, gaps, measure, refute, wrong, because, therefore, histogram",
        "Result: computed. Reasoning: shown step by step. Failure case: identified. Verification: given.",
        "queue gaps first token completion measured separately unchanged late explanation wrong multiplied added",
    ],
)
def test_lists_and_headings_carry_no_evidence(
    completion_question: Question, criterion: CriterionId, answer: str
) -> None:
    evidence = find_evidence(completion_question, answer, criterion)
    strongest = load_combiner().probability(criterion, evidence.features, 4.0)
    assert evidence.quote is None or strongest < 0.5


@pytest.mark.parametrize(
    "answer",
    [
        "If the measurement disproves the answer then the answer is wrong and I would reject it.",
        "I would measure it and if it were different I would be wrong.",
        "It is as expected. If it is not as expected then it is wrong, and I would check the log.",
        "The reasoning is shown because it follows, therefore it is correct, since the steps are clear.",
        "I have identified the failure case and named a verification that could disprove the answer.",
    ],
)
@pytest.mark.parametrize("criterion", ["reasoning", "failure", "verification"])
def test_talk_that_fits_every_question_earns_nothing_whatever_the_model_says(
    completion_question: Question, criterion: CriterionId, answer: str
) -> None:
    evidence = find_evidence(completion_question, answer, criterion)
    assert evidence.quote is None or load_combiner().probability(criterion, evidence.features, 1.0) < 0.5


def test_the_pasted_question_carries_none(completion_question: Question) -> None:
    assert find_evidence(completion_question, completion_question.prompt, "failure").quote is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("The queue adds 100 ms to both.", True),
        ("I'd log the queue time.", True),
        ("Failure case: doubled queue", False),
        ("TTFT, ITL, E2E, gaps, percentiles", False),
        ("queue", False),
    ],
)
def test_what_is_a_statement(line: str, says: bool) -> None:
    assert says_something(line) is says


@given(st.text(max_size=200), st.sampled_from(CRITERIA))
def test_any_text_gives_bounded_measures_and_a_true_quote(answer: str, criterion: CriterionId) -> None:
    evidence = find_evidence(QUESTION, answer, criterion)
    assert tuple(sorted(evidence.features)) == tuple(sorted(FEATURES[criterion]))
    assert all(-0.5 <= v <= 1.5 for v in evidence.features.values())
    assert evidence.quote is None or quote_stands(evidence.quote, answer)
