"""What the lab shows of a run, worked out once, off the screen: numbers, distributions, load over time, bars.

Seconds inside, milliseconds in everything that is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from sim.ticks import TICKS_PER_S

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sim import Result
    from sim.series import Series
    from sim.timeline import TimelineRow

LATENCIES: Final = ("ttft", "itl", "e2e")
MOST_POINTS: Final = 400
"""Points a curve keeps: more than any terminal has columns of dots for."""
MOST_ROWS: Final = 40
"""Requests whose bars are kept."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a chart."""

    name: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    n: int = 0
    """Samples behind it."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """One latency of one class: rising milliseconds with the share at or below each."""

    class_name: str
    metric: str
    curve: Curve
    percentiles_ms: tuple[tuple[str, float | None], ...]
    limit_ms: float | None


@dataclass(frozen=True, slots=True)
class Load:
    """Over time in seconds, all replicas together."""

    waiting: Curve
    running: Curve
    kv_percent: Curve | None
    """None where the policy has no blocks."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One number of the summary."""

    group: str
    """The class, or empty for the run."""
    name: str
    value: float | None
    unit: str
    n: int | None = None
    thin: bool = False
    """From fewer than 100 samples, where that matters."""


@dataclass(frozen=True, slots=True)
class Figures:
    """All of one side."""

    name: str
    seed: int
    partial: bool
    submitted: int
    duration_s: float
    wall_s: float
    """How long the run took here."""
    fates: str
    rows: tuple[MetricRow, ...]
    distributions: tuple[Distribution, ...]
    load: Load
    timeline: tuple[TimelineRow, ...]
    warning: str = ""


def figures_of(result: Result, wall_s: float) -> Figures:
    """Work everything out. Blocking: tens of milliseconds for 100,000 requests."""
    from sim.overload import overload
    from sim.timeline import timeline_rows

    counts = result.counts
    fates = [
        f"{count:,} {name}"
        for name, count in (
            ("completed", counts.completed),
            ("cancelled", counts.cancelled),
            ("rejected", counts.rejected),
            ("failed", counts.failed),
            ("in flight", counts.in_flight),
        )
        if count
    ]
    excess = overload(result.log)
    return Figures(
        name=result.scenario.name,
        seed=result.scenario.seed,
        partial=result.partial,
        submitted=counts.submitted,
        duration_s=result.duration_s,
        wall_s=wall_s,
        fates=", ".join(fates),
        rows=tuple(_rows(result)),
        distributions=tuple(_distributions(result)),
        load=_load(result),
        timeline=timeline_rows(result, MOST_ROWS),
        warning="" if excess is None else str(excess),
    )


def _rows(result: Result) -> list[MetricRow]:
    rows: list[MetricRow] = []
    for name, group in result.classes.items():
        for metric in LATENCIES:
            summary = group.summary(metric)
            for statistic in ("p50", "p95", "p99"):
                value: float | None = None if summary is None else getattr(summary, f"{statistic}_s") * 1000
                n = 0 if summary is None else summary.n
                thin = statistic == "p99" and n < 100
                rows.append(MetricRow(name, f"{_word(metric)} {statistic}", value, "ms", n, thin))
        if group.slo:
            attainment = group.goodput.attainment
            value = None if attainment is None else 100 * attainment
            rows.append(MetricRow(name, "within limits", value, "%", group.goodput.submitted))
    rows.append(MetricRow("", "output tokens", result.output_tokens_per_s, "tokens/s"))
    rows.append(MetricRow("", "completed", result.requests_per_s, "requests/s"))
    if any(group.slo for group in result.classes.values()):
        rows.append(MetricRow("", "goodput", result.metric("goodput"), "requests/s"))
    rows.append(MetricRow("", "longest queue", result.metric("peak_waiting"), "requests"))
    usage = result.metric("peak_kv_usage")
    if usage is not None:
        rows.append(MetricRow("", "most KV blocks", 100 * usage, "%"))
    rows.append(MetricRow("", "preemptions", result.metric("preemptions"), ""))
    useful = result.metric("useful_share")
    rows.append(MetricRow("", "useful work", None if useful is None else 100 * useful, "%"))
    return rows


def _word(metric: str) -> str:
    from sim.metrics import in_words

    return in_words(metric)


def _distributions(result: Result) -> list[Distribution]:
    import numpy as np

    found = []
    for name, group in result.classes.items():
        limits = {check.metric: check.limit_s * 1000 for check in group.slo}
        for metric in LATENCIES:
            summary = group.summary(metric)
            if summary is None:
                continue
            ordered = np.sort(group.samples(metric))
            places = np.unique(np.linspace(0, len(ordered) - 1, MOST_POINTS).round().astype(np.int64))
            xs = ordered[places] * 1000 / TICKS_PER_S
            ys = (places + 1) / len(ordered)
            curve = Curve(name, tuple(xs.tolist()), tuple(ys.tolist()), summary.n)
            percentiles = tuple(
                (statistic, _ms(getattr(summary, f"{statistic}_s")))
                for statistic in ("p50", "p90", "p95", "p99", "max")
            )
            found.append(Distribution(name, metric, curve, percentiles, limits.get(metric)))
    return found


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _load(result: Result) -> Load:
    series = [one for one in result.series if len(one.start_ticks)]
    has_blocks = any(one.capacity_blocks for one in series)
    blocks = sum(one.capacity_blocks or 0 for one in series)
    return Load(
        waiting=_summed("in the queue", series, "waiting"),
        running=_summed("in seats", series, "running"),
        kv_percent=_summed("KV blocks", series, "kv_blocks", 100 / blocks) if has_blocks and blocks else None,
    )


def _summed(
    name: str, series: list[Series], column: Literal["waiting", "running", "kv_blocks"], scale: float = 1.0
) -> Curve:
    """All replicas together: at every moment at which one of them changes, the sum of what each has then."""
    import numpy as np

    if not series:
        return Curve(name, (), ())
    points = [one.points(column) for one in series]
    times = np.unique(np.concatenate([at for at, _ in points]))
    total = np.zeros(len(times))
    for at, values in points:
        place = np.searchsorted(at, times, side="right") - 1
        total += np.where(place >= 0, values[np.maximum(place, 0)], 0)
    times, total = _thinned(times, total)
    return Curve(name, tuple((times / TICKS_PER_S).tolist()), tuple((total * scale).tolist()), len(times))


def _thinned(times: NDArray[np.int64], values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """At most so many points, each the largest value of its stretch of time, so that no peak is lost."""
    import numpy as np

    if len(times) <= MOST_POINTS:
        return times, values
    edges = np.linspace(times[0], times[-1], MOST_POINTS, endpoint=False)
    first = np.unique(np.searchsorted(times, edges))
    return times[first], np.maximum.reduceat(values, first)
