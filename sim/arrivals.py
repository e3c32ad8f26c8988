"""From a scenario's traffic classes to the requests that will arrive, as columns.

Each class draws its gaps, lengths and prefixes from streams of its own, seeded by the scenario's seed, the
class name and the use. Changing or adding one class leaves the others' requests as they were, and so does any
change of the server.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, cycle, islice, repeat
from typing import NamedTuple, TypeVar, assert_never, overload

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.ticks import TICKS_PER_S, to_ticks
from sim.traffic import (
    ArrivalTimes,
    BurstArrivals,
    ClosedLoop,
    DeterministicArrivals,
    DiurnalArrivals,
    Duration,
    EmpiricalLength,
    FixedDuration,
    FixedLength,
    GammaArrivals,
    Length,
    OnOffArrivals,
    PiecewiseArrivals,
    PoissonArrivals,
    SharedPrefix,
    TrafficClass,
    UniformLength,
    request_count,
)

Prefix = tuple[tuple[str, int], ...]
"""What a prompt starts with and others may share: labels and lengths in tokens. The rest is its own."""

Value = TypeVar("Value")

LATEST_TICKS = 9 * 10**18
"""Columns hold 64-bit whole numbers of ticks; this leaves room for what happens after the last arrival."""


class Arrival(NamedTuple):
    """One request before it meets the server; `time` is in ticks."""

    time: int
    class_index: int
    number: int  # 1 for the first of its class
    prompt_tokens: int  # with the prefix
    output_tokens: int
    prefix: Prefix = ()
    priority: int = 0


class Body(NamedTuple):
    """What a request asks for, whenever it arrives."""

    prompt_tokens: int
    output_tokens: int
    prefix: Prefix


@dataclass(frozen=True, slots=True)
class Requests(Sequence[Arrival]):
    """Requests in order of arrival, a column for each of their properties.

    Read the columns where speed counts; as a sequence it makes an `Arrival` of a row when asked for it.
    """

    times: Sequence[int]  # ticks, ascending
    class_indexes: Sequence[int]
    numbers: Sequence[int]
    prompt_tokens: Sequence[int]
    output_tokens: Sequence[int]
    prefixes: Sequence[Prefix]  # () where nothing is shared
    priorities: Sequence[int]

    @property
    def columns(self) -> tuple[Sequence[int] | Sequence[Prefix], ...]:
        """The columns in the order of `Arrival`'s fields."""
        return (
            self.times,
            self.class_indexes,
            self.numbers,
            self.prompt_tokens,
            self.output_tokens,
            self.prefixes,
            self.priorities,
        )

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[Arrival]:
        return map(
            Arrival,
            self.times,
            self.class_indexes,
            self.numbers,
            self.prompt_tokens,
            self.output_tokens,
            self.prefixes,
            self.priorities,
        )

    @overload
    def __getitem__(self, index: int) -> Arrival: ...
    @overload
    def __getitem__(self, index: slice) -> Requests: ...
    def __getitem__(self, index: int | slice) -> Arrival | Requests:
        if isinstance(index, slice):
            return Requests(
                self.times[index],
                self.class_indexes[index],
                self.numbers[index],
                self.prompt_tokens[index],
                self.output_tokens[index],
                self.prefixes[index],
                self.priorities[index],
            )
        return Arrival(
            self.times[index],
            self.class_indexes[index],
            self.numbers[index],
            self.prompt_tokens[index],
            self.output_tokens[index],
            self.prefixes[index],
            self.priorities[index],
        )


def stream(seed: int, class_name: str, use: str) -> random.Random:
    """The random stream of one class for one use. Text seeds do not depend on the process."""
    return random.Random(f"{seed}/{class_name}/{use}")


# ---- lengths and prefixes --------------------------------------------------------------------------


def draw_lengths(length: Length, rng: random.Random, count: int) -> list[int]:
    """`count` lengths in tokens, each at least 1. Drawing them one by one gives the same."""
    if isinstance(length, FixedLength):
        return [length.tokens] * count
    if isinstance(length, UniformLength):
        low, high = length.low_tokens, length.high_tokens
        return [rng.randint(low, high) for _ in range(count)]
    if isinstance(length, EmpiricalLength):
        return rng.choices(length.values, length.weights or None, k=count)
    median, sigma, most = length.median_tokens, length.sigma, length.max_tokens
    exp, gauss = math.exp, rng.gauss
    return [max(1, min(most, round(median * exp(sigma * gauss(0.0, 1.0))))) for _ in range(count)]


def _draw_prefixes(prefix: SharedPrefix, class_name: str, rng: random.Random, count: int) -> list[Prefix]:
    name = prefix.name or class_name
    choices: list[Prefix] = [((f"{name}/{group}", prefix.tokens),) for group in range(1, prefix.groups + 1)]
    if prefix.groups == 1:
        return choices * count
    if prefix.dist == "uniform":
        return rng.choices(choices, k=count)
    weights = [rank**-prefix.exponent for rank in range(1, prefix.groups + 1)]
    return rng.choices(choices, weights, k=count)


class _Bodies(NamedTuple):
    prompt_tokens: list[int]
    output_tokens: list[int]
    prefixes: list[Prefix]


class _Drawer:
    """The streams that a class's requests get their lengths and prefixes from."""

    def __init__(self, item: TrafficClass, seed: int) -> None:
        self._item = item
        self._prompts = stream(seed, item.name, "prompt_tokens")
        self._outputs = stream(seed, item.name, "output_tokens")
        self._pairs = stream(seed, item.name, "lengths")
        self._prefixes = stream(seed, item.name, "prefix")

    def draw(self, count: int) -> _Bodies:
        item = self._item
        if item.lengths is not None:
            pairs = self._pairs.choices(item.lengths.pairs, item.lengths.weights or None, k=count)
            prompts, outputs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        else:
            assert item.prompt_tokens is not None
            assert item.output_tokens is not None
            prompts = draw_lengths(item.prompt_tokens, self._prompts, count)
            outputs = draw_lengths(item.output_tokens, self._outputs, count)
        if item.prefix is None:
            return _Bodies(prompts, outputs, [()] * count)
        prefixes = _draw_prefixes(item.prefix, item.name, self._prefixes, count)
        return _Bodies([prompt + item.prefix.tokens for prompt in prompts], outputs, prefixes)


def bodies(item: TrafficClass, seed: int) -> Iterator[Body]:
    """What the class's first, second, … request asks for, without end; for requests made at run time."""
    drawer = _Drawer(item, seed)
    while True:
        one = drawer.draw(1)
        yield Body(one.prompt_tokens[0], one.output_tokens[0], one.prefixes[0])


# ---- times -----------------------------------------------------------------------------------------


def durations_s(duration: Duration, rng: random.Random) -> Iterator[float]:
    """Durations in seconds, without end."""
    if isinstance(duration, FixedDuration):
        return repeat(duration.time_s)
    rate = 1.0 / duration.mean_s
    return iter(lambda: rng.expovariate(rate), None)


def _ticks(start: int, times_s: Iterable[float]) -> list[int]:
    return [start + round(time_s * TICKS_PER_S) for time_s in times_s]


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
    start, count = to_ticks(arrivals.start_s), arrivals.count
    if isinstance(arrivals, BurstArrivals):
        return [start] * count
    if isinstance(arrivals, DeterministicArrivals):
        # From the exact rational period, so that the millionth request has not drifted.
        period = TICKS_PER_S / Fraction(repr(arrivals.rate_per_s))
        if period.denominator == 1:
            return list(range(start, start + count * period.numerator, period.numerator))
        return [start + round(period * k) for k in range(count)]
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


def think_times(item: TrafficClass, seed: int) -> Iterator[int]:
    """Think times of a closed loop in ticks, without end, in the order in which they are needed.

    Raises ValueError for a class whose arrivals are not a closed loop.
    """
    if not isinstance(item.arrivals, ClosedLoop):
        raise ValueError(f"class {item.name!r} is not a closed loop")
    times_s = durations_s(item.arrivals.think_s, stream(seed, item.name, "think"))
    return (round(time_s * TICKS_PER_S) for time_s in times_s)


# ---- requests --------------------------------------------------------------------------------------


def generate(scenario: Scenario) -> Requests:
    """All requests in order of arrival; at equal times in the order of the classes.

    Classes that are closed loops send none here: `bodies` and `think_times` say what they will send.
    """
    parts = [_class_requests(index, item, scenario.seed) for index, item in enumerate(scenario.classes)]
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts[0]
    times = list(chain.from_iterable(part.times for part in parts))
    order = sorted(range(len(times)), key=times.__getitem__)
    return Requests(
        [times[i] for i in order],
        _merged(order, (part.class_indexes for part in parts)),
        _merged(order, (part.numbers for part in parts)),
        _merged(order, (part.prompt_tokens for part in parts)),
        _merged(order, (part.output_tokens for part in parts)),
        _merged(order, (part.prefixes for part in parts)),
        _merged(order, (part.priorities for part in parts)),
    )


def _merged(order: Sequence[int], columns: Iterable[Sequence[Value]]) -> list[Value]:
    joined = list(chain.from_iterable(columns))
    return [joined[i] for i in order]


def _class_requests(index: int, item: TrafficClass, seed: int) -> Requests:
    times = arrival_times(item, seed)
    count = len(times)
    drawn = _Drawer(item, seed).draw(count)
    return Requests(
        times,
        [index] * count,
        range(1, count + 1),
        drawn.prompt_tokens,
        drawn.output_tokens,
        drawn.prefixes,
        [item.priority] * count,
    )


def label(item: TrafficClass, number: int) -> str:
    """What a person calls the request: the class name, numbered when the class sends several."""
    return item.name if request_count(item) == 1 else f"{item.name} {number}"
