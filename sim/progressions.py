"""Very many durations as few arithmetic progressions: counted, summed and ranked without writing them out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sim.exact import exact_dot

if TYPE_CHECKING:
    from sim.table import Column

_WRITTEN_OUT = 1 << 18
"""Most durations that are written out at once."""
_SAMPLE = 1 << 14


@dataclass(frozen=True)
class Progressions:
    """A multiset of durations in ticks: `first, first + growth, …`, `steps` of them, each `weight` times."""

    first: Column
    growth: Column
    """Never negative."""
    steps: Column
    weight: Column

    @classmethod
    def of(cls, first: Column, growth: Column, steps: Column, weight: Column | None = None) -> Progressions:
        """From progressions that may also shrink: such a one is the same multiset read from its end."""
        start = np.where(growth < 0, first + growth * (steps - 1), first)
        return cls(
            start, np.abs(growth), steps, np.broadcast_to(np.int64(1), first.shape) if weight is None else weight
        )

    def weighted(self, weight: Column) -> Progressions:
        """The same durations as often as `weight` says; equal ones of a progression become one row."""
        rows = np.flatnonzero(weight)
        some, weight = self.take(rows), weight[rows]
        flat = some.growth == 0
        steps = np.where(flat, 1, some.steps)
        return Progressions(some.first, some.growth, steps, np.where(flat, weight * some.steps, weight))

    @cached_property
    def last(self) -> Column:
        """The largest of each progression."""
        return self.first + self.growth * (self.steps - 1)

    @cached_property
    def n(self) -> int:
        """How many durations there are."""
        return exact_dot(self.steps, self.weight)

    @property
    def total(self) -> int:
        """Their sum in ticks."""
        growing = np.flatnonzero(self.growth)
        steps = self.steps[growing]
        # A step more adds one more growth: 0 + 1 + … + (steps - 1) of them in a progression.
        grown = exact_dot(self.growth[growing] * self.weight[growing], steps * (steps - 1) // 2)
        return exact_dot(self.first, self.steps * self.weight) + grown

    def deviation(self) -> float:
        """The population's standard deviation in ticks; 0 when there is nothing."""
        if not self.n:
            return 0.0
        mean = self.total / self.n
        steps, growth = self.steps.astype(np.float64), self.growth.astype(np.float64)
        first = self.first - mean
        # Squares of first + k * growth for k = 0 … steps - 1, from the sums of k and of k².
        squares = steps * first * first + first * growth * steps * (steps - 1)
        squares += growth * growth * (steps - 1) * steps * (2 * steps - 1) / 6
        return math.sqrt(float(squares @ self.weight.astype(np.float64)) / self.n)

    def take(self, rows: Column) -> Progressions:
        """Some of the progressions, by row number."""
        return Progressions(self.first[rows], self.growth[rows], self.steps[rows], self.weight[rows])

    def steps_at_most(self, limit: int) -> Column:
        """How many steps of each progression take no longer than `limit` ticks."""
        counts: Column = np.where(self.last <= limit, self.steps, 0)
        across = np.flatnonzero((self.first <= limit) & (self.last > limit))
        counts[across] = (limit - self.first[across]) // self.growth[across] + 1
        return counts

    @cached_property
    def sample(self) -> Column:
        """Some of the durations, rising, spread evenly over all in the order they stand in: always the same."""
        mass = np.cumsum(self.steps * self.weight)
        n = int(mass[-1])
        size = min(_SAMPLE, n)
        place = (np.arange(size, dtype=np.float64) + 0.5) * (n / size)
        rows = np.minimum(np.searchsorted(mass, place, side="right"), len(mass) - 1)
        steps, weight = self.steps[rows], self.weight[rows]
        step = np.clip((place.astype(np.int64) - (mass[rows] - steps * weight)) // weight, 0, steps - 1)
        return np.sort(self.first[rows] + self.growth[rows] * step)

    def at_most(self, limit: int) -> int:
        """How many of the durations are no longer than `limit` ticks."""
        return exact_dot(self.steps_at_most(limit), self.weight)

    def within(self, low: int, high: int) -> Progressions:
        """The durations from `low` to `high`, both included."""
        rows = np.flatnonzero((self.last >= low) & (self.first <= high))
        near = self.take(rows)
        before = near.steps_at_most(low - 1)
        steps = near.steps_at_most(high) - before
        cut = Progressions(near.first + near.growth * before, near.growth, steps, near.weight)
        return cut.take(np.flatnonzero(steps))

    def ranked(self, ranks: Sequence[int]) -> list[int]:
        """The durations at the given places in ascending order, places counted from 0 and rising."""
        return _select_all(self, _neighbours(ranks))


def _neighbours(ranks: Sequence[int]) -> list[list[int]]:
    """Runs of places that follow one another."""
    groups: list[list[int]] = []
    for rank in ranks:
        if groups and rank == groups[-1][-1] + 1:
            groups[-1].append(rank)
        else:
            groups.append([rank])
    return groups


def _select_all(pool: Progressions, groups: Sequence[Sequence[int]]) -> list[int]:
    """The durations at several groups of places; later groups look only at the durations above the first."""
    if not groups:
        return []
    found = _select(pool, groups[0])
    if len(groups) == 1:
        return found
    lower = _bracket(pool, groups[1])[0]
    before = pool.at_most(lower - 1)
    if before > groups[1][0]:
        return found + _select_all(pool, groups[1:])
    rest = [[rank - before for rank in group] for group in groups[1:]]
    return found + _select_all(pool.within(lower, int(pool.last.max())), rest)


def _select(pool: Progressions, ranks: Sequence[int]) -> list[int]:
    """The durations at a few neighbouring places.

    As Floyd and Rivest do: a sample tells a narrow bracket that should hold the places, and counting says
    whether it does. So the work is a few passes over the progressions, however many durations they stand for.
    """
    low, high = int(pool.first.min()), int(pool.last.max())
    if low == high:
        return [low] * len(ranks)
    if int(pool.steps.sum()) <= _WRITTEN_OUT:
        return _sorted(pool, ranks)
    lower, pivot, upper = _bracket(pool, ranks)
    before, upto = pool.at_most(lower - 1), pool.at_most(upper)
    if before <= ranks[0] and ranks[-1] < upto and upto - before <= pool.n // 2:
        return _select(pool.within(lower, upper), [rank - before for rank in ranks])
    # One duration may make up most of them: the places are below it, at it or above it.
    before, upto = pool.at_most(pivot - 1), pool.at_most(pivot)
    left = [rank for rank in ranks if rank < before]
    right = [rank - upto for rank in ranks if rank >= upto]
    found = _select(pool.within(low, pivot - 1), left) if left else []
    found += [pivot] * (len(ranks) - len(left) - len(right))
    return found + (_select(pool.within(pivot + 1, high), right) if right else [])


def _bracket(pool: Progressions, ranks: Sequence[int]) -> tuple[int, int, int]:
    """Two durations between which the places lie, but for an unlucky sample, and one that is about there."""
    sample = pool.sample
    share, size = ranks[0] / pool.n, len(sample)
    margin = 4 * math.sqrt(size * share * (1 - share)) + 2
    lowest, highest = math.floor(share * size - margin), math.ceil(ranks[-1] / pool.n * size + margin)
    return (
        int(sample[lowest]) if lowest >= 0 else int(pool.first.min()),
        int(sample[min(int(share * size), size - 1)]),
        int(sample[highest]) if highest < size else int(pool.last.max()),
    )


def _sorted(pool: Progressions, ranks: Sequence[int]) -> list[int]:
    """By writing all durations out."""
    starts = np.cumsum(pool.steps) - pool.steps
    place = np.arange(int(pool.steps.sum()), dtype=np.int64) - np.repeat(starts, pool.steps)
    values = np.repeat(pool.first, pool.steps) + np.repeat(pool.growth, pool.steps) * place
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(np.repeat(pool.weight, pool.steps)[order])
    return [int(value) for value in values[order][np.searchsorted(upto, np.array(ranks), side="right")]]


def joined(pools: Sequence[Progressions]) -> Progressions:
    """Several multisets as one."""
    names = ("first", "growth", "steps", "weight")
    return (
        pools[0]
        if len(pools) == 1
        else Progressions(*(np.concatenate([getattr(pool, name) for pool in pools]) for name in names))
    )
