"""What the bank's own texts say is read as its own numbers: right ones as right, nearly right ones not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from question_bank import Question, build_question, load_bank
from tutor.grading import Verdict, grade_result


@cache
def questions() -> tuple[Question, ...]:
    """Each item that asks for numbers."""
    bank = load_bank()
    built = (build_question(item, 0) for lesson in bank.lessons for item in lesson.items)
    return tuple(q for q in built if q.expected and q.criteria)


def verdicts(which: str) -> Iterator[tuple[str, Verdict]]:
    for question in questions():
        guide = question.criteria["result"]
        text = {"reference": question.reference, "met": guide.met_example, "nearly": guide.nearly_example,
                "statement": guide.statement}[which]  # fmt: skip
        yield question.item_id, grade_result(question, text).verdict


@pytest.mark.parametrize(("which", "at_least"), [("reference", 0.93), ("met", 0.95), ("statement", 0.97)])
def test_right_texts_are_right(which: str, at_least: float) -> None:
    found = list(verdicts(which))
    assert sum(verdict == "met" for _, verdict in found) / len(found) >= at_least, [i for i, v in found if v != "met"]


def test_nearly_right_texts_are_not() -> None:
    # One item's nearly-met result states both numbers and draws the wrong conclusion from them.
    met = [item for item, verdict in verdicts("nearly") if verdict == "met"]
    assert met in ([], ["serving/capacity-cost/seats-and-goodput"])


def test_a_slip_in_the_place_of_the_right_value_is_not_right() -> None:
    for question in questions():
        for slip in question.slips:
            expected = question.expected_named(slip.expected)
            assert expected is not None
            if abs(slip.value - expected.value) <= expected.rel_tolerance * abs(expected.value):
                continue
            said = [
                f"{e.label}: {slip.value if e is expected else e.value:.6g} {slip.unit if e is expected else e.unit}"
                for e in question.expected
            ]
            assert grade_result(question, ". ".join(said) + ".").verdict != "met", (question.item_id, slip.id)
            assert grade_result(question, "; ".join(said)).verdict != "met", (question.item_id, slip.id)


def test_right_values_with_their_labels_are_right() -> None:
    wrong = []
    for question in questions():
        said = "\n".join(f"- {e.label}: {e.value:.6g} {e.unit}" for e in question.expected)
        if grade_result(question, said).verdict != "met":
            wrong.append(question.item_id)
    assert len(wrong) <= 0.05 * len(questions()), wrong
