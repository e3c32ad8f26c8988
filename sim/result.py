"""The result of a run: records, counts that balance, distributions, rates, and `simulate` itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from sim.arrivals import label
from sim.engine import Engine
from sim.errors import ScenarioError, nearest
from sim.metrics import METRICS, STATISTICS, ClassMetrics, Summary, class_metrics
from sim.records import RequestRecord, Status, StepRecord
from sim.scenario import Scenario
from sim.schedulers import Sequence
from sim.ticks import TICKS_PER_S, to_seconds, to_ticks

RATES = ("output_tokens_per_s", "requests_per_s")
SCHEMA_VERSION = 1


class Counts(NamedTuple):
    """Requests by fate: submitted = rejected + cancelled + completed + in_flight.

    `admitted` passed the queue limit, whatever came of them.
    """

    submitted: int
    admitted: int
    rejected: int
    cancelled: int
    completed: int
    in_flight: int


class Work(NamedTuple):
    """Tokens the server computed, and the part of them spent on requests that were cancelled."""

    prompt_tokens: int
    output_tokens: int
    wasted_prompt_tokens: int
    wasted_output_tokens: int


@dataclass(frozen=True, slots=True)
class Result:
    """All of one run. Rates count from the first arrival to the end of activity (or the horizon)."""

    scenario: Scenario
    requests: tuple[RequestRecord, ...]
    steps: tuple[StepRecord, ...]
    counts: Counts
    classes: dict[str, ClassMetrics]
    overall: ClassMetrics
    work: Work
    duration_ticks: int

    @property
    def duration_s(self) -> float:
        """First arrival to the last token, cancellation or rejection; to the horizon when one is set."""
        return to_seconds(self.duration_ticks)

    @property
    def output_tokens_per_s(self) -> float | None:
        """Output tokens that reached a client per second; None when the run takes no time."""
        return self._per_second(sum(record.output_tokens for record in self.requests))

    @property
    def requests_per_s(self) -> float | None:
        """Completed requests per second; None when the run takes no time."""
        return self._per_second(self.counts.completed)

    def _per_second(self, count: int) -> float | None:
        return count * TICKS_PER_S / self.duration_ticks if self.duration_ticks else None

    def metric(self, name: str) -> float | None:
        """One number by name: `<class|all>.<metric>_s[.<statistic>]` in seconds, or a rate.

        Metrics are ttft, itl, tpot, e2e, queue and prefill; statistics mean (when none is given), p50,
        p95, p99 and max. None where there is no sample. Raises ScenarioError for a name that does not exist.
        """
        if name in RATES:
            rate: float | None = getattr(self, name)
            return rate
        class_name, _, rest = name.partition(".")
        metric, _, statistic = rest.partition(".")
        group = self.overall if class_name == "all" else self.classes.get(class_name)
        if group is None or metric.removesuffix("_s") not in METRICS or not metric.endswith("_s"):
            known = [f"{item}.{kind}_s" for item in (*self.classes, "all") for kind in METRICS]
            raise ScenarioError(
                f"there is no metric {name!r}{nearest(name, [*known, *RATES])}; write <class>.<metric>_s "
                f"with a class of this scenario or 'all' and one of {', '.join(METRICS)}, "
                f"or {' or '.join(RATES)}"
            )
        if statistic and statistic not in STATISTICS:
            raise ScenarioError(
                f"there is no statistic {statistic!r} in {name!r}{nearest(statistic, STATISTICS)}; "
                f"use one of {', '.join(STATISTICS)}"
            )
        summary = group.summary(metric.removesuffix("_s"))
        if summary is None:
            return None
        value: float = getattr(summary, f"{statistic or 'mean'}_s")
        return value

    def to_dict(self, *, details: bool = True) -> dict[str, object]:
        """The result as plain JSON values. Without `details` the requests and steps are left out."""
        data: dict[str, object] = {
            "schema": SCHEMA_VERSION,
            "scenario": self.scenario.name,
            "seed": self.scenario.seed,
            "policy": self.scenario.server.policy,
            "duration_s": self.duration_s,
            "counts": self.counts._asdict(),
            "output_tokens_per_s": self.output_tokens_per_s,
            "requests_per_s": self.requests_per_s,
            "work": self.work._asdict(),
            "classes": {name: _metrics_dict(group) for name, group in self.classes.items()},
            "all": _metrics_dict(self.overall),
        }
        if details:
            data["requests"] = [_request_dict(record) for record in self.requests]
            data["steps"] = [
                {
                    "start_s": step.start_s,
                    "duration_s": step.duration_s,
                    "kind": step.kind,
                    "prefill_tokens": step.prefill_tokens,
                    "decode_seqs": step.decode_seqs,
                }
                for step in self.steps
            ]
        return data


def _metrics_dict(group: ClassMetrics) -> dict[str, object]:
    def plain(summary: Summary | None) -> dict[str, float] | None:
        return None if summary is None else summary._asdict()

    data: dict[str, object] = {metric: plain(group.summary(metric)) for metric in METRICS}
    data["slo"] = [check._asdict() for check in group.slo]
    return data


def _request_dict(record: RequestRecord) -> dict[str, object]:
    return {
        "id": record.id,
        "class": record.class_name,
        "label": record.label,
        "status": record.status,
        "prompt_tokens": record.prompt_tokens,
        "output_tokens": record.output_tokens,
        "wanted_tokens": record.wanted_tokens,
        "arrival_s": record.arrival_s,
        "queued_s": record.queued_s,
        "scheduled_s": record.scheduled_s,
        "first_token_s": record.first_token_s,
        "last_token_s": record.last_token_s,
        "ended_s": record.ended_s,
        "ttft_s": record.ttft_s,
        "queue_s": record.queue_s,
        "prefill_s": record.prefill_s,
        "e2e_s": record.e2e_s,
        "tpot_s": record.tpot_s,
        "gaps_s": list(record.gaps_s),
    }


def simulate(scenario: Scenario) -> Result:
    """Run the scenario from its first arrival to its end and gather what happened.

    Equal scenarios give equal results, to the last bit, on any machine.
    """
    engine = Engine(scenario)
    engine.run()
    transports = [to_ticks(item.transport_s) for item in scenario.classes]
    records = tuple(_record(seq, scenario, transports[seq.class_index], engine.horizon) for seq in engine.sequences)
    return Result(
        scenario=scenario,
        requests=records,
        steps=tuple(engine.steps),
        counts=_counts(records),
        classes={
            item.name: class_metrics([r for r in records if r.class_name == item.name], item.slo)
            for item in scenario.classes
        },
        overall=class_metrics(records),
        work=_work(records),
        duration_ticks=_duration(records, engine.horizon),
    )


def _record(seq: Sequence, scenario: Scenario, transport: int, horizon: int | None) -> RequestRecord:
    """What the client saw of a sequence: server times plus transport, nothing after the horizon."""
    item = scenario.classes[seq.class_index]
    gaps = list(seq.gaps)
    received = seq.generated
    first = None if seq.first_token is None else seq.first_token + transport
    last = None if seq.last_token is None else seq.last_token + transport
    if horizon is not None:
        while last is not None and last > horizon:
            received -= 1
            last = last - gaps.pop() if gaps else None
        first = None if last is None else first
    status: Status = "in_flight"
    ended: int | None = None
    if seq.rejected is not None:
        status, ended = "rejected", seq.rejected
    elif seq.cancelled is not None:
        status, ended = "cancelled", seq.cancelled
    elif received == seq.output_tokens:
        status, ended = "completed", last
    return RequestRecord(
        id=seq.id,
        class_name=item.name,
        label=label(item, seq.number),
        status=status,
        prompt_tokens=seq.prompt_tokens,
        output_tokens=received,
        wanted_tokens=seq.output_tokens,
        arrival_ticks=seq.arrival,
        queued_ticks=seq.queued,
        scheduled_ticks=seq.scheduled,
        first_token_ticks=first,
        last_token_ticks=last,
        ended_ticks=ended,
        transport_ticks=transport,
        gap_ticks=tuple(gaps),
        computed_prompt_tokens=0 if item.prefilled else seq.computed,
        wasted_output_tokens=seq.wasted_output,
    )


def _counts(records: tuple[RequestRecord, ...]) -> Counts:
    by_status = Counter(record.status for record in records)
    return Counts(
        submitted=len(records),
        admitted=sum(record.queued_ticks is not None for record in records),
        rejected=by_status["rejected"],
        cancelled=by_status["cancelled"],
        completed=by_status["completed"],
        in_flight=by_status["in_flight"],
    )


def _work(records: tuple[RequestRecord, ...]) -> Work:
    cancelled = [record for record in records if record.status == "cancelled"]
    wasted_output = sum(record.wasted_output_tokens for record in cancelled)
    return Work(
        prompt_tokens=sum(record.computed_prompt_tokens for record in records),
        output_tokens=sum(record.output_tokens for record in records) + wasted_output,
        wasted_prompt_tokens=sum(record.computed_prompt_tokens for record in cancelled),
        wasted_output_tokens=wasted_output,
    )


def _duration(records: tuple[RequestRecord, ...], horizon: int | None) -> int:
    if not records:
        return 0
    start = records[0].arrival_ticks
    if horizon is not None:
        return horizon - start
    return max(record.ended_ticks for record in records if record.ended_ticks is not None) - start
