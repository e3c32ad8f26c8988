"""The result of a run, read from its log: counts that balance, distributions, rates, records on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

from sim.arrivals import label
from sim.columns import Columns
from sim.cost import StepKind
from sim.errors import ScenarioError, nearest
from sim.exact import exact_sum
from sim.fleet.usage import replica_seconds
from sim.log import CANCELLED, COMPLETED, FAILED, IN_FLIGHT, KIND_NAMES, REJECTED, STATUS_NAMES, Log
from sim.metrics import METRICS, STATISTICS, ClassMetrics
from sim.records import RequestRecord, Status, StepRecord
from sim.scenario import Scenario
from sim.series import Series, most_waiting, peak, replica_series
from sim.table import NONE
from sim.ticks import TICKS_PER_S, to_seconds

if TYPE_CHECKING:
    from sim.table import Column

FATES = ("submitted", "completed", "cancelled", "rejected", "failed", "in_flight")
RATES = (
    "output_tokens_per_s",
    "requests_per_s",
    "goodput",
    "goodput_requests_per_s",
    "goodput_tokens_per_s",
    "attainment",
)
PEAKS = ("peak_waiting", "peak_running", "peak_kv_usage")
WHOLE_RUN = ("duration_s", "preemptions", "useful_share", "replica_seconds", *PEAKS)
"""Numbers that belong to the run, not to a class."""


class Counts(NamedTuple):
    """Requests by fate: submitted = rejected + cancelled + completed + in_flight + failed.

    `admitted` passed the queue limit, whatever came of them.
    """

    submitted: int
    admitted: int
    rejected: int
    cancelled: int
    completed: int
    in_flight: int
    failed: int = 0


class Work(NamedTuple):
    """Tokens the servers computed, and what became of them.

    Wasted prompt tokens were computed for requests that were cancelled or failed; wasted output tokens
    reached no client. `unfinished_output_tokens` did reach one, of an answer that never became complete.
    """

    prompt_tokens: int
    """Worked through in prefill, each time it was done."""
    output_tokens: int
    """Generated."""
    wasted_prompt_tokens: int
    wasted_output_tokens: int
    unfinished_output_tokens: int = 0
    recomputed_tokens: int = 0
    """The part of `prompt_tokens` that was done again after a preemption or a lost replica."""
    cached_tokens: int = 0
    """Prompt tokens that a prefix cache saved; computed by nobody."""
    useful_tokens: int = 0
    """Prompt tokens, once each, and received output tokens of requests that are complete or under way."""

    @property
    def useful_share(self) -> float | None:
        """Useful among all computed tokens, 0 to 1; None when nothing was computed."""
        computed = self.prompt_tokens + self.output_tokens
        return self.useful_tokens / computed if computed else None


class Result:
    """All of one run. Rates count from the first arrival to the end of activity (or the horizon)."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.columns = Columns(log)

    def __eq__(self, other: object) -> bool:
        """Equal when everything that happened is, to the last bit."""
        import numpy as np

        if not isinstance(other, Result):
            return NotImplemented
        mine, theirs = self.log, other.log
        return (
            (mine.scenario, mine.end, mine.partial, len(mine.runs))
            == (theirs.scenario, theirs.end, theirs.partial, len(theirs.runs))
        ) and all(
            np.array_equal(one.rows(), another.rows())
            for one, another in zip(
                (mine.lives, mine.stretches, mine.gaps, *mine.runs),
                (theirs.lives, theirs.stretches, theirs.gaps, *theirs.runs),
                strict=True,
            )
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def scenario(self) -> Scenario:
        """What was simulated."""
        return self.log.scenario

    @property
    def partial(self) -> bool:
        """True when its user stopped the run before its end."""
        return self.log.partial

    # ---- records -----------------------------------------------------------------------------------

    @cached_property
    def requests(self) -> tuple[RequestRecord, ...]:
        """Every request, in order of arrival. Made when first asked for: a record takes about a kilobyte."""
        return tuple(self.request(row) for row in range(len(self.log.lives)))

    def request(self, number: int) -> RequestRecord:
        """One request by its place in the order of arrivals, from 0."""
        row = dict(zip(self.log.lives.names, map(int, self.log.lives.rows()[number]), strict=True))
        item = self.scenario.classes[row["class_index"]]

        def moment(name: str) -> int | None:
            return None if row[name] == NONE else row[name]

        return RequestRecord(
            id=row["id"],
            class_name=item.name,
            label=label(item, row["number"]),
            status=cast(Status, STATUS_NAMES[row["status"]]),
            prompt_tokens=row["prompt_tokens"],
            output_tokens=row["output_tokens"],
            wanted_tokens=row["wanted_tokens"],
            arrival_ticks=row["arrival"],
            queued_ticks=moment("queued"),
            scheduled_ticks=moment("scheduled"),
            first_token_ticks=moment("first_token"),
            last_token_ticks=moment("last_token"),
            ended_ticks=moment("ended"),
            transport_ticks=row["transport"],
            gap_ticks=self.columns.gaps.of(number),
            computed_prompt_tokens=row["computed_tokens"],
            wasted_output_tokens=row["wasted_tokens"],
            replica=moment("replica"),
            attempts=row["attempts"],
            preemptions=row["preemptions"],
            cached_tokens=row["cached_tokens"],
            recomputed_tokens=row["recomputed_tokens"],
        )

    @cached_property
    def steps(self) -> tuple[StepRecord, ...]:
        """Every step of every replica in order of start; `step_count` tells beforehand how many there are."""
        found = [step for replica in range(len(self.log.runs)) for step in self._steps_of(replica)]
        if len(self.log.runs) > 1:
            found.sort(key=lambda step: (step.start_ticks, step.replica))
        return tuple(found)

    def _steps_of(self, replica: int) -> Iterator[StepRecord]:
        names = ("start", "steps", "first", "growth", "kind", "prefill_tokens", "decode_seqs")
        columns = (self.log.runs[replica][name].tolist() for name in names)
        for start, steps, first, growth, kind, prefill, decode in zip(*columns, strict=True):
            for number in range(steps):
                duration = first + growth * number
                yield StepRecord(start, duration, cast(StepKind, KIND_NAMES[kind]), prefill, decode, replica)
                start += duration

    @cached_property
    def step_count(self) -> int:
        """Steps of all replicas."""
        return sum(exact_sum(runs["steps"]) for runs in self.log.runs)

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """Queue, seats and KV blocks over time, one for each replica."""
        return tuple(replica_series(self.log, index) for index in range(len(self.log.runs)))

    # ---- numbers -----------------------------------------------------------------------------------

    @cached_property
    def counts(self) -> Counts:
        """Requests by fate."""
        return self._counts_of(self.columns.rows_of(range(len(self.scenario.classes))))

    def counts_of(self, class_name: str) -> Counts:
        """Requests of one class by fate. Raises KeyError for a class that does not exist."""
        index = {item.name: index for index, item in enumerate(self.scenario.classes)}[class_name]
        return self._counts_of(self.columns.rows_of([index]))

    def _counts_of(self, rows: Column) -> Counts:
        import numpy as np

        fates = np.bincount(self.columns["status"][rows], minlength=len(STATUS_NAMES)).tolist()
        return Counts(
            submitted=sum(fates),
            admitted=int((self.columns["queued"][rows] != NONE).sum()),
            rejected=fates[REJECTED],
            cancelled=fates[CANCELLED],
            completed=fates[COMPLETED],
            in_flight=fates[IN_FLIGHT],
            failed=fates[FAILED],
        )

    @cached_property
    def classes(self) -> dict[str, ClassMetrics]:
        """Distributions by class, in the scenario's order."""
        if len(self.scenario.classes) == 1:
            return {self.scenario.classes[0].name: self.overall}
        return {item.name: ClassMetrics(self.columns, [index]) for index, item in enumerate(self.scenario.classes)}

    @cached_property
    def overall(self) -> ClassMetrics:
        """Distributions over all classes together."""
        return ClassMetrics(self.columns, range(len(self.scenario.classes)))

    @cached_property
    def tenants(self) -> dict[str, ClassMetrics]:
        """Distributions by tenant, where classes name one; empty otherwise."""
        owners: dict[str, list[int]] = {}
        for index, item in enumerate(self.scenario.classes):
            if item.tenant is not None:
                owners.setdefault(item.tenant, []).append(index)
        return {tenant: ClassMetrics(self.columns, indices) for tenant, indices in owners.items()}

    @cached_property
    def work(self) -> Work:
        """What the servers computed."""
        import numpy as np

        columns = self.columns

        def total(name: str, where: Column | None = None) -> int:
            return exact_sum(columns[name] if where is None else columns[name][where])

        gone = np.isin(columns["status"], [CANCELLED, FAILED])
        left, kept = np.flatnonzero(gone), np.flatnonzero(~gone)
        wasted = total("wasted_tokens")
        return Work(
            prompt_tokens=total("computed_tokens"),
            output_tokens=total("output_tokens") + wasted,
            wasted_prompt_tokens=total("computed_tokens", left),
            wasted_output_tokens=wasted,
            unfinished_output_tokens=total("output_tokens", left),
            recomputed_tokens=total("recomputed_tokens"),
            cached_tokens=total("cached_tokens"),
            useful_tokens=total("computed_tokens", kept)
            - total("recomputed_tokens", kept)
            + total("output_tokens", kept),
        )

    @cached_property
    def duration_ticks(self) -> int:
        """As `duration_s`."""
        if not self.columns.count:
            return 0
        end = self.log.end
        if self.scenario.horizon_s is None and not self.partial:
            # A step that goes on for clients who have left is not part of it.
            end = int(self.columns["ended"].max())
        return max(end - int(self.columns["arrival"].min()), 0)

    @property
    def duration_s(self) -> float:
        """First arrival to the last token, cancellation or rejection; to the horizon when one is set."""
        return to_seconds(self.duration_ticks)

    @property
    def output_tokens_per_s(self) -> float | None:
        """Output tokens that reached a client per second; None when the run takes no time."""
        return self._class_value("all", "output_tokens_per_s")

    @property
    def requests_per_s(self) -> float | None:
        """Completed requests per second; None when the run takes no time."""
        return self._class_value("all", "requests_per_s")

    @property
    def tokens_per_event(self) -> float | None:
        """Tokens that came out together, in the mean over all events after first tokens; 1 without drafts.

        None without such an event. With k drafts a step, (this - 1) / k of the drafts were accepted.
        """
        events = int(self.columns.gaps.count().sum())
        tokens = self.log.lives["output_tokens"]
        return int((tokens[tokens > 0] - 1).sum()) / events if events else None

    def per_second(self, count: int) -> float | None:
        """A count divided by the duration; None when the run takes no time."""
        return count * TICKS_PER_S / self.duration_ticks if self.duration_ticks else None

    def _class_value(self, class_name: str, name: str) -> float | None:
        """A count or a rate of one class, or of 'all'."""
        group = self.overall if class_name == "all" else self.classes[class_name]
        if name == "attainment":
            return group.goodput.attainment
        if name in ("goodput", "goodput_requests_per_s"):
            return self.per_second(group.goodput.good)
        if name == "goodput_tokens_per_s":
            return self.per_second(group.goodput.good_tokens)
        if name == "output_tokens_per_s":
            return self.per_second(group.output_tokens)
        counts = self.counts if class_name == "all" else self.counts_of(class_name)
        if name == "requests_per_s":
            return self.per_second(counts.completed)
        return float(getattr(counts, name))

    def _run_value(self, name: str) -> float | None:
        if name == "duration_s":
            return self.duration_s
        if name == "preemptions":
            return float(exact_sum(self.columns["preemptions"]))
        if name == "useful_share":
            return self.work.useful_share
        if name == "replica_seconds":
            return replica_seconds(self.log)
        found = peak(self.log, name.removeprefix("peak_"))
        if name == "peak_waiting":
            # Between two starts of steps more may have waited than at either.
            return max(found or 0.0, float(self._most_waiting()))
        return found

    def _most_waiting(self) -> int:
        import numpy as np

        queued, scheduled, ended = (self.columns[name] for name in ("queued", "scheduled", "ended"))
        rows = np.flatnonzero(queued != NONE)
        left = np.where(scheduled[rows] == NONE, ended[rows], scheduled[rows])
        return most_waiting(queued[rows], np.where(left == NONE, self.log.end, left))

    def metric(self, name: str) -> float | None:
        """One number by name; None where there is no sample.

        - `<class|all>.<metric>_s[.<statistic>]`, seconds: metrics are ttft, itl, tpot, e2e, queue, prefill,
          decode and max_gap; statistics mean (when none is given), p50, p90, p95, p99, p999 and max;
        - `<class|all>.<count or rate>`: submitted, completed, cancelled, rejected, failed, in_flight,
          output_tokens_per_s, requests_per_s, goodput_requests_per_s (goodput for short),
          goodput_tokens_per_s, attainment (0 to 1); without a class they count all;
        - duration_s, preemptions, useful_share, replica_seconds (how long all replicas together were there),
          peak_waiting, peak_running and peak_kv_usage of the run.

        Raises ScenarioError for a name that does not exist.
        """
        if name in WHOLE_RUN:
            return self._run_value(name)
        class_name, _, rest = (f"all.{name}" if name in FATES + RATES else name).partition(".")
        group = self.overall if class_name == "all" else self.classes.get(class_name)
        if group is not None and rest in FATES + RATES:
            return self._class_value(class_name, rest)
        metric, _, statistic = rest.partition(".")
        if group is None or metric.removesuffix("_s") not in METRICS or not metric.endswith("_s"):
            raise ScenarioError(self._no_such_metric(name))
        if statistic and statistic not in STATISTICS:
            raise ScenarioError(
                f"there is no statistic {statistic!r} in {name!r}{nearest(statistic, STATISTICS)}; "
                f"use one of {', '.join(STATISTICS)}"
            )
        summary = group.summary(metric.removesuffix("_s"))
        if summary is None:
            return None
        value: float | None = getattr(summary, f"{statistic or 'mean'}_s")
        return value

    def _no_such_metric(self, name: str) -> str:
        groups = [*self.classes, "all"]
        known = [f"{item}.{kind}_s" for item in groups for kind in METRICS]
        known += [f"{item}.{kind}" for item in groups for kind in FATES + RATES]
        return (
            f"there is no metric {name!r}{nearest(name, [*known, *FATES, *RATES, *WHOLE_RUN])}; "
            "write <class>.<metric>_s with a class of this scenario or 'all' and one of "
            f"{', '.join(METRICS)}, or a count or rate: {', '.join((*FATES, *RATES, *WHOLE_RUN))}"
        )

    def to_dict(self, *, details: bool = True) -> dict[str, object]:
        """The result as plain JSON values. Without `details` the requests and steps are left out."""
        from sim.export.plain import plain

        return plain(self, details=details)


def simulate(
    scenario: Scenario,
    progress: Callable[[int, int, float], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Result:
    """Run the scenario from its first arrival to its end and gather what happened.

    Equal scenarios give equal results, to the last bit, on any machine. A long run calls `progress` now and
    then with the requests that are done, their total and the simulated second, and ends early, its result
    marked `partial`, once `stop` returns true.
    """
    from sim.engine import run

    return Result(run(scenario, progress, stop))
