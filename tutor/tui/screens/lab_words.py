"""The lab's numbers as lines and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from tutor.lab.words import measured
from tutor.tui.safe import one_line
from tutor.tui.widgets.plot import Table, table_content
from tutor.tui.words import plural

if TYPE_CHECKING:
    from sim import Scenario
    from tutor.lab.figures import MetricRow
    from tutor.lab.runs import Pair

BRIEF = ("TTFT p95", "ITL p95", "within limits", "output tokens", "E2E p95", "longest queue", "most KV blocks")
"""What the bench shows of a run, first what matters most; all of it is on the plots' first page."""


def scenario_words(scenario: Scenario) -> str:
    """1,500 requests of chat · vllm · 1 replica · seed 7"""
    from sim.traffic import request_count

    total = sum(request_count(item) for item in scenario.classes)
    names = ", ".join(item.name for item in scenario.classes[:3]) + (", …" if len(scenario.classes) > 3 else "")
    replicas = len(scenario.fleet.replicas) if isinstance(scenario.fleet.replicas, tuple) else scenario.fleet.replicas
    return (
        f"{plural(total, 'request')} of {names} · {scenario.server.policy} · {plural(int(replicas), 'replica')} · "
        f"seed {scenario.seed}"
    )


def ratio_words(before: float | None, after: float | None) -> str:
    """How many times as large, or a dash."""
    return "–" if before is None or after is None or not before else f"×{after / before:.2f}"


def result_table(pair: Pair, *, brief: bool = False) -> Table:
    """Both sides beside each other, or one alone."""
    rows = list(zip(*(side.rows for side in pair.sides), strict=False))
    shown = sorted(filter(_place, rows), key=_place) if brief else rows
    if pair.baseline is None:
        return Table(
            ("", "value", "unit", "n"),
            [(_name(one), measured(one.value), one.unit, _n(one)) for (one,) in shown],
            "" if brief else _note(pair),
        )
    return Table(
        ("", "baseline", "yours", "ratio", "unit", "n"),
        [
            (_name(one), measured(one.value), measured(other.value), ratio_words(one.value, other.value), one.unit,
             _n(other))
            for one, other in shown
        ],
        "" if brief else _note(pair),
    )  # fmt: skip


def _place(row: tuple[MetricRow, ...]) -> int:
    """Place among what the bench shows, from 1; 0 where it is left out."""
    return next((number for number, word in enumerate(BRIEF, 1) if word in row[0].name), 0)


def _name(row: MetricRow) -> str:
    return one_line(f"{row.group} {row.name}").strip() + ("*" if row.thin else "")


def _n(row: MetricRow) -> str:
    return "" if row.n is None else f"{row.n:,}"


def _note(pair: Pair) -> str:
    return "\n".join(_notes(pair))


def _notes(pair: Pair) -> Iterator[str]:
    for name, side in zip(("baseline", "yours") if pair.baseline else ("",), pair.sides, strict=True):
        head = f"{name}: " if name else ""
        cut = " Stopped early: what was under way counts as in flight." if side.partial else ""
        yield f"{head}{side.submitted:,} submitted, {side.fates}; seed {side.seed}.{cut}"
        if side.warning:
            yield f"{head}unstable: {side.warning}"
    if any(row.thin for side in pair.sides for row in side.rows):
        yield "* from fewer than 100 samples: little more than the largest value"
    yield "One run a side, both on the same requests. How far another seed would move it: F4 predict or F6 claim."


def result_content(pair: Pair, width: int, most: int) -> Content:
    """The bench's short table."""
    table = result_table(pair, brief=True)
    rows = table.rows[: most - 1]
    left = len(table.rows) - len(rows)
    content = table_content(Table(table.header, rows), min(width, 90))
    if any(side.partial for side in pair.sides):
        content = Content("\n").join(
            [content, Content.styled("Stopped early: a part of the requests only.", "$warning")]
        )
    elif left:
        content = Content("\n").join([content, Content.styled(f"{left} more: F7", "$secondary")])
    return content
