"""How verdicts, times and numbers are worded; the same everywhere on the screens."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from tutor.tui.safe import indented, one_line

if TYPE_CHECKING:
    from tutor.grading.models import CriterionGrade, Verdict

SYMBOLS: Final[Mapping[str, str]] = {"met": "✓", "not_met": "✗", "unsure": "?", "not_graded": "–"}
WORDS: Final[Mapping[str, str]] = {
    "met": "met",
    "not_met": "not met",
    "unsure": "unsure",
    "not_graded": "not graded",
}
TONES: Final[Mapping[str, str]] = {
    "met": "$success",
    "not_met": "$error",
    "unsure": "$warning",
    "not_graded": "$secondary",
}
CONFIDENCE: Final[Mapping[int, str]] = {1: "not yet", 2: "getting there", 3: "confident"}
WIDE_ROW = 96
"""From this many columns a criterion's quote and reason stand on one row."""


def criterion_content(grade: CriterionGrade, width: int) -> Content:
    """One criterion: symbol, name, verdict, who decided, quote and reason, within `width` columns."""
    head = Content.assemble(
        (f"{SYMBOLS[grade.verdict]} {grade.criterion:<13}", f"bold {TONES[grade.verdict]}"),
        (f"{WORDS[grade.verdict]:<11}", TONES[grade.verdict]),
        (f"{grade.decided_by or '':<9}", "$secondary"),
    )
    quote = f"“{one_line(grade.quote.text)}”" if grade.quote is not None else "—"
    reason = one_line(grade.reason)
    room = width - head.cell_length
    if width >= WIDE_ROW:
        column = min(44, room // 2)
        return Content.assemble(head, pad(quote, column), " ", reason)
    if grade.quote is None and cell_len(reason) <= room:
        return Content.assemble(head, (reason, "$secondary"))
    shown = "" if grade.quote is None else clip_cells(quote, room)
    return Content.assemble(head, shown, "\n", (indented(reason, width, 2), "$secondary"))


def waiting_content(criterion: str, seconds: int, what: str) -> Content:
    """A criterion that is not decided yet."""
    state = f"{what}, {seconds} s" if seconds or what != "waiting" else what
    return Content.assemble((f"… {criterion:<13}", "bold"), (state, "$secondary"))


def total_words(verdicts: list[Verdict]) -> str:
    """2 of 4 · 1 unsure · 1 not graded"""
    parts = [f"{verdicts.count('met')} of {len(verdicts)}"]
    rest: tuple[Verdict, ...] = ("unsure", "not_graded")
    parts += [f"{verdicts.count(verdict)} {WORDS[verdict]}" for verdict in rest if verdict in verdicts]
    return " · ".join(parts)


def clip_cells(text: str, cells: int) -> str:
    """The text in at most so many columns."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, max(cells - 1, 0)).rstrip() + "…" if cells > 0 else ""


def pad(text: str, cells: int) -> str:
    """The text in exactly so many columns."""
    return set_cell_size(clip_cells(text, cells), cells)


def ago(then: datetime, now: datetime) -> str:
    """How long ago, in one unit."""
    seconds = max(0, int((now - then).total_seconds()))
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return f"{seconds} s ago"


def plural(count: int, noun: str) -> str:
    """1 word, 2 words"""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def number(value: float, unit: str = "") -> str:
    """At most three decimals and none that are zero, with the unit."""
    text = f"{value:,.3f}".rstrip("0").rstrip(".") if abs(value) < 1e12 else f"{value:.4g}"
    return f"{text} {unit}".rstrip()


def parse_number(text: str) -> float | None:
    """A number as people type it, with or without thousands separators; None when it is none."""
    cleaned = text.strip().replace(",", "").replace(" ", "").replace("_", "")
    try:
        value = float(cleaned)
    except ValueError:
        return None
    return value if abs(value) < 1e15 else None
