"""Charts in braille dots: lines that differ by their dashes as well as by colour, with axes, limits and a legend.

A cell holds two by four dots, so that a chart of 70 by 14 cells has 140 by 56 of them. Nothing here knows what is
drawn; every chart of the lab has its numbers as a table too, which is what a screen reader reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from rich.cells import cell_len
from textual.content import Content

from tutor.tui.safe import one_line
from tutor.tui.widgets.plot_scale import Scale, scale_of, tick_words
from tutor.tui.words import clip_cells

COLOURS: Final = ("$secondary", "$accent", "$warning", "$success", "$error", "$foreground")
"""Of the lines, in order; the first is the baseline's and steps back."""
DASHES: Final = ("1100", "1", "11111000", "1000")
"""Which of the dots along each line are set. The second line, which is the person's own, has them all."""
SAMPLES: Final = ("╌╌", "──", "─ ", "··")
LIMIT: Final = "$error"
MIN_WIDTH, MIN_HEIGHT = 24, 6
_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    style: int = 1
    """Place in the list of colours and dashes."""
    steps: bool = False
    """The value holds until the next one."""
    marks: bool = False
    """A sign at every point."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A straight line across the chart, at a value of an axis."""

    name: str
    value: float
    axis: str = "x"


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    limits: Sequence[Limit] = ()
    x_scale: Scale | None = None
    y_scale: Scale | None = None
    empty: str = "no sample"
    """What is said where there is nothing to draw."""
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """The same in numbers; the first column is text, the others are right-aligned."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]] = field(default_factory=tuple)
    note: str = ""


class Dots:
    """A field of dots, with the colour of each cell."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._bits = [[0] * columns for _ in range(rows)]
        self._text = [[" "] * columns for _ in range(rows)]
        self._style = [[""] * columns for _ in range(rows)]

    def put(self, x: int, y: int, style: str) -> None:
        """Set a dot; `y` counts from the bottom. Outside nothing happens."""
        if 0 <= x < 2 * self.columns and 0 <= y < 4 * self.rows:
            column, row = x // 2, self.rows - 1 - y // 4
            self._bits[row][column] |= _BITS[3 - y % 4][x % 2]
            self._style[row][column] = style

    def sign(self, column: int, row: int, text: str, style: str, *, below: bool = False) -> None:
        """Write one character into a cell; `below` gives way to dots."""
        if 0 <= column < self.columns and 0 <= row < self.rows and not (below and self._bits[row][column]):
            if not below:
                self._bits[row][column] = 0
            self._text[row][column], self._style[row][column] = text, style

    def row(self, number: int) -> Content:
        """A row of cells, the top one first."""
        parts: list[tuple[str, str]] = []
        for bits, text, style in zip(self._bits[number], self._text[number], self._style[number], strict=True):
            shown = chr(0x2800 + bits) if bits else text
            if parts and parts[-1][1] == style:
                parts[-1] = (parts[-1][0] + shown, style)
            else:
                parts.append((shown, style))
        return Content.assemble(*(part if part[1] else part[0] for part in parts))


def draw(chart: Chart, width: int, height: int) -> Content:
    """The chart in exactly `width` columns and at most `height` rows."""
    width, height = max(width, MIN_WIDTH), max(height, MIN_HEIGHT)
    lines = [line for line in chart.lines if len(line.xs)]
    if not lines:
        return Content.styled(f"{chart.title}: {chart.empty}", "$secondary")
    xs = chart.x_scale or scale_of(_values(lines, chart.limits, "x"))
    ys = chart.y_scale or scale_of(_values(lines, chart.limits, "y"), zero=True, log=False)
    legend = _legend(lines, chart.limits, width)
    rows = max(2, height - len(legend) - 2)
    marks = ys.ticks(max(2, rows // 3))
    labels = [tick_words(mark) for mark in marks]
    gutter = max([cell_len(label) for label in labels] or [1]) + 1
    dots = Dots(width - gutter - 1, rows)
    _limits(dots, chart.limits, xs, ys)
    for line in lines:
        _line(dots, line, xs, ys)
    at_row = {_row(ys.place(mark), rows): label for mark, label in zip(marks, labels, strict=True)}
    drawn = list(legend)
    for number in range(rows):
        label = at_row.get(number, "")
        edge = "┤" if label else "│"
        drawn.append(Content.assemble((f"{label:>{gutter - 1}} {edge}", "$secondary"), dots.row(number)))
    drawn += _x_axis(chart, xs, gutter, dots.columns)
    return Content("\n").join(drawn)


def _values(lines: Sequence[Line], limits: Sequence[Limit], axis: str) -> list[float]:
    values = [value for line in lines for value in (line.xs if axis == "x" else line.ys)]
    return values + [limit.value for limit in limits if limit.axis == axis]


def _row(place: float, rows: int) -> int:
    return rows - 1 - min(max(int(place * (rows * 4 - 1)) // 4, 0), rows - 1)


def _limits(dots: Dots, limits: Sequence[Limit], xs: Scale, ys: Scale) -> None:
    for limit in limits:
        place = (xs if limit.axis == "x" else ys).place(limit.value)
        if not 0 <= place <= 1:
            continue
        if limit.axis == "x":
            column = min(int(place * dots.columns), dots.columns - 1)
            for row in range(dots.rows):
                dots.sign(column, row, "┊", LIMIT)
        else:
            row = _row(place, dots.rows)
            for column in range(dots.columns):
                dots.sign(column, row, "┄", LIMIT)


def _line(dots: Dots, line: Line, xs: Scale, ys: Scale) -> None:
    wide, high = 2 * dots.columns - 1, 4 * dots.rows - 1
    style, dash = COLOURS[line.style % len(COLOURS)], DASHES[line.style % len(DASHES)]
    points = [(round(xs.place(x) * wide), round(ys.place(y) * high)) for x, y in zip(line.xs, line.ys, strict=True)]
    for number, (x, y) in enumerate(_path(points, steps=line.steps)):
        if dash[number % len(dash)] == "1":
            dots.put(x, y, style)
    if line.marks:
        sign = "○●◆▲"[line.style % 4]
        for x, y in points:
            dots.sign(x // 2, dots.rows - 1 - y // 4, sign, style)


def _path(points: Sequence[tuple[int, int]], *, steps: bool) -> Iterator[tuple[int, int]]:
    """Every dot from point to point, each once."""
    if not points:
        return
    yield points[0]
    for (x0, y0), (x1, y1) in pairwise(points):
        corners = [(x0, y0), (x1, y0), (x1, y1)] if steps else [(x0, y0), (x1, y1)]
        for (a, b), (c, d) in pairwise(corners):
            length = max(abs(c - a), abs(d - b))
            for part in range(1, length + 1):
                yield a + round((c - a) * part / length), b + round((d - b) * part / length)


def _legend(lines: Sequence[Line], limits: Sequence[Limit], width: int) -> list[Content]:
    """Samples of the lines with their names, in as few rows as hold them; names give way."""
    parts = [
        (SAMPLES[line.style % len(SAMPLES)], one_line(line.name), COLOURS[line.style % len(COLOURS)]) for line in lines
    ]
    parts += [("┊" if limit.axis == "x" else "┄┄", one_line(limit.name), LIMIT) for limit in limits]
    rows: list[list[Content]] = [[]]
    used = 0
    for sample, name, colour in parts:
        name = clip_cells(name, width - 4)
        size = cell_len(sample) + 1 + cell_len(name)
        if used and used + 3 + size > width:
            rows.append([])
            used = 0
        rows[-1].append(Content.assemble((f"{sample} ", colour), name))
        used += size + (3 if used else 0)
    return [Content("   ").join(row) for row in rows]


def _x_axis(chart: Chart, xs: Scale, gutter: int, columns: int) -> list[Content]:
    label = clip_cells(chart.x_label, max(6, columns // 2))
    marks = xs.ticks(max(2, columns // 10))
    axis, below, end = ["─"] * columns, [" "] * columns, 0
    for mark in marks:
        at = min(max(int(xs.place(mark) * columns), 0), columns - 1)
        words = tick_words(mark)
        first = min(max(0, at - cell_len(words) // 2), columns - cell_len(words))
        if first < end or (first + cell_len(words) > columns - cell_len(label) - 1):
            continue
        axis[at] = "┴"
        below[first : first + len(words)] = words
        end = first + len(words) + 2
    text = "".join(below).rstrip()
    text = f"{text:<{columns - cell_len(label)}}{label}"
    return [
        Content.styled(f"{' ' * gutter}└{''.join(axis)}", "$secondary"),
        Content.styled(f"{' ' * (gutter + 1)}{text}", "$secondary"),
    ]


def table_content(table: Table, width: int) -> Content:
    """The numbers; columns that do not fit go below each other, one row a line, so that nothing is cut."""
    rows = [[one_line(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(table.header))]
    if sum(widths) + 2 * (len(widths) - 1) <= width:
        made = [_table_row(row, widths, head=not number) for number, row in enumerate(rows)]
    else:
        room = width - sum(widths[1:]) - 2 * (len(widths) - 1)
        if room >= 10:
            widths[0] = room
            made = [_table_row(row, widths, head=not number) for number, row in enumerate(rows)]
        else:
            head = rows[0]
            made = [
                Content(
                    row[0] + ": " + ", ".join(f"{name} {cell}" for name, cell in zip(head[1:], row[1:], strict=True))
                )
                for row in rows[1:]
            ]
    if table.note:
        made += [Content(""), Content.styled(table.note, "$secondary")]
    return Content("\n").join(made)


def _table_row(row: Sequence[str], widths: Sequence[int], *, head: bool) -> Content:
    first = clip_cells(row[0], widths[0])
    cells = [first + " " * (widths[0] - cell_len(first))]
    cells += [" " * (size - cell_len(cell)) + cell for cell, size in zip(row[1:], widths[1:], strict=True)]
    text = "  ".join(cells)
    return Content.styled(text, "$secondary") if head else Content(text)
