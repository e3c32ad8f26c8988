"""Having an answer graded from a screen: waits for the model, then asks the domain."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from question_bank import Question
    from tutor.grading import CriterionGrade, Grade
    from tutor.interview import Mark
    from tutor.tui.app import TutorApp


async def grade_in(
    app: TutorApp, question: Question, answer: str, tell: Callable[[CriterionGrade | str], None]
) -> Grade:
    """Grade with the model that is open, or by code alone when there is none; may be cancelled at any await.

    Raises TutorError when the answer cannot be graded at all (it is too long).
    """
    if not app.model.settled:
        tell("waiting for the model")
        await app.model_settled.wait()
    assert app.grader is not None
    return await app.grader.grade(question, answer, tell)


async def warm_in(app: TutorApp, question: Question) -> None:
    """Prepare the model for a question once it is open; nothing happens without one."""
    await app.model_settled.wait()
    if app.grader is not None:
        await app.grader.warm(question)


def with_mark(grade: CriterionGrade, mark: Mark | None) -> CriterionGrade:
    """The verdict that counts, for showing: the candidate's own where there is one."""
    if mark is None:
        return grade
    was = grade.verdict.replace("_", " ")
    if mark.kind == "contest":
        again = f", judged again: {str(mark.judged['verdict']).replace('_', ' ')}" if mark.judged is not None else ""
        reason = f"contested by you (was {was}{again}){': ' + mark.note if mark.note else ''}"
    else:
        reason = f"marked by you (was {was})"
    return grade.model_copy(update={"verdict": mark.verdict, "decided_by": "self", "reason": reason})
