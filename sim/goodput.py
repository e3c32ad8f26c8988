"""Which requests kept to every limit of their class, decided exactly, in ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sim.columns import Columns
from sim.ticks import to_ticks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LIMITS = ("ttft", "itl", "tpot", "e2e")
"""Metrics that a class may limit."""
ITL_SHARE = 95
"""Percent of a request's own gaps that must keep to the ITL limit."""

_LONGEST = 2**62
"""Ticks; a limit beyond, more than fifty days, is no limit."""


class Goodput(NamedTuple):
    """Requests that met every limit of their class at once, among all that were submitted.

    Good is a request that completed, with its TTFT, TPOT and E2E within their limits and at least 95 % of
    its gaps within the ITL limit. A request of one token has no TPOT and no gap, and passes those two.
    Rejected, cancelled, failed and unfinished requests are not good, and stay in the denominator. Without
    limits every completed request is good.
    """

    submitted: int
    good: int
    good_tokens: int
    """Output tokens of the good requests."""
    missed: dict[str, int]
    """Completed requests by the limit that they missed; one may miss several."""

    @property
    def attainment(self) -> float | None:
        """Share of the submitted requests that were good, 0 to 1; None when none was submitted."""
        return self.good / self.submitted if self.submitted else None

    def __add__(self, other: object) -> Goodput:
        if not isinstance(other, Goodput):
            return NotImplemented
        names = [name for name in LIMITS if name in self.missed or name in other.missed]
        return Goodput(
            self.submitted + other.submitted,
            self.good + other.good,
            self.good_tokens + other.good_tokens,
            {name: self.missed.get(name, 0) + other.missed.get(name, 0) for name in names},
        )


def misses(columns: Columns, class_index: int) -> dict[str, NDArray[np.bool_]]:
    """For each limit of the class, which of all requests completed and missed it."""
    import numpy as np

    slo = columns.log.scenario.classes[class_index].slo
    done = columns.completed & (columns["class_index"] == class_index)
    rows = np.flatnonzero(done)
    found: dict[str, NDArray[np.bool_]] = {}

    def limit(seconds: float) -> int:
        return min(to_ticks(seconds), _LONGEST)

    def miss(name: str, where: NDArray[np.int64], beyond: NDArray[np.bool_]) -> None:
        found[name] = np.zeros(columns.count, dtype=bool)
        found[name][where[beyond]] = True

    if slo.ttft_s is not None:
        ttft = columns["first_token"][rows] - columns["arrival"][rows]
        miss("ttft", rows, ttft > limit(slo.ttft_s))
    if slo.itl_s is not None:
        within = columns.gaps.count_at_most(limit(slo.itl_s))[rows]
        miss("itl", rows, within * 100 < columns.gaps.count()[rows] * ITL_SHARE)
    if slo.tpot_s is not None:
        several, spans, after_first = columns.decoded(rows)
        # Rounded up, whole ticks decide as the exact quotient does.
        miss("tpot", several, -(-spans // after_first) > limit(slo.tpot_s))
    if slo.e2e_s is not None:
        e2e = columns["last_token"][rows] - columns["arrival"][rows]
        miss("e2e", rows, e2e > limit(slo.e2e_s))
    return found


def good_requests(columns: Columns) -> NDArray[np.bool_]:
    """Which requests met every limit of their own class."""
    good = columns.completed.copy()
    for index in range(len(columns.log.scenario.classes)):
        for beyond in misses(columns, index).values():
            good &= ~beyond
    return good


def goodput(columns: Columns, class_index: int) -> Goodput:
    """Count the requests of one class that met all its limits."""
    mine = columns["class_index"] == class_index
    good = columns.completed & mine
    missed = misses(columns, class_index)
    for beyond in missed.values():
        good &= ~beyond
    return Goodput(
        int(mine.sum()),
        int(good.sum()),
        int(columns["output_tokens"][good].sum()),
        {name: int(beyond.sum()) for name, beyond in missed.items()},
    )
