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
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from sqlite_utils import Database

from tutor.drills import events as ev
from tutor.drills.deck import Deck
from tutor.drills.fold import CardState, fold
from tutor.drills.log import DrillLog, Settings
from tutor.drills.memory import Memory, Rating
from tutor.drills.plan import DrillPlan
from tutor.paths import FILE_MODE
from tutor.store.errors import StoreError, explain

VERSION: Final = "1"
_BUSY_TIMEOUT_S: Final = 10.0
_TALLY: Final = ("right1", "wrong1", "right2", "wrong2", "right3", "wrong3")
_COLUMNS: Final = (
    "item_id", "version", "stability", "difficulty", "first_day", "last_day", "due_day", "reviews", "presentations",
    "lapses", "misses", "streak", "successes", "last_rating", "last_right", "last_seed", "last_numbers",
    "confident_wrong", "unsettled_day", "suspended", "buried_until", "note", "last_at", *_TALLY,
)  # fmt: skip
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
    CREATE INDEX items_group ON items (grouping);
    CREATE TABLE queue (
        place INTEGER PRIMARY KEY, item_id TEXT NOT NULL UNIQUE, grouping TEXT NOT NULL, kind TEXT NOT NULL,
        why TEXT NOT NULL
    ) STRICT;
    CREATE INDEX queue_group ON queue (grouping);
"""


@dataclass(frozen=True, slots=True)
class CachedCard:
    """An item's state and the day it is due, by the plan that fits it."""

    state: CardState
    due_day: date | None


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """What a look at the log brought."""

    items: frozenset[str] = frozenset()
    """Whose state may have changed."""
    everything: bool = False
    """Plans or parameters changed, or all was replayed."""

    def __bool__(self) -> bool:
        return self.everything or bool(self.items)


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
            if isinstance(error, sqlite3.OperationalError):
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
            connection.execute("PRAGMA journal_mode = WAL")
            # A power cut may cost the last entries; they are read from the log again.
            connection.execute("PRAGMA synchronous = NORMAL")
            database = Database(connection, execute_plugins=False)
            if self._version(database) != VERSION:
                connection.execute("BEGIN IMMEDIATE")
                if self._version(database) != VERSION:
                    for name in ("meta", "cards", "items", "queue"):
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
        rows = self.rows(f"SELECT {', '.join(_COLUMNS)} FROM cards WHERE item_id = ?", (item_id,))
        return _card(rows[0]) if rows else CachedCard(CardState(item_id), None)

    def cards(self) -> list[CachedCard]:
        """All items that something happened to, in alphabetical order."""
        return [_card(row) for row in self.rows(f"SELECT {', '.join(_COLUMNS)} FROM cards ORDER BY item_id")]

    # -- keeping up with the log ------------------------------------------------------------------------------------

    def catch_up(self) -> CaughtUp:
        """Fold in what the log holds beyond what was read, and say what that was.

        Raises:
            DrillEventError: an event cannot be understood.
            StoreError: the cache cannot be written.
        """
        store = self.log.store
        head, head_id = _head(self.log)
        if str(head) == self.meta("seq") and head_id == self.meta("seq_id"):
            self._read_settings()
            return CaughtUp()
        with self.writing() as connection:
            read = int(self.meta("seq") or 0)
            head, head_id = _head(self.log)
            if read and not self._same_log(read):
                return self.rebuild()
            streams = [
                str(row[0])
                for row in store.query(
                    "SELECT DISTINCT stream FROM events WHERE seq > ? AND seq <= ? AND +stream >= ? AND +stream < ?",
                    (read, head, ev.SETTINGS_STREAM[:-1], ev.STREAM_END),
                )
                if row[0] == ev.SETTINGS_STREAM or str(row[0]).startswith(ev.STREAM_PREFIX)
            ]
            self._read_settings()
            everything = False
            if ev.SETTINGS_STREAM in streams:
                before, self.settings = self.settings, self.log.settings()
                self._store_settings()
                if before.parameters != self.settings.parameters:
                    self.model = self.settings.model()
                    return self.rebuild()
                everything = before != self.settings
                if everything:
                    self._reschedule(connection)
            items = [ev.item_of(stream) for stream in streams if stream != ev.SETTINGS_STREAM]
            self._fold_in(connection, items)
            self._read_up_to(head, head_id)
        return CaughtUp(frozenset(items), everything)

    def rebuild(self) -> CaughtUp:
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
        return CaughtUp(everything=True)

    def differences(self) -> list[str]:
        """The items whose cached state is not the replayed one; empty when the cache is right."""
        self.catch_up()
        cached = {card.state.item_id: _row(card) for card in self.cards()}
        wrong = [item for item in self.log.item_ids() if cached.pop(item, None) != _row(self._replayed(item))]
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
                "SELECT c.item_id, c.version, i.version FROM cards c JOIN items i ON i.item_id = c.item_id "
                "WHERE c.version < i.version ORDER BY i.place"
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
            f"INSERT OR REPLACE INTO cards ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})",
            (_row(self._replayed(item_id)) for item_id in item_ids),
        )

    def _reschedule(self, connection: sqlite3.Connection) -> None:
        """Other plans: the memories stay, the days they are due on change."""
        connection.executemany(
            "UPDATE cards SET due_day = ? WHERE item_id = ?",
            [
                (_ordinal(self._scheduled(card.state).due_day), card.state.item_id)
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
    except sqlite3.OperationalError as error:
        raise explain(path, error) from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path} is damaged.", hint="Delete it: it holds nothing of its own and is made again from the store."
        ) from error


def _head(log: DrillLog) -> tuple[int, str]:
    rows = log.store.query("SELECT seq, id FROM events ORDER BY seq DESC LIMIT 1")
    return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")


def _ordinal(day: date | None) -> int | None:
    return None if day is None else day.toordinal()


def _day(ordinal: int | None) -> date | None:
    return None if ordinal is None else date.fromordinal(ordinal)


def _row(card: CachedCard) -> tuple[object, ...]:
    state = card.state
    return (
        state.item_id,
        state.version,
        state.memory.stability if state.memory else None,
        state.memory.difficulty if state.memory else None,
        _ordinal(state.first_day),
        _ordinal(state.last_day),
        _ordinal(card.due_day),
        state.reviews,
        state.presentations,
        state.lapses,
        state.misses_in_row,
        state.streak,
        state.successes,
        int(state.last_rating) if state.last_rating is not None else None,
        int(state.last_right) if state.last_right is not None else None,
        state.last_seed,
        state.last_numbers,
        int(state.confident_wrong),
        _ordinal(state.unsettled_day),
        int(state.suspended),
        _ordinal(state.buried_until),
        state.note,
        state.last_at.isoformat() if state.last_at else None,
        *state.tally,
    )


def _card(row: tuple[Any, ...]) -> CachedCard:
    (
        item_id, version, stability, difficulty, first_day, last_day, due_day, reviews, presentations, lapses, misses,
        streak, successes, rating, right, seed, numbers, confident_wrong, unsettled, suspended, buried, note, last_at,
        *tally,
    ) = row  # fmt: skip
    state = CardState(
        item_id=item_id,
        version=version,
        memory=Memory(stability, difficulty) if stability is not None else None,
        first_day=_day(first_day),
        last_day=_day(last_day),
        reviews=reviews,
        presentations=presentations,
        lapses=lapses,
        misses_in_row=misses,
        streak=streak,
        successes=successes,
        last_rating=Rating(rating) if rating is not None else None,
        last_right=bool(right) if right is not None else None,
        last_seed=seed,
        last_numbers=numbers,
        confident_wrong=bool(confident_wrong),
        unsettled_day=_day(unsettled),
        suspended=bool(suspended),
        buried_until=_day(buried),
        note=note,
        tally=(tally[0], tally[1], tally[2], tally[3], tally[4], tally[5]),
        last_at=datetime.fromisoformat(last_at) if last_at else None,
    )
    return CachedCard(state, _day(due_day))
