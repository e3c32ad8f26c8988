"""How far a lesson has been read."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tutor.store import Store

STREAM_PREFIX: Final = "lesson:"
OPENED: Final = "lesson.opened"
READ: Final = "section.read"


def lesson_opened(store: Store, lesson_id: str, at: datetime) -> None:
    """Record that a lesson was opened."""
    store.append(f"{STREAM_PREFIX}{lesson_id}", OPENED, {}, at)


def section_read(store: Store, lesson_id: str, section_id: str, at: datetime) -> None:
    """Record that a section was read; the same section twice in a row is one record."""
    with store.writing():
        if last_section(store, lesson_id) != section_id:
            store.append(f"{STREAM_PREFIX}{lesson_id}", READ, {"section_id": section_id}, at)


def last_section(store: Store, lesson_id: str) -> str | None:
    """The section that was read last; None when the lesson has not been begun."""
    read = store.events(f"{STREAM_PREFIX}{lesson_id}", READ)
    return str(read[-1].payload["section_id"]) if read else None


def sections_read(store: Store, lesson_id: str) -> frozenset[str]:
    """All sections of a lesson that were read."""
    return frozenset(str(event.payload["section_id"]) for event in store.events(f"{STREAM_PREFIX}{lesson_id}", READ))
