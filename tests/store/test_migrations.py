"""Files of every older schema are brought up, with a copy made before; files of a newer one are left alone."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from pathlib import Path

import pytest

from tutor.store import StoreError, backups, open_store

# The file as the first schema left it, written out: the migrations under test take no part in making it.
SCHEMA_1 = """
CREATE TABLE "_sqlite_migrations" (
    "id" INTEGER PRIMARY KEY, "migration_set" TEXT, "name" TEXT, "applied_at" TEXT
);
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
INSERT INTO "_sqlite_migrations" VALUES (1, 'tutor', 'm001_events', '2026-01-01 00:00:00+00:00');
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    stream TEXT NOT NULL CHECK (stream <> ''),
    kind TEXT NOT NULL CHECK (kind <> ''),
    at TEXT NOT NULL,
    payload TEXT NOT NULL CHECK (json_valid(payload))
) STRICT;
CREATE INDEX events_stream ON events (stream, seq);
CREATE INDEX events_kind ON events (kind, stream, seq);
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_never_vanish BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
"""


def old_file(path: Path, *, more: str = "") -> None:
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA_1 + more)
    for n in range(3):
        connection.execute(
            "INSERT INTO events (id, stream, kind, at, payload) VALUES (?, 'lesson:a', 'section.read', ?, ?)",
            (f"e{n}", "2026-01-01T10:00:00+01:00", json.dumps({"section_id": f"s{n}"})),
        )
    connection.commit()
    connection.close()


def test_an_old_file_is_brought_up_and_kept_as_a_copy(tmp_path: Path, at: datetime) -> None:
    path = tmp_path / "tutor.db"
    old_file(path)
    with open_store(path) as store:
        assert [(event.id, event.payload["section_id"]) for event in store.events()] == [
            ("e0", "s0"),
            ("e1", "s1"),
            ("e2", "s2"),
        ]
        store.save_draft("interview:x", 1, "text", at)
        assert store.check() == []
    (copy,) = backups(path)
    assert copy.stat().st_mode & 0o777 == 0o600
    old = sqlite3.connect(copy)
    assert old.execute("SELECT count(*) FROM events").fetchone() == (3,)
    assert old.execute("SELECT name FROM _sqlite_migrations").fetchall() == [("m001_events",)]
    old.close()
    open_store(path).close()
    assert backups(path) == [copy]


def test_a_new_file_needs_no_copy(tmp_path: Path) -> None:
    open_store(tmp_path / "tutor.db").close()
    assert backups(tmp_path / "tutor.db") == []


def test_an_earlier_copy_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "tutor.db"
    (tmp_path / "backups").mkdir()
    earlier = tmp_path / "backups" / "tutor-before-m002_drafts.db"
    earlier.write_text("earlier")
    old_file(path)
    open_store(path).close()
    assert earlier.read_text() == "earlier"
    assert len(backups(path)) == 2


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tutor.db"
    # The second migration makes the table, and then an index whose name is taken.
    old_file(path, more="CREATE INDEX one_attempt ON events (at);")
    with pytest.raises(StoreError, match="one_attempt"):
        open_store(path)
    file = sqlite3.connect(path)
    assert file.execute("SELECT name FROM _sqlite_migrations").fetchall() == [("m001_events",)]
    assert file.execute("SELECT count(*) FROM sqlite_master WHERE name = 'drafts'").fetchone() == (0,)
    assert file.execute("SELECT count(*) FROM events").fetchone() == (3,)
    file.close()


def test_a_file_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "tutor.db"
    open_store(path).close()
    file = sqlite3.connect(path)
    file.execute("INSERT INTO _sqlite_migrations (migration_set, name) VALUES ('tutor', 'm999_dreams')")
    file.commit()
    file.close()
    with pytest.raises(StoreError, match="newer version") as caught:
        open_store(path)
    assert "m999_dreams" in str(caught.value)
    assert "Update the program" in caught.value.hint
