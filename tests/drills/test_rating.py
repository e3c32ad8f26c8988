"""From a grade to a rating: the whole rule as a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics.schema import CRITERION_IDS, CriterionId
from tutor.drills import Rating, rating_from_choice, rating_from_grade, rating_from_self_mark
from tutor.drills.rating import Verdict

WORDS: dict[str, Verdict] = {"m": "met", "n": "not_met", "u": "unsure", "-": "not_graded"}


def verdicts(letters: str) -> dict[CriterionId, Verdict]:
    """Result, reasoning, failure, verification as m, n, u or -."""
    return {criterion: WORDS[letter] for criterion, letter in zip(CRITERION_IDS, letters, strict=True)}


@pytest.mark.parametrize(
    ("letters", "confidence", "hints", "rating"),
    [
        ("mmmm", 3, 0, 4),
        ("mmmm", 2, 0, 3),
        ("mmmm", None, 0, 3),
        ("mmmm", 1, 0, 2),
        ("mmmm", 3, 1, 3),
        ("mmmm", 3, 2, 2),
        ("mmmn", 3, 0, 3),
        ("mmnn", 3, 0, 2),
        ("mnnn", 3, 0, 2),
        # What the grader left open is neither for nor against.
        ("mmmu", 3, 0, 3),
        ("m---", 3, 0, 3),
        ("m---", 1, 0, 2),
        ("munn", 3, 0, 2),
        # A wrong result is a failure, whatever else is right.
        ("nmmm", 3, 0, 1),
        ("nmmm", 1, 0, 1),
        ("nnnn", 2, 4, 1),
        ("n---", 3, 0, 1),
        # Not decided: it counts for nothing.
        ("ummm", 3, 0, None),
        ("-mmm", 3, 0, None),
        ("----", None, 0, None),
    ],
)
def test_the_rule(letters: str, confidence: int | None, hints: int, rating: int | None) -> None:
    outcome = rating_from_grade(verdicts(letters), confidence=confidence, hints=hints)
    assert outcome.rating == rating
    assert outcome.right == (None if rating is None else rating > 1)
    assert outcome.reason.endswith(".")


drawn = st.text("mnu-", min_size=4, max_size=4)


@given(drawn, st.sampled_from([None, 1, 2, 3]), st.integers(0, 4))
def test_again_is_exactly_a_wrong_result(letters: str, confidence: int | None, hints: int) -> None:
    rating = rating_from_grade(verdicts(letters), confidence=confidence, hints=hints).rating
    assert (rating is Rating.AGAIN) == (letters[0] == "n")
    assert (rating is None) == (letters[0] in "u-")


@given(drawn, st.integers(1, 3), st.integers(0, 3), st.sampled_from([1, 2, 3]))
def test_meeting_more_never_lowers_and_a_hint_never_raises_it(
    letters: str, confidence: int, hints: int, index: int
) -> None:
    rating = rating_from_grade(verdicts(letters), confidence=confidence, hints=hints).rating
    better = letters[:index] + "m" + letters[index + 1 :]
    with_more = rating_from_grade(verdicts(better), confidence=confidence, hints=hints).rating
    hinted = rating_from_grade(verdicts(letters), confidence=confidence, hints=hints + 1).rating
    if rating is None:
        assert with_more is None
        assert hinted is None
    else:
        assert with_more is not None
        assert hinted is not None
        assert hinted <= rating <= with_more


def test_what_the_candidate_says_counts_and_is_marked() -> None:
    contested = rating_from_grade(verdicts("mmmm"), confidence=2, marked={"result": "contested", "failure": "self"})
    assert (contested.rating, contested.marked) == (Rating.GOOD, "contested")
    assert rating_from_grade(verdicts("mmmm"), marked={"failure": "self"}).marked == "self"
    assert rating_from_grade(verdicts("mmmm")).marked == ""


@pytest.mark.parametrize(("confidence", "rating"), [(1, 2), (2, 3), (3, 3), (None, 3)])
def test_a_chosen_option_can_be_guessed_so_it_is_never_easy(confidence: int | None, rating: int) -> None:
    assert rating_from_choice(True, confidence=confidence).rating == rating
    assert rating_from_choice(False, confidence=confidence).rating is Rating.AGAIN


@pytest.mark.parametrize(
    ("mark", "hints", "rating"),
    [("missed", 0, 1), ("partly", 0, 2), ("well", 0, 3), ("easily", 0, 4), ("easily", 2, 2)],
)
def test_a_recall_is_rated_as_its_candidate_marks_it(mark: str, hints: int, rating: int) -> None:
    outcome = rating_from_self_mark(mark, hints=hints)
    assert (outcome.rating, outcome.marked) == (rating, "self")


def test_an_unknown_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="perfectly"):
        rating_from_self_mark("perfectly")
