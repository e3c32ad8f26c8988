"""The gaps between tokens, told from runs of steps and never from one object a token.

A run of decode steps is an arithmetic progression of durations. A request that decodes from the end of one
run to the end of a later one has the durations of all steps between as its gaps. So every gap of every
request is a step duration, weighted with the number of requests that decoded in that step; how many did is
a sum over the spans of the requests. Nothing here loops over requests or tokens in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from sim.exact import exact_dot
from sim.log import Log
from sim.table import NONE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sim.table import Column

_EXPANDED = 1 << 18
"""Most durations that are written out at once."""
_BINS = 1024


@dataclass(frozen=True, slots=True)
class Progressions:
    """A multiset of durations in ticks: `first, first + growth, …`, `steps` of them, each `weight` times."""

    first: Column
    growth: Column
    """Never negative."""
    steps: Column
    weight: Column

    @property
    def last(self) -> Column:
        """The largest of each progression."""
        return self.first + self.growth * (self.steps - 1)

    @property
    def n(self) -> int:
        """How many durations there are."""
        return exact_dot(self.steps, self.weight)

    @property
    def total(self) -> int:
        """Their sum in ticks."""
        weighted = self.steps * self.weight
        # A step more adds one more growth: 0 + 1 + … + (steps - 1) of them in a progression.
        pairs = self.steps * (self.steps - 1) // 2
        growing = self.growth > 0
        return exact_dot(self.first, weighted) + exact_dot(self.growth[growing] * self.weight[growing], pairs[growing])

    def take(self, rows: Column) -> Progressions:
        """Some of the progressions, by row number or mask."""
        return Progressions(self.first[rows], self.growth[rows], self.steps[rows], self.weight[rows])

    def at_most(self, limit: int) -> int:
        """How many of the durations are no longer than `limit` ticks."""
        return exact_dot(steps_at_most(self.first, self.growth, self.steps, limit), self.weight)

    def ranked(self, ranks: Sequence[int]) -> list[int]:
        """The durations at the given places in ascending order, places counted from 0 and rising.

        Found by counting: the range is cut into bins until the bin that holds a place is small enough to be
        written out, so nothing depends on how many tokens there are.
        """
        return _ranked(self, ranks)


def steps_at_most(first: Column, growth: Column, steps: Column, limit: int | Column) -> Column:
    """How many steps of each progression take no longer than `limit` ticks."""
    import numpy as np

    reached = (limit - first) // np.maximum(growth, 1) + 1
    below = np.minimum(np.maximum(reached, 0), steps)
    flat = growth == 0
    if flat.any():
        below = np.where(flat, np.where(first <= limit, steps, 0), below)
    return below


def _ranked(pool: Progressions, ranks: Sequence[int]) -> list[int]:
    import numpy as np

    if not ranks:
        return []
    low, high = int(pool.first.min()), int(pool.last.max())
    if low == high:
        return [low] * len(ranks)
    if int(pool.steps.sum()) <= _EXPANDED:
        values, weights = _written_out(pool)
        order = np.argsort(values, kind="stable")
        upto = np.cumsum(weights[order])
        return [int(value) for value in values[order][np.searchsorted(upto, np.array(ranks), side="right")]]
    width = -(-(high - low + 1) // _BINS)
    counts = np.zeros(_BINS, dtype=np.int64)
    for piece, bins in _cut(pool, low, width):
        # Weights in bincount are floats; the counts stay far below 2**53.
        counts += np.bincount(bins, weights=piece.steps * piece.weight, minlength=_BINS).astype(np.int64)
    upto = np.cumsum(counts)
    homes = np.searchsorted(upto, np.array(ranks), side="right")
    wanted = np.unique(homes)
    parts: dict[int, list[Progressions]] = {int(home): [] for home in wanted}
    for piece, bins in _cut(pool, low, width):
        for home, found in parts.items():
            rows = np.flatnonzero(bins == home)
            if len(rows):
                found.append(piece.take(rows))
    result: list[int] = []
    for home, found in parts.items():
        before = int(upto[home]) - int(counts[home])
        inside = [rank - before for rank, where in zip(ranks, homes, strict=True) if where == home]
        result += _ranked(joined(found), inside)
    return result


def _written_out(pool: Progressions) -> tuple[Column, Column]:
    import numpy as np

    starts = np.cumsum(pool.steps) - pool.steps
    place = np.arange(int(pool.steps.sum()), dtype=np.int64) - np.repeat(starts, pool.steps)
    return (
        np.repeat(pool.first, pool.steps) + np.repeat(pool.growth, pool.steps) * place,
        np.repeat(pool.weight, pool.steps),
    )


def _cut(pool: Progressions, low: int, width: int) -> Iterator[tuple[Progressions, Column]]:
    """The same durations in pieces that lie in one bin each, with the number of that bin."""
    import numpy as np

    first_bin = (pool.first - low) // width
    last_bin = (pool.last - low) // width
    within = first_bin == last_bin
    if within.all():
        yield pool, first_bin
        return
    rows = np.flatnonzero(within)
    yield pool.take(rows), first_bin[rows]
    rows = np.flatnonzero(~within)
    # A few at a time: one progression may reach over every bin.
    upto = np.cumsum(last_bin[rows] - first_bin[rows] + 1)
    shares = upto // _EXPANDED
    for share in np.unique(shares):
        some = rows[shares == share]
        pieces = last_bin[some] - first_bin[some] + 1
        starts = np.cumsum(pieces) - pieces
        place = np.arange(int(pieces.sum()), dtype=np.int64) - np.repeat(starts, pieces)
        bins = np.repeat(first_bin[some], pieces) + place
        whole = pool.take(np.repeat(some, pieces))
        edge = low + bins * width
        before = steps_at_most(whole.first, whole.growth, whole.steps, edge - 1)
        upto_edge = steps_at_most(whole.first, whole.growth, whole.steps, edge + width - 1)
        piece = Progressions(whole.first + whole.growth * before, whole.growth, upto_edge - before, whole.weight)
        filled = np.flatnonzero(piece.steps > 0)
        yield piece.take(filled), bins[filled]


def joined(pools: Sequence[Progressions]) -> Progressions:
    """Several multisets as one."""
    import numpy as np

    if len(pools) == 1:
        return pools[0]
    empty = np.zeros(0, dtype=np.int64)
    return Progressions(
        *(
            np.concatenate([getattr(pool, name) for pool in pools]) if pools else empty
            for name in ("first", "growth", "steps", "weight")
        )
    )


class Gaps:
    """All gaps of a log: pooled over requests, counted and bounded for each, and written out for one."""

    def __init__(self, log: Log) -> None:
        import numpy as np

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
        self._runs: list[tuple[Column, Column, Column]] = []
        for runs in log.runs:
            first, growth, steps = (np.ascontiguousarray(runs[name]) for name in ("first", "growth", "steps"))
            # A progression that shrinks is the same multiset read from its end.
            start = np.where(growth < 0, first + growth * (steps - 1), first)
            self._runs.append((start, np.abs(growth), steps))
        self._signed = [runs["growth"] < 0 for runs in log.runs]
        self._order: Column | None = None

    def pooled(self, members: NDArray[np.bool_] | None = None) -> Progressions:
        """The gaps of all requests, or of those that a mask over requests selects."""
        import numpy as np

        pools = []
        chosen = slice(None) if members is None else members[self._id]
        replica, start, stop = self._replica[chosen], self._from[chosen], self._to[chosen]
        for index, (first, growth, steps) in enumerate(self._runs):
            here = replica == index
            size = len(first) + 1
            entered = np.bincount(start[here] + 1, minlength=size)[:size]
            left = np.bincount(stop[here] + 1, minlength=size)[:size]
            weight = np.cumsum(entered - left)[:-1]
            rows = np.flatnonzero(weight)
            pools.append(Progressions(first[rows], growth[rows], steps[rows], weight[rows]))
        single = self._single if members is None else self._single[members[self._single_id]]
        if len(single):
            one = np.ones(len(single), dtype=np.int64)
            pools.append(Progressions(single, one * 0, one, one))
        return joined(pools)

    def count(self) -> Column:
        """Gaps of each request, by id."""
        return self._counted([steps for _, _, steps in self._runs], None)

    def count_at_most(self, limits: Column) -> Column:
        """Gaps of each request that are no longer than its own limit in ticks."""
        import numpy as np

        total = np.zeros(self._requests, dtype=np.int64)
        for limit in np.unique(limits):
            per_run = [steps_at_most(*run, int(limit)) for run in self._runs]
            mine = limits == limit
            total[mine] = self._counted(per_run, int(limit))[mine]
        return total

    def _counted(self, per_run: Sequence[Column], limit: int | None) -> Column:
        import numpy as np

        single = self._single_id if limit is None else self._single_id[self._single <= limit]
        total = np.bincount(single, minlength=self._requests).astype(np.int64)
        for index, counts in enumerate(per_run):
            here = np.flatnonzero(self._replica == index)
            upto = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
            inside = upto[self._to[here] + 1] - upto[self._from[here] + 1]
            total += np.bincount(self._id[here], weights=inside, minlength=self._requests).astype(np.int64)
        return total

    def longest(self) -> Column:
        """The longest gap of each request in ticks; NONE where it has none."""
        import numpy as np

        most = np.full(self._requests, NONE, dtype=np.int64)
        np.maximum.at(most, self._single_id, self._single)
        for index, (first, growth, steps) in enumerate(self._runs):
            here = np.flatnonzero((self._replica == index) & (self._to > self._from))
            start, stop = self._from[here] + 1, self._to[here] + 1
            level_of = np.frexp((stop - start).astype(np.float64))[1] - 1
            # Largest value of the 2**level runs from each run on: two such windows cover any span.
            windows = first + growth * (steps - 1)
            for level in range(int(level_of.max()) + 1 if len(here) else 0):
                mine = np.flatnonzero(level_of == level)
                found = np.maximum(windows[start[mine]], windows[stop[mine] - (1 << level)])
                np.maximum.at(most, self._id[here[mine]], found)
                step = 1 << level
                windows = np.maximum(windows[:-step], windows[step:]) if len(windows) > step else windows
        return most

    def of(self, request: int) -> tuple[int, ...]:
        """The gaps of one request in ticks, in order of time: a single gap bridges each pause."""
        import numpy as np

        if self._order is None:
            self._order = np.argsort(self._single_id, kind="stable")
            self._sorted_id = self._single_id[self._order]
            self._span_order = np.argsort(self._id, kind="stable")
            self._sorted_span = self._id[self._span_order]
        low, high = np.searchsorted(self._sorted_id, [request, request + 1])
        singles = [int(gap) for gap in self._single[self._order[low:high]]]
        low, high = np.searchsorted(self._sorted_span, [request, request + 1])
        spans = [self._written(int(row)) for row in self._span_order[low:high]]
        if not spans:
            return tuple(singles)
        gaps = list(spans[0])
        for single, span in zip_longest(singles, spans[1:]):
            gaps += [] if single is None else [single]
            gaps += span or []
        return tuple(gaps)

    def _written(self, row: int) -> list[int]:
        replica = int(self._replica[row])
        first, growth, steps = self._runs[replica]
        gaps: list[int] = []
        for run in range(int(self._from[row]) + 1, int(self._to[row]) + 1):
            start, by, count = int(first[run]), int(growth[run]), int(steps[run])
            durations = range(start, start + by * count, by) if by else [start] * count
            gaps += reversed(durations) if self._signed[replica][run] else durations
        return gaps
