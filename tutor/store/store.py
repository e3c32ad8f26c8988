"""Reading and writing the log and the drafts.

Every write is a transaction of its own, or part of the `writing()` block around it, and has reached the disk when it
returns. Write blocks begin IMMEDIATE: a transaction that reads first and writes later fails at once when another
program has written in between, without waiting for the time-out.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from tutor.store.errors import StoreError, damaged, explain, explained
from tutor.store.rescue import file_identity, rescue_copy
from tutor.store.types import Draft, Event, Problem


def new_event_id() -> str:
    """An identity that no other event anywhere has."""
    return secrets.token_hex(12)


class Store:
    """One open store file; made by `open_store`. May be used from several threads."""

    def __init__(self, path: Path, database: Database, *, new_id: Callable[[], str]) -> None:
        self.path = path
        self._db = database
        self._new_id = new_id
        self._lock = threading.RLock()
        self._depth = 0
        self._file = file_identity(path)
        self._rescued: Path | None = None

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all that is written inside is kept, or nothing is. Blocks may be nested.

        Raises:
            StoreError: the file cannot be written.
        """
        with self._lock:
            if self._depth:
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                return
            connection = self._db.conn
            self._still_there()
            with explained(self.path):
                connection.execute("BEGIN IMMEDIATE")
            self._depth = 1
            try:
                yield
                with explained(self.path):
                    connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._depth = 0

    def _rows(self, sql: str, parameters: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock, explained(self.path):
            return list(self._db.conn.execute(sql, parameters))

    def _still_there(self) -> None:
        """Refuse to write into a file that no longer has its name: SQLite would, and all of it would be gone.

        What was stored is put into a copy beside it, while it can still be read.
        """
        if self._file is None or file_identity(self.path) == self._file:
            return
        if self._rescued is None or not self._rescued.exists():
            self._rescued = rescue_copy(self._db.conn, self.path)
        saved = f" All that was stored is in {self._rescued}." if self._rescued is not None else ""
        raise StoreError(
            f"{self.path} was removed or replaced while it was in use, so nothing more is written to it.{saved}",
            hint=f"Close the program and put {'that copy' if saved else 'the file'} in its place.",
            exit_code=3,
        )

    # -- events ---------------------------------------------------------------------------------------------------

    def append(self, stream: str, kind: str, payload: Mapping[str, Any], at: datetime) -> Event:
        """Add an event and return it as stored.

        Args:
            stream: what it belongs to.
            kind: what happened.
            payload: JSON values only.
            at: when; must carry an offset.

        Raises:
            StoreError: the file cannot be written, or an answer with the same attempt id is there already.
            ValueError: `at` has no offset, or the payload is not JSON.
        """
        return self.insert(self._new_id(), stream, kind, payload, at)

    def insert(self, event_id: str, stream: str, kind: str, payload: Mapping[str, Any], at: datetime) -> Event:
        """Add an event that has its identity already, as an import does; otherwise like `append`."""
        moment = _text_of(at)
        text = json.dumps(payload, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        with self.writing():
            try:
                cursor = self._db.conn.execute(
                    "INSERT INTO events (id, stream, kind, at, payload) VALUES (?, ?, ?, ?, ?)",
                    (event_id, stream, kind, moment, text),
                )
            except sqlite3.IntegrityError as error:
                raise StoreError(
                    f"{self.path}: this {kind} is stored already ({error}).",
                    hint="Nothing was changed; open the interview again.",
                ) from error
            except sqlite3.Error as error:
                raise explain(self.path, error) from error
            assert cursor.lastrowid is not None
            return Event(cursor.lastrowid, event_id, stream, kind, json.loads(text), at)

    def events(self, stream: str | None = None, kind: str | None = None, *, after: int = 0) -> list[Event]:
        """The events in order of writing, of one stream or kind when given, with `seq` above `after`."""
        where, parameters = ["seq > ?"], [after]
        values: list[object] = list(parameters)
        if stream is not None:
            where.append("stream = ?")
            values.append(stream)
        if kind is not None:
            where.append("kind = ?")
            values.append(kind)
        rows = self._rows(
            f"SELECT seq, id, stream, kind, payload, at FROM events WHERE {' AND '.join(where)} ORDER BY seq",
            tuple(values),
        )
        return [self._event(*row) for row in rows]

    def _event(self, seq: int, id_: str, stream: str, kind: str, text: str, at: str) -> Event:
        try:
            return Event(seq, id_, stream, kind, json.loads(text), _moment(at))
        except ValueError:
            raise damaged(self.path, f"event {seq} of {stream} cannot be read") from None

    def streams(self, prefix: str = "") -> list[str]:
        """The names of all streams that begin with `prefix`, in alphabetical order."""
        end = prefix + "\U0010ffff"
        rows = self._rows(
            "SELECT DISTINCT stream FROM events WHERE stream >= ? AND stream < ? ORDER BY 1", (prefix, end)
        )
        return [row[0] for row in rows]

    def query(self, sql: str, parameters: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Rows of a reading statement, for the summaries of other packages.

        Raises:
            StoreError: the statement fails or would write.
        """
        if not sql.lstrip().upper().startswith(("SELECT", "WITH", "EXPLAIN")):
            raise StoreError("Only reading statements are allowed here.", hint="Append an event instead.")
        return self._rows(sql, parameters)

    # -- drafts ---------------------------------------------------------------------------------------------------

    def save_draft(self, stream: str, position: int, text: str, at: datetime, *, slot: str = "answer") -> Draft:
        """Put the text being typed on the disk, in place of what was there for this position."""
        moment = _text_of(at)
        with self.writing(), explained(self.path):
            self._db.conn.execute(
                "INSERT INTO drafts (stream, position, slot, text, at) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (stream, position) DO UPDATE "
                "SET slot = excluded.slot, text = excluded.text, at = excluded.at",
                (stream, position, slot, text, moment),
            )
        return Draft(stream, position, slot, text, at)

    def draft(self, stream: str, position: int) -> Draft | None:
        """The text being typed at a position, if any."""
        rows = self._rows(
            "SELECT stream, position, slot, text, at FROM drafts WHERE stream = ? AND position = ?", (stream, position)
        )
        return _draft(rows[0]) if rows else None

    def drafts(self) -> list[Draft]:
        """All drafts, by stream and position."""
        rows = self._rows("SELECT stream, position, slot, text, at FROM drafts ORDER BY stream, position")
        return [_draft(row) for row in rows]

    def clear_draft(self, stream: str, position: int) -> None:
        """Forget a draft; called in the transaction that stores what became of it."""
        with self.writing(), explained(self.path):
            self._db.conn.execute("DELETE FROM drafts WHERE stream = ? AND position = ?", (stream, position))

    # -- health ---------------------------------------------------------------------------------------------------

    def check(self) -> list[Problem]:
        """What is wrong with the file itself; empty when it is sound."""
        problems = [
            Problem(f"{self.path} is damaged: {row[0]}.", "Put a backup in its place; export what can be read first.")
            for row in self._rows("PRAGMA integrity_check")
            if row[0] != "ok"
        ]
        problems += [
            Problem(f"{self.path}: row {row[1]} of {row[0]} refers to a row that is missing.", "Restore a backup.")
            for row in self._rows("PRAGMA foreign_key_check")
        ]
        triggers = {row[0] for row in self._rows("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
        problems += [
            Problem(f"{self.path} has lost its guard {name}.", "Export, move the file away, and import.")
            for name in ("events_never_change", "events_never_vanish")
            if name not in triggers
        ]
        return problems


def _text_of(at: datetime) -> str:
    if at.utcoffset() is None:
        raise ValueError("an event's time must carry its offset from UTC")
    return at.isoformat(timespec="microseconds")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _draft(row: tuple[Any, ...]) -> Draft:
    stream, position, slot, text, at = row
    return Draft(stream, position, slot, text, _moment(at))
