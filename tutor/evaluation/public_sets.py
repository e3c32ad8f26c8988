"""Two public sets of students' answers, read from files that the user has; each has one point, the result.

- Khan/llm-saq-scoring (CC BY 4.0): 20 questions with criteria and right and wrong examples, three raters.
- SebOchs/SAF (MIT): questions on communication networks with a reference, a score and a label.

Neither is part of this program. The fields that are read are those of `KhanRow` and `SafRow`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from question_bank import Question
from tutor.evaluation.cases import Case, CaseSet, EvaluationError, make_set, numbered, read_rows, validated
from tutor.evaluation.plain_questions import guide, plain_question

_KHAN_REMEDY = "A line has domain, qid, id, question, criteria, ok_examples, bad_examples, answer and raters."
_SAF_REMEDY = "A line has split, qid, question, reference, answer, score (0 to 1) and label."
_BLANK = frozenset({"", "no response", "no answer", "n/a", "none"})


class KhanRow(BaseModel):
    """One student's answer with three raters' marks."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    domain: str
    qid: str
    id: str
    question: str
    criteria: str
    ok_examples: str
    bad_examples: str
    answer: str
    raters: tuple[Literal[0, 1], ...] = Field(min_length=1)


class SafRow(BaseModel):
    """One student's answer with its partial credit."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    qid: str
    question: str
    reference: str
    answer: str
    score: float = Field(ge=0, le=1)
    label: Literal["Correct", "Partially correct", "Incorrect"]
    split: str = ""


def is_khan(row: dict[str, Any]) -> bool:
    """Whether a row looks like one of the Khan set."""
    return "raters" in row and "ok_examples" in row


def is_saf(row: dict[str, Any]) -> bool:
    """Whether a row looks like one of SAF."""
    return "score" in row and isinstance(row.get("reference"), str)


def read_khan(path: Path) -> CaseSet:
    """The answers; the label is what most raters say.

    Raises:
        EvaluationError: a line is wrong, or the raters are split evenly.
    """
    cases = []
    questions: dict[str, Question] = {}
    rows = [(where, validated(KhanRow, row, where, _KHAN_REMEDY)) for where, row in read_rows(path)]
    for (where, row), identity in zip(rows, numbered([f"{r.domain}-{r.id}" for _, r in rows]), strict=True):
        votes = sum(row.raters)
        if votes * 2 == len(row.raters):
            raise EvaluationError(f"{where}: raters: are split evenly.", hint="Give an odd number of raters.")
        item = f"khan/{row.domain.lower()}-{row.qid}"
        if item not in questions:
            whole = guide(row.criteria, met=row.ok_examples, nearly=row.bad_examples, points=_paragraphs(row.criteria))
            questions[item] = plain_question(item, row.question, {"result": whole}, reference=row.ok_examples)
        question = questions[item]
        label = votes * 2 > len(row.raters)
        cases.append(
            Case(
                id=identity,
                question=question,
                anchor=question,
                answer=row.answer,
                labels={"result": label},
                kinds=(row.domain,),
            )
        )
    notes = ["Label: what most of the raters say. Criteria and right and wrong examples of the source were given."]
    return make_set(path.stem, "khan", cases, notes)


def read_saf(path: Path) -> CaseSet:
    """The answers, without blank placeholders; met is what is labelled Correct, partial credit is not.

    Raises:
        EvaluationError: a line is wrong.
    """
    cases = []
    questions: dict[str, Question] = {}
    rows = [validated(SafRow, row, where, _SAF_REMEDY) for where, row in read_rows(path)]
    blank = sum(_is_blank(row.answer) for row in rows)
    rows = [row for row in rows if not _is_blank(row.answer)]
    for row, identity in zip(rows, numbered([f"{row.qid}-a" for row in rows]), strict=True):
        item = f"saf/{row.qid}"
        if item not in questions:
            questions[item] = plain_question(item, row.question, {"result": guide(row.reference)})
        question = questions[item]
        cases.append(
            Case(
                id=identity,
                question=question,
                anchor=question,
                answer=row.answer,
                labels={"result": row.label == "Correct"},
                score=row.score,
                kinds=(row.split,) if row.split else (),
            )
        )
    notes = ["Label: met is what the source calls Correct. One point cannot show its partial credit; P(met) can."]
    if blank:
        notes.append(f"{blank} blank placeholders were left out: they are scored 0 and flatter any grader.")
    return make_set(path.stem, "saf", cases, notes)


def _is_blank(answer: str) -> bool:
    return answer.strip().strip(".").casefold() in _BLANK


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(line.strip(" -") for line in text.splitlines() if line.strip(" -"))
