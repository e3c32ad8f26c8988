"""Runs of a scenario, and of the one it is compared with: both on the same arrivals and lengths.

Everything here blocks and is called in a thread; `stop` is asked a few times a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final

from tutor.lab.figures import Curve, Figures, figures_of

if TYPE_CHECKING:
    from sim import Result, Scenario

Progress = Callable[[int, int, str], None]
"""Done, of how many, and what is being done."""
Stop = Callable[[], bool]

RATE_FACTORS: Final = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4)
"""Multiples of the scenario's own rate at which the throughput-latency curve is worked out."""
CURVE_REQUESTS: Final = 4_000
"""Most requests a point of that curve: with more each class sends its part of them."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides; `baseline` is None where nothing was changed."""

    yours: Figures
    baseline: Figures | None

    @property
    def sides(self) -> tuple[Figures, ...]:
        """Baseline first."""
        return (self.yours,) if self.baseline is None else (self.baseline, self.yours)


def run_pair(yours: Scenario, baseline: Scenario | None, progress: Progress, stop: Stop) -> Pair | None:
    """Run one side or both. None when stopped before anything of yours came out; what is cut off says so.

    Raises ScenarioError for a scenario that cannot be run.
    """
    other = None
    if baseline is not None:
        other = _run(baseline, "baseline", progress, stop)
        if stop():
            return None
    return Pair(_run(yours, "yours", progress, stop), other)


def _run(scenario: Scenario, name: str, progress: Progress, stop: Stop) -> Figures:
    from sim import simulate

    begun = perf_counter()
    progress(0, 0, name)
    result = simulate(scenario, lambda done, total, _now_s: progress(done, total, name), stop)
    return figures_of(result, perf_counter() - begun)


# ---- throughput against latency --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RatePoint:
    """One rate of one side."""

    factor: float
    output_tokens_per_s: float | None
    latency_ms: float | None
    attainment_percent: float | None
    n: int


@dataclass(frozen=True, slots=True)
class RateCurve:
    """What a side gives as its traffic grows."""

    side: str
    metric: str
    """Of `Result.metric`."""
    limit_ms: float | None
    points: tuple[RatePoint, ...]

    def curve(self) -> Curve:
        """Throughput against latency, where there are both."""
        pairs = [
            (point.output_tokens_per_s, point.latency_ms)
            for point in self.points
            if point.output_tokens_per_s is not None and point.latency_ms is not None
        ]
        return Curve(self.side, tuple(x for x, _ in pairs), tuple(y for _, y in pairs), len(pairs))


def curve_metric(scenario: Scenario) -> tuple[str, float | None]:
    """What the curve shows: the first class with a limit at its p95, else the first class's TTFT; limit in ms."""
    for item in scenario.classes:
        for metric in ("ttft", "itl", "tpot", "e2e"):
            limit = getattr(item.slo, f"{metric}_s")
            if limit is not None:
                return f"{item.name}.{metric}_s.p95", limit * 1000
    return f"{scenario.classes[0].name}.ttft_s.p95", None


def at_rate(scenario: Scenario, factor: float) -> Scenario | None:
    """The scenario with so many times the traffic and not too many requests; None where no arrivals have a rate.

    Faults keep their times; arrivals at given moments and closed loops stay as they are.
    """
    total = sum(getattr(item.arrivals, "count", None) or 0 for item in scenario.classes)
    share = min(1.0, CURVE_REQUESTS / total) if total else 1.0
    classes, scaled = [], False
    for item in scenario.classes:
        arrivals = item.arrivals
        change: dict[str, object] = {
            name: getattr(arrivals, name) * factor
            for name in ("rate_per_s", "on_rate_per_s", "off_rate_per_s", "mean_rate_per_s")
            if getattr(arrivals, name, None) is not None
        }
        if change:
            scaled = True
            count = getattr(arrivals, "count", None)
            if count is not None:
                change["count"] = max(1, round(count * share))
            item = item.model_copy(update={"arrivals": arrivals.model_copy(update=change)})
        classes.append(item)
    return scenario.model_copy(update={"classes": tuple(classes)}) if scaled else None


def rate_curve(scenario: Scenario, side: str, progress: Progress, stop: Stop) -> RateCurve | None:
    """Run the scenario at several rates; None where its arrivals have none. Stopped, it holds what was done.

    Raises ScenarioError for a scenario that cannot be run.
    """
    from sim import simulate

    metric, limit_ms = curve_metric(scenario)
    points = []
    for number, factor in enumerate(RATE_FACTORS):
        there = at_rate(scenario, factor)
        if there is None:
            return None
        progress(number, len(RATE_FACTORS), side)
        result = simulate(there, None, stop)
        if stop():
            break
        points.append(_point(result, factor, metric))
    return RateCurve(side, metric, limit_ms, tuple(points))


def _point(result: Result, factor: float, metric: str) -> RatePoint:
    value, attainment = result.metric(metric), result.metric("attainment")
    return RatePoint(
        factor,
        result.output_tokens_per_s,
        None if value is None else value * 1000,
        None if attainment is None else attainment * 100,
        result.counts.submitted,
    )
