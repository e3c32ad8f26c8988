"""The labelled snippets: their file, and how well code reads them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchmarks.numbers import accuracy, measure
from rubrics.number_gold import GOLD_DIR, GoldError, load_number_gold

SNIPPETS = load_number_gold()


def test_there_are_enough_of_each_kind() -> None:
    assert len(SNIPPETS) >= 300
    assert sum(s.hard for s in SNIPPETS) >= 80
    assert {s.verdict for s in SNIPPETS} == {"met", "not_met", "unsure"}
    held_out = sum(s.held_out for s in SNIPPETS) / len(SNIPPETS)
    assert 0.35 < held_out < 0.6


def test_texts_are_not_labelled_twice() -> None:
    assert len({(s.question.id, s.text) for s in SNIPPETS}) == len(SNIPPETS)


def test_code_reads_them_as_labelled() -> None:
    outcomes = measure(SNIPPETS)
    wrong = [o.snippet.id for o in outcomes if not o.right]
    assert accuracy(o for o in outcomes if not o.snippet.held_out) >= 0.95, wrong
    assert accuracy(o for o in outcomes if o.snippet.held_out) >= HELD_OUT_FLOOR, wrong
    assert sum(o.false_accept for o in outcomes if not o.snippet.held_out) == 0
    assert sum(o.false_accept for o in outcomes) <= FALSE_ACCEPTS_AT_MOST


# What was measured; the first half of the snippets alone shaped the reader.
HELD_OUT_FLOOR = 0.94
FALSE_ACCEPTS_AT_MOST = 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"label": {"e2e_ms": 1.0, "other": 2.0}}, "label: must name e2e_ms"),
        ({"question": "nowhere"}, "question: 'nowhere'"),
        ({"extra": 1}, "extra"),
        ({"label": {"e2e_ms": "maybe"}}, "label"),
    ],
)
def test_a_bad_line_is_one_sentence_with_its_number(tmp_path: Path, change: dict[str, object], says: str) -> None:
    shutil.copy(GOLD_DIR / "number_questions.json", tmp_path)
    line = {"id": "a", "question": "e2e", "category": "c", "hard": False, "text": "1 s", "label": {"e2e_ms": 1000.0}}
    (tmp_path / "numbers.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps({**line, **change})}\n", encoding="utf-8")
    with pytest.raises(GoldError, match=says) as caught:
        load_number_gold(tmp_path)
    assert "line 2" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_id_stands_once(tmp_path: Path) -> None:
    shutil.copy(GOLD_DIR / "number_questions.json", tmp_path)
    line = {"id": "a", "question": "e2e", "category": "c", "hard": False, "text": "1 s", "label": {"e2e_ms": 1000.0}}
    (tmp_path / "numbers.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(line)}\n", encoding="utf-8")
    with pytest.raises(GoldError, match="more than once"):
        load_number_gold(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(GoldError, match=r"number_questions\.json: cannot be read"):
        load_number_gold(tmp_path)
