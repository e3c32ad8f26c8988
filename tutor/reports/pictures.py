"""The pictures of reports as SVG, drawn to be read at the width of a phone. Each has its content as text beside it.

Colours come from the page, so that a picture follows light, dark and print; what a colour says a symbol says first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rubrics.schema import CRITERION_IDS
from tutor.reports import words as w
from tutor.reports.page import esc
from tutor.text import clip

if TYPE_CHECKING:
    from tutor.reports.models import ItemReport

_WIDE: Final = 380
"""Units across; at most so many, a unit is about a pixel on a phone."""
_LABEL: Final = 134
_TOP: Final = 22


def svg(title: str, description: str, height: int, body: str, *, width: int = _WIDE) -> str:
    """A picture that says in words what it shows."""
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{esc(f"{title}. {description}")}" '
        f'xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )


def label(item: ItemReport, y: float) -> str:
    """The name of a row."""
    return f'<text x="0" y="{y:.0f}">{item.number} {esc(clip(item.title, 15))}</text>'


def criteria_grid(items: Sequence[ItemReport]) -> str:
    """A row for each graded item, a column for each criterion."""
    graded = [item for item in items if item.criteria]
    if not graded:
        return ""
    cell = (_WIDE - _LABEL) / len(CRITERION_IDS)
    parts = []
    for column, criterion in enumerate(CRITERION_IDS):
        name = {"verification": "verify"}.get(criterion, criterion)
        parts.append(
            f'<text class="soft" text-anchor="middle" x="{_LABEL + (column + 0.5) * cell:.1f}" y="13">{name}</text>'
        )
    for row, item in enumerate(graded):
        y = _TOP + 30 * row
        parts.append(label(item, y + 19))
        for column, one in enumerate(item.criteria):
            x = _LABEL + column * cell
            own = "*" if one.own is not None else ""
            parts.append(
                f'<rect class="{one.verdict}" x="{x + 2:.1f}" y="{y + 2}" width="{cell - 4:.1f}" height="26" rx="5"/>'
                f'<text class="{one.verdict}" text-anchor="middle" x="{x + cell / 2:.1f}" y="{y + 20}">'
                f"{w.SYMBOLS[one.verdict]}{own}</text>"
            )
    said = "; ".join(
        f"{item.title}: {', '.join(f'{one.criterion} {w.VERDICTS[one.verdict]}' for one in item.criteria)}"
        for item in graded
    )
    return svg("Criteria per question", said, _TOP + 30 * len(graded) + 2, "".join(parts))


def time_bars(items: Sequence[ItemReport]) -> str:
    """A bar for the time of each answered item, with a tick where a time was planned."""
    timed = [item for item in items if item.spent_s is not None]
    if not timed:
        return ""
    # One answer left open overnight must not flatten the others.
    usual = sorted(item.spent_s or 0.0 for item in timed)[len(timed) // 2]
    most = max(1.0, *(item.planned_s or 0.0 for item in timed),
               *(min(item.spent_s or 0.0, max(5 * usual, 60.0)) for item in timed))  # fmt: skip
    room = _WIDE - _LABEL - 74
    parts = []
    for row, item in enumerate(timed):
        y = 30 * row
        length = max(2.0, min(1.0, (item.spent_s or 0.0) / most) * room)
        parts.append(label(item, y + 19))
        parts.append(f'<rect class="bar" x="{_LABEL}" y="{y + 6}" width="{length:.1f}" height="17" rx="3"/>')
        end = length
        if item.planned_s is not None:
            tick = _LABEL + item.planned_s / most * room
            parts.append(f'<path class="ink" stroke-width="2" d="M{tick:.1f} {y + 2}v25"/>')
            end = max(end, tick - _LABEL)
        shown = w.minutes(item.spent_s) if (item.spent_s or 0.0) < 7200 else "> 2 h"
        parts.append(f'<text class="soft" x="{_LABEL + end + 6:.1f}" y="{y + 19}">{shown}</text>')
    said = "; ".join(
        f"{item.title}: {w.minutes(item.spent_s)}"
        + (f" of {w.minutes(item.planned_s)} planned" if item.planned_s is not None else "")
        for item in timed
    )
    return svg("Time per question", said, 30 * len(timed) + 2, "".join(parts))
