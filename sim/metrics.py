"""From a log's columns to distributions. Percentiles interpolate linearly, as NumPy's default does.

Ticks are whole numbers and stay so until the one division that makes seconds: a percentile is exact up to
the rounding of that division, whatever the number of samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from sim.columns import Columns
from sim.exact import exact_sum
from sim.goodput import LIMITS, Goodput, goodput
from sim.ticks import TICKS_PER_S

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sim.progressions import Progressions
    from sim.table import Column

METRICS = ("ttft", "itl", "tpot", "e2e", "queue", "prefill", "decode", "max_gap")
STATISTICS = ("mean", "p50", "p90", "p95", "p99", "p999", "max")

_WORDS = {
    "ttft": "TTFT",
    "itl": "ITL",
    "tpot": "TPOT",
    "e2e": "E2E",
    "max_gap": "longest gap",
}
_PER_MILLE = (500, 950, 990, 900, 999)
_MANY = 1000


def in_words(metric: str) -> str:
    """A metric such as `ttft` or `max_gap` as people write it."""
    return _WORDS.get(metric, metric)


def name_in_words(name: str) -> str:
    """`chat.ttft_s.p99` as "chat TTFT p99", `output_tokens_per_s` as "output tokens/s"."""
    if name.endswith("_per_s"):
        return name.removesuffix("_per_s").replace("_", " ").replace(".", " ") + "/s"
    return " ".join(in_words(part.removesuffix("_s")).replace("_", " ") for part in name.split("."))


class Summary(NamedTuple):
    """A distribution of `n` durations in seconds."""

    n: int
    mean_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float
    p90_s: float
    p999_s: float | None
    """None below 1,000 samples, where it says nothing that the largest does not."""

    @property
    def p99_is_thin(self) -> bool:
        """Fewer than 100 samples: the p99 is then little else than the largest one."""
        return self.n < 100


def percentile(ordered: Sequence[float], percent: int, scale: int = 1, of: int = 100) -> float:
    """The given percentile (parts of `of`) of ascending values, divided by `scale`.

    Whole numbers (ticks) stay exact up to the single division at the end.
    """
    index, part = divmod(percent * (len(ordered) - 1), of)
    if part == 0:
        return ordered[index] / scale
    low, high = ordered[index], ordered[index + 1]
    return (low * of + (high - low) * part) / (of * scale)


def summarise(values: Iterable[float], scale: int = 1) -> Summary | None:
    """Summary of values given in units of 1/`scale` seconds; None when there are none."""
    ordered = sorted(values)
    if not ordered:
        return None
    total = sum(ordered) if all(isinstance(value, int) for value in ordered) else math.fsum(ordered)
    return _summary(
        len(ordered), total, [percentile(ordered, part, scale, 1000) for part in _PER_MILLE], ordered[-1], scale
    )


def _summary(n: int, total: float, percentiles: Sequence[float], largest: float, scale: int) -> Summary:
    p50, p95, p99, p90, p999 = percentiles
    return Summary(n, total / (n * scale), p50, p95, p99, largest / scale, p90, p999 if n >= _MANY else None)


def summarise_ticks(values: Column) -> Summary | None:
    """Summary of a column of ticks; None when it is empty."""
    import numpy as np

    if not len(values):
        return None
    ordered = np.sort(values)
    places = _places(len(ordered))
    found = {place: int(ordered[place]) for place in places}
    return _from_places(len(ordered), exact_sum(values), found, int(ordered[-1]))


def summarise_gaps(pool: Progressions) -> Summary | None:
    """Summary of pooled gaps; None when there are none."""
    n = pool.n
    if not n:
        return None
    places = _places(n)
    found = dict(zip(places, pool.ranked(places), strict=True))
    return _from_places(n, pool.total, found, int(pool.last.max()))


def _places(n: int) -> list[int]:
    """Positions among `n` ascending values that the percentiles lie on or between, rising."""
    lower = {part * (n - 1) // 1000 for part in _PER_MILLE}
    return sorted(lower | {min(place + 1, n - 1) for place in lower})


def _from_places(n: int, total: int, found: dict[int, int], largest: int) -> Summary:
    percentiles = []
    for part in _PER_MILLE:
        index, rest = divmod(part * (n - 1), 1000)
        low, high = found[index], found[min(index + 1, n - 1)]
        percentiles.append((low * 1000 + (high - low) * rest) / (1000 * TICKS_PER_S))
    return _summary(n, total, percentiles, largest, TICKS_PER_S)


def _summarise_floats(ticks: NDArray[np.float64]) -> Summary | None:
    """Summary of ticks that are not whole, such as a request's mean gap."""
    import numpy as np

    if not len(ticks):
        return None
    ordered = np.sort(ticks)
    n = len(ordered)
    percentiles = []
    for part in _PER_MILLE:
        index, rest = divmod(part * (n - 1), 1000)
        low, high = float(ordered[index]), float(ordered[min(index + 1, n - 1)])
        percentiles.append((low + (high - low) * rest / 1000) / TICKS_PER_S)
    return _summary(n, math.fsum(ticks.tolist()), percentiles, float(ordered[-1]), TICKS_PER_S)


class SloCheck(NamedTuple):
    """One limit of a class against the simulated 95th percentile; `held` is None without samples."""

    metric: str
    limit_s: float
    p95_s: float | None
    held: bool | None


class ClassMetrics:
    """Distributions over one class, or over several together. None where there is no sample.

    A request counts in a distribution as soon as it has the value, also when it was still in flight at the
    horizon; a cancelled one that saw no token counts in `queue` only. TPOT, E2E and decode are of completed
    requests. Each is worked out when it is first asked for.
    """

    def __init__(self, columns: Columns, classes: Sequence[int]) -> None:
        self._columns = columns
        self._classes = tuple(classes)

    @cached_property
    def _rows(self) -> Column:
        return self._columns.rows_of(self._classes)

    @property
    def _pool(self) -> Progressions:
        everyone = len(self._rows) == self._columns.count
        return self._columns.gaps.pooled(None if everyone else self._columns.mask(self._rows))

    def samples(self, metric: str) -> NDArray[np.float64] | Column:
        """The durations behind a summary in ticks, in no special order; for itl some evenly chosen ones."""
        if metric == "tpot":
            return self._columns.tpot(self._rows)
        if metric == "itl":
            return self._pool.sample if self._pool.n else self._pool.first
        return self._ticks(metric)

    def _ticks(self, metric: str) -> Column:
        columns = self._columns
        if metric == "max_gap":
            longest = columns.longest_gaps[self._rows]
            return longest[longest >= 0]
        if metric == "prefill":
            return columns.prefill(self._rows)
        start, end, rows = {
            "ttft": ("arrival", "first_token", self._rows),
            "queue": ("queued", "scheduled", self._rows),
            "e2e": ("arrival", "last_token", self._completed),
            "decode": ("first_token", "last_token", self._completed),
        }[metric]
        return columns.between(start, end, rows)

    def _summary(self, metric: str) -> Summary | None:
        return summarise_ticks(self._ticks(metric))

    @cached_property
    def ttft(self) -> Summary | None:
        """Arrival to first token seen."""
        return self._summary("ttft")

    @cached_property
    def itl(self) -> Summary | None:
        """Gaps between tokens, of all requests pooled: long answers weigh more."""
        return summarise_gaps(self._pool)

    @cached_property
    def tpot(self) -> Summary | None:
        """(E2E - TTFT) / (n - 1) of each completed request with n > 1 tokens: every request weighs the same."""
        return _summarise_floats(self._columns.tpot(self._rows))

    @cached_property
    def e2e(self) -> Summary | None:
        """Arrival to last token seen."""
        return self._summary("e2e")

    @cached_property
    def queue(self) -> Summary | None:
        """Joining the queue to the start of the first step that worked on the request."""
        return self._summary("queue")

    @cached_property
    def prefill(self) -> Summary | None:
        """Start of that step to the first token leaving the server."""
        return self._summary("prefill")

    @cached_property
    def decode(self) -> Summary | None:
        """First to last token; zero for one token."""
        return self._summary("decode")

    @cached_property
    def max_gap(self) -> Summary | None:
        """The longest gap of each request."""
        return self._summary("max_gap")

    @property
    def _completed(self) -> Column:
        return self._rows[self._columns.completed[self._rows]]

    @cached_property
    def slo(self) -> tuple[SloCheck, ...]:
        """The limits at the 95th percentile; empty for several classes together, each has its own."""
        if len(self._classes) != 1:
            return ()
        checks = []
        slo = self._columns.log.scenario.classes[self._classes[0]].slo
        for metric in LIMITS:
            limit: float | None = getattr(slo, f"{metric}_s")
            if limit is not None:
                summary = self.summary(metric)
                p95 = None if summary is None else summary.p95_s
                checks.append(SloCheck(metric, limit, p95, None if p95 is None else p95 <= limit))
        return tuple(checks)

    @cached_property
    def goodput(self) -> Goodput:
        """How many requests met all limits of their own class."""
        return sum((goodput(self._columns, index) for index in self._classes), Goodput(0, 0, 0, {}))

    @cached_property
    def output_tokens(self) -> int:
        """Output tokens that reached a client, of all requests."""
        return exact_sum(self._columns["output_tokens"][self._rows])

    def summary(self, metric: str) -> Summary | None:
        """The distribution called `metric`, one of `METRICS`."""
        value: Summary | None = getattr(self, metric)
        return value
