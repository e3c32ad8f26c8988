"""What holds for every fleet, whatever fails, waits, leaves or comes back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Result, ScenarioError, parse_scenario
from sim.fleet.driver import run_fleet
from sim.log import COMPLETED, FAILED, IN_FLIGHT, REJECTED
from sim.table import NONE

some_ms = st.integers(0, 600).map(lambda n: n / 1000)
STEP_POLICIES = ["static", "continuous", "alternating", "mixed"]


@st.composite
def clients(draw: st.DrawFn) -> dict[str, Any]:
    told = draw(st.booleans())
    return {
        "timeout_s": draw(st.none() | st.integers(1, 400).map(lambda n: n / 1000)),
        "cancel_delay_s": draw(st.sampled_from([0.0, 0.02, 0.3])) if told else 0.0,
        "cancel_reaches_server": told,
        "retries": {
            "max": draw(st.integers(0, 3)),
            "backoff_s": draw(st.sampled_from([0.0, 0.01, 0.2])),
            "multiplier": draw(st.sampled_from([1.0, 2.0])),
            "jitter": draw(st.sampled_from([0.0, 0.5, 1.0])),
            "after": draw(st.sampled_from([["timeout"], ["rejected", "failed"], ["timeout", "rejected", "failed"]])),
        },
    }


@st.composite
def fleet_classes(draw: st.DrawFn, name: str) -> dict[str, Any]:
    loop = {"kind": "closed_loop", "users": draw(st.integers(1, 4)), "think_s": 0.02, "count": draw(st.integers(1, 10))}
    opened = {"kind": "poisson", "rate_per_s": draw(st.sampled_from([5.0, 60.0])), "count": draw(st.integers(1, 12))}
    return {
        "name": name,
        "prompt_tokens": {"dist": "uniform", "low_tokens": 1, "high_tokens": draw(st.integers(1, 50))},
        "output_tokens": {"dist": "uniform", "low_tokens": 1, "high_tokens": draw(st.integers(1, 20))},
        "arrivals": draw(st.sampled_from([loop, opened])),
        "prefix": draw(st.none() | st.just({"tokens": 12, "groups": 2})),
        "preprocess_s": draw(st.sampled_from([0.0, 0.01])),
        "transport_s": draw(st.sampled_from([0.0, 0.004])),
        "patience_s": draw(st.none() | st.integers(1, 200).map(lambda n: n / 1000)),
        "prefilled": draw(st.sampled_from([False, False, False, True])),
        "client": draw(clients()),
        "slo": {"ttft_s": 0.1},
    }


@st.composite
def faults(draw: st.DrawFn, replicas: int, may_resume: bool) -> dict[str, Any]:
    replica = draw(st.integers(0, replicas - 1))
    at = draw(some_ms)
    if draw(st.booleans()):
        return {
            "kind": "slow",
            "replica": replica,
            "from_s": at,
            "to_s": at + 0.1,
            "factor": draw(st.sampled_from([2, 1.5, 0.7])),
        }
    handling = ["fail", "restart", "resume"] if may_resume else ["fail", "restart"]
    return {
        "kind": "loss",
        "replica": replica,
        "at_s": at,
        "down_s": draw(st.none() | some_ms),
        "in_flight": draw(st.sampled_from(handling)),
    }


@st.composite
def fleets(draw: st.DrawFn, kv: bool) -> dict[str, Any]:
    count = draw(st.integers(1, 4))
    kinds = ["round_robin", "random", "least_outstanding", "power_of_two", "prefix_affinity", *(["least_kv"] * kv)]
    around = draw(st.sampled_from(["plain", "scaled", "split"]))
    fleet: dict[str, Any] = {
        "replicas": count,
        "routing": {
            "kind": draw(st.sampled_from(kinds)),
            "signals_every_s": draw(st.sampled_from([0.0, 0.05])),
            "imbalance": draw(st.integers(0, 3)),
        },
        "cold_start_s": draw(st.sampled_from([0.0, 0.05])),
        "admission": {
            "queue_limit": draw(st.none() | st.integers(0, 6)),
            "deadline_s": draw(st.none() | st.integers(1, 200).map(lambda n: n / 1000)),
            "shed": draw(st.sampled_from(["estimated", "elapsed"])),
            "rate_per_s": draw(st.none() | st.just(40.0)),
            "burst": draw(st.integers(1, 3)),
        },
    }
    if around == "scaled":
        on = draw(st.sampled_from(["queue", "slo", *(["kv"] * kv)]))
        fleet["autoscaling"] = {
            "signal": on,
            "target": draw(st.sampled_from([1.0, 0.5])),
            "min": draw(st.integers(1, count)),
            "max": count + draw(st.integers(0, 2)),
            "evaluate_every_s": draw(st.sampled_from([0.03, 0.2])),
            "delay_s": draw(st.sampled_from([0.0, 0.05])),
            "cooldown_s": draw(st.sampled_from([0.0, 0.1])),
            "scale_in_wait_s": draw(st.sampled_from([0.0, 0.1])),
        }
    if around == "split" and count > 1:
        fleet["disaggregated"] = {
            "prefill_replicas": draw(st.integers(1, count - 1)),
            "kv_bytes_per_token": 1000.0,
            "bandwidth_bytes_per_s": draw(st.sampled_from([1e5, 1e7])),
            "latency_s": draw(st.sampled_from([0.0, 0.003])),
            "links": draw(st.integers(1, 2)),
            "first_token": draw(st.sampled_from(["decode", "prefill"])),
        }
    fleet["faults"] = draw(st.lists(faults(count, "disaggregated" not in fleet), max_size=3))
    return fleet


@st.composite
def fleet_scenarios(draw: st.DrawFn, policies: list[str]) -> dict[str, Any]:
    policy = draw(st.sampled_from(policies))
    server: dict[str, Any] = {
        "policy": policy,
        "max_seqs": draw(st.integers(1, 4)),
        "token_budget": draw(st.integers(8, 60)),
    }
    if policy == "vllm":
        server |= {"kv_blocks": draw(st.integers(21, 60)), "block_tokens": 4}
    else:
        server |= {"chunk_tokens": draw(st.none() | st.integers(1, 30))}
    server["queue_limit"] = draw(st.none() | st.integers(0, 4))
    return {
        "name": "generated",
        "seed": draw(st.integers(0, 3)),
        "classes": [draw(fleet_classes(name)) for name in ("a", "b")[: draw(st.integers(1, 2))]],
        "server": server,
        "step_cost": {
            "kind": "linear",
            "base_s": 0.004,
            "per_prefill_token_s": 0.0003,
            "per_decode_seq_s": 0.0005,
            "per_context_token_s": 0.00001,
        },
        "fleet": draw(fleets(policy == "vllm")),
        "horizon_s": draw(st.none() | st.none() | st.integers(1, 700).map(lambda n: n / 1000)),
    }


def check_books(result: Result, exact: bool) -> None:
    log = result.log
    rows = [dict(zip(log.lives.names, row, strict=True)) for row in log.lives.rows().tolist()]
    assert [row["id"] for row in rows] == list(range(len(rows)))
    assert rows == sorted(rows, key=lambda row: row["arrival"])
    counts = result.counts
    assert counts.submitted == len(rows)
    assert counts.submitted == counts.completed + counts.cancelled + counts.rejected + counts.failed + counts.in_flight
    if result.scenario.horizon_s is None:
        assert counts.in_flight == 0
    gaps = result.columns.gaps
    for row in rows:
        check_life(row, gaps.of(row["id"]), result)
    prefilled = decoded = 0
    for runs in log.runs:
        clock = 0
        for run in (dict(zip(runs.names, row, strict=True)) for row in runs.rows().tolist()):
            assert run["start"] >= clock
            steps = run["steps"]
            clock = run["start"] + steps * run["first"] + run["growth"] * (steps * (steps - 1) // 2)
            prefilled += run["prefill_tokens"] * steps
            decoded += run["decode_seqs"] * steps
        assert clock <= log.end
    # Each token comes of a decode or ends a prompt, which every attempt and every preemption does at most once;
    # with split pools the decoding engine works through the last position again.
    produced = sum(row["output_tokens"] + row["wasted_tokens"] for row in rows)
    pools = 2 if result.scenario.fleet.disaggregated else 1
    prompts_read = sum(pools * row["attempts"] + row["preemptions"] for row in rows)
    assert decoded <= produced <= decoded + prompts_read
    if exact:
        assert sum(row["computed_tokens"] for row in rows) == prefilled


def check_life(row: dict[str, int], gaps: tuple[int, ...], result: Result) -> None:
    received = row["output_tokens"]
    assert len(gaps) == max(0, received - 1)
    assert min(row[name] for name in ("wasted_tokens", "recomputed_tokens", "cached_tokens", "computed_tokens")) >= 0
    assert row["recomputed_tokens"] <= row["computed_tokens"]
    if received:
        assert row["first_token"] + sum(gaps) == row["last_token"]
        assert row["arrival"] <= row["queued"] <= row["scheduled"] <= row["first_token"] - row["transport"]
        assert row["last_token"] <= result.log.end
    else:
        assert row["first_token"] == row["last_token"] == NONE
    item = result.scenario.classes[row["class_index"]]
    if row["status"] == COMPLETED:
        assert received == row["wanted_tokens"]
        assert row["ended"] == row["last_token"]
    elif row["status"] == IN_FLIGHT:
        assert row["ended"] == NONE
    else:
        assert row["ended"] >= row["arrival"]
        assert received < row["wanted_tokens"] or row["status"] != COMPLETED
    if row["status"] == REJECTED:
        assert row["attempts"] == 1
        assert not received
    if row["status"] == FAILED and not result.scenario.fleet.faults:
        assert row["attempts"] > 1
    losses = len(result.scenario.fleet.faults)
    assert row["attempts"] <= (1 + item.client.retries.max) + losses * (1 + item.client.retries.max)


@settings(max_examples=120, deadline=None)
@given(fleet_scenarios(STEP_POLICIES))
def test_every_fleet_of_step_replicas_keeps_the_books(data: dict[str, Any]) -> None:
    check_books(Result(run_fleet(parse_scenario(data, "generated"))), exact=True)


@settings(max_examples=120, deadline=None)
@given(fleet_scenarios(["vllm"]))
def test_every_fleet_of_vllm_engines_keeps_the_books(data: dict[str, Any]) -> None:
    scenario = parse_scenario(data, "generated")
    exact = scenario.horizon_s is None and not any(fault.kind == "loss" for fault in scenario.fleet.faults)
    check_books(Result(run_fleet(scenario)), exact)


@settings(max_examples=60, deadline=None)
@given(fleet_scenarios([*STEP_POLICIES, "vllm"]))
def test_a_rerun_of_a_fleet_is_equal_to_the_bit(data: dict[str, Any]) -> None:
    scenario = parse_scenario(data, "generated")
    assert Result(run_fleet(scenario)) == Result(run_fleet(scenario))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 60), st.integers(1, 60), st.integers(1, 10))
def test_a_request_too_large_for_the_cache_is_named_in_one_sentence(
    replicas: int, prompt: int, output: int, blocks: int
) -> None:
    """vLLM would preempt and compute it again for ever, or never admit it; here the simulation says so and stops."""
    big = {
        "name": "big",
        "prompt_tokens": prompt,
        "output_tokens": output,
        "arrivals": {"kind": "deterministic", "rate_per_s": 1.0, "count": replicas},
    }
    data = {
        "name": "too large",
        "classes": [big],
        "server": {"policy": "vllm", "kv_blocks": blocks, "block_tokens": 4},
        "step_cost": {"kind": "linear", "base_s": 0.001},
        "fleet": {"replicas": replicas},
    }
    scenario = parse_scenario(data, "too large")
    # The state of the last token is never needed.
    if prompt + output - 1 <= blocks * 4:
        assert Result(run_fleet(scenario)).counts.completed == replicas
    else:
        with pytest.raises(ScenarioError, match=r"raise server\.kv_blocks or shorten the request") as problem:
            run_fleet(scenario)
        assert "\n" not in str(problem.value)
        assert "replica 0: request 0 needs" in str(problem.value)
