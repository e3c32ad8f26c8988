"""SQLite's failures as sentences."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tutor.errors import TutorError


class StoreError(TutorError):
    """The store cannot be opened, read or written; the message names the file."""


def damaged(path: Path, detail: str = "") -> StoreError:
    """The sentence for a file at `path` that does not hold what it should."""
    backups = path.parent / "backups"
    copy = f"put a copy from {backups} in its place" if backups.is_dir() else "start anew"
    return StoreError(
        f"{path} is damaged{f': {detail}' if detail else ' or is not a store of this program'}.",
        hint=f"Move it away and {copy}, or import an export.",
    )


def explain(path: Path, error: sqlite3.Error) -> StoreError:
    """The sentence for one of SQLite's errors on the file at `path`."""
    text = str(error)
    code = getattr(error, "sqlite_errorname", "") or ""
    if "locked" in text or code.startswith("SQLITE_BUSY"):
        return StoreError(
            f"{path} is being written by another program for too long.",
            hint="Close the other one, or try again in a moment.",
            exit_code=3,
        )
    if "full" in text or code.startswith("SQLITE_FULL"):
        return StoreError(
            f"There is no room left on the disk of {path}.",
            hint="Free some space; what was stored before is safe.",
            exit_code=3,
        )
    if "readonly" in text or code.startswith("SQLITE_READONLY"):
        return StoreError(
            f"{path} cannot be written.",
            hint="Give yourself the right to write the file and its folder, or name another folder with --data-dir.",
        )
    if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or any(
        words in text for words in ("malformed", "not a database", "Could not decode")
    ):
        return damaged(path)
    if "unable to open" in text or code.startswith("SQLITE_CANTOPEN"):
        return StoreError(
            f"{path} cannot be opened.", hint="Check that its folder exists and that you may read and write it."
        )
    if code.startswith("SQLITE_IOERR"):
        return StoreError(f"The disk failed while {path} was used: {text}.", hint="Check the disk.", exit_code=3)
    return StoreError(f"{path}: {text}.", hint="'tutor doctor' looks for the cause.")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors inside the block into `StoreError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(path, error) from error
