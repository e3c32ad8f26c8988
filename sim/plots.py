"""Pictures of results: distributions, the life of requests, load over time, and throughput against latency.

Needs matplotlib (the extra `plots`). Colours are Okabe and Ito's, which people with any colour vision tell
apart; lines of different classes differ in their dashes too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sim.errors import ScenarioError, nearest
from sim.goodput import LIMITS
from sim.metrics import name_in_words
from sim.ticks import TICKS_PER_S
from sim.timeline import SegmentKind, timeline_rows

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase
    from numpy.typing import NDArray

    from sim.metrics import ClassMetrics
    from sim.result import Result
    from sim.table import Column

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
_STAGES: dict[SegmentKind, str] = {
    "preprocess": "#BBBBBB",
    "queue": "#E69F00",
    "prefill": "#0072B2",
    "decode": "#56B4E9",
}
_TITLES = {
    "ttft": "Time to first token",
    "itl": "Time between tokens, pooled",
    "tpot": "Time per output token, by request",
    "e2e": "End to end",
}
_MOST_POINTS = 2000
_MOST_REQUESTS = 60


def _new(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ScenarioError("pictures need matplotlib; install it with `pip install 'tutor[plots]'`") from None
    return Figure(figsize=(width, height), layout="constrained")


def check_ending(path: Path) -> Path:
    """The path. Raises ScenarioError when no picture can be written under such a name."""
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise ScenarioError(f"{path}: pictures are written as .png, .svg or .pdf; change the ending")
    return path


def save(figure: Figure, path: Path) -> None:
    """Write the picture as PNG, SVG or PDF by the ending of `path`; equal results give equal files.

    Raises ScenarioError for another ending.
    """
    check_ending(path)
    import matplotlib

    dateless: dict[str, dict[str, str | None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "sim", "svg.fonttype": "none"}):
        figure.savefig(path, dpi=150, metadata=dateless.get(path.suffix))


# ---- one result ------------------------------------------------------------------------------------


def plot_distributions(result: Result) -> Figure:
    """The distribution of every latency by class, with the limits as vertical lines."""
    figure = _new(10, 6.5)
    _distributions(figure, result, LIMITS, 2)
    figure.suptitle(_caption(result), fontsize=10)
    return figure


def plot_requests(result: Result, most: int = _MOST_REQUESTS) -> Figure:
    """Where each of the first `most` requests spent its time."""
    figure = _new(10, 1.6 + 0.13 * min(most, result.counts.submitted))
    _requests(figure.subplots(), result, most)
    figure.suptitle(_caption(result), fontsize=10)
    return figure


def plot_load(result: Result) -> Figure:
    """Queue, seats and KV blocks of every replica over time."""
    figure = _new(10, 6.5)
    _load(figure, result)
    figure.suptitle(_caption(result), fontsize=10)
    return figure


def plot_overview(result: Result) -> Figure:
    """Distributions, load over time and the first requests in one picture."""
    figure = _new(12, 13)
    figure.suptitle(_caption(result), fontsize=11)
    parts = figure.subfigures(3, 1, height_ratios=(1, 1.35, 1), squeeze=False)[:, 0]
    _distributions(parts[0], result, ("ttft", "itl", "e2e"), 3)
    _load(parts[1], result)
    _requests(parts[2].subplots(), result, 30)
    return figure


KINDS: dict[str, Callable[[Result], Figure]] = {
    "overview": plot_overview,
    "distributions": plot_distributions,
    "requests": plot_requests,
    "load": plot_load,
}


def plot(result: Result, kind: str = "overview") -> Figure:
    """The picture called `kind`, one of `KINDS`. Raises ScenarioError for another name."""
    check_kind(kind)
    return KINDS[kind](result)


def check_kind(kind: str) -> None:
    """Raises ScenarioError unless `kind` is one of `KINDS`."""
    if kind not in KINDS:
        raise ScenarioError(f"there is no picture {kind!r}{nearest(kind, KINDS)}; choose one of {', '.join(KINDS)}")


def _caption(result: Result) -> str:
    counts = result.counts
    lost = [
        f"{count:,} {name}"
        for name, count in (
            ("cancelled", counts.cancelled),
            ("rejected", counts.rejected),
            ("failed", counts.failed),
            ("in flight", counts.in_flight),
        )
        if count
    ]
    partial = ", stopped early" if result.partial else ""
    return (
        f"{result.scenario.name}: {counts.submitted:,} requests, {counts.completed:,} completed"
        f"{''.join(f', {part}' for part in lost)} in {result.duration_s:,.1f} s{partial}"
    )


def _style(number: int) -> dict[str, Any]:
    return {"color": _COLOURS[number % len(_COLOURS)], "linestyle": _DASHES[number % len(_DASHES)], "linewidth": 1.6}


def _distributions(figure: FigureBase, result: Result, metrics: Sequence[str], columns: int) -> None:
    grid = figure.subplots(-(-len(metrics) // columns), columns, squeeze=False)
    for axes, metric in zip(grid.flat, metrics, strict=False):
        _distribution(axes, result, metric)


def _distribution(axes: Axes, result: Result, metric: str) -> None:
    import numpy as np

    axes.set_title(_TITLES[metric], fontsize=10)
    axes.set_xlabel("milliseconds")
    axes.set_ylabel("share of " + ("gaps" if metric == "itl" else "requests"))
    shown: list[float] = []
    for number, (name, group) in enumerate(result.classes.items()):
        values = _milliseconds(group, metric)
        if not len(values):
            continue
        summary = group.summary(metric)
        n = summary.n if summary is not None else len(values)
        shares = np.arange(len(values) + 1) / len(values)
        axes.step(
            np.concatenate([values[:1], values]), shares, where="post", label=f"{name} (n = {n:,})", **_style(number)
        )
        shown += [float(values[0]), float(values[-1])]
    for number, (name, group) in enumerate(result.classes.items()):
        for check in group.slo:
            if check.metric == metric:
                style = _style(number) | {"linewidth": 1.0, "linestyle": ":"}
                axes.axvline(check.limit_s * 1000, label=f"limit of {name}, {check.limit_s * 1000:g} ms", **style)
                shown.append(check.limit_s * 1000)
    if not shown:
        axes.text(0.5, 0.5, "no sample", ha="center", transform=axes.transAxes)
        return
    if min(shown) > 0 and max(shown) > 20 * min(shown):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,g}")
    axes.set_ylim(0, 1.02)
    axes.axhline(0.95, color="#999999", linewidth=0.6)
    axes.annotate("95 %", (0.005, 0.955), xycoords=("axes fraction", "data"), fontsize=7, color="#666666")
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, loc="best")


def _milliseconds(group: ClassMetrics, metric: str) -> NDArray[np.float64]:
    """Rising values; of very many evenly chosen ones, the largest among them."""
    import numpy as np

    ticks = np.sort(group.samples(metric))
    if len(ticks) > _MOST_POINTS:
        ticks = ticks[np.linspace(0, len(ticks) - 1, _MOST_POINTS).round().astype(np.int64)]
    return np.asarray(ticks / (TICKS_PER_S // 1000), dtype=np.float64)


def _requests(axes: Axes, result: Result, most: int) -> None:
    from matplotlib.patches import Patch

    rows = timeline_rows(result, most)
    for number, row in enumerate(rows):
        spans = [(segment.start_s, segment.end_s - segment.start_s) for segment in row.segments]
        axes.broken_barh(spans, (number - 0.4, 0.8), facecolors=[_STAGES[segment.kind] for segment in row.segments])
    axes.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=6)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("seconds")
    left_out = result.counts.submitted - len(rows)
    axes.set_title(f"Requests{f' (the first {len(rows)}; {left_out:,} more)' if left_out else ''}", fontsize=10)
    axes.grid(axis="x", alpha=0.25)
    there = {segment.kind for row in rows for segment in row.segments}
    patches = [Patch(color=colour, label=kind) for kind, colour in _STAGES.items() if kind in there]
    if patches:
        axes.legend(handles=patches, fontsize=8, loc="best")


def _load(figure: FigureBase, result: Result) -> None:
    blocks = any(series.kv_usage is not None for series in result.series)
    grid = figure.subplots(3 if blocks else 2, 1, sharex=True)
    panels: list[tuple[str, Literal["waiting", "running", "kv_blocks"]]] = [
        ("requests in the queue", "waiting"),
        ("seats taken", "running"),
        ("KV blocks held, %", "kv_blocks"),
    ]
    for axes, (name, column) in zip(grid, panels, strict=False):
        for series in result.series:
            if len(series.start_ticks):
                times, values = _thinned(*series.points(column))
                scale = 100 / (series.capacity_blocks or 1) if column == "kv_blocks" else 1
                style = _style(series.replica) | {"linewidth": 1.0}
                label = f"replica {series.replica}"
                axes.step(times / TICKS_PER_S, values * scale, where="post", label=label, **style)
        axes.set_ylabel(name, fontsize=9)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
    if blocks:
        grid[-1].set_ylim(0, 105)
    grid[-1].set_xlabel("seconds")
    if 1 < len(result.series) <= 12:
        grid[0].legend(fontsize=8, ncols=min(6, len(result.series)), loc="upper left")


def _thinned(times: Column, values: Column) -> tuple[Column, Column]:
    """At most so many points, each the largest value of its span, so that no peak is lost."""
    import numpy as np

    if len(times) > _MOST_POINTS:
        first = np.linspace(0, len(times), _MOST_POINTS, endpoint=False).astype(np.int64)
        times, values = times[first], np.maximum.reduceat(values, first)
    return times, values


# ---- several results -------------------------------------------------------------------------------


def plot_tradeoff(
    results: Sequence[Result],
    *,
    x: str = "output_tokens_per_s",
    y: Sequence[str] = ("all.ttft_s.p50", "all.ttft_s.p99", "all.tpot_s.p50", "all.tpot_s.p99"),
    labels: Sequence[str] = (),
    limit_s: float | None = None,
) -> Figure:
    """Throughput against latency, a point a result, joined in the order given.

    `x` and `y` are metric names of `Result.metric`; latencies are drawn in milliseconds. Each point bears
    its label, or its number of completed requests. `limit_s` draws a horizontal line.
    """
    points = [{name: result.metric(name) for name in (x, *y)} for result in results]
    names = [
        labels[number] if number < len(labels) else f"n = {result.counts.completed:,}"
        for number, result in enumerate(results)
    ]
    return plot_points(points, x=x, y=y, labels=names, limit_s=limit_s)


def plot_points(
    points: Sequence[Mapping[str, float | None]],
    *,
    x: str,
    y: Sequence[str],
    labels: Sequence[str],
    limit_s: float | None = None,
    title: str = "",
) -> Figure:
    """As `plot_tradeoff`, from numbers by metric name; a point without a number is left out."""
    figure = _new(8, 5)
    axes = figure.subplots()
    axes.set_title(title, fontsize=10)
    for number, name in enumerate(y):
        pairs = [
            (at, value * 1000)
            for point in points
            if (at := point[x]) is not None and (value := point[name]) is not None
        ]
        if pairs:
            axes.plot(*zip(*pairs, strict=True), marker="o", markersize=4, label=name_in_words(name), **_style(number))
    if limit_s is not None:
        axes.axhline(limit_s * 1000, color="#999999", linestyle=":", label=f"limit, {limit_s * 1000:g} ms")
    for point, label in zip(points, labels, strict=True):
        at, height = point[x], point[y[0]]
        if at is not None and height is not None:
            axes.annotate(label, (at, height * 1000), fontsize=7, xytext=(4, -9), textcoords="offset points")
    if axes.get_lines():
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.legend(fontsize=8)
    axes.set_xlabel(name_in_words(x))
    axes.set_ylabel("milliseconds")
    axes.grid(alpha=0.25, which="both")
    return figure
