"""When the requests of a class arrive."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import accumulate, chain, cycle, islice
from typing import assert_never

from sim.draws import durations_s, stream
from sim.errors import ScenarioError
from sim.ticks import TICKS_PER_S, to_ticks
from sim.traces.trace import LATEST_TICKS
from sim.traffic import (
    ArrivalTimes,
    BurstArrivals,
    ClosedLoop,
    DeterministicArrivals,
    DiurnalArrivals,
    GammaArrivals,
    OnOffArrivals,
    PiecewiseArrivals,
    PoissonArrivals,
    TraceArrivals,
    TrafficClass,
)


def _ticks(start: int, times_s: Iterable[float]) -> list[int]:
    return [start + round(time_s * TICKS_PER_S) for time_s in times_s]


def _regular(start: int, period: Fraction, count: int) -> list[int]:
    """Multiples of the exact period, each rounded (half to even), so that the millionth has not drifted."""
    above, below = period.numerator, period.denominator
    times = []
    for k in range(count):
        whole, rest = divmod(above * k, below)
        up = 2 * rest > below or (2 * rest == below and whole % 2 == 1)
        times.append(start + whole + up)
    return times


def _exponentials(rng: random.Random, count: int) -> Iterator[float]:
    """Independent exponentials of mean 1."""
    log, uniform = math.log, rng.random
    return (-log(1.0 - uniform()) for _ in range(count))


def _changing(rng: random.Random, phases: Iterator[tuple[float, float]], count: int) -> Iterator[float]:
    """Times of a Poisson process whose rate is constant in each phase of (duration, rate).

    Exact: the hazard between two arrivals, the rate summed over time, is exponential with mean 1.
    """
    now = 0.0
    lasts, rate = next(phases)
    end = lasts
    for hazard in _exponentials(rng, count):
        left = hazard
        while left > rate * (end - now):
            left -= rate * (end - now)
            now = end
            lasts, rate = next(phases)
            end = now + lasts
        if rate:
            now += left / rate
        yield now


def _cosine(rng: random.Random, arrivals: DiurnalArrivals) -> Iterator[float]:
    """Thinning (Lewis and Shedler 1979): candidates at the peak rate, each kept with its share of the peak."""
    peak = 1.0 + arrivals.swing
    rate = arrivals.mean_rate_per_s * peak
    turn = 2.0 * math.pi / arrivals.period_s
    offset = arrivals.start_s - arrivals.peak_s
    now = 0.0
    while True:
        now += rng.expovariate(rate)
        if rng.random() * peak < 1.0 + arrivals.swing * math.cos(turn * (now + offset)):
            yield now


def arrival_times(item: TrafficClass, seed: int) -> list[int]:
    """The class's arrival times in ticks, ascending; none for a closed loop, whose times the server decides.

    Raises ScenarioError when a request would arrive later than the clock can tell.
    """
    times = _arrival_times(item, seed)
    if times and times[-1] > LATEST_TICKS:
        raise ScenarioError(
            f"class {item.name!r}: its last request arrives after {times[-1] / TICKS_PER_S:,.0f} s, and the clock "
            f"ends at {LATEST_TICKS // TICKS_PER_S:,} s; raise the rate or lower the count"
        )
    return times


def _arrival_times(item: TrafficClass, seed: int) -> list[int]:
    arrivals = item.arrivals
    if isinstance(arrivals, ClosedLoop):
        return []
    if isinstance(arrivals, ArrivalTimes):
        return sorted(to_ticks(time_s) for time_s in arrivals.times_s)
    start = to_ticks(arrivals.start_s)
    if isinstance(arrivals, TraceArrivals):
        return [start + time for time in arrivals.times]
    count = arrivals.count
    if isinstance(arrivals, BurstArrivals):
        return [start] * count
    if isinstance(arrivals, DeterministicArrivals):
        return _regular(start, TICKS_PER_S / Fraction(repr(arrivals.rate_per_s)), count)
    rng = stream(seed, item.name, "arrivals")
    if isinstance(arrivals, PoissonArrivals):
        rate = arrivals.rate_per_s
        return _ticks(start, accumulate(gap / rate for gap in _exponentials(rng, count)))
    if isinstance(arrivals, GammaArrivals):
        squared = arrivals.cv**2
        shape, scale = 1.0 / squared, squared / arrivals.rate_per_s
        return _ticks(start, accumulate(rng.gammavariate(shape, scale) for _ in range(count)))
    if isinstance(arrivals, OnOffArrivals):
        lasts = stream(seed, item.name, "phases")
        on, off = durations_s(arrivals.on_s, lasts), durations_s(arrivals.off_s, lasts)
        rates = cycle((arrivals.on_rate_per_s, arrivals.off_rate_per_s))
        phases = zip(chain.from_iterable(zip(on, off, strict=False)), rates, strict=False)
        return _ticks(start, _changing(rng, phases, count))
    if isinstance(arrivals, PiecewiseArrivals):
        return _ticks(start, _changing(rng, _phases(arrivals), count))
    if isinstance(arrivals, DiurnalArrivals):
        return _ticks(start, islice(_cosine(rng, arrivals), count))
    assert_never(arrivals)


def _phases(arrivals: PiecewiseArrivals) -> Iterator[tuple[float, float]]:
    end = math.inf if arrivals.period_s is None else arrivals.period_s
    starts = [step.from_s for step in arrivals.steps]
    phases = [
        (until - step.from_s, step.rate_per_s) for step, until in zip(arrivals.steps, [*starts[1:], end], strict=True)
    ]
    return cycle(phases)
