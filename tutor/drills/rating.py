"""From an outcome to one of the four ratings, by a fixed rule.

    the result is wrong ............................... Again
    the result is not decided ......................... no rating: it counts for nothing
    right, and two hints or more, or two of the other
      three criteria missed, or said "not yet" before .. Hard
    right with all three other criteria, no hint, and
      said "confident" before ......................... Easy
    right otherwise ................................... Good

Choosing among options and giving a number alone say nothing about the other criteria, so they are never Easy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from rubrics.schema import CRITERION_IDS, CriterionId
from tutor.drills.events import Marked
from tutor.drills.memory import Rating

Verdict = Literal["met", "not_met", "unsure", "not_graded"]
OTHERS: Final[tuple[CriterionId, ...]] = tuple(each for each in CRITERION_IDS if each != "result")
HARD_FROM_HINTS: Final = 2
HARD_FROM_MISSED: Final = 2
SELF_MARKS: Final[Mapping[str, Rating]] = {
    "missed": Rating.AGAIN,
    "partly": Rating.HARD,
    "well": Rating.GOOD,
    "easily": Rating.EASY,
}
"""What a candidate may say of a recall after reading the reference."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a presentation went."""

    rating: Rating | None
    """None: it counts for nothing."""
    right: bool | None
    reason: str
    """One sentence."""
    marked: Marked = ""


def rating_from_grade(
    verdicts: Mapping[CriterionId, Verdict],
    *,
    confidence: int | None = None,
    hints: int = 0,
    marked: Mapping[CriterionId, Literal["self", "contested"]] | None = None,
) -> Outcome:
    """The outcome of a graded answer.

    Args:
        verdicts: per criterion the verdict that counts, the candidate's own before the grader's. What is missing is
            not graded.
        confidence: 1 to 3, stated before the grade.
        hints: how many were taken before the answer.
        marked: the criteria whose verdict is the candidate's.
    """
    by: Marked = ""
    if marked:
        by = "contested" if "contested" in marked.values() else "self"
    result = verdicts.get("result", "not_graded")
    if result not in ("met", "not_met"):
        why = "the result could not be decided" if result == "unsure" else "the result was not graded"
        return Outcome(None, None, f"Not counted: {why}.", by)
    if result == "not_met":
        return Outcome(Rating.AGAIN, False, "The result is wrong.", by)
    missed = sum(verdicts.get(each) == "not_met" for each in OTHERS)
    met = sum(verdicts.get(each) == "met" for each in OTHERS)
    rating, reason = _right(missed, met, confidence, hints)
    return Outcome(rating, True, reason, by)


def rating_from_choice(right: bool, *, confidence: int | None = None, hints: int = 0) -> Outcome:
    """The outcome of a chosen option, or of numbers given without an explanation."""
    if not right:
        return Outcome(Rating.AGAIN, False, "The answer is wrong.")
    rating, reason = _right(0, 0, confidence, hints)
    return Outcome(rating, True, reason)


def rating_from_self_mark(mark: str, *, hints: int = 0) -> Outcome:
    """The outcome of a recall that the candidate has held against the reference.

    Raises:
        ValueError: the mark is none of `SELF_MARKS`.
    """
    if mark not in SELF_MARKS:
        raise ValueError(f"{mark!r} is none of {', '.join(SELF_MARKS)}")
    rating = SELF_MARKS[mark]
    if hints >= HARD_FROM_HINTS:
        rating = min(rating, Rating.HARD)
    return Outcome(rating, rating is not Rating.AGAIN, f"You marked it: {mark}.", "self")


def _right(missed: int, met: int, confidence: int | None, hints: int) -> tuple[Rating, str]:
    if hints >= HARD_FROM_HINTS:
        return Rating.HARD, f"Right, with {hints} hints."
    if missed >= HARD_FROM_MISSED:
        return Rating.HARD, f"The result is right; {missed} of the other criteria are missing."
    if confidence == 1:
        return Rating.HARD, "Right, though you were not sure of it."
    if met == len(OTHERS) and hints == 0 and confidence == 3:
        return Rating.EASY, "Right in everything, without a hint, and you were sure."
    return Rating.GOOD, "Right."
