"""Marking an answer without a model: an option, numbers, a prediction. Self-marked recalls need nothing here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tutor.drills.events import Mode
from tutor.drills.log import DrillError
from tutor.drills.rating import Outcome, rating_from_choice

if TYPE_CHECKING:
    from question_bank import Question
    from question_bank.question import ItemKind

QUICK_MODE: Final[Mapping[ItemKind, Mode]] = {
    "checkpoint": "checkpoint",
    "exercise": "numbers",
    "prediction": "prediction",
    "recall": "recall",
    "probe": "recall",
}
"""How an item of each kind is asked quickly; a probe is recalled and held against its reference."""


def mark_choice(question: Question, option_id: str, *, confidence: int | None, hints: int = 0) -> Outcome:
    """The outcome of choosing an option.

    Raises:
        DrillError: the question has no such option.
    """
    option = question.option(option_id)
    if option is None:
        raise DrillError(f"This question has no option {option_id}.", hint="Choose one that is shown.")
    return rating_from_choice(option.correct, confidence=confidence, hints=hints)


def mark_numbers(question: Question, answer: str, *, confidence: int | None, hints: int = 0) -> Outcome:
    """The outcome of giving the numbers alone: code reads and decides them, with the diagnosis of a known slip.

    Raises:
        DrillError: the question asks for no number.
    """
    from tutor.grading.result import grade_result

    if not question.expected:
        raise DrillError(f"{question.item_id} asks for no number.", hint="Recall it, or answer it in full.")
    if not answer.strip():
        return rating_from_choice(False)
    grade = grade_result(question, answer)
    if grade.verdict not in ("met", "not_met"):
        return Outcome(None, None, f"Not counted: {grade.reason}")
    outcome = rating_from_choice(grade.verdict == "met", confidence=confidence, hints=hints)
    return outcome if outcome.right else Outcome(outcome.rating, False, grade.reason)


def mark_prediction(
    question: Question,
    predicted: Mapping[str, float],
    found: Mapping[str, float | None] | None = None,
    *,
    confidence: int | None,
) -> Outcome:
    """The outcome of predicted values, within each result's tolerance.

    Args:
        question: says which values and how near they have to be.
        predicted: by name of the expected result, in its unit.
        found: what the simulator gave, where it ran; the reference's value counts otherwise.
        confidence: 1 to 3.

    Raises:
        DrillError: a value is missing.
    """
    missing = [each.label for each in question.expected if each.name not in predicted]
    if missing or not question.expected:
        raise DrillError(
            f"There is no prediction of {missing[0]}." if missing else f"{question.item_id} asks for no number.",
            hint="Give a number for each.",
        )
    off: list[str] = []
    for each in question.expected:
        given = (found or {}).get(each.name)
        true = each.value if given is None else given
        if abs(predicted[each.name] - true) > each.rel_tolerance * abs(true):
            off.append(f"{each.label} is {true:,.4g} {each.unit}, not {predicted[each.name]:,.4g}")
    outcome = rating_from_choice(not off, confidence=confidence)
    return Outcome(outcome.rating, False, f"{'; '.join(off)}.") if off else outcome
