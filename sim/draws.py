"""Random draws: streams of their own for every class and use, and what is drawn from them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import repeat

from sim.lengths import (
    Duration,
    EmpiricalLength,
    FixedDuration,
    FixedLength,
    Length,
    LengthPairs,
    Lengths,
    UniformLength,
)
from sim.traces.prefixes import Prefix
from sim.traffic import SharedPrefix


def stream(seed: int, class_name: str, use: str) -> random.Random:
    """The random stream of one class for one use. Text seeds do not depend on the process."""
    return random.Random(f"{seed}/{class_name}/{use}")


def draw_lengths(length: Length, rng: random.Random, count: int) -> list[int]:
    """`count` lengths in tokens, each at least 1. Drawing them one by one gives the same."""
    if isinstance(length, FixedLength):
        return [length.tokens] * count
    if isinstance(length, UniformLength):
        low, high = length.low_tokens, length.high_tokens
        return [rng.randint(low, high) for _ in range(count)]
    if isinstance(length, EmpiricalLength):
        values, weights = length.table
        return rng.choices(values, weights or None, k=count)
    median, sigma, most = length.median_tokens, length.sigma, length.max_tokens
    exp, gauss = math.exp, rng.gauss
    return [max(1, min(most, round(median * exp(sigma * gauss(0.0, 1.0))))) for _ in range(count)]


def draw_prefixes(prefix: SharedPrefix, class_name: str, rng: random.Random, count: int) -> list[Prefix]:
    name = prefix.name or class_name
    choices: list[Prefix] = [((f"{name}/{group}", prefix.tokens),) for group in range(1, prefix.groups + 1)]
    if prefix.groups == 1:
        return choices * count
    if prefix.dist == "uniform":
        return rng.choices(choices, k=count)
    exponent = 1.0 if prefix.exponent is None else prefix.exponent
    weights = [rank**-exponent for rank in range(1, prefix.groups + 1)]
    return rng.choices(choices, weights, k=count)


def draw_pairs(lengths: Lengths, rng: random.Random, count: int) -> tuple[list[int], list[int]]:
    if isinstance(lengths, LengthPairs):
        pairs = rng.choices(lengths.pairs, lengths.weights or None, k=count)
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    trace = lengths.trace
    rows = rng.choices(range(len(trace)), k=count)
    return [trace.prompt_tokens[row] for row in rows], [trace.output_tokens[row] for row in rows]


def durations_s(duration: Duration, rng: random.Random) -> Iterator[float]:
    """Durations in seconds, without end."""
    if isinstance(duration, FixedDuration):
        return repeat(duration.time_s)
    rate = 1.0 / duration.mean_s
    return iter(lambda: rng.expovariate(rate), None)
