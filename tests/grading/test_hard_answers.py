"""Labelled hard answers to the bank's own items: what code alone makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from question_bank import build_question, load_bank
from rubrics import CriterionId
from tutor.grading import grade_result
from tutor.grading.combine import load_combiner
from tutor.grading.evidence import find_evidence

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "hard_answers.jsonl").read_text("utf-8").splitlines()
]
BANK = load_bank()
QUESTIONS = {row["item_id"]: build_question(BANK.item(row["item_id"]), row["seed"]) for row in ROWS}


@pytest.mark.parametrize("row", [r for r in ROWS if QUESTIONS[r["item_id"]].expected], ids=lambda r: r["id"])
def test_the_result_is_decided_as_labelled(row: dict[str, Any]) -> None:
    grade = grade_result(QUESTIONS[row["item_id"]], row["answer"])
    assert (grade.verdict == "met") == ("result" in row["met"]), grade.reason


@pytest.mark.parametrize(("criterion", "floor"), [("reasoning", 0.88), ("failure", 0.85), ("verification", 0.95)])
def test_evidence_alone_agrees_with_most_labels(criterion: CriterionId, floor: float) -> None:
    right = 0
    for row in ROWS:
        evidence = find_evidence(QUESTIONS[row["item_id"]], row["answer"], criterion)
        p_met = load_combiner().probability(criterion, evidence.features, 0.0)
        right += (evidence.quote is not None and p_met > 0.5) == (criterion in row["met"])
    assert right / len(ROWS) >= floor
