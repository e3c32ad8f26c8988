"""Questions and answers in two files, without a bank.

A question: `{"id", "kind", "question", "reference": {"result", "reasoning", "failure", "verification"},
"expected": [{"name", "value", "unit", "rel_tolerance"}]}`; an answer: `{"id", "question_id", "answer", "points":
{criterion: 0 or 1}}`. `reference` and `points` may name some of the criteria only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, field_validator

from question_bank.question import Expected, ItemKind, Question
from rubrics import CriterionId
from tutor.evaluation.cases import Case, CaseSet, EvaluationError, counted, make_set, read_rows, unique, validated
from tutor.evaluation.plain_questions import guide, plain_question
from tutor.grading.units import unit_named

_QUESTION_REMEDY = (
    'A question is {"id", "kind", "question", "reference": {"result": "…", …}, '
    '"expected": [{"name", "value", "unit", "rel_tolerance"}]}.'
)
_ANSWER_REMEDY = 'An answer is {"id", "question_id", "answer", "points": {"result": 0 or 1, …}}.'


def _as_point(value: object) -> object:
    """0, 1, true and false; nothing else, as "2" or 0.5 would be another rubric."""
    if isinstance(value, bool) or value in (0, 1):
        return bool(value)
    raise ValueError("is 0 or 1 (or true, false); a criterion that was not marked is left out")


def _as_id(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Point = Annotated[bool, BeforeValidator(_as_point)]
Identity = Annotated[str, Field(min_length=1, max_length=500), BeforeValidator(_as_id)]


class _Row(BaseModel):
    # Files of other people carry more fields than these; what they hold changes nothing here.
    model_config = ConfigDict(frozen=True, extra="ignore")


class PlainExpected(_Row):
    """A number asked for; `rel_tolerance` is the largest accepted |answer − value| / |value|."""

    name: str = Field(min_length=1)
    value: FiniteFloat
    unit: str = ""
    rel_tolerance: float = Field(default=0.01, ge=0, le=1, allow_inf_nan=False)
    label: str = ""
    synonyms: tuple[str, ...] = ()

    @field_validator("unit", mode="before")
    @classmethod
    def _no_unit(cls, value: object) -> object:
        return "" if value is None else value


class PlainQuestion(_Row):
    """One line of the file of questions."""

    id: Identity
    kind: str = ""
    question: str = Field(min_length=1)
    reference: dict[CriterionId, str] = Field(min_length=1)
    expected: tuple[PlainExpected, ...] = ()

    @field_validator("expected", mode="before")
    @classmethod
    def _none_expected(cls, value: object) -> object:
        return () if value is None else value


class PlainAnswer(_Row):
    """One line of the file of answers."""

    id: Identity
    question_id: Identity
    answer: str
    points: dict[CriterionId, Point] = Field(default_factory=dict)


def read_pairs(questions: Path, answers: Path) -> CaseSet:
    """The answers with their questions.

    Raises:
        EvaluationError: a line is wrong, or an answer names a question that is not there.
    """
    notes: list[str] = []
    known = _questions(questions, notes)
    seen: dict[str, str] = {}
    cases = []
    for where, row in read_rows(answers):
        parsed = validated(PlainAnswer, row, where, _ANSWER_REMEDY)
        unique(seen, parsed.id, where)
        if parsed.question_id not in known:
            raise EvaluationError(
                f"{where}: question_id: {parsed.question_id!r} is none of the {len(known)} questions in {questions}.",
                hint="Correct the id, or add the question.",
            )
        question = known[parsed.question_id]
        labels = dict(parsed.points)
        for criterion in labels:
            if not question.criteria[criterion].statement and not (criterion == "result" and question.expected):
                raise EvaluationError(
                    f"{where}: points.{criterion}: question {parsed.question_id!r} has no reference.{criterion}.",
                    hint="Add the text to the question, or leave the point out.",
                )
        cases.append(Case(id=parsed.id, question=question, anchor=question, answer=parsed.answer, labels=labels))
    if not cases:
        raise EvaluationError(f"{answers}: holds no answer.", hint=_ANSWER_REMEDY)
    unmarked = sum(not case.labels for case in cases)
    if unmarked:
        notes.append(f"{counted(unmarked, 'answer')} without points: graded, and in no figure of agreement.")
    return make_set(answers.stem, "pairs", cases, notes)


def _questions(path: Path, notes: list[str]) -> dict[str, Question]:
    seen: dict[str, str] = {}
    known = {}
    strange: dict[str, None] = {}
    for where, row in read_rows(path):
        parsed = validated(PlainQuestion, row, where, _QUESTION_REMEDY)
        unique(seen, parsed.id, where)
        names = [expected.name for expected in parsed.expected]
        if len(set(names)) < len(names):
            raise EvaluationError(f"{where}: expected: two have the same name.", hint="Give each a name of its own.")
        strange |= dict.fromkeys(e.unit for e in parsed.expected if e.unit and unit_named(e.unit) is None)
        known[parsed.id] = to_question(parsed)
    if not known:
        raise EvaluationError(f"{path}: holds no question.", hint=_QUESTION_REMEDY)
    if strange:
        notes.append(f"Units that are not known, so that only the number is compared: {', '.join(strange)}.")
    return known


def to_question(row: PlainQuestion) -> Question:
    """The question as the grader takes it; the reference texts are its examples that earn a point."""
    expected = [
        Expected(
            name=e.name,
            label=e.label or e.name.replace("_", " ").replace("-", " "),
            value=e.value,
            unit=e.unit,
            rel_tolerance=e.rel_tolerance,
            synonyms=e.synonyms,
        )
        for e in row.expected
    ]
    return plain_question(
        row.id,
        row.question,
        {criterion: guide(text) for criterion, text in row.reference.items() if text.strip()},
        expected,
        kind=_kind(row),
    )


def _kind(row: PlainQuestion) -> ItemKind:
    for kind in get_args(ItemKind):
        if row.kind == kind and kind != "checkpoint":
            return kind  # type: ignore[no-any-return]
    return "exercise" if row.expected else "probe"


def is_question(row: dict[str, Any]) -> bool:
    """Whether a row looks like one of the file of questions."""
    return "question" in row and isinstance(row.get("reference"), dict)
