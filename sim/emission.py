"""How many tokens came in each second, told from runs of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim.columns import Columns
from sim.table import NONE
from sim.ticks import TICKS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sim.table import Column, Table

_AT_ONCE = 1 << 20


def tokens_per_bin(
    columns: Columns, members: NDArray[np.bool_] | None = None, start: int = 0, width: int = TICKS_PER_S
) -> Column:
    """Tokens seen by clients in each span of `width` ticks from `start` on, of all or some requests.

    `members` is one truth value a request. Tokens that several requests get from one step count each.
    """
    if members is None:
        members = np.ones(columns.count, dtype=bool)
    first, last = columns["first_token"], columns["last_token"]
    bins = int((max(int(last[members].max(initial=start)), start) - start) // width) + 1
    total = np.zeros(bins, dtype=np.int64)
    seen = members & (first != NONE)
    _count(total, first[seen], start, width)
    # Gaps of most requests stand in runs alone, or alone altogether; few have both, those that paused.
    alone = _mask(columns.count, columns.log.gaps["id"])
    paused = (alone & (columns["first_run"] != NONE)) | _mask(columns.count, columns.log.stretches["id"])
    _count(total, _after_single_gaps(columns, seen & alone & ~paused), start, width)
    for number in np.flatnonzero(seen & paused):
        times = int(first[number]) + np.cumsum(np.array(columns.gaps.of(int(number)), dtype=np.int64))
        _count(total, times, start, width)
    in_runs = seen & ~alone & ~paused
    transport = columns["transport"]
    for delay in np.unique(transport[in_runs]):
        some = in_runs & (transport == delay)
        for index, runs in enumerate(columns.log.runs):
            _count_runs(total, runs["start"] - start + delay, runs, columns.gaps.decoding(index, some), width)
    return total


def _mask(count: int, ids: Column) -> NDArray[np.bool_]:
    chosen = np.zeros(count, dtype=bool)
    chosen[ids] = True
    return chosen


def _count(total: Column, times: Column, start: int, width: int) -> None:
    np.add.at(total, np.clip((times - start) // width, 0, len(total) - 1), 1)


def _after_single_gaps(columns: Columns, members: NDArray[np.bool_]) -> Column:
    """Times of the tokens of requests whose gaps all stand alone."""
    gaps = columns.log.gaps
    rows = np.flatnonzero(members[gaps["id"]])
    ids, ticks = gaps["id"][rows], gaps["ticks"][rows]
    order = np.argsort(ids, kind="stable")
    ids, ticks = ids[order], ticks[order]
    upto = np.cumsum(ticks)
    # The sum so far, less what belongs to the requests before.
    begins = np.flatnonzero(np.diff(ids, prepend=NONE))
    before = np.repeat(upto[begins] - ticks[begins], np.diff(begins, append=len(ids)))
    times: Column = columns["first_token"][ids] + upto - before
    return times


def _count_runs(total: Column, starts: Column, runs: Table, weight: Column, width: int) -> None:
    first, growth, steps = (np.ascontiguousarray(runs[name]) for name in ("first", "growth", "steps"))
    rows = np.flatnonzero(weight)
    starts, first, growth, steps, weight = (column[rows] for column in (starts, first, growth, steps, weight))
    end = starts + first * steps + growth * (steps * (steps - 1) // 2)
    bins = (starts + first) // width
    within = bins == end // width
    places = np.clip(bins[within], 0, len(total) - 1)
    total += np.bincount(places, weights=steps[within] * weight[within], minlength=len(total)).astype(np.int64)
    across = np.flatnonzero(~within)
    upto = np.cumsum(steps[across])
    for share in np.unique(upto // _AT_ONCE):
        some = across[upto // _AT_ONCE == share]
        counts = steps[some]
        number = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        spans = np.repeat(first[some], counts) * number + np.repeat(growth[some], counts) * (number * (number - 1) // 2)
        places = np.clip((np.repeat(starts[some], counts) + spans) // width, 0, len(total) - 1)
        weights = np.repeat(weight[some], counts)
        total += np.bincount(places, weights=weights, minlength=len(total)).astype(np.int64)
