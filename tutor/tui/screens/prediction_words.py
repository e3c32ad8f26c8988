"""A prediction beside what came out, in lines and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tutor.lab.surprise import Range
from tutor.lab.words import Row, measured, outcome_rows, predicted_row
from tutor.tui.safe import join

if TYPE_CHECKING:
    from tutor.lab.predictions import Prediction

LABEL_CELLS = 11


def outcome_content(made: Prediction, width: int) -> Content:
    """The lines, and a picture of both on one scale."""
    found, locked = made.simulated, made.locked
    assert found is not None
    lines = [row_content(row) for row in outcome_rows(made)]
    interval = Range(found.low, found.high)
    picture = scale_picture(locked.value, made.stated, found.value, interval, width, found.baseline)
    return Content("\n").join([*lines, Content(""), picture])


def predicted_content(made: Prediction) -> Content:
    """What was locked."""
    return row_content(predicted_row(made))


def row_content(row: Row) -> Content:
    """A line: label, verdict in colour, text."""
    tone = "$success" if row.mark == "✓" else "$error"
    head, _, rest = row.text.partition(",")
    verdict = row.mark and row.label == "Compared"
    return join(
        (f"{row.label:<{LABEL_CELLS}}", "$secondary"),
        (f"{row.mark} ", tone) if row.mark else "",
        (head, tone) if verdict else head,
        f",{rest}" if rest else "",
    )


def scale_picture(
    predicted: float, stated: Range, outcome: float, interval: Range, width: int, baseline: float | None = None
) -> Content:
    """Both on one scale, the prediction above: the range with its number, below it the interval with its mean."""
    values = [predicted, stated.low, stated.high, outcome, interval.low, interval.high]
    values += [] if baseline is None else [baseline]
    low, high = min(values), max(values)
    span = (high - low) or abs(high) or 1.0
    cells = max(20, width - LABEL_CELLS)

    def column(value: float) -> int:
        return round((value - low) / span * (cells - 1))

    def row(name: str, between: Range, at: float, style: str) -> Content:
        bar = [" "] * cells
        first, last = column(between.low), column(between.high)
        for place in range(first, last + 1):
            bar[place] = "─"
        bar[first], bar[last] = "├", "┤"
        bar[column(at)] = "●"
        return join((f"{name:<{LABEL_CELLS}}", "$secondary"), ("".join(bar).rstrip(), style))

    lines = [row("you", stated, predicted, "$accent"), row("simulator", interval, outcome, "$foreground")]
    if baseline is not None:
        lines.append(join((f"{'baseline':<{LABEL_CELLS}}", "$secondary"), (" " * column(baseline) + "○", "$secondary")))
    left, right = measured(low), measured(high)
    lines.append(Content.styled(f"{'':<{LABEL_CELLS}}{left}{right:>{max(1, cells - len(left))}}", "$secondary"))
    return Content("\n").join(lines)
