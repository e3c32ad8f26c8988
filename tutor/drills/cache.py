"""What was derived from the log, kept beside the store so that a start reads one row, not a million events.

The file holds nothing of its own: it can be deleted at any time and is made again by replay. It remembers up to which
event it has read; what came later, from whatever program, is folded in when it is next looked at. An item that
something happened to is folded anew from its whole stream, so that the cached state is the replayed one.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Any, Final

from sqlite_utils import Database

from tutor.drills import events as ev
from tutor.drills.deck import Deck
from tutor.drills.fold import CardState, fold
from tutor.drills.log import DrillLog, Settings
from tutor.drills.plan import DrillPlan
from tutor.drills.rows import COLUMNS, CachedCard, from_row, ordinal, to_row
from tutor.paths import FILE_MODE
from tutor.store.errors import StoreError, explain

VERSION: Final = "2"
_BUSY_TIMEOUT_S: Final = 10.0
_SCHEMA: Final = """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE cards (
        item_id TEXT PRIMARY KEY, version INTEGER, stability REAL, difficulty REAL, first_day INTEGER,
        last_day INTEGER, due_day INTEGER, reviews INTEGER NOT NULL, presentations INTEGER NOT NULL,
        lapses INTEGER NOT NULL, misses INTEGER NOT NULL, streak INTEGER NOT NULL, successes INTEGER NOT NULL,
        last_rating INTEGER, last_right INTEGER, last_seed INTEGER, last_numbers TEXT NOT NULL,
        confident_wrong INTEGER NOT NULL, unsettled_day INTEGER, suspended INTEGER NOT NULL, buried_until INTEGER,
        note TEXT NOT NULL, last_at TEXT, right1 INTEGER NOT NULL, wrong1 INTEGER NOT NULL, right2 INTEGER NOT NULL,
        wrong2 INTEGER NOT NULL, right3 INTEGER NOT NULL, wrong3 INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX cards_due ON cards (due_day, suspended, buried_until) WHERE due_day IS NOT NULL;
    CREATE INDEX cards_last ON cards (last_day, first_day) WHERE last_day IS NOT NULL;
    CREATE INDEX cards_unsettled ON cards (unsettled_day) WHERE unsettled_day IS NOT NULL;
    CREATE TABLE items (
        item_id TEXT PRIMARY KEY, place INTEGER NOT NULL, version INTEGER NOT NULL, kind TEXT NOT NULL,
        grouping TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX items_version ON items (version) WHERE version > 1;
    CREATE INDEX items_group ON items (grouping);
    CREATE TABLE queue (
        place INTEGER PRIMARY KEY, item_id TEXT NOT NULL UNIQUE, grouping TEXT NOT NULL, kind TEXT NOT NULL,
        why TEXT NOT NULL
    ) STRICT;
    CREATE TABLE touched (item_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE INDEX queue_group ON queue (grouping);
"""


def cache_file(store_file: Path) -> Path:
    """Where the cache of a store is kept."""
    return store_file.with_name(f"{store_file.stem}-drills.cache")


class Cache:
    """The derived tables of one store. May be used from several threads and programs."""

    def __init__(self, log: DrillLog, path: Path | None = None) -> None:
        """Open the cache, or make it; a file that is damaged or of another version is made anew.

        Args:
            log: what it is derived from.
            path: the file; beside the store when not given.
        """
        self.log = log
        self.path = path or cache_file(log.store.path)
        self._lock = threading.RLock()
        self._depth = 0
        try:
            self._db = self._open()
        except sqlite3.DatabaseError as error:
            if not _damaged(error):
                with _explained(self.path):
                    raise
            self._discard()
            with _explained(self.path):
                self._db = self._open()
        self._settings_text = ""
        self.settings = Settings()
        self.model = self.settings.model()
        self._read_settings()

    def _open(self) -> Database:
        if not self.path.exists():
            self.path.touch(mode=FILE_MODE)
        connection = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=_BUSY_TIMEOUT_S)
        try:
            # Refused while another program does the same, which is as good.
            with suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode = WAL")
            # A power cut may cost the last entries; they are read from the log again.
            connection.execute("PRAGMA synchronous = NORMAL")
            database = Database(connection, execute_plugins=False)
            if self._version(database) != VERSION:
                connection.execute("BEGIN IMMEDIATE")
                if self._version(database) != VERSION:
                    for name in ("meta", "cards", "items", "queue", "touched"):
                        connection.execute(f"DROP TABLE IF EXISTS {name}")
                    for statement in _SCHEMA.split(";"):
                        connection.execute(statement)
                    connection.execute("INSERT INTO meta VALUES ('version', ?), ('seq', '0')", (VERSION,))
                connection.execute("COMMIT")
            return database
        except BaseException:
            connection.close()
            raise

    @staticmethod
    def _version(database: Database) -> str:
        if not database.table("meta").exists():
            return ""
        row = database.conn.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        return str(row[0]) if row else ""

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                self.path.with_name(self.path.name + suffix).unlink()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    # -- reading and writing ----------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; blocks may be nested.

        Raises:
            StoreError: the file cannot be written. What is in the log is not touched by it.
        """
        with self._lock, _explained(self.path):
            connection = self._db.conn
            outermost = self._depth == 0
            if outermost:
                connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield connection
                if outermost:
                    connection.execute("COMMIT")
            except BaseException:
                if outermost and connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._depth -= 1

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Rows of a reading statement."""
        with self._lock, _explained(self.path):
            return list(self._db.conn.execute(sql, tuple(parameters)))

    def rows_named(self, sql: str, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Rows of a reading statement with named parameters."""
        with self._lock, _explained(self.path):
            return list(self._db.conn.execute(sql, parameters))

    def meta(self, key: str) -> str:
        """A remembered word; empty when there is none."""
        rows = self.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else ""

    def set_meta(self, key: str, value: str) -> None:
        """Remember a word."""
        with self.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def card(self, item_id: str) -> CachedCard:
        """An item's state; that of a new item when nothing happened to it."""
        rows = self.rows(f"SELECT {', '.join(COLUMNS)} FROM cards WHERE item_id = ?", (item_id,))
        return from_row(rows[0]) if rows else CachedCard(CardState(item_id), None)

    def cards(self) -> list[CachedCard]:
        """All items that something happened to, in alphabetical order."""
        return [from_row(row) for row in self.rows(f"SELECT {', '.join(COLUMNS)} FROM cards ORDER BY item_id")]

    # -- keeping up with the log ------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Fold in what the log holds beyond what was read.

        Raises:
            StoreError: the cache cannot be written.
        """
        store = self.log.store
        head, head_id = _head(self.log)
        if str(head) == self.meta("seq") and head_id == self.meta("seq_id"):
            self._read_settings()
            return
        with self.writing() as connection:
            read = int(self.meta("seq") or 0)
            head, head_id = _head(self.log)
            if read and not self._same_log(read):
                self.rebuild()
                return
            streams = [
                str(row[0])
                for row in store.query(
                    # The unary plus keeps SQLite on the log's own order: only what is new is looked at.
                    "SELECT DISTINCT stream FROM events WHERE seq > ? AND seq <= ? "
                    "AND (+stream = ? OR (+stream >= ? AND +stream < ?))",
                    (read, head, ev.SETTINGS_STREAM, ev.STREAM_PREFIX, ev.STREAM_END),
                )
            ]
            self._read_settings()
            everything = False
            if ev.SETTINGS_STREAM in streams:
                before, self.settings = self.settings, self.log.settings()
                self._store_settings()
                if before.parameters != self.settings.parameters:
                    self.rebuild()
                    return
                everything = before != self.settings
                if everything:
                    self._reschedule(connection)
                    self.set_meta("queue", "")
            items = [ev.item_of(stream) for stream in streams if stream != ev.SETTINGS_STREAM]
            self._fold_in(connection, items)
            # For the order of the day, whoever looks at it next.
            connection.executemany("INSERT OR IGNORE INTO touched VALUES (?)", ((item,) for item in items))
            self._read_up_to(head, head_id)

    def rebuild(self) -> None:
        """Replay the whole log."""
        with self.writing() as connection:
            head, head_id = _head(self.log)
            self.settings = self.log.settings()
            self.model = self.settings.model()
            self._store_settings()
            connection.execute("DELETE FROM cards")
            connection.execute("DELETE FROM queue")
            self.set_meta("queue", "")
            self._fold_in(connection, self.log.item_ids())
            self._read_up_to(head, head_id)

    def differences(self) -> list[str]:
        """The items whose cached state is not the replayed one; empty when the cache is right."""
        self.catch_up()
        cached = {card.state.item_id: to_row(card) for card in self.cards()}
        wrong = [item for item in self.log.item_ids() if cached.pop(item, None) != to_row(self._replayed(item))]
        return sorted([*wrong, *cached])

    def sync_deck(self, deck: Deck) -> bool:
        """Take over the items of a deck; False when they are there already."""
        if self.meta("deck") == deck.fingerprint:
            return False
        with self.writing() as connection:
            connection.execute("DELETE FROM items")
            connection.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?, ?)",
                ((each.id, place, each.version, each.kind, each.group) for place, each in enumerate(deck.items)),
            )
            self.set_meta("deck", deck.fingerprint)
            self.set_meta("queue", "")
        return True

    def outdated(self) -> list[tuple[str, int, int]]:
        """Items answered in an older version of their content than the deck's: id, that version, the deck's."""
        return [
            (str(item_id), int(old), int(new))
            for item_id, old, new in self.rows(
                # Only an item above its first version can be newer than what was answered; most are not looked at.
                "SELECT c.item_id, c.version, i.version FROM items i JOIN cards c ON c.item_id = i.item_id "
                "WHERE i.version > 1 AND c.version < i.version ORDER BY i.place"
            )
        ]

    def _same_log(self, read: int) -> bool:
        rows = self.log.store.query("SELECT id FROM events WHERE seq = ?", (read,))
        return bool(rows) and rows[0][0] == self.meta("seq_id")

    def _read_up_to(self, head: int, head_id: str) -> None:
        self.set_meta("seq", str(head))
        self.set_meta("seq_id", head_id)

    def _replayed(self, item_id: str) -> CachedCard:
        return self._scheduled(fold(item_id, self.log.entries(item_id), self.model))

    def _scheduled(self, state: CardState) -> CachedCard:
        if state.memory is None or state.last_day is None:
            return CachedCard(state, None)
        days = self.settings.plan_for(state.item_id).interval_days(
            self.model, state.memory, state.item_id, state.reviews, state.last_day, tomorrow=state.confident_wrong
        )
        return CachedCard(state, date.fromordinal(state.last_day.toordinal() + days))

    def _fold_in(self, connection: sqlite3.Connection, item_ids: Iterable[str]) -> None:
        connection.executemany(
            f"INSERT OR REPLACE INTO cards ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})",
            (to_row(self._replayed(item_id)) for item_id in item_ids),
        )

    def _reschedule(self, connection: sqlite3.Connection) -> None:
        """Other plans: the memories stay, the days they are due on change."""
        connection.executemany(
            "UPDATE cards SET due_day = ? WHERE item_id = ?",
            [
                (ordinal(self._scheduled(card.state).due_day), card.state.item_id)
                for card in self.cards()
                if not card.state.new
            ],
        )

    def _store_settings(self) -> None:
        plans = [plan.model_dump(mode="json") for plan in self.settings.plans]
        self._settings_text = json.dumps({"plans": plans, "parameters": self.settings.parameters})
        self.set_meta("settings", self._settings_text)

    def _read_settings(self) -> None:
        """Take over plans and parameters as another program may have stored them."""
        text = self.meta("settings")
        if text == self._settings_text:
            return
        stored = json.loads(text)
        parameters = stored["parameters"]
        self._settings_text = text
        self.settings = Settings(
            tuple(DrillPlan.model_validate_json(json.dumps(plan)) for plan in stored["plans"]),
            tuple(parameters) if parameters is not None else None,
        )
        self.model = self.settings.model()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if _damaged(error):
            raise StoreError(
                f"{path} is damaged.", hint="Delete it: it holds nothing of its own and is made again from the store."
            ) from error
        raise explain(path, error) from error


def _damaged(error: sqlite3.DatabaseError) -> bool:
    return str(getattr(error, "sqlite_errorname", "")).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def _head(log: DrillLog) -> tuple[int, str]:
    rows = log.store.query("SELECT seq, id FROM events ORDER BY seq DESC LIMIT 1")
    return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")
