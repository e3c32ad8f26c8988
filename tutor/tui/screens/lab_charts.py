"""The lab's pages: what each shows of both sides, as charts and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from textual.content import Content

from sim.metrics import in_words, name_in_words
from sim.timeline import GLYPHS
from tutor.lab.words import measured
from tutor.tui.safe import one_line
from tutor.tui.widgets.plot import Chart, Limit, Line, Table, draw, table_content
from tutor.tui.widgets.plot_scale import Scale, scale_of, tick_words
from tutor.tui.words import clip_cells, pad

if TYPE_CHECKING:
    from sim.timeline import TimelineRow
    from tutor.lab.figures import Curve, Distribution, Figures
    from tutor.lab.runs import Pair, RateCurve

STAGE_COLOURS: Final = {"preprocess": "$secondary", "queue": "$warning", "prefill": "$accent", "decode": "$success"}
SHARES: Final = Scale(0.0, 1.0)


def side_names(pair: Pair) -> tuple[str, ...]:
    """What the sides are called."""
    return ("baseline", "yours") if pair.baseline is not None else ("yours",)


def styles(pair: Pair) -> tuple[int, ...]:
    """Places of the sides in the list of colours and dashes; one's own is always the same."""
    return (0, 1) if pair.baseline is not None else (1,)


# ---- distributions ---------------------------------------------------------------------------------


def distribution_content(pair: Pair, metric: str, width: int, height: int, *, tables: bool) -> Content:
    """How one latency is distributed, class by class, both sides in each chart."""
    charts = [_distribution(pair, metric, name) for name in _classes(pair, metric)]
    if not charts:
        return Content.styled(
            f"No request has a {in_words(metric)}: with one token an answer has no gaps.", "$secondary"
        )
    return stack(charts, width, height, tables=tables)


def _classes(pair: Pair, metric: str) -> list[str]:
    found: list[str] = []
    for side in pair.sides:
        found += [one.class_name for one in side.distributions if one.metric == metric and one.class_name not in found]
    return found


def _of(side: Figures, metric: str, class_name: str) -> Distribution | None:
    return next((one for one in side.distributions if (one.metric, one.class_name) == (metric, class_name)), None)


def _distribution(pair: Pair, metric: str, class_name: str) -> Chart:
    lines, rows = [], []
    limits: list[Limit] = []
    for name, style, side in zip(side_names(pair), styles(pair), pair.sides, strict=True):
        one = _of(side, metric, class_name)
        if one is None:
            continue
        label = f"{name}, n = {one.curve.n:,}"
        lines.append(Line(label, one.curve.xs, one.curve.ys, style, steps=True))
        if one.limit_ms is not None and not any(limit.value == one.limit_ms for limit in limits):
            limits.append(Limit(f"limit {measured(one.limit_ms)} ms", one.limit_ms))
        rows.append((name, *(measured(value) for _, value in one.percentiles_ms), f"{one.curve.n:,}"))
    heads = next(
        ([name for name, _ in one.percentiles_ms] for side in pair.sides if (one := _of(side, metric, class_name))), []
    )
    note = f"milliseconds{''.join(f'; {limit.name}' for limit in limits)}"
    return Chart(
        f"{one_line(class_name)} {in_words(metric)}",
        "ms",
        "share",
        lines,
        limits,
        y_scale=SHARES,
        table=Table((f"{one_line(class_name)} {in_words(metric)}, ms", *heads, "n"), rows, note),
    )


# ---- load over time --------------------------------------------------------------------------------


def load_content(pair: Pair, width: int, height: int, *, tables: bool) -> Content:
    """Queue, seats and KV blocks over time, all replicas together."""
    sides = list(zip(side_names(pair), styles(pair), pair.sides, strict=True))
    ends = max((side.duration_s for side in pair.sides), default=1.0) or 1.0
    charts = []
    parts = [
        ("Requests in the queue", "requests", [(n, s, side.load.waiting) for n, s, side in sides], 0.0),
        ("Seats taken", "requests", [(n, s, side.load.running) for n, s, side in sides], 0.0),
        (
            "KV blocks held",
            "%",
            [(n, s, side.load.kv_percent) for n, s, side in sides if side.load.kv_percent is not None],
            100.0,
        ),
    ]
    for title, unit, curves, top in parts:
        if not curves:
            continue
        values = [value for _, _, curve in curves for value in curve.ys]
        charts.append(
            Chart(
                title,
                "s",
                unit,
                [Line(f"{title}, {unit}: {name}" if not n else name, curve.xs, curve.ys, style, steps=True)
                 for n, (name, style, curve) in enumerate(curves)],
                x_scale=Scale(min((curve.xs[0] for _, _, curve in curves if curve.xs), default=0.0),
                              max(max((curve.xs[-1] for _, _, curve in curves if curve.xs), default=1.0), 1e-9)),
                y_scale=scale_of(values, zero=True, log=False, high=top),
                table=_over_time(title, unit, curves, ends),
            )
        )  # fmt: skip
    return stack(charts, width, height, tables=tables, titled=False)


def _over_time(title: str, unit: str, curves: Sequence[tuple[str, int, Curve]], end_s: float) -> Table:
    """The largest value in each tenth of the time."""
    begin = min((curve.xs[0] for _, _, curve in curves if curve.xs), default=0.0)
    edges = [begin + end_s * part / 10 for part in range(11)]
    rows = []
    for part in range(10):
        cells = [measured(_largest(curve, edges[part], edges[part + 1])) for _, _, curve in curves]
        rows.append((f"{tick_words(round(edges[part], 3))} to {tick_words(round(edges[part + 1], 3))} s", *cells))
    return Table((f"{title}, most, {unit}", *(name for name, _, _ in curves)), rows)


def _largest(curve: Curve, begin: float, end: float) -> float:
    """The largest value that holds at some time within; the one that holds when it begins counts."""
    held, most = 0.0, 0.0
    for x, y in zip(curve.xs, curve.ys, strict=True):
        if x <= begin:
            held = y
        elif x < end:
            most = max(most, y)
        else:
            break
    return max(held, most)


# ---- requests --------------------------------------------------------------------------------------


def requests_content(pair: Pair, width: int, *, tables: bool) -> Content:
    """Bars of the first requests; both sides of a request stand below each other on one axis of time."""
    if tables:
        return table_content(_requests_table(pair), width)
    rows = _interleaved(pair)
    drawn = [(name, row) for name, row in rows if row.segments]
    if not drawn:
        return Content.styled("No request was begun.", "$secondary")
    names = min(max(len(f"{one_line(row.label)} {name}".strip()) for name, row in drawn), max(12, width // 3))
    cells = max(10, width - names - 1)
    start = min(row.segments[0].start_s for _, row in drawn)
    end = max(row.segments[-1].end_s for _, row in drawn)
    span = max(end - start, 1e-12)
    legend = Content("  ").join(
        Content.assemble((glyph, STAGE_COLOURS[kind]), f" {kind}") for kind, glyph in GLYPHS.items()
    )
    made = [legend]
    for name, row in drawn:
        label = clip_cells(f"{one_line(row.label)} {name}".strip(), names)
        made.append(Content.assemble(f"{pad(label, names)} ", _bar(row, start, span, cells)))
    left, right = f"{start * 1000:,.0f}", f"{end * 1000:,.0f} ms"
    made.append(Content.styled(f"{'':<{names}} {left}{right:>{max(1, cells - len(left))}}", "$secondary"))
    more = pair.yours.submitted - len(pair.yours.timeline)
    if more > 0:
        made.append(Content.styled(f"the first {len(pair.yours.timeline)}; {more:,} more", "$secondary"))
    return Content("\n").join(made)


def _bar(row: TimelineRow, start: float, span: float, cells: int) -> Content:
    parts: list[tuple[str, str]] = []
    reached = 0
    for segment in row.segments:
        first = min(max(round((segment.start_s - start) / span * cells), reached), cells - 1)
        end = min(max(round((segment.end_s - start) / span * cells), first + 1), cells)
        parts.append((" " * (first - reached), ""))
        parts.append((GLYPHS[segment.kind] * (end - first), STAGE_COLOURS[segment.kind]))
        reached = end
    return Content.assemble(*(part if part[1] else part[0] for part in parts if part[0]))


def _interleaved(pair: Pair) -> list[tuple[str, TimelineRow]]:
    if pair.baseline is None:
        return [("", row) for row in pair.yours.timeline]
    rows = []
    for one, other in zip(pair.baseline.timeline, pair.yours.timeline, strict=False):
        rows += [("base", one), ("yours", other)]
    return rows


def _requests_table(pair: Pair) -> Table:
    rows = []
    for name, row in _interleaved(pair):
        lengths = {segment.kind: (segment.end_s - segment.start_s) * 1000 for segment in row.segments}
        start = f"{row.segments[0].start_s * 1000:,.0f}" if row.segments else "–"
        rows.append((f"{row.label} {name}".strip(), start, *(measured(lengths.get(kind, 0.0)) for kind in GLYPHS)))
    return Table(("request, times in ms", "arrives", *GLYPHS), rows)


# ---- throughput against latency --------------------------------------------------------------------


def curve_content(curves: Sequence[RateCurve], width: int, height: int, *, tables: bool) -> Content:
    """What the sides give as the traffic grows."""
    if not curves:
        return Content("")
    first = curves[0]
    lines, limits = [], []
    for number, one in enumerate(curves):
        curve = one.curve()
        lines.append(Line(one.side, curve.xs, curve.ys, number if len(curves) > 1 else 1, marks=True))
    if first.limit_ms is not None:
        limits.append(Limit(f"limit {measured(first.limit_ms)} ms", first.limit_ms, axis="y"))
    values = [y for line in lines for y in line.ys] + [limit.value for limit in limits]
    rows = [
        (
            f"{one.side} ×{point.factor:g}",
            measured(point.output_tokens_per_s),
            measured(point.latency_ms),
            measured(point.attainment_percent),
            f"{point.n:,}",
        )
        for one in curves
        for point in one.points
    ]
    words = name_in_words(first.metric)
    head = ("traffic", "tokens/s", f"{words}, ms", "within limits, %", "n")
    factors = ", ".join(f"×{point.factor:g}" for point in first.points)
    chart = Chart(
        f"{words} against throughput",
        "output tokens/s",
        "ms",
        lines,
        limits,
        y_scale=scale_of(values, zero=True),
        table=Table(head, rows, "One run a point; requests are fewer than in the scenario where it has many."),
    )
    if tables:
        return stack([chart], width, height, tables=True)
    title = Content.styled(f"{words} in ms, at {factors} the traffic", "bold")
    return Content("\n").join([title, draw(chart, width, height - 1)])


# ---- putting together ------------------------------------------------------------------------------


def stack(charts: Sequence[Chart], width: int, height: int, *, tables: bool, titled: bool = True) -> Content:
    """Charts or tables below each other; charts share the height, and where that is too little the page scrolls."""
    if tables:
        parts = [table_content(chart.table, width) for chart in charts if chart.table is not None]
        return Content("\n\n").join(parts)
    titled = titled and len(charts) > 1
    each = max(8 if titled else 6, height // max(len(charts), 1))
    parts = []
    for chart in charts:
        drawn = draw(chart, width, each - titled)
        parts.append(Content("\n").join([Content.styled(chart.title, "bold"), drawn]) if titled else drawn)
    return Content("\n").join(parts)
