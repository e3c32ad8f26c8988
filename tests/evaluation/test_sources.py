"""Readers of labelled answers: what they make of good rows, and how they tell of bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank import Bank, load_bank
from tutor.evaluation.cases import EvaluationError
from tutor.evaluation.pairs import PlainAnswer, PlainQuestion, to_question
from tutor.evaluation.sources import load_cases, narrowed
from tutor.grading import grade_result

DATA = Path(__file__).parent / "data"
ITEM = "serving/prefill-decode/completion-time"
MET = {"label": "met", "reason": "It is there."}
QUESTION: dict[str, Any] = {
    "id": "q1",
    "kind": "calculation",
    "question": "A queue of 100 ms, 40 ms of preprocessing and 160 ms of prefill. When does the first token come?",
    "reference": {
        "result": "The first token comes after 300 ms.",
        "reasoning": "The three stages follow each other, so 100 + 40 + 160 = 300 ms.",
        "failure": "When the queue doubles, the first token comes 100 ms later.",
        "verification": "Log the queue apart; if it is unchanged while the first token is late, I am wrong.",
    },
    "expected": [{"name": "first_token", "value": 300, "unit": "ms", "rel_tolerance": 0.01}],
}
ANSWER: dict[str, Any] = {"id": "a1", "question_id": "q1", "answer": "300 ms", "points": {"result": 1, "reasoning": 0}}


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank()


def write_rows(path: Path, *rows: object) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows), encoding="utf-8")
    return path


def pair(folder: Path, question: dict[str, Any], answer: dict[str, Any]) -> tuple[Path, Path]:
    return write_rows(folder / "q.jsonl", question), write_rows(folder / "a.jsonl", answer)


def test_a_pair_of_files_needs_no_bank(tmp_path: Path, bank: Bank) -> None:
    questions, answers = pair(tmp_path, QUESTION, ANSWER)
    found = load_cases(None, bank, questions=questions, answers=answers)
    case = found.cases[0]
    assert found.criteria == ("result", "reasoning")
    assert case.labels == {"result": True, "reasoning": False}
    assert [(e.label, e.value, e.unit) for e in case.question.expected] == [("first token", 300, "ms")]
    assert [g.value for g in case.question.givens] == [100, 40, 160]
    assert case.question.criteria["failure"].statement == QUESTION["reference"]["failure"]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("The first token comes after 300 ms.", "met"),
        ("0.3 s", "met"),
        ("Prefill takes 160 ms, so the first token comes after 160 ms.", "not_met"),
        ("There is a queue of 100 ms.", "not_met"),
    ],
)
def test_code_grades_the_numbers_of_a_question_without_a_bank(answer: str, verdict: str) -> None:
    assert grade_result(to_question(PlainQuestion.model_validate(QUESTION)), answer).verdict == verdict


def test_a_question_may_have_some_criteria_only_and_fields_of_its_own(tmp_path: Path, bank: Bank) -> None:
    question = {"id": 7, "kind": "", "question": "Why?", "reference": {"reasoning": "Because it waits."}, "more": 1}
    answer = {"id": 1, "question_id": 7, "answer": "It waits.", "points": {"reasoning": True}, "note": ""}
    questions, answers = pair(tmp_path, question, answer)
    found = load_cases(None, bank, questions=questions, answers=answers)
    assert found.criteria == ("reasoning",)
    assert found.cases[0].question.kind == "probe"


def test_answers_without_points_are_graded_and_said_so(tmp_path: Path, bank: Bank) -> None:
    questions, answers = pair(tmp_path, QUESTION, {"id": "a", "question_id": "q1", "answer": "300 ms"})
    found = load_cases(None, bank, questions=questions, answers=answers)
    assert found.cases[0].labels == {}
    assert any("1 answer without points" in note for note in found.notes)


def test_an_unknown_unit_is_told(tmp_path: Path, bank: Bank) -> None:
    question = QUESTION | {"expected": [{"name": "x", "value": 3, "unit": "furlongs"}]}
    questions, answers = pair(tmp_path, question, ANSWER)
    assert any("furlongs" in note for note in load_cases(None, bank, questions=questions, answers=answers).notes)


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        (QUESTION | {"reference": {"results": "x"}}, ANSWER, ("q.jsonl, line 1", "reference.results")),
        ({"id": "q1", "question": "?"}, ANSWER, ("q.jsonl, line 1", "reference", "required")),
        (QUESTION | {"expected": [{"name": "t", "value": "soon", "unit": "ms"}]}, ANSWER, ("expected.0.value",)),
        (QUESTION | {"expected": [{"name": "t", "value": 1}] * 2}, ANSWER, ("same name",)),
        (QUESTION, ANSWER | {"points": {"result": 2}}, ("a.jsonl, line 1", "points.result", "0 or 1")),
        (QUESTION, ANSWER | {"points": {"result": 0.5}}, ("points.result", "0 or 1")),
        (QUESTION, ANSWER | {"points": {"style": 1}}, ("points.style",)),
        (QUESTION, ANSWER | {"question_id": "q9"}, ("a.jsonl, line 1", "question_id", "'q9'", "q.jsonl")),
        (QUESTION, {"id": "a1", "question_id": "q1", "points": {}}, ("a.jsonl, line 1", "answer", "required")),
        (
            QUESTION | {"reference": {"result": "300 ms"}},
            ANSWER | {"points": {"failure": 1}},
            ("points.failure", "reference.failure"),
        ),
    ],
)
def test_a_bad_row_is_told_by_file_line_and_field(
    tmp_path: Path, bank: Bank, question: dict[str, Any], answer: dict[str, Any], told: tuple[str, ...]
) -> None:
    questions, answers = pair(tmp_path, question, answer)
    with pytest.raises(EvaluationError) as caught:
        load_cases(None, bank, questions=questions, answers=answers)
    for part in told:
        assert part in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("line", "told"),
    [("{", "not valid JSON"), ("[]", "no JSON object"), ("[" * 100_000, "not valid JSON"), ('{"a": 1}', "known shape")],
)
def test_a_line_that_is_nothing_known_is_told(tmp_path: Path, bank: Bank, line: str, told: str) -> None:
    with pytest.raises(EvaluationError, match=told):
        load_cases(write_rows(tmp_path / "x.jsonl", line), bank)


def test_a_missing_file_and_half_a_pair_are_told(tmp_path: Path, bank: Bank) -> None:
    with pytest.raises(EvaluationError, match="cannot be read"):
        load_cases(tmp_path / "none.jsonl", bank)
    with pytest.raises(EvaluationError, match="two files"):
        load_cases(None, bank, questions=tmp_path / "q.jsonl")
    with pytest.raises(EvaluationError, match="holds questions"):
        load_cases(write_rows(tmp_path / "q.jsonl", QUESTION), bank)


def test_ids_must_be_unique(tmp_path: Path, bank: Bank) -> None:
    questions = write_rows(tmp_path / "q.jsonl", QUESTION)
    answers = write_rows(tmp_path / "a.jsonl", ANSWER, ANSWER)
    with pytest.raises(EvaluationError, match=r"line 2: id: 'a1' stands in .*line 1"):
        load_cases(None, bank, questions=questions, answers=answers)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x, max_size=3)))
def test_points_are_read_only_from_what_means_yes_or_no(value: object) -> None:
    row = {"id": "a", "question_id": "q", "answer": "", "points": {"result": value}}
    if value in (0, 1) and not isinstance(value, str):
        assert PlainAnswer.model_validate(row).points["result"] is bool(value)
    else:
        with pytest.raises(ValueError, match=r"points\.result"):
            PlainAnswer.model_validate(row)


def gold_row(**changes: object) -> dict[str, object]:
    labels = dict.fromkeys(("result", "reasoning", "failure", "verification"), MET)
    row: dict[str, object] = {"id": "x-a01", "item_id": ITEM, "item_version": 1, "seed": 7, "answer": "420 ms"}
    return row | {"labels": labels, "kind": ["terse"], "author": "a"} | changes


def test_a_file_of_our_format_may_hold_several_items_and_a_split(tmp_path: Path, bank: Bank) -> None:
    other = "serving/prefill-decode/two-rates"
    write_rows(tmp_path / "mine.jsonl", gold_row(), gold_row(id="x-a02", item_id=other), gold_row(id="x-a03"))
    (tmp_path / "split.yaml").write_text(f"test:\n  - {other}\n")
    found = load_cases(tmp_path / "mine.jsonl", bank)
    assert [(c.id, c.split) for c in found.cases] == [
        ("x-a01", "calibration"), ("x-a03", "calibration"), ("x-a02", "test"),
    ]  # fmt: skip
    assert [c.id for c in narrowed(found, split="test").cases] == ["x-a02"]
    assert [c.id for c in narrowed(found, limit=2).cases] == ["x-a01", "x-a02"]
    assert [c.id for c in narrowed(found, items=("two-rates",)).cases] == ["x-a02"]
    assert found.cases[0].anchor.seed == 0
    with pytest.raises(EvaluationError, match="No answer is left"):
        narrowed(found, items=("nowhere",))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"item_id": "serving/none/such"}, "serving/none/such"),
        ({"seed": -1}, "seed"),
        ({"labels": {"result": {"label": "perhaps", "reason": "x"}}}, r"labels\.result\.label"),
        ({"labels": {}}, "labels"),
        ({"item_id": "serving/memory-roofline/below-the-floor"}, "choosing an option"),
    ],
)
def test_a_bad_row_of_our_format_is_told(tmp_path: Path, bank: Bank, changes: dict[str, object], told: str) -> None:
    with pytest.raises(EvaluationError, match=told) as caught:
        load_cases(write_rows(tmp_path / "mine.jsonl", gold_row(**changes)), bank)
    assert "mine.jsonl, line 1" in caught.value.message


def test_labels_of_an_older_item_are_noted(tmp_path: Path, bank: Bank) -> None:
    found = load_cases(write_rows(tmp_path / "mine.jsonl", gold_row(item_version=99)), bank)
    assert any("version 99" in note for note in found.notes)


def test_our_own_answers_are_all_read(bank: Bank) -> None:
    found = load_cases(None, bank)
    assert found.criteria == ("result", "reasoning", "failure", "verification")
    assert {case.split for case in found.cases} == {"calibration", "test"}


def test_khan_rows_take_the_raters_majority(bank: Bank) -> None:
    found = load_cases(DATA / "khan_rows.jsonl", bank)
    assert (found.kind, found.criteria, len(found.cases)) == ("khan", ("result",), 8)
    assert [case.labels["result"] for case in found.cases] == [False, False, True, True] * 2
    guide = found.cases[0].question.criteria["result"]
    assert "2x + 5 = 2x + 5" in guide.met_example
    assert "-4y = 4y" in guide.nearly_example


def test_an_even_split_of_raters_is_no_label(tmp_path: Path, bank: Bank) -> None:
    row = json.loads((DATA / "khan_rows.jsonl").read_text().splitlines()[0]) | {"raters": [0, 1]}
    with pytest.raises(EvaluationError, match="evenly"):
        load_cases(write_rows(tmp_path / "k.jsonl", row), bank)


def test_saf_rows_keep_the_score_and_lose_blank_placeholders(tmp_path: Path, bank: Bank) -> None:
    lines = (DATA / "saf_rows.jsonl").read_text().splitlines()
    blank = json.loads(lines[0]) | {"answer": "No response.", "score": 0, "label": "Incorrect"}
    found = load_cases(write_rows(tmp_path / "s.jsonl", *lines, blank), bank)
    assert [case.score for case in found.cases] == [json.loads(line)["score"] for line in lines]
    assert all(case.labels["result"] == (case.score == 1.0) for case in found.cases)
    assert any(note.startswith("1 blank") for note in found.notes)
