"""A result as plain values that `json` can write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.metrics import METRICS, ClassMetrics, Summary
from sim.overload import overload
from sim.records import RequestRecord, StepRecord

if TYPE_CHECKING:
    from sim.result import Result

SCHEMA_VERSION = 1


def plain(result: Result, *, details: bool = True) -> dict[str, object]:
    """The whole result; without `details` requests and steps are left out."""
    data: dict[str, object] = {
        "schema": SCHEMA_VERSION,
        "scenario": result.scenario.name,
        "seed": result.scenario.seed,
        "policy": result.scenario.server.policy,
        "partial": result.partial,
        "overload": None if (excess := overload(result.log)) is None else excess._asdict(),
        "duration_s": result.duration_s,
        "replicas": len(result.log.runs),
        "step_count": result.step_count,
        "counts": result.counts._asdict(),
        "output_tokens_per_s": result.output_tokens_per_s,
        "requests_per_s": result.requests_per_s,
        "work": {**result.work._asdict(), "useful_share": result.work.useful_share},
        "preemptions": result.metric("preemptions"),
        "tokens_per_event": result.tokens_per_event,
        "peaks": {name: result.metric(name) for name in ("peak_waiting", "peak_running", "peak_kv_usage")},
        "classes": {
            name: {**_group(result, group), "counts": result.counts_of(name)._asdict()}
            for name, group in result.classes.items()
        },
        "all": _group(result, result.overall),
    }
    if result.tenants:
        data["tenants"] = {name: _group(result, group) for name, group in result.tenants.items()}
    if details:
        data["requests"] = [request_dict(record) for record in result.requests]
        data["steps"] = [step_dict(step) for step in result.steps]
    return data


def _summary(summary: Summary | None) -> dict[str, float | None] | None:
    return None if summary is None else summary._asdict()


def _group(result: Result, group: ClassMetrics) -> dict[str, object]:
    data: dict[str, object] = {metric: _summary(group.summary(metric)) for metric in METRICS}
    data["slo"] = [check._asdict() for check in group.slo]
    good = group.goodput
    data["goodput"] = {
        **good._asdict(),
        "attainment": good.attainment,
        "requests_per_s": result.per_second(good.good),
        "tokens_per_s": result.per_second(good.good_tokens),
    }
    data["output_tokens_per_s"] = result.per_second(group.output_tokens)
    return data


def request_dict(record: RequestRecord) -> dict[str, object]:
    """One request; times are seconds from the start of the simulation, None where they never came."""
    return {
        "id": record.id,
        "class": record.class_name,
        "label": record.label,
        "status": record.status,
        "replica": record.replica,
        "attempts": record.attempts,
        "preemptions": record.preemptions,
        "prompt_tokens": record.prompt_tokens,
        "output_tokens": record.output_tokens,
        "wanted_tokens": record.wanted_tokens,
        "cached_tokens": record.cached_tokens,
        "recomputed_tokens": record.recomputed_tokens,
        "wasted_tokens": record.wasted_output_tokens,
        "arrival_s": record.arrival_s,
        "queued_s": record.queued_s,
        "scheduled_s": record.scheduled_s,
        "first_token_s": record.first_token_s,
        "last_token_s": record.last_token_s,
        "ended_s": record.ended_s,
        "ttft_s": record.ttft_s,
        "queue_s": record.queue_s,
        "prefill_s": record.prefill_s,
        "decode_s": record.decode_s,
        "e2e_s": record.e2e_s,
        "tpot_s": record.tpot_s,
        "gaps_s": list(record.gaps_s),
    }


def step_dict(step: StepRecord) -> dict[str, object]:
    """One step."""
    return {
        "start_s": step.start_s,
        "duration_s": step.duration_s,
        "replica": step.replica,
        "kind": step.kind,
        "prefill_tokens": step.prefill_tokens,
        "decode_seqs": step.decode_seqs,
    }
