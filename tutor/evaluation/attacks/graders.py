"""Graders to attack: code and evidence alone, or the model of the settings as the program uses it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from question_bank import Question
from rubrics import CriterionId
from tutor.errors import TutorError
from tutor.evaluation.attacks.measure import Grades
from tutor.grading import grade_answer


async def by_evidence(question: Question, answer: str) -> frozenset[CriterionId]:
    """What an answer earns without a model: the result by code, the rest by the evidence alone."""
    try:
        grade = await grade_answer(question, answer, endpoint=None)
    except TutorError:
        return frozenset()  # too long to be graded, so it earns nothing
    return frozenset(c.criterion for c in grade.criteria if c.verdict == "met")


@asynccontextmanager
async def by_settings(model: bool) -> AsyncIterator[Grades]:
    """A grader with the model that the settings name, or without one."""
    if not model:
        yield by_evidence
        return
    from question_bank import load_bank
    from tutor.grader import Grader
    from tutor.llm.choose import choose_model
    from tutor.settings import load_settings

    settings = load_settings()
    choice = await choose_model(settings.model, model_dir=settings.model_dir, on_status=lambda _: None)
    try:
        if choice.model is None:
            raise TutorError(f"No model: {choice.reason}", hint="Choose one with 'tutor model'.")
        grader = Grader(settings, load_bank(), choice.model)

        async def grades(question: Question, answer: str) -> frozenset[CriterionId]:
            try:
                grade = await grader.grade(question, answer)
            except TutorError:
                return frozenset()
            return frozenset(c.criterion for c in grade.criteria if c.verdict == "met")

        yield grades
    finally:
        if choice.model is not None:
            await choice.model.close()
