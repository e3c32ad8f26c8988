"""A store of every earlier schema, and events in every form that was ever written, read as they were meant."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.store.test_migrations import SCHEMA_1
from tutor.imports import known_kinds
from tutor.store import backups, export_lines, import_lines, open_store, state_hash
from tutor.store.schema import migrations

# The second schema, written out like the first.
SCHEMA_2 = """
INSERT INTO "_sqlite_migrations" VALUES (2, 'tutor', 'm002_drafts', '2026-02-01 00:00:00+00:00');
CREATE TABLE drafts (
    stream TEXT NOT NULL,
    position INTEGER NOT NULL CHECK (position >= 0),
    slot TEXT NOT NULL,
    text TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (stream, position)
) STRICT;
CREATE UNIQUE INDEX one_attempt ON events (json_extract(payload, '$.attempt_id'))
    WHERE kind = 'answer.submitted';
"""
SCHEMAS = {"m001_events": SCHEMA_1, "m002_drafts": SCHEMA_1 + SCHEMA_2}
"""After which migration -> the whole schema then."""
AT = "2026-01-01T10:00:00+01:00"


def made(path: Path, schema: str) -> list[tuple[str, str, str, dict[str, object]]]:
    """A store as a program of that age left it; its events."""
    events: list[tuple[str, str, str, dict[str, object]]] = [
        ("e1", "lesson:a", "section.read", {"section_id": "s"}),
        ("e2", "interview:x", "answer.submitted", {"position": 0, "attempt_id": "a", "number": 1, "text": "30 ⚙ ms"}),
        ("e3", "drill:x", "of.a.kind.no.longer.used", {"n": 1}),
    ]
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    for id_, stream, kind, payload in events:
        connection.execute(
            "INSERT INTO events (id, stream, kind, at, payload) VALUES (?, ?, ?, ?, ?)",
            (id_, stream, kind, AT, json.dumps(payload)),
        )
    if "drafts" in schema:
        connection.execute("INSERT INTO drafts VALUES ('interview:x', 1, 'answer', 'half a sent', ?)", (AT,))
    connection.commit()
    connection.close()
    return events


def test_every_earlier_schema_has_its_file_here() -> None:
    """A new migration belongs here too, with the schema that it found."""
    assert [migration.name for migration in migrations._migrations] == list(SCHEMAS)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_store_of_every_age_is_read_written_and_moved(tmp_path: Path, schema: str) -> None:
    path = tmp_path / "tutor.db"
    events = made(path, SCHEMAS[schema])
    with open_store(path) as store:
        assert [(each.id, each.stream, each.kind, each.payload) for each in store.events()] == events
        assert [draft.text for draft in store.drafts()] == (["half a sent"] if "drafts" in SCHEMAS[schema] else [])
        exported, state = list(export_lines(store)), state_hash(store)
    assert bool(backups(path)) == (schema != list(SCHEMAS)[-1]), "a copy is made where something is changed"
    with open_store(tmp_path / "new" / "tutor.db") as moved:
        import_lines(moved, exported, source="old")
        assert state_hash(moved) == state
    with open_store(path) as again:
        assert state_hash(again) == state


OLD_FORMS: dict[str, tuple[str, dict[str, object]]] = {
    "an answer, as in the first version": (
        "answer.submitted",
        {"position": 0, "attempt_id": "a", "number": 1, "text": "30 ms"},
    ),
    "a grade of another version": ("attempt.graded", {"attempt_id": "a", "grade": {"form": "of long ago"}}),
    "a mark of one's own": ("criterion.self_marked", {"position": 0, "criterion": "result", "verdict": "met"}),
    "the end": ("interview.finished", {"reason": "completed"}),
}
"""Payloads without the fields that came later."""


@pytest.mark.parametrize("form", OLD_FORMS)
def test_events_in_their_old_forms_are_still_understood(form: str) -> None:
    kind, payload = OLD_FORMS[form]
    find: Callable[[str], type] = known_kinds().__getitem__
    assert find(kind).model_validate(payload).model_dump().items() >= payload.items()  # type: ignore[attr-defined]
