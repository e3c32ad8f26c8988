"""Items and reviews as text tables that Anki and others read.

Items: tab- or comma-separated with Anki's headers (`#separator`, `#columns`, `#guid column` …), so that Anki's importer
needs no settings; the notes in such a table can be read back. Reviews: the columns that FSRS tools use (`card_id`,
`review_rating`, `review_time`, `review_duration` in ms), with our own after them.
"""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from typing import TYPE_CHECKING, Final, Literal

from tutor.drills import events as ev
from tutor.drills.anki import DECK, NOTE_TYPE, as_html, front_of, guid_of
from tutor.drills.log import MAX_NOTE_CHARS, DrillError
from tutor.errors import TutorError

if TYPE_CHECKING:
    from tutor.drills.drills import Drills

Separator = Literal["tab", "comma"]
_CHAR: Final = {"tab": "\t", "comma": ","}
_NAMES: Final = {"tab": "\t", "\\t": "\t", "\t": "\t", "comma": ",", ",": ",", "semicolon": ";", ";": ";", "pipe": "|"}
COLUMNS: Final = ("GUID", "Deck", "Tags", "Item", "Front", "Back", "Note")
REVIEW_COLUMNS: Final = (
    "card_id", "review_rating", "review_time", "review_duration", "local_day", "confidence", "hints", "source",
    "marked", "reason",
)  # fmt: skip
_MAX_LINES: Final = 200_000


def item_table(drills: Drills, separator: Separator = "tab") -> Iterator[str]:
    """Every item as a row that Anki imports as a note, headers first; lines without their ends.

    Raises:
        DrillError: the deck has no bank, so there are no texts.
    """
    if drills.deck.bank is None:
        raise DrillError("A deck without its bank has no texts to write.")
    from question_bank.variants import build_question

    drills.cache.catch_up()
    yield f"#separator:{separator}"
    yield "#html:true"
    yield f"#notetype:{NOTE_TYPE}"
    yield "#guid column:1"
    yield "#deck column:2"
    yield "#tags column:3"
    yield f"#columns:{_CHAR[separator].join(COLUMNS)}"
    titles = {lesson.id: lesson.title for lesson in drills.deck.bank.lessons}
    for item in drills.deck.items:
        question = build_question(drills.deck.bank.item(item.id), 0)
        fields = (
            guid_of(item.id),
            f"{DECK}::{titles[item.lesson_id].replace('::', ': ')}",
            " ".join(item.topics),
            item.id,
            front_of(question),
            as_html(question.reference),
            html.escape(drills.cache.card(item.id).state.note).replace("\n", "<br>"),
        )
        yield _line(fields, _CHAR[separator])


def review_table(drills: Drills) -> Iterator[str]:
    """Every review that stands, as comma-separated values with a header; what is not decided has no rating."""
    yield _line(REVIEW_COLUMNS, ",")
    for item_id, entry in drills.log.reviews():
        review = entry.payload
        assert isinstance(review, ev.Reviewed)
        fields = (
            item_id,
            "" if review.rating is None else int(review.rating),
            entry.at.isoformat(),
            "" if review.duration_ms is None else review.duration_ms,
            review.day,
            review.confidence or "",
            review.hints,
            review.source,
            review.marked,
            review.reason,
        )
        yield _line(fields, ",")


@dataclass(frozen=True, slots=True)
class NotesImport:
    """What a table of notes did."""

    changed: int
    same: int
    of_others: int
    """Rows that are not about our items."""


def read_notes(drills: Drills, lines: Iterable[str], now: datetime, *, source: str) -> NotesImport:
    """Take the notes out of a table with Anki's headers; nothing else is changed, and schedules are kept.

    A row is known by its GUID, or by its Item column.

    Args:
        drills: of the store.
        lines: of the table.
        now: the time with its offset.
        source: the file's name, for errors.

    Raises:
        TutorError: the table names no note or no item column, or a row does not fit.
    """
    separator, columns, body, start = _headers(lines, source)
    if "note" not in columns or not {"guid", "item"} & set(columns):
        raise TutorError(
            f"{source}: the columns are {', '.join(columns) or 'not named'}; Note and Item or GUID are needed.",
            hint="Begin the file with a line such as #columns:GUID,Item,Note.",
        )
    by_guid = {guid_of(item.id): item.id for item in drills.deck.items}
    wanted: list[tuple[str, str]] = []
    of_others = 0
    rows = csv.reader(body, delimiter=separator)
    try:
        for row in rows:
            if not row:
                continue
            if len(row) < len(columns):
                raise TutorError(
                    f"{source}, line {start + rows.line_num}: {len(row)} columns where {len(columns)} are named.",
                    hint="Write every column; nothing was imported.",
                )
            named = dict(zip(columns, row, strict=False))
            item_id = by_guid.get(named.get("guid", "")) or named.get("item", "")
            if item_id not in drills.deck.by_id:
                of_others += 1
                continue
            note = html.unescape(re.sub(r"<br\s*/?>", "\n", named["note"])).strip()
            if len(note) > MAX_NOTE_CHARS:
                raise TutorError(
                    f"{source}, line {start + rows.line_num}: the note has {len(note):,} characters; at most "
                    f"{MAX_NOTE_CHARS:,} are kept.",
                    hint="Shorten it; nothing was imported.",
                )
            wanted.append((item_id, note))
    except csv.Error as error:
        raise TutorError(f"{source}, line {start + rows.line_num}: {error}.", hint="Nothing was imported.") from None
    drills.cache.catch_up()
    changed = 0
    with drills.store.writing():
        for item_id, note in wanted:
            if drills.cache.card(item_id).state.note != note:
                drills.log.note(item_id, note, now)
                changed += 1
    drills.queue.refresh(now)
    return NotesImport(changed, len(wanted) - changed, of_others)


def _headers(lines: Iterable[str], source: str) -> tuple[str, list[str], list[str], int]:
    """The separator, the names of the columns in lower case, the lines below the headers, and how many are above."""
    every = list(lines)
    if len(every) > _MAX_LINES:
        raise TutorError(f"{source} has more than {_MAX_LINES:,} lines.", hint="Split it.")
    separator, columns, count, places = "\t", list[str](), 0, dict[int, str]()
    for line in every:
        if not line.startswith("#"):
            break
        count += 1
        key, _, value = line[1:].rstrip("\r\n").partition(":")
        key = key.strip().lower()
        if key == "separator":
            named = _NAMES.get(value.strip().lower() or value)
            if named is None:
                raise TutorError(
                    f"{source}, line {count}: the separator {value!r} is unknown.", hint="Write tab or comma."
                )
            separator = named
        elif key == "columns":
            columns = [name.strip().lower() for name in value.split(separator)]
        elif key.endswith(" column") and value.strip().isdigit():
            places[int(value)] = key.removesuffix(" column")
    for place, name in places.items():
        if 1 <= place <= len(columns):
            columns[place - 1] = name
    return separator, columns, every[count:], count


def _line(fields: Iterable[object], separator: str) -> str:
    out = StringIO()
    # The writer quotes a field with line breaks, as code has them, only when these end its lines.
    csv.writer(out, delimiter=separator, lineterminator="\n").writerow([_flat(field) for field in fields])
    return out.getvalue().removesuffix("\n")


def _flat(field: object) -> object:
    return re.sub(r"\s*\n\s*", " ", field) if isinstance(field, str) and "<pre>" not in field else field
