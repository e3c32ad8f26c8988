"""Our own labelled answers: a file or folder in the format of `rubrics/gold/serving/README.md`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from question_bank import Bank, BankError, Question, build_question
from rubrics import CriterionId
from rubrics.answer_gold import SERVING_DIR, SPLIT_NAME, CriterionLabel
from tutor.evaluation.cases import Case, CaseSet, EvaluationError, Split, make_set, read_rows, unique, validated
from tutor.grader import ANCHOR_SEED

_REMEDY = "The format is in rubrics/gold/serving/README.md; compare the line with one there."


class GoldRow(BaseModel):
    """One line. Ids and kinds may be of any form and a label may be missing, as in other people's files."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(min_length=1)
    item_id: str
    item_version: int
    seed: int = Field(ge=0)
    answer: str
    labels: dict[CriterionId, CriterionLabel] = Field(min_length=1)
    kind: tuple[str, ...] = ()


def default_gold() -> Path:
    """The folder of the labelled answers that come with the program.

    Raises:
        EvaluationError: this installation has none.
    """
    if not SERVING_DIR.is_dir():
        raise EvaluationError("The labelled answers are not installed.", hint="Name a file: tutor eval FILE.")
    return SERVING_DIR


def read_gold(path: Path, bank: Bank) -> CaseSet:
    """The answers of a file, or of all files of a folder; the split is told by `split.yaml` beside them.

    Raises:
        EvaluationError: a line is wrong, or its item is not in the bank.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise EvaluationError(f"{path}: holds no .jsonl file.", hint="Name a folder or file with labelled answers.")
    test_items = _test_items((path if path.is_dir() else path.parent) / SPLIT_NAME)
    seen: dict[str, str] = {}
    questions: dict[tuple[str, int], Question] = {}
    old: dict[str, int] = {}
    cases = []
    for file in files:
        for where, row in read_rows(file):
            parsed = validated(GoldRow, row, where, _REMEDY)
            unique(seen, parsed.id, where)
            question = _question(parsed, bank, questions, parsed.seed, where)
            if question.item_version != parsed.item_version:
                old[parsed.item_id] = parsed.item_version
            split: Split | None = None
            if test_items is not None:
                split = "test" if parsed.item_id in test_items else "calibration"
            cases.append(
                Case(
                    id=parsed.id,
                    question=question,
                    anchor=_question(parsed, bank, questions, ANCHOR_SEED, where),
                    answer=parsed.answer,
                    labels={c: given.met for c, given in parsed.labels.items()},
                    split=split,
                    kinds=parsed.kind,
                )
            )
    notes = [
        f"{item} was labelled at version {version}, and the bank has another: its labels may no longer hold."
        for item, version in sorted(old.items())
    ]
    return make_set(path.stem, "gold", cases, notes)


def is_gold(row: dict[str, Any]) -> bool:
    """Whether a row looks like one of ours."""
    return "item_id" in row and "labels" in row


def _question(row: GoldRow, bank: Bank, known: dict[tuple[str, int], Question], seed: int, where: str) -> Question:
    if (row.item_id, seed) not in known:
        try:
            known[row.item_id, seed] = build_question(bank.item(row.item_id), seed)
        except BankError as error:
            raise EvaluationError(
                f"{where}: item_id: {error}.".replace("..", "."),
                hint="'tutor bank list' shows the items; --bank adds packs.",
            ) from error
    question = known[row.item_id, seed]
    if not question.criteria:
        raise EvaluationError(
            f"{where}: item_id: {row.item_id} is a {question.kind}, answered by choosing an option.",
            hint="Label answers to items that are answered in words.",
        )
    return question


def _test_items(path: Path) -> frozenset[str] | None:
    if not path.is_file():
        return None
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
        listed = data["test"]
        if not (isinstance(listed, list) and all(isinstance(item, str) for item in listed)):
            raise TypeError
    except (OSError, ValueError, yaml.YAMLError, TypeError, LookupError, RecursionError) as error:
        raise EvaluationError(
            f"{path}: test: is no list of item ids.", hint="Write 'test:' and below it '  - ITEM' for each."
        ) from error
    return frozenset(listed)
