"""Opening the store and the connection it works on."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sqlite_utils import Database

from tutor.paths import FILE_MODE, ensure_private_dir
from tutor.store.errors import StoreError, explained
from tutor.store.schema import migrations
from tutor.store.store import Store, new_event_id

BUSY_TIMEOUT_MS: Final = 10_000


def marker_file(path: Path) -> Path:
    """The note beside a store that says one was made here."""
    return path.with_name(f"{path.name}.marker")


def open_store(path: Path, *, new_id: Callable[[], str] = new_event_id) -> Store:
    """The store in the file at `path`, made if there never was one, brought to the current schema if it is older.

    Before a file is changed by a migration a copy is put into `backups/` beside it. A file that has been there and
    has vanished is not replaced by an empty one.

    Args:
        path: the SQLite file.
        new_id: makes the identity of each new event.

    Raises:
        StoreError: the file has vanished, is damaged, is from a newer program, or cannot be written.
    """
    path = path.absolute()
    ensure_private_dir(path.parent)
    marker = marker_file(path)
    try:
        empty = path.stat().st_size == 0
    except FileNotFoundError:
        empty = True
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}.", hint="Check its folder.") from None
    if empty:
        if marker.exists():
            raise StoreError(
                f"{path} has vanished or is empty, and {marker.name} says that answers were kept there.",
                hint=f"Put the file or a backup from {path.parent / 'backups'} back, "
                f"or delete {marker} to begin with nothing.",
            )
        _create_private(path)
    with explained(path):
        database = _connect(path)
        try:
            _migrate(database, path)
        except BaseException:
            database.close()
            raise
    if not marker.exists():
        _write_marker(marker, path)
    return Store(path, database, new_id=new_id)


def _create_private(path: Path) -> None:
    """An empty file only its owner reads; SQLite gives its side files the same mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, FILE_MODE))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be made: {error.strerror or error}.",
            hint="Give yourself the right to write its folder, or name another one with --data-dir.",
        ) from None


def _write_marker(marker: Path, path: Path) -> None:
    note = {"store": path.name, "note": "answers are kept in this folder; an empty store is never put in their place"}
    try:
        descriptor = os.open(marker, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, FILE_MODE)
    except OSError as error:
        raise StoreError(
            f"{marker} cannot be written: {error.strerror or error}.",
            hint="Give yourself the right to write its folder.",
        ) from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(json.dumps(note) + "\n")


def _connect(path: Path) -> Database:
    # The store serialises its own use of the connection, so that a worker thread may record what it found.
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000)
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA foreign_keys = ON")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")
        # An answer that submit() has returned for survives a power cut, not only a kill.
        connection.execute("PRAGMA synchronous = FULL")
        return Database(connection, execute_plugins=False)
    except BaseException:
        connection.close()
        raise


def _migrate(database: Database, path: Path) -> None:
    if _up_to_date(database, path):
        return
    # The write lock is taken before looking again, so that of two programs starting at once only one migrates.
    database.conn.execute("BEGIN IMMEDIATE")
    try:
        if not _up_to_date(database, path):
            if database.table("events").exists():
                _back_up(path, migrations.pending(database)[0].name)
            migrations.apply(database)
        database.conn.execute("COMMIT")
    except BaseException:
        if database.conn.in_transaction:
            database.conn.execute("ROLLBACK")
        raise


def _up_to_date(database: Database, path: Path) -> bool:
    known = {migration.name for migration in migrations.pending(database)}
    applied = [migration.name for migration in migrations.applied(database)]
    ours = [migration.name for migration in migrations._migrations]
    unknown = [name for name in applied if name not in ours]
    if unknown:
        raise StoreError(
            f"{path} was written by a newer version of this program ({unknown[-1]} is unknown here).",
            hint="Update the program, or name another folder with --data-dir.",
        )
    if not applied and database.table_names() and not database.table("events").exists():
        raise StoreError(
            f"{path} holds other tables and is not a store of this program.",
            hint="Name another folder with --data-dir.",
        )
    return not known


def _back_up(path: Path, migration: str) -> Path:
    """A copy of the file as it is before `migration`, made through SQLite so that pages in its log are in it."""
    folder = ensure_private_dir(path.parent / "backups")
    number = 1
    target = folder / f"{path.stem}-before-{migration}.db"
    while target.exists():
        number += 1
        target = folder / f"{path.stem}-before-{migration}-{number}.db"
    _create_private(target)
    source, copy = sqlite3.connect(path), sqlite3.connect(target)
    try:
        source.backup(copy)
    except BaseException:
        copy.close()
        target.unlink(missing_ok=True)
        raise
    finally:
        source.close()
        copy.close()
    return target


def backups(path: Path) -> list[Path]:
    """The copies made before migrations of the store at `path`, oldest first."""
    folder = path.absolute().parent / "backups"
    return sorted(folder.glob(f"{path.stem}-before-*.db"), key=lambda file: file.stat().st_mtime)
