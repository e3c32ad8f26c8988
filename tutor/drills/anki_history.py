"""Reviews of our items read from an Anki collection: `collection.anki2`, or a deck or collection exported with its
scheduling (`.apkg`, `.colpkg`).

Anki's log has the moment of each review but not the place. The local day is worked out once, here, and stored with the
review like any other. What Anki did by itself and cramming do not count (`type` 3 and above; a button of 0).
The tables are described at https://github.com/ankidroid/Anki-Android/wiki/Database-Structure.
"""

from __future__ import annotations

import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tutor.drills import events as ev
from tutor.drills.anki import guid_of
from tutor.drills.day import local_day
from tutor.drills.memory import Rating
from tutor.errors import TutorError

if TYPE_CHECKING:
    from tutor.drills.drills import Drills

_LAST_COUNTED_TYPE: Final = 2
"""0 learning, 1 review, 2 relearning; above are cramming, manual changes and rescheduling."""
_MAX_BYTES: Final = 2 << 30
_MOST_REVIEWS: Final = 5_000_000
"""Fifty years of 270 cards a day."""
_MOST_PACKED: Final = 100
"""A collection unpacks to about five times its size; what unpacks to more than this is no collection."""
_TABLES: Final = ("revlog", "cards", "notes")
_LATEST_MS: Final = 253_402_214_400_000
"""The year 9999."""


@dataclass(frozen=True, slots=True)
class HistoryImport:
    """What was found and taken."""

    added: int
    known: int
    """Were taken before."""
    not_counted: int
    """Cramming, and changes that are no answers."""
    of_others: int
    """Reviews of notes that are not ours."""


def here(moment: datetime) -> datetime:
    """A moment with this machine's offset at that time."""
    return moment.astimezone()


def read_history(drills: Drills, file: Path, *, local: Callable[[datetime], datetime] = here) -> HistoryImport:
    """Take the reviews of our items out of an Anki file; doing it twice changes nothing.

    Args:
        drills: of the store.
        file: a collection, or an exported package.
        local: gives a moment the offset of the place where it was.

    Raises:
        TutorError: the file is missing, or is not one of Anki's.
    """
    items = {guid_of(item.id): item for item in drills.deck.items}
    rollover_h = drills.cache.settings.base.rollover_h
    added = known = not_counted = of_others = 0
    with _collection(file) as database, drills.store.writing():
        for card_id, moment_ms, button, kind, spent_ms, guid in _rows(database, file):
            item = items.get(guid)
            if item is None:
                of_others += 1
                continue
            if kind > _LAST_COUNTED_TYPE or button not in (1, 2, 3, 4) or not 0 <= moment_ms < _LATEST_MS:
                not_counted += 1
                continue
            at = local(datetime.fromtimestamp(moment_ms / 1000, UTC))
            review = ev.Reviewed(
                presentation_id=f"anki:{card_id}:{moment_ms}",
                version=item.version,
                seed=0,
                day=local_day(at, rollover_h),
                rollover_h=rollover_h,
                rating=Rating(button),
                right=button > 1,
                reason="Answered in Anki.",
                duration_ms=max(0, spent_ms),
                source="anki",
                mode="recall",
                marked="self",
            )
            if drills.log.record(item.id, review, at, live=False).added:
                added += 1
            else:
                known += 1
    return HistoryImport(added, known, not_counted, of_others)


def _rows(database: sqlite3.Connection, file: Path) -> Iterator[tuple[int, int, int, int, int, str]]:
    try:
        _refuse_programs(database, file)
        for count, row in enumerate(
            database.execute(
                "SELECT r.cid, r.id, r.ease, r.type, r.time, n.guid FROM revlog r "
                "JOIN cards c ON c.id = r.cid JOIN notes n ON n.id = c.nid ORDER BY r.id"
            )
        ):
            if count >= _MOST_REVIEWS or not all(isinstance(value, int) for value in row[:5]):
                raise TutorError(f"{file} holds reviews that Anki does not write.", hint="Export it from Anki again.")
            yield row
    except sqlite3.Error:
        raise TutorError(
            f"{file} is not a collection of Anki.", hint="Give collection.anki2, or a package exported from Anki."
        ) from None


def _refuse_programs(database: sqlite3.Connection, file: Path) -> None:
    """Anki's tables are plain ones. A view or a computed column could run without end when it is read."""
    database.execute("PRAGMA trusted_schema = OFF")
    for table in _TABLES:
        kinds = database.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", (table,)).fetchall()
        if [kind for kind, _ in kinds] != ["table"] or "VIRTUAL" in str(kinds[0][1]).upper().split()[:2]:
            raise TutorError(
                f"{file} is not a collection of Anki.", hint="Give collection.anki2, or a package exported from Anki."
            )
        columns = database.execute(f"PRAGMA table_xinfo({table})").fetchall()
        # With ids that stand for one row each, joining the tables cannot give more rows than there are reviews.
        if any(hidden for *_, hidden in columns) or [name for _, name, *_, key, _ in columns if key] != ["id"]:
            raise TutorError(f"{file} has a table {table} that Anki does not write.", hint="Export it from Anki again.")


@contextmanager
def _collection(file: Path) -> Iterator[sqlite3.Connection]:
    if not file.is_file():
        raise TutorError(f"{file} is not there.", hint="Give collection.anki2, or a package exported from Anki.")
    if not zipfile.is_zipfile(file):
        with _read_only(file) as database:
            yield database
        return
    with tempfile.TemporaryDirectory() as folder, _read_only(_unpacked(file, Path(folder))) as database:
        yield database


def _unpacked(file: Path, folder: Path) -> Path:
    target = folder / "collection"
    try:
        with zipfile.ZipFile(file) as package:
            names = set(package.namelist())
            if "collection.anki21b" in names:
                # The collection beside it is only a note that says the same.
                raise TutorError(
                    f"{file} is in a form that only newer Anki reads.",
                    hint="Export it again with “Support older Anki versions” ticked.",
                )
            name = next((name for name in ("collection.anki21", "collection.anki2") if name in names), None)
            if name is None:
                raise TutorError(f"{file} holds no collection of Anki.", hint="Export a deck from Anki as .apkg.")
            found = package.getinfo(name)
            if found.file_size > _MAX_BYTES:
                raise TutorError(f"{file} holds more than 2 GiB.", hint="Export a smaller deck.")
            if found.file_size > max(1 << 24, _MOST_PACKED * found.compress_size):
                raise TutorError(
                    f"{file} would unpack to {found.file_size:,} bytes out of {found.compress_size:,}.",
                    hint="No collection packs that well; export it from Anki again.",
                )
            with package.open(name) as source, target.open("wb") as out:
                while block := source.read(1 << 20):
                    out.write(block)
    # What is encrypted or packed in an unknown way is told as RuntimeError and NotImplementedError.
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise TutorError(f"{file} is damaged: {error}.", hint="Export it from Anki once more.") from None
    return target


@contextmanager
def _read_only(file: Path) -> Iterator[sqlite3.Connection]:
    try:
        database = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise TutorError(f"{file} cannot be read: {error}.", hint="Close Anki and try again.") from None
    try:
        yield database
    finally:
        database.close()
