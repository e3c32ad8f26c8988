"""A checked run as a table, with ranges and moves where they were predicted, and as bars of its requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from textual.content import Content

from tutor.lab.surprise import Range
from tutor.lab.words import Row, move_row, range_row, runs_words
from tutor.tui.safe import join
from tutor.tui.words import number, pad

if TYPE_CHECKING:
    from tutor.checking import CheckedRun

TIMELINE_ROWS: Final = 24


def table(run: CheckedRun, width: int) -> Content:
    """Numbers right-aligned, the unit beside them; the labels give way, then the reference column."""
    shown = [
        [value.label]
        + ["–" if one is None else number(one) for one in (value.predicted, value.simulated, value.reference)]
        + [value.unit, "–" if value.ratio is None else f"{value.ratio:.2f}", verdict(value.ratio)]
        for value in run.values
    ]
    rows = [["", "predicted", "simulated", "reference", "unit", "ratio", ""], *shown]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(7)]

    def room() -> int:
        return width - sum(widths[1:]) - sum(1 for one in widths[1:] if one)

    if room() < min(widths[0], 12):
        rows, widths[3] = [[*row[:3], "", *row[4:]] for row in rows], 0
    widths[0] = min(widths[0], max(8, room()))
    made = []
    for number_of, row in enumerate(rows):
        cells = [pad(row[0], widths[0])]
        cells += [f"{row[n]:>{widths[n]}}" for n in (1, 2, 3) if widths[n]]
        text = " ".join([*cells, pad(row[4], widths[4]), f"{row[5]:>{widths[5]}}"])
        made.append(
            Content.assemble(text, (f" {row[6]}", "$secondary")) if number_of else Content.styled(text, "$secondary")
        )
    return Content("\n").join(made)


def verdict(ratio: float | None) -> str:
    """The ratio in words."""
    if ratio is None:
        return ""
    if abs(ratio - 1) <= 0.005:
        return "agrees"
    return "too high" if ratio > 1 else "too low"


def timelines(run: CheckedRun, width: int) -> Content:
    """Bars of each request; letters and glyphs tell the stages apart without colour."""
    from sim.timeline import render_text

    parts: list[str] = []
    if run.baseline_rows:
        parts += ["before the change", *render_text(run.baseline_rows, width, TIMELINE_ROWS), "", "after the change"]
    parts += render_text(run.rows, width, TIMELINE_ROWS)
    return Content("\n".join(parts))


def ranges_content(run: CheckedRun, ranges: Mapping[str, Range], confidence: int | None) -> Content:
    """For each number that was given a range: whether it holds what came out, and how surprising that is."""
    rows = [range_row(value, ranges[value.name], confidence) for value in run.values if value.name in ranges]
    if not rows:
        return Content("")
    return Content("\n").join([*map(_marked, rows), Content.styled(runs_words(run), "$secondary")])


def moves_content(run: CheckedRun) -> Content:
    """Which way each metric went, beside what was predicted."""
    return Content("\n").join([_marked(move_row(one)) for one in run.directions])


def _marked(row: Row) -> Content:
    tone = {"✓": "$success", "✗": "$error"}.get(row.mark, "$secondary")
    return join((f"{row.mark} {row.label}{' ' if row.label else ''}", tone), row.text)
