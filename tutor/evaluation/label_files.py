"""Two people's labels of the same answers, compared per criterion."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from rubrics import CRITERION_IDS, CriterionId
from rubrics.answer_gold import load_labels
from rubrics.number_gold import GoldError
from tutor.evaluation.cases import EvaluationError
from tutor.evaluation.figures import Agreement
from tutor.evaluation.summary import agreement


class Disagreement(BaseModel):
    """One criterion of one answer on which the two differ."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    criterion: CriterionId
    first_met: bool
    first_reason: str
    second_reason: str


class Compared(BaseModel):
    """Agreement of two label files; the first labeller stands where a grade is compared with labels."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shared: int
    only_one: int
    """Answers that only one of the files has."""
    criteria: dict[CriterionId, Agreement]
    differences: tuple[Disagreement, ...]


def compare_labels(first: Path, second: Path) -> Compared:
    """The second file's labels beside the first's; files or folders of our format, or lines of id and labels alone.

    Raises:
        EvaluationError: a line cannot be read, or no answer is in both.
    """
    try:
        a, b = load_labels(first), load_labels(second)
    except GoldError as error:
        raise EvaluationError(f"{error}.", hint='A line has the form {"id": …, "labels": {…}}.') from error
    both = sorted(set(a) & set(b))
    if not both:
        raise EvaluationError(f"{first} and {second} have no answer in common.", hint="The ids must be the same.")
    # An id is item, author and number, so that what stands before the author names the item.
    items = [one.rsplit("-", 1)[0] for one in both]
    criteria = {
        c: agreement([b[one].labels[c].met for one in both], [a[one].labels[c].met for one in both], items)
        for c in CRITERION_IDS
    }
    differences = tuple(
        Disagreement(
            id=one,
            criterion=c,
            first_met=a[one].labels[c].met,
            first_reason=a[one].labels[c].reason,
            second_reason=b[one].labels[c].reason,
        )
        for one in both
        for c in CRITERION_IDS
        if a[one].labels[c].met != b[one].labels[c].met
    )
    return Compared(shared=len(both), only_one=len(set(a) ^ set(b)), criteria=criteria, differences=differences)
