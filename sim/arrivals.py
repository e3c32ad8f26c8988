"""From a scenario's traffic classes to the list of requests that will arrive.

Each class draws its gaps, prompt lengths and output lengths from three streams of its own, seeded by the
scenario's seed and the class name. Changing or adding one class leaves the others' requests as they were.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import NamedTuple

from sim.scenario import Scenario
from sim.ticks import TICKS_PER_S, to_ticks
from sim.traffic import (
    ArrivalTimes,
    DeterministicArrivals,
    FixedLength,
    Length,
    TrafficClass,
    UniformLength,
    request_count,
)


class Arrival(NamedTuple):
    """One request before it meets the server; `time` is in ticks."""

    time: int
    class_index: int
    number: int  # 1 for the first of its class
    prompt_tokens: int
    output_tokens: int


def stream(seed: int, class_name: str, use: str) -> random.Random:
    """The random stream of one class for one use. Text seeds do not depend on the process."""
    return random.Random(f"{seed}/{class_name}/{use}")


def draw_length(length: Length, rng: random.Random) -> int:
    """One length in tokens, at least 1."""
    if isinstance(length, FixedLength):
        return length.tokens
    if isinstance(length, UniformLength):
        return rng.randint(length.low_tokens, length.high_tokens)
    drawn = length.median_tokens * math.exp(length.sigma * rng.gauss(0.0, 1.0))
    return max(1, min(length.max_tokens, round(drawn)))


def arrival_times(item: TrafficClass, seed: int) -> list[int]:
    """The class's arrival times in ticks, ascending."""
    arrivals = item.arrivals
    if isinstance(arrivals, ArrivalTimes):
        return sorted(to_ticks(time_s) for time_s in arrivals.times_s)
    start = to_ticks(arrivals.start_s)
    if isinstance(arrivals, DeterministicArrivals):
        # From the exact rational period, so that the millionth request has not drifted.
        period = TICKS_PER_S / Fraction(repr(arrivals.rate_per_s))
        return [start + round(period * k) for k in range(arrivals.count)]
    rng = stream(seed, item.name, "arrivals")
    time_s = 0.0
    times = []
    for _ in range(arrivals.count):
        time_s += rng.expovariate(arrivals.rate_per_s)
        times.append(start + round(time_s * TICKS_PER_S))
    return times


def generate(scenario: Scenario) -> list[Arrival]:
    """All requests in order of arrival; at equal times in the order of the classes."""
    arrivals: list[Arrival] = []
    for index, item in enumerate(scenario.classes):
        prompts = stream(scenario.seed, item.name, "prompt_tokens")
        outputs = stream(scenario.seed, item.name, "output_tokens")
        arrivals.extend(
            Arrival(
                time,
                index,
                number,
                draw_length(item.prompt_tokens, prompts),
                draw_length(item.output_tokens, outputs),
            )
            for number, time in enumerate(arrival_times(item, scenario.seed), start=1)
        )
    arrivals.sort()
    return arrivals


def label(item: TrafficClass, number: int) -> str:
    """What a person calls the request: the class name, numbered when the class sends several."""
    return item.name if request_count(item) == 1 else f"{item.name} {number}"
