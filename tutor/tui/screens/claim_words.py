"""A settled claim in lines and pictures: the interval against the claimed amount."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from textual.content import Content

from tutor.lab.claim_words import SYMBOLS, brief_words, effort_words, numbers_words
from tutor.lab.statements import shown_in, words_of
from tutor.tui.safe import join
from tutor.tui.widgets.plot_scale import tick_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sim.experiment.comparison import Outcome, TermOutcome
    from tutor.lab.overturn import Probed

MARKS = {
    verdict: (symbol, tone)
    for (verdict, symbol), tone in zip(SYMBOLS.items(), ("$success", "$error", "$warning"), strict=True)
}
LABEL_CELLS = 11


def outcome_content(outcome: Outcome, width: int) -> Content:
    """The verdict, and for each statement its numbers and a picture."""
    mark, tone = MARKS[outcome.verdict]
    parts = [join((f"{mark} {outcome.verdict}", f"bold {tone}"), f"  {effort_words(outcome)}")]
    for term in outcome.terms:
        parts += [statement_content(term), interval_picture(term, width)]
    return Content("\n").join(part for part in parts if part.plain)


def so_far_content(terms: Sequence[TermOutcome], replications: int, width: int) -> Content:
    """How the intervals stand while more replications are run."""
    parts = [
        join(
            (f"… after {replications} replications", "bold"), ("  every look has its share of the error", "$secondary")
        )
    ]
    for term in terms:
        parts += [join((words_of(term.term), "bold"), (f"\n  {numbers_words(term)}", "$secondary"))]
        parts.append(interval_picture(term, width))
    return Content("\n").join(part for part in parts if part.plain)


def statement_content(outcome: TermOutcome) -> Content:
    """One statement: the verdict, the estimate with its interval, both sides."""
    mark, tone = MARKS[outcome.verdict]
    return join(
        (f"{mark} ", tone),
        (words_of(outcome.term), "bold"),
        f": {outcome.verdict}",
        (f"\n  {numbers_words(outcome)}", "$secondary"),
    )


def interval_picture(outcome: TermOutcome, width: int) -> Content:
    """The region that the statement allows, and below it the interval on the same scale."""
    if outcome.estimate is None or outcome.interval is None:
        return Content("")
    _, factor, unit = shown_in(outcome)
    least, most = (value * factor for value in outcome.term.region)
    low, high = (value * factor for value in outcome.interval)
    at = outcome.estimate * factor
    ends = [value for value in (least, most, low, high, at) if math.isfinite(value)]
    if outcome.term.subject != "value":
        ends.append(0.0)
    span = (max(ends) - min(ends)) or abs(max(ends)) or 1.0
    left, right = min(ends) - 0.15 * span, max(ends) + 0.15 * span
    cells = max(20, width - LABEL_CELLS)

    def column(value: float) -> int:
        return min(max(round((value - left) / (right - left) * (cells - 1)), 0), cells - 1)

    claimed, found = [" "] * cells, [" "] * cells
    first = 0 if math.isinf(least) else column(least)
    last = cells - 1 if math.isinf(most) else column(most)
    for place in range(first, last + 1):
        claimed[place] = "▒"
    if math.isfinite(least):
        claimed[first] = "┊"
    if math.isfinite(most):
        claimed[last] = "┊"
    for place in range(column(low), column(high) + 1):
        found[place] = "─"
    found[column(low)], found[column(high)] = "├", "┤"
    found[column(at)] = "●"
    marks = [" "] * cells
    for value in [one for one in (least, most) if math.isfinite(one)]:
        text = tick_words(float(f"{value:.4g}"))
        start = min(max(column(value) - len(text) // 2, 0), cells - len(text))
        marks[start : start + len(text)] = text
    tone = MARKS[outcome.verdict][1]
    axis = "".join(marks).rstrip()
    return Content("\n").join(
        [
            join((f"{'claimed':<{LABEL_CELLS}}", "$secondary"), ("".join(claimed).rstrip(), "$accent")),
            join((f"{'simulated':<{LABEL_CELLS}}", "$secondary"), ("".join(found).rstrip(), tone)),
            Content.styled(f"{'':<{LABEL_CELLS}}{axis} {unit}", "$secondary"),
        ]
    )


def probes_content(probed: Sequence[Probed]) -> Content:
    """What the attempts to overturn it gave, one a line; what flips the verdict first."""
    rows = []
    for one in sorted(probed, key=lambda one: (not one.flips, one.outcome is None)):
        if one.outcome is None:
            rows.append(join(("– ", "$secondary"), one.name, (f": not tried, {one.note}", "$secondary")))
            continue
        mark, tone = MARKS[one.outcome.verdict]
        words = "overturned: " if one.flips else ""
        rows.append(
            join(
                (f"{mark} ", tone),
                one.name,
                ": ",
                (f"{words}{one.outcome.verdict}", tone),
                (f"  {brief_words(one.outcome)}", "$secondary"),
            )
        )
    return Content("\n").join(rows)
