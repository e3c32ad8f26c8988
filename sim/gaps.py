"""The gaps between tokens, told from runs of steps and never from one object a token.

A run of decode steps is an arithmetic progression of durations. A request that decodes from the end of one
run to the end of a later one has the durations of all steps between as its gaps. So every gap of every
request is a step duration, weighted with the number of requests that decoded in that step; how many did is
a sum over the spans of the requests. Nothing here loops over requests or tokens in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from sim.log import Log
from sim.progressions import Progressions, joined
from sim.table import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sim.table import Column


class Gaps:
    """All gaps of a log: pooled over requests, counted and bounded for each, and written out for one."""

    def __init__(self, log: Log) -> None:
        self._requests = len(log.lives)
        lives, stretches = log.lives, log.stretches
        first_run = lives["first_run"]
        served = np.flatnonzero((first_run != NONE) & (lives["replica"] != NONE))
        # Every span of runs: whose it is, on which replica, and from the end of which run to the end of which.
        self._id = np.concatenate([served, stretches["id"]])
        self._replica = np.concatenate([lives["replica"][served], stretches["replica"]])
        self._from = np.concatenate([first_run[served], stretches["first_run"]])
        self._to = np.concatenate([lives["last_run"][served], stretches["last_run"]])
        self._single_id = np.ascontiguousarray(log.gaps["id"])
        self._single = np.ascontiguousarray(log.gaps["ticks"])
        self._logs = log.runs
        self._runs = [
            Progressions.of(*(np.ascontiguousarray(runs[name]) for name in ("first", "growth", "steps")))
            for runs in log.runs
        ]

    def pooled(self, members: NDArray[np.bool_] | None = None) -> Progressions:
        """The gaps of all requests, or of those that a mask over requests selects."""
        one = np.ones(len(self._single), dtype=np.int64)
        singles = Progressions(self._single, one * 0, one, one)
        pools = [singles if members is None else singles.take(np.flatnonzero(members[self._single_id]))]
        pools += [runs.weighted(self.decoding(index, members)) for index, runs in enumerate(self._runs)]
        return joined([pool for pool in pools if len(pool.first)] or pools[:1])

    def decoding(self, replica: int, members: NDArray[np.bool_] | None = None) -> Column:
        """How many requests, or chosen ones, emit in every step of each run of a replica after a token of theirs."""
        here = self._replica == replica
        if members is not None:
            here &= members[self._id]
        rows = np.flatnonzero(here)
        size = len(self._runs[replica].first) + 1
        entered = np.bincount(self._from[rows] + 1, minlength=size)
        left = np.bincount(self._to[rows] + 1, minlength=size)
        weight: Column = np.cumsum(entered - left)[:-1]
        return weight

    def count(self) -> Column:
        """Gaps of each request, by id."""
        return self._counted(self._single_id, [runs.steps for runs in self._runs])

    def count_at_most(self, limit: int) -> Column:
        """Gaps of each request that are no longer than `limit` ticks, by id."""
        short = self._single_id[self._single <= limit]
        return self._counted(short, [runs.steps_at_most(limit) for runs in self._runs])

    def _counted(self, singles: Column, per_run: Sequence[Column]) -> Column:
        total = np.bincount(singles, minlength=self._requests)
        for index, counts in enumerate(per_run):
            here = np.flatnonzero(self._replica == index)
            upto = np.concatenate([[0], np.cumsum(counts)])
            inside = upto[self._to[here] + 1] - upto[self._from[here] + 1]
            # Weights in bincount are floats; counts stay far below 2**53.
            total += np.bincount(self._id[here], weights=inside, minlength=self._requests).astype(np.int64)
        return total

    def longest(self) -> Column:
        """The longest gap of each request in ticks; NONE where it has none."""
        most = np.full(self._requests, NONE, dtype=np.int64)
        np.maximum.at(most, self._single_id, self._single)
        for index, runs in enumerate(self._runs):
            here = np.flatnonzero((self._replica == index) & (self._to > self._from))
            start, stop = self._from[here] + 1, self._to[here] + 1
            level_of = np.frexp((stop - start).astype(np.float64))[1] - 1
            # Largest value of the 2**level runs from each run on: two such windows cover any span.
            windows = runs.last
            for level in range(int(level_of.max()) + 1 if len(here) else 0):
                mine = np.flatnonzero(level_of == level)
                found = np.maximum(windows[start[mine]], windows[stop[mine] - (1 << level)])
                np.maximum.at(most, self._id[here[mine]], found)
                step = 1 << level
                windows = np.maximum(windows[:-step], windows[step:]) if len(windows) > step else windows
        return most

    @cached_property
    def _by_single(self) -> tuple[Column, Column]:
        return _sorted_ids(self._single_id)

    @cached_property
    def _by_span(self) -> tuple[Column, Column]:
        return _sorted_ids(self._id)

    def of(self, request: int) -> tuple[int, ...]:
        """The gaps of one request in ticks, in order of time: a single gap bridges each pause."""
        singles = [int(self._single[row]) for row in _rows(self._by_single, request)]
        spans = [self._written(row) for row in _rows(self._by_span, request)]
        if not spans:
            return tuple(singles)
        gaps = list(spans[0])
        for single, span in zip_longest(singles, spans[1:]):
            gaps += [] if single is None else [single]
            gaps += span or []
        return tuple(gaps)

    def _written(self, row: int) -> list[int]:
        runs = self._logs[int(self._replica[row])]
        names = ("first", "growth", "steps")
        rows = slice(int(self._from[row]) + 1, int(self._to[row]) + 1)
        gaps: list[int] = []
        for first, growth, steps in zip(*(runs[name][rows].tolist() for name in names), strict=True):
            gaps += [first + growth * number for number in range(steps)]
        return gaps


def _sorted_ids(ids: Column) -> tuple[Column, Column]:
    """Ids in rising order, and the row of each."""
    order = np.argsort(ids, kind="stable")
    return ids[order], order


def _rows(index: tuple[Column, Column], wanted: int) -> list[int]:
    low, high = np.searchsorted(index[0], [wanted, wanted + 1])
    rows: list[int] = index[1][low:high].tolist()
    return rows
