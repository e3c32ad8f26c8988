"""Files of a batch: bad lines are named, a torn line is graded again, tables compute nothing."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.batch.batch_kit import graded
from tutor.batch.files import BatchAnswer, Results, csv_text, markdown_text, read_answers
from tutor.errors import TutorError

LINE = '{"id": "a1", "item": "p/l/i", "answer": "x"}'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no answers"),
        (f"{LINE}\nnot json\n", "line 2"),
        ('{"id": "a1", "item": "p/l/i"}', "line 1: answer"),
        ('{"id": "a1", "item": "p/l/i", "answer": "x", "points": 3}', "line 1: points"),
        ('{"id": "a1", "item": "p/l/i", "answer": "x", "seed": -1}', "line 1: seed"),
        (f"{LINE}\n\n{LINE}\n", "line 3: the id 'a1' stands twice"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(text)
    with pytest.raises(TutorError, match="answers.jsonl") as caught:  # noqa: RUF043
        read_answers(path)
    assert says in str(caught.value)


def test_a_file_that_is_not_utf8_or_not_there_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b'{"id": "\xff"}')
    with pytest.raises(TutorError, match="not UTF-8"):
        read_answers(path)
    with pytest.raises(TutorError, match="No such file"):
        read_answers(tmp_path / "nowhere")


@given(st.text(max_size=60), st.text(max_size=60))
def test_an_answer_with_any_text_is_read_as_it_was_written(text: str, who: str) -> None:
    line = json.dumps({"id": "a", "item": "p/l/i", "answer": text, "candidate": who})
    assert BatchAnswer.model_validate_json(line).answer == text


def test_what_was_torn_off_is_graded_again_and_nothing_else(tmp_path: Path) -> None:
    answers = [BatchAnswer(id=f"a{n}", item="p/l/i", answer=f"text {n}") for n in range(3)]
    results = Results(tmp_path / "out.jsonl")
    for answer in answers[:2]:
        results.put(graded(answer))
    results.close()
    raw = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").write_bytes(raw[:-20])
    again = Results(tmp_path / "out.jsonl")
    assert [again.has(answer) for answer in answers] == [True, False, False]
    again.put(graded(answers[1]))
    again.close()
    assert (tmp_path / "out.jsonl").read_bytes() == raw


def test_another_text_under_the_same_id_is_graded_anew(tmp_path: Path) -> None:
    results = Results(tmp_path / "out.jsonl")
    answer = BatchAnswer(id="a", item="p/l/i", answer="text")
    results.put(graded(answer))
    assert results.has(answer)
    for other in ({"answer": "other"}, {"seed": 1}, {"item": "p/l/j"}):
        assert not results.has(answer.model_copy(update=other))
    results.close()


def test_a_file_of_something_else_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(TutorError, match="no file of graded answers"):
        Results(path)
    assert path.read_text() == "my notes\n"


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\t=1"])
def test_a_spreadsheet_shows_text_and_computes_none(text: str) -> None:
    answer = BatchAnswer(id=text, item="p/l/i", answer="x", candidate=text)
    rows = list(csv.reader(io.StringIO(csv_text([answer], {text: graded(answer)}))))
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in rows[1])


def test_the_page_counts_and_holds_foreign_text_as_text() -> None:
    answers = [BatchAnswer(id=f"a|{n}", item="p/l/i", answer="x", candidate="<b>[x](y)\x1b[31m") for n in range(2)]
    page = markdown_text("t", answers, {"a|0": graded(answers[0], met=3)})
    assert "1 of 2 answers graded" in page
    assert "| p/l/i | 1 | 1 | 1 | 1 | 0 | 3.00 |" in page
    assert "a\\|0" in page
    assert "<b>" not in page
    assert "\x1b" not in page
    assert "not graded" in page
