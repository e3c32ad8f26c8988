"""Keeping what there is when a file cannot be used as it should: a copy of a store, text that was not stored."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from tutor.paths import FILE_MODE


def file_identity(path: Path) -> tuple[int, int] | None:
    """Which file a name stands for now, whatever is in it; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def rescue_copy(source: sqlite3.Connection, path: Path) -> Path | None:
    """Put all that an open connection can read into a new file in `backups/` beside `path`.

    The file behind the connection may have lost its name. Returns None when no copy could be made.
    """
    folder = path.parent / "backups"
    target = folder / f"{path.stem}-rescued.db"
    number = 1
    while target.exists():
        number += 1
        target = folder / f"{path.stem}-rescued-{number}.db"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
        copy = sqlite3.connect(target)
        try:
            source.backup(copy)
        finally:
            copy.close()
    except (OSError, sqlite3.Error):
        target.unlink(missing_ok=True)
        return None
    return target


def rescue_text(text: str, folders: Iterable[Path], now: datetime) -> Path | None:
    """Write text that the store did not take to a file of its own, in the first of `folders` that takes it.

    The folder for temporary files comes last. Returns None when none does; nothing half-written is left behind.
    """
    for folder in (*folders, Path(tempfile.gettempdir())):
        path = folder / f"tutor-unsaved-{now:%Y-%m-%d-%H%M%S}.txt"
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
        except OSError:
            continue
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            path.unlink(missing_ok=True)
            continue
        return path
    return None
