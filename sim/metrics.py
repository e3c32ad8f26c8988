"""From records to distributions. Percentiles interpolate linearly, as NumPy's default does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sim.records import RequestRecord
from sim.ticks import TICKS_PER_S
from sim.traffic import Slo

METRICS = ("ttft", "itl", "tpot", "e2e", "queue", "prefill")
STATISTICS = ("mean", "p50", "p95", "p99", "max")


class Summary(NamedTuple):
    """A distribution of `n` durations in seconds."""

    n: int
    mean_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float

    @property
    def p99_is_thin(self) -> bool:
        """Fewer than 100 samples: the p99 is then little else than the largest one."""
        return self.n < 100


def percentile(ordered: Sequence[float], percent: int, scale: int = 1) -> float:
    """The given percentile of ascending values, divided by `scale`.

    Whole numbers (ticks) stay exact up to the single division at the end.
    """
    index, part = divmod(percent * (len(ordered) - 1), 100)
    if part == 0:
        return ordered[index] / scale
    low, high = ordered[index], ordered[index + 1]
    return (low * 100 + (high - low) * part) / (100 * scale)


def summarise(values: Iterable[float], scale: int = 1) -> Summary | None:
    """Summary of values given in units of 1/`scale` seconds; None when there are none."""
    ordered = sorted(values)
    if not ordered:
        return None
    total = sum(ordered) if all(isinstance(value, int) for value in ordered) else math.fsum(ordered)
    return Summary(
        len(ordered),
        total / (len(ordered) * scale),
        percentile(ordered, 50, scale),
        percentile(ordered, 95, scale),
        percentile(ordered, 99, scale),
        ordered[-1] / scale,
    )


class SloCheck(NamedTuple):
    """One limit of a class against the simulated 95th percentile; `held` is None without samples."""

    metric: str
    limit_s: float
    p95_s: float | None
    held: bool | None


@dataclass(frozen=True, slots=True)
class ClassMetrics:
    """Distributions over one class, or over all classes together. None where there is no sample.

    A request counts in a distribution as soon as it has the value, also when it was still in flight at the
    horizon; a cancelled one has no first token by definition and counts in `queue` only.
    """

    ttft: Summary | None
    itl: Summary | None
    tpot: Summary | None
    e2e: Summary | None
    queue: Summary | None
    prefill: Summary | None
    slo: tuple[SloCheck, ...] = ()

    def summary(self, metric: str) -> Summary | None:
        """The distribution called `metric`, one of `METRICS`."""
        value: Summary | None = getattr(self, metric)
        return value


def class_metrics(records: Sequence[RequestRecord], slo: Slo | None = None) -> ClassMetrics:
    """Distributions over the given requests, with the limits of `slo` checked at the 95th percentile."""

    def ticks(values: Iterable[int | None]) -> Summary | None:
        return summarise((value for value in values if value is not None), TICKS_PER_S)

    summaries = {
        "ttft": ticks(record.ttft_ticks for record in records),
        "itl": ticks(gap for record in records for gap in record.gap_ticks),
        "tpot": summarise(tpot for record in records if (tpot := record.tpot_s) is not None),
        "e2e": ticks(record.e2e_ticks for record in records),
        "queue": ticks(record.queue_ticks for record in records),
        "prefill": ticks(record.prefill_ticks for record in records),
    }
    checks = []
    for metric in ("ttft", "itl", "tpot", "e2e"):
        limit: float | None = getattr(slo, f"{metric}_s", None)
        if limit is not None:
            summary = summaries[metric]
            p95 = None if summary is None else summary.p95_s
            checks.append(SloCheck(metric, limit, p95, None if p95 is None else p95 <= limit))
    return ClassMetrics(slo=tuple(checks), **summaries)
