"""Export is complete, import repeats nothing and loses nothing."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tutor.store import Store, StoreError, export_lines, import_lines, open_store, state_hash


def filled(store: Store, at: datetime) -> Store:
    for n in range(5):
        store.append("interview:x", "note", {"n": n, "text": "größer \u2028 \x1b"}, at + timedelta(seconds=n))
        store.append("lesson:a", "section.read", {"section_id": str(n)}, at)
    store.save_draft("interview:x", 2, "being typed\n", at + timedelta(minutes=1))
    return store


def test_into_an_empty_store_and_twice(store: Store, tmp_path: Path, at: datetime) -> None:
    lines = list(export_lines(filled(store, at)))
    assert all("\n" not in line for line in lines)
    with open_store(tmp_path / "other" / "tutor.db") as other:
        report = import_lines(other, lines, source="export")
        assert (report.events_added, report.events_known, report.drafts_taken) == (10, 0, 1)
        assert state_hash(other) == state_hash(store)
        assert list(export_lines(other)) == lines
        report = import_lines(other, lines, source="export")
        assert (report.events_added, report.events_known, report.drafts_taken) == (0, 10, 0)
        assert state_hash(other) == state_hash(store)


def test_the_hash_sees_every_difference(store: Store, tmp_path: Path, at: datetime) -> None:
    before = state_hash(filled(store, at))
    store.save_draft("interview:x", 2, "being typed", at + timedelta(minutes=1))
    drafted = state_hash(store)
    store.append("lesson:a", "opened", {}, at)
    assert len({before, drafted, state_hash(store)}) == 3


def test_an_older_export_does_not_bring_a_draft_back(store: Store, at: datetime) -> None:
    lines = list(export_lines(filled(store, at)))
    with store.writing():
        store.append("interview:x", "answered", {}, at + timedelta(minutes=2))
        store.clear_draft("interview:x", 2)
    before = state_hash(store)
    assert import_lines(store, lines, source="export").drafts_taken == 0
    assert state_hash(store) == before


def test_an_export_that_is_ahead_is_caught_up_with(store: Store, tmp_path: Path, at: datetime) -> None:
    filled(store, at)
    with open_store(tmp_path / "other" / "tutor.db") as other:
        import_lines(other, export_lines(store), source="export")
        other.append("interview:x", "more", {}, at)
        other.save_draft("interview:x", 3, "further", at)
        import_lines(store, export_lines(other), source="export")
        assert state_hash(store) == state_hash(other)


def test_an_interview_that_went_on_differently_is_refused_whole(store: Store, tmp_path: Path, at: datetime) -> None:
    filled(store, at)
    with open_store(tmp_path / "other" / "tutor.db") as other:
        import_lines(other, export_lines(store), source="export")
        other.append("lesson:b", "opened", {}, at)
        other.append("interview:x", "there", {}, at)
        store.append("interview:x", "here", {}, at)
        before = state_hash(store)
        with pytest.raises(StoreError, match="interview:x went on differently"):
            import_lines(store, export_lines(other), source="export")
        assert state_hash(store) == before


HEADER = json.dumps({"type": "header", "format": "tutor-export", "version": 1})
EVENT = {"type": "event", "id": "e", "stream": "a", "kind": "x", "at": "2026-03-01T00:00:00+00:00", "payload": {}}


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "file.jsonl is empty"),
        (["hello"], "file.jsonl, line 1"),
        ([json.dumps(EVENT)], "line 1: the first line does not name the format"),
        ([json.dumps({"type": "header", "format": "tutor-export", "version": 2})], "newer version"),
        ([HEADER, json.dumps({**EVENT, "at": "2026-03-01T00:00:00"})], "line 2: at"),
        ([HEADER, json.dumps({**EVENT, "mood": 1})], "line 2: mood"),
        ([HEADER, json.dumps({**EVENT, "payload": []})], "line 2: payload"),
        ([HEADER, json.dumps(EVENT), '{"type": "event"'], "line 3"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_imported(store: Store, lines: list[str], sentence: str) -> None:
    with pytest.raises(StoreError, match=sentence.replace(".", r"\.")) as caught:
        import_lines(store, lines, source="file.jsonl")
    assert "\n" not in str(caught.value)
    assert store.events() == []
