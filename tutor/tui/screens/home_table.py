"""Home's table of lessons: what was answered, how far it is mastered, when it comes back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from textual.content import Content

from tutor.tui.safe import join, one_line
from tutor.tui.words import pad

if TYPE_CHECKING:
    from tutor.drills.mastery import LessonProgress

COLUMNS: Final = 9 + 2 + 8 + 2 + 10
"""answered, mastery, next, and the gaps between them."""
READING: Final = 20
READING_FROM: Final = 100
"""From this many columns where one stopped reading stands at the end."""
BAR: Final = 6


@dataclass(frozen=True, slots=True)
class LessonRow:
    """What a row says."""

    number: int
    title: str
    items: int
    far: LessonProgress | None
    reading: str


def title_width(width: int) -> int:
    """Columns for number and title, of `width` in all."""
    reading = READING if width >= READING_FROM else 0
    return max(12, min(60, width - COLUMNS - reading - 2))


def heading(pack_title: str, named: int, width: int) -> str:
    """The table's first line."""
    reading = f"  {'reading':<{READING - 2}}" if width >= READING_FROM else ""
    return f" {pad(one_line(pack_title), named)} {'answered':>9}  {'mastery':<8}  {'next':<10}{reading}".rstrip()


def lesson_row(row: LessonRow, named: int, width: int, today: date) -> Content:
    """One lesson."""
    asked = row.far.asked if row.far is not None else 0
    share = row.far.mastery if row.far is not None else 0.0
    due = row.far.next_due if row.far is not None else None
    reading = f"  {row.reading}" if width >= READING_FROM else ""
    full = round(share * BAR)
    return join(
        f" {pad(f'{row.number} {one_line(row.title)}', named)} ",
        f"{f'{asked}/{row.items}':>9}  ",
        ("█" * full, "$accent"),
        ("▁" * (BAR - full) + f"{'':<{8 - BAR}}", "$secondary"),
        f"  {pad(day_words(due, today), 10)}",
        (reading, "$secondary"),
    )


def day_words(day: date | None, today: date) -> str:
    """today, tomorrow, a weekday within the week, else the date; new where nothing was asked."""
    if day is None:
        return "new"
    if day <= today:
        return "today"
    if day == today + timedelta(days=1):
        return "tomorrow"
    return f"{day:%a %d %b}" if (day - today).days < 330 else f"{day:%d %b %y}"
