"""The numbered migrations that make and change the store's tables.

A migration is never edited once released: each is run, in order, on files of every age (`tests/store` keeps the old
schemas). They run inside the one transaction that `db.open_store` holds.
"""

from __future__ import annotations

from sqlite_utils import Database, Migrations

migrations = Migrations("tutor")


@migrations()
def m001_events(db: Database) -> None:
    """The append-only log. `at` is ISO 8601 with the offset of the place where it happened."""
    db.executescript(
        """
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
    )


@migrations()
def m002_drafts(db: Database) -> None:
    """The text being typed, one row a question, and the key that keeps an answer from being stored twice."""
    db.executescript(
        """
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
    )
