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
    lives = columns
    if members is None:
        members = np.ones(columns.count, dtype=bool)
    last = lives["last_token"][members]
    bins = int((max(int(last.max(initial=start)), start) - start) // width) + 1
    total = np.zeros(bins, dtype=np.int64)
    seen = np.flatnonzero(members & (lives["first_token"] != NONE))
    _count(total, lives["first_token"][seen], start, width)
    _count(total, _after_single_gaps(columns, members), start, width)
    transport = lives["transport"]
    for delay in np.unique(transport[seen]):
        some = members & (transport == delay)
        for index, runs in enumerate(columns.log.runs):
            weight, entered = columns.gaps.decoding(index, some)
            _count_runs(total, runs["start"] - start + delay, runs, weight, width)
            # After a pause the first token comes with the end of the stretch's first run.
            steps = runs["steps"][entered]
            ends = runs["first"][entered] * steps + runs["growth"][entered] * (steps * (steps - 1) // 2)
            _count(total, runs["start"][entered] + ends + delay, start, width)
    return total


def _count(total: Column, times: Column, start: int, width: int) -> None:
    np.add.at(total, np.clip((times - start) // width, 0, len(total) - 1), 1)


def _after_single_gaps(columns: Columns, members: NDArray[np.bool_]) -> Column:
    """Times of the tokens of requests whose gaps all stand alone."""
    gaps = columns.log.gaps
    alone = members & (columns["first_run"] == NONE)
    rows = np.flatnonzero(alone[gaps["id"]])
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
