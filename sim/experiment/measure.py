"""Numbers of one run, with the start of it left out where that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sim.metrics import METRICS, ClassMetrics
from sim.result import RATES, Result
from sim.ticks import TICKS_PER_S
from sim.traffic import ArrivalTimes, BurstArrivals, DiurnalArrivals, PiecewiseArrivals, TraceArrivals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sim.scenario import Scenario
    from sim.table import Column

BATCH: Final = 5
"""Of MSER-5 (White, Cobb and Spratt 2000)."""
FEWEST_FOR_WARM_UP: Final = 200
"""Requests below which a run is taken as it is: it has no steady state to warm up to."""
NEEDED: Final = {"p90": 10, "p95": 20, "p99": 100, "p999": 1000}
"""Samples of a run below which a quantile is little else than its largest value."""


_OVER_TIME: Final = (
    "goodput",
    "goodput_requests_per_s",
    "goodput_tokens_per_s",
    "output_tokens_per_s",
    "requests_per_s",
)


class Reading(NamedTuple):
    """A metric of one run."""

    value: float | None
    samples: int
    """Behind a mean or quantile; for a count or rate the requests."""


def has_steady_state(scenario: Scenario) -> bool:
    """Whether the load is the same all along, so that the empty start is not part of what is asked."""
    passing = (ArrivalTimes, BurstArrivals, DiurnalArrivals, PiecewiseArrivals, TraceArrivals)
    return not any(isinstance(item.arrivals, passing) for item in scenario.classes)


def mser(values: NDArray[np.float64]) -> int:
    """How many of the first values to leave out, by MSER-5: what makes the rest's standard error smallest.

    At most half is left out; where the smallest lies at that bound there is no steady state in sight, and the half is
    left out.
    """
    import numpy as np

    batches = len(values) // BATCH
    if batches < 4:
        return 0
    means = values[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    # Sums over the tails, from all of it down to its last half.
    tail = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum((means**2)[::-1])[::-1]
    left = batches - np.arange(batches)
    half = batches // 2 + 1
    error = (squares - tail**2 / left)[:half] / left[:half].astype(float) ** 2
    return int(np.argmin(error)) * BATCH


def warm_up_ticks(result: Result) -> int:
    """When the run has settled, by the E2E times of its requests in order of arrival; 0 where it need not."""
    import numpy as np

    columns = result.columns
    if columns.count < FEWEST_FOR_WARM_UP or not has_steady_state(result.scenario):
        return 0
    rows = np.flatnonzero(columns.completed)
    order = rows[np.argsort(columns["arrival"][rows], kind="stable")]
    spans = (columns["last_token"][order] - columns["arrival"][order]).astype(np.float64)
    cut = mser(spans)
    return int(columns["arrival"][order[cut]]) if cut else 0


class _Later(ClassMetrics):
    """Only the requests that came at or after a moment."""

    def __init__(self, result: Result, classes: list[int], since: int) -> None:
        super().__init__(result.columns, classes)
        self._since = since
        rows: Column = result.columns.rows_of(classes)
        self._chosen = rows[result.columns["arrival"][rows] >= since]

    @property
    def _rows(self) -> Column:
        return self._chosen


def read(result: Result, name: str, since: int = 0) -> Reading:
    """A metric by name, of the requests that came at or after `since` (ticks).

    Raises:
        ScenarioError: there is no such metric.
    """
    value = result.metric(name)  # also says what is wrong with a name
    class_name, _, rest = (f"all.{name}" if name in RATES else name).partition(".")
    names = [item.name for item in result.scenario.classes]
    if class_name != "all" and class_name not in names:
        return Reading(value, result.columns.count)  # a number of the whole run
    classes = list(range(len(names))) if class_name == "all" else [names.index(class_name)]
    group = _Later(result, classes, since)
    metric, _, statistic = rest.partition(".")
    if metric.removesuffix("_s") in METRICS and metric.endswith("_s"):
        summary = group.summary(metric.removesuffix("_s"))
        if summary is None:
            return Reading(None, 0)
        found: float | None = getattr(summary, f"{statistic or 'mean'}_s")
        return Reading(found, summary.n)
    if not since or rest not in _OVER_TIME:
        return Reading(value, len(group._rows))
    return Reading(_rate(result, group, rest, since), len(group._rows))


def _rate(result: Result, group: _Later, name: str, since: int) -> float | None:
    """A rate over the time after the warm-up, of the requests that came in it."""
    span = result.columns["arrival"].min() + result.duration_ticks - since
    if span <= 0:
        return None
    import numpy as np

    columns = result.columns
    mask = columns.mask(group._rows)
    done = columns.completed & mask
    if name in ("goodput", "goodput_requests_per_s", "goodput_tokens_per_s"):
        from sim.goodput import misses

        good = done.copy()
        for index in range(len(result.scenario.classes)):
            for missed in misses(columns, index).values():
                good &= ~(missed & (columns["class_index"] == index))
        count = int(columns["output_tokens"][good].sum()) if name.endswith("tokens_per_s") else int(good.sum())
    elif name == "output_tokens_per_s":
        count = int(columns["output_tokens"][mask].sum())
    else:
        count = int(np.count_nonzero(done))
    return count * TICKS_PER_S / float(span)


def too_few(name: str, samples: int) -> str:
    """Why a quantile says little; empty when it does not or the metric is no quantile."""
    statistic = name.rpartition(".")[2]
    needed = NEEDED.get(statistic, 1)
    if samples >= needed:
        return ""
    return f"{statistic} of {samples:,} samples a run; it takes {needed:,}"
