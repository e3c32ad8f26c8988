"""Mistakes that published LLM-serving simulators have made, each turned into a test of this one.

Where a mistake is on record, the issue or the version it was seen in is named.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Result, ScenarioError, parse_scenario, simulate
from sim.cost import cost_model
from sim.cost.hardware import gpu, gpu_names, model_names, model_shape
from sim.cost.presets import preset_names
from sim.cost.roofline import RooflineCost
from sim.cost.work import StepWork, attention_pairs
from sim.loading import load_scenario
from sim.report import render_text
from sim.scenario import Scenario

LINEAR: dict[str, object] = {
    "kind": "linear",
    "base_s": 0.01,
    "per_prefill_token_s": 5e-5,
    "per_decode_seq_s": 1e-4,
    "per_context_token_s": 1e-7,
}
VLLM: dict[str, object] = {"policy": "vllm", "max_seqs": 16, "token_budget": 512, "block_tokens": 16}


def scenario(*classes: Mapping[str, object], **parts: Any) -> Scenario:
    """A scenario of these classes, with defaults for what they and it do not say."""
    default: dict[str, object] = {"prompt_tokens": 200, "output_tokens": 50}
    return parse_scenario(
        {
            "name": "not their bugs",
            "classes": [{"name": f"c{index}", **default, **item} for index, item in enumerate(classes)],
            "server": VLLM,
            "step_cost": LINEAR,
            **parts,
        },
        "not their bugs",
    )


def poisson(rate: float, count: int) -> dict[str, object]:
    return {"kind": "poisson", "rate_per_s": rate, "count": count}


# ---- a step is never faster than the chip ------------------------------------------------------------
# A published latency model prefills 8,192 tokens of an 8B model on one H100 in 32.6 ms, 4.1 times the chip's
# peak; another was shipped without any dependence on the prompt (inference-sim#489).


def bounds_s(cost: RooflineCost, work: StepWork) -> tuple[float, float]:
    """Least seconds for the operations of a step, and for the bytes that it must read."""
    shape, chip, gpus = cost.model, cost.gpu, cost.tensor_parallel
    pairs = work.prefill_pairs + work.context_tokens * (not work.prefill_tokens)
    operations = (
        2 * shape.active_parameters * (work.prefill_tokens + work.decode_seqs)
        + 4 * shape.layers * shape.heads * shape.head_dim * pairs
    )
    weights = (shape.attention_parameters + shape.active_experts * shape.expert_parameters) * cost.weight_bytes
    cache = work.context_tokens * shape.kv_bytes_per_token(cost.kv_bytes)
    return operations / (chip.tflops * 1e12 * gpus), (weights + cache) / (chip.bandwidth_gb_per_s * 1e9 * gpus)


rooflines = st.builds(
    lambda model, chip, gpus, compute, bandwidth: RooflineCost(
        kind="roofline",
        model=model_shape(model),
        gpu=gpu(chip),
        tensor_parallel=gpus,
        compute_efficiency=compute,
        bandwidth_efficiency=bandwidth,
        overhead_s=0.0,
    ),
    st.sampled_from(model_names()),
    st.sampled_from(gpu_names()),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([0.4, 0.7, 1.0]),
    st.sampled_from([0.5, 0.8, 1.0]),
)


@settings(max_examples=150, deadline=None)
@given(
    cost=rooflines,
    chunk=st.integers(0, 8192),
    before=st.integers(0, 50_000),
    seqs=st.integers(0, 512),
    context_each=st.integers(1, 20_000),
)
def test_no_step_beats_peak_arithmetic_or_memory(
    cost: RooflineCost, chunk: int, before: int, seqs: int, context_each: int
) -> None:
    if not chunk and not seqs:
        seqs = 1
    context = seqs * context_each + (before if chunk else 0)
    kind = "decode" if not chunk else "mixed" if seqs else "prefill"
    work = StepWork(kind, chunk, seqs, context, attention_pairs(chunk, before))  # type: ignore[arg-type]
    seconds = cost_model(cost).ticks(work) / 1e12
    arithmetic, memory = bounds_s(cost, work)
    assert seconds >= arithmetic * (1 - 1e-9)
    assert seconds >= memory * (1 - 1e-9)


def test_a_long_prompt_takes_at_least_its_operations() -> None:
    """8,192 tokens of an 8B model on one H100: 1.3e14 operations are at least 132 ms at 989 TFLOP/s."""
    roofline = {"kind": "roofline", "model": "llama-3.1-8b", "gpu": "h100-sxm", "compute_efficiency": 1.0}
    prompt = {"prompt_tokens": 8192, "output_tokens": 1, "arrivals": {"kind": "times", "times_s": [0]}}
    for budget in (512, 2048, 8192):
        result = simulate(scenario(prompt, step_cost=roofline, server=VLLM | {"token_budget": budget}))
        assert (result.metric("c0.ttft_s") or 0) > 0.132


COSTS: dict[str, dict[str, object]] = {
    "linear": LINEAR | {"per_prefill_pair_s": 1e-10},
    "roofline": {"kind": "roofline", "model": "llama-3.1-8b", "gpu": "a100-80gb-sxm"},
    **{name: {"kind": "preset", "name": name} for name in preset_names()},
}


@pytest.mark.parametrize("name", COSTS)
@settings(max_examples=60, deadline=None)
@given(
    chunk=st.integers(0, 4096),
    seqs=st.integers(1, 256),
    context=st.integers(0, 100_000),
    more=st.tuples(st.integers(0, 600), st.integers(0, 40), st.integers(0, 5_000)),
)
def test_more_work_never_takes_less_time(
    name: str, chunk: int, seqs: int, context: int, more: tuple[int, int, int]
) -> None:
    cost = scenario({"arrivals": poisson(1, 1)}, step_cost=COSTS[name]).step_cost

    def ticks(chunk: int, seqs: int, context: int) -> int:
        kind = "mixed" if chunk else "decode"
        return cost_model(cost).ticks(StepWork(kind, chunk, seqs, context, attention_pairs(chunk, 0)))  # type: ignore[arg-type]

    least = ticks(chunk, seqs, context)
    assert least > 0
    assert ticks(chunk + more[0], seqs, context) >= least
    assert ticks(chunk, seqs + more[1], context) >= least
    assert ticks(chunk, seqs, context + more[2]) >= least


@pytest.mark.parametrize("name", COSTS)
def test_the_first_token_of_a_longer_prompt_never_comes_sooner(name: str) -> None:
    """A prompt that is alone; a mock server answered a long one as fast as a short one (llm-d-inference-sim#339)."""
    times = []
    for prompt in (1, 100, 512, 513, 2_000, 8_000):
        one = {"prompt_tokens": prompt, "arrivals": {"kind": "times", "times_s": [0]}}
        times.append(simulate(scenario(one, step_cost=COSTS[name])).metric("c0.ttft_s") or 0.0)
    assert times == sorted(times)
    assert times[-1] > 2 * times[0]


def test_decodes_in_a_chunks_step_cost_something() -> None:
    """A simulator charged nothing for decodes that ride along with a prompt's chunk (DistServe's, at its snapshot)."""
    for cost in COSTS.values():
        model = cost_model(scenario({"arrivals": poisson(1, 1)}, step_cost=cost).step_cost)
        alone = model.ticks(StepWork("prefill", 512, 0, 0, attention_pairs(512, 0)))
        beside = model.ticks(StepWork("mixed", 512, 64, 64 * 1_000, attention_pairs(512, 0)))
        assert beside > alone


# ---- tokens and steps ----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["static", "continuous", "alternating", "mixed", "vllm"])
@pytest.mark.parametrize("tokens", [1, 2, 128])
def test_n_tokens_take_n_steps(policy: str, tokens: int) -> None:
    """Prefill gives the first token; a peer takes 129 steps for 128 tokens, and two for one (sched-sim 0.2.1)."""
    one = {"output_tokens": tokens, "arrivals": {"kind": "times", "times_s": [0]}}
    result = simulate(scenario(one, server=VLLM | {"policy": policy} if policy == "vllm" else {"policy": policy}))
    assert result.step_count == tokens
    assert len(result.requests[0].gap_ticks) == tokens - 1


def crowded(**server: object) -> Result:
    """Sixteen requests that together need three times the blocks there are: preemption again and again."""
    return simulate(
        scenario(
            {"prompt_tokens": 160, "output_tokens": 120, "arrivals": {"kind": "burst", "count": 16}},
            server=VLLM | {"kv_blocks": 100} | server,
        )
    )


@pytest.mark.parametrize("prefix_cache", [True, False])
def test_preemption_does_not_change_token_counts(prefix_cache: bool) -> None:
    """Vidur moved generated tokens into the prompt on preemption and reported 35,824 of 38,400 output tokens."""
    result = crowded(prefix_cache=prefix_cache)
    assert (result.metric("preemptions") or 0) > 5
    assert [record.prompt_tokens for record in result.requests] == [160] * 16
    assert [record.output_tokens for record in result.requests] == [120] * 16
    assert all(len(record.gap_ticks) == 119 for record in result.requests)
    assert result.work.output_tokens == 16 * 120
    assert result.work.recomputed_tokens > 0


def test_recomputation_after_preemption_is_not_free() -> None:
    """Preempted blocks that stayed hashed made re-prefill free and throughput 45 times too high (inference-sim#1121).

    Whatever the cache saves, no more than a token a seat and step comes out, and tight memory never helps.
    """
    roomy, tight = crowded(kv_blocks=1_000), crowded()
    assert tight.duration_ticks > roomy.duration_ticks
    for result in (roomy, tight):
        assert (result.output_tokens_per_s or 0) <= 16 / 0.01
    for steps in (result.steps for result in (roomy, tight)):
        assert all(step.prefill_tokens + step.decode_seqs <= 512 for step in steps)


def test_a_request_that_outgrows_the_cache_ends_with_a_clear_report() -> None:
    """Left alone it is preempted for its own next block for ever (597 times in inference-sim#963; vLLM does so too)."""
    one = {"prompt_tokens": 100, "output_tokens": 200, "arrivals": {"kind": "times", "times_s": [0]}}
    with pytest.raises(ScenarioError) as caught:
        simulate(scenario(one, server=VLLM | {"kv_blocks": 10}))
    text = str(caught.value)
    assert "\n" not in text
    assert "kv_blocks" in text


# ---- who is counted ------------------------------------------------------------------------------------


def impatient() -> Result:
    """More load than the server bears, and clients that leave after two seconds without a token."""
    return simulate(
        scenario(
            {"arrivals": poisson(30, 300), "patience_s": 2.0, "slo": {"ttft_s": 2.0}}, server=VLLM | {"max_seqs": 4}
        )
    )


def test_goodput_is_a_share_of_all_requests_sent() -> None:
    """Over the completed ones it looks perfect while most have left (inference-sim#1409, inference-perf#169)."""
    result = impatient()
    counts = result.counts
    assert counts.cancelled > counts.completed > 0
    goodput = result.overall.goodput
    assert goodput.submitted == counts.submitted == 300
    assert goodput.good <= counts.completed
    assert result.metric("attainment") == goodput.good / 300


def test_drops_stand_beside_throughput() -> None:
    """A silent time-out made tokens a second look 25 times better (inference-sim#1127)."""
    result = impatient()
    lines = render_text(result).splitlines()
    rates = next(number for number, line in enumerate(lines) if "output tokens/s" in line)
    counts = next(number for number, line in enumerate(lines) if "cancelled" in line)
    assert abs(rates - counts) <= 2
    assert f"{result.counts.cancelled:,} cancelled" in lines[counts]
    assert "rejected" in lines[counts]
    data = result.to_dict(details=False)
    assert set(data["counts"]) >= {"submitted", "completed", "cancelled", "rejected", "in_flight"}  # type: ignore[call-overload]


def test_those_who_left_are_seen_in_the_queue_and_not_only_in_a_count() -> None:
    """Metrics of survivors only: the clients who gave up waited too, and the queue's series shows them."""
    result = impatient()
    assert result.metric("peak_waiting") > 20  # type: ignore[operator]
    waited = [record for record in result.requests if record.status == "cancelled"]
    assert all((record.ended_s or 0) - record.arrival_s == pytest.approx(2.0) for record in waited)
    assert result.work.wasted_prompt_tokens >= 0
    assert result.counts.submitted == result.counts.completed + result.counts.cancelled


def test_nobody_is_timed_out_who_did_not_ask_for_it() -> None:
    """A replay that dropped what waited longer than a hidden 300 s."""
    result = simulate(
        scenario(
            {"prompt_tokens": 400, "output_tokens": 100, "arrivals": {"kind": "burst", "count": 500}},
            server=VLLM | {"max_seqs": 1},
        )
    )
    assert result.counts.completed == 500
    assert result.metric("c0.queue_s.max") > 500  # type: ignore[operator]


def test_a_run_is_not_cut_unless_a_horizon_is_asked_for() -> None:
    """A replay that completed 29 of 200, another none of a burst (inference-sim#1615)."""
    traffic = {"arrivals": {"kind": "burst", "count": 200}}
    whole = simulate(scenario(traffic))
    assert whole.counts.completed == 200
    cut = simulate(scenario(traffic, horizon_s=3))
    assert cut.counts.in_flight > 0
    assert f"{cut.counts.in_flight:,} in flight" in render_text(cut)
    assert cut.metric("attainment") == cut.counts.completed / 200


# ---- a run and its replay ------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [3.0, 40.0])
def test_a_run_replayed_from_its_own_requests_is_the_same_run(tmp_path: Path, rate: float) -> None:
    """Written as a trace and read again, to the last tick."""
    first = simulate(
        scenario(
            {
                "prompt_tokens": {"dist": "lognormal", "median_tokens": 200, "sigma": 0.8, "max_tokens": 2000},
                "output_tokens": {"dist": "uniform", "low_tokens": 1, "high_tokens": 80},
                "arrivals": poisson(rate, 150),
            },
            seed=11,
            server=VLLM | {"kv_blocks": 400},
        )
    )
    lines = [
        json.dumps(
            {"time_s": record.arrival_s, "prompt_tokens": record.prompt_tokens, "output_tokens": record.wanted_tokens}
        )
        for record in first.requests
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    replay = {
        "name": "replay",
        "classes": [{"name": "c0", "arrivals": {"kind": "trace", "file": "own.jsonl"}}],
        "server": VLLM | {"kv_blocks": 400},
        "step_cost": LINEAR,
    }
    (tmp_path / "replay.yaml").write_text(json.dumps(replay), encoding="utf-8")
    second = simulate(load_scenario(tmp_path / "replay.yaml"))
    assert second.counts == first.counts
    # A trace starts with its first request, the run it was taken from a little earlier.
    lead = int(first.columns["arrival"][0])
    for column in ("arrival", "scheduled", "first_token", "last_token"):
        assert (first.columns[column] - lead).tolist() == second.columns[column].tolist()
    for column in ("preemptions", "output_tokens", "computed_tokens"):
        assert first.columns[column].tolist() == second.columns[column].tolist()


def test_equal_scenarios_give_equal_bytes_whatever_the_hash_seed() -> None:
    """A peer derives a prompt's tokens from `hash(str)`, which Python salts anew for each process."""
    program = (
        "import sys; from sim import builtin_scenario, simulate; "
        "r = simulate(builtin_scenario('trial_baseline')); sys.stdout.buffer.write(r.log.lives.rows().tobytes())"
    )
    seen = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert seen[0] == seen[1]
    assert seen[0]


# ---- fleets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("routing", ["round_robin", "random", "least_outstanding", "least_kv", "power_of_two"])
@pytest.mark.parametrize("rate", [0.5, 8.0, 40.0])
def test_no_router_starves_a_replica(routing: str, rate: float) -> None:
    """Vidur's least-outstanding router gave four replicas 875, 120, 5 and 0 of 1,000 equal requests."""
    result = simulate(
        scenario(
            {"arrivals": poisson(rate, 400)},
            fleet={"replicas": 4, "routing": routing},
            server=VLLM | {"kv_blocks": 2_000},
        )
    )
    served = [int((result.columns["replica"] == number).sum()) for number in range(4)]
    assert sum(served) == 400
    assert min(served) >= 60


def test_time_to_first_token_includes_the_transfer_between_prefill_and_decode() -> None:
    """It was left out, with the first decode step, in inference-sim#930."""
    one = {"prompt_tokens": 1_000, "output_tokens": 10, "arrivals": {"kind": "times", "times_s": [0]}}

    def ttft(**link: object) -> float:
        split = {
            "prefill_replicas": 1,
            "kv_bytes_per_token": 131_072,
            "bandwidth_bytes_per_s": 1e9,
            **link,
        }
        result = simulate(scenario(one, fleet={"replicas": 2, "disaggregated": split}))
        return result.metric("c0.ttft_s") or 0.0

    quick, slow = ttft(bandwidth_bytes_per_s=1e15), ttft()
    # 1,000 tokens of 128 KiB over 1 GB/s
    assert slow - quick == pytest.approx(0.131072, abs=1e-4)
    assert ttft(latency_s=0.5) - slow == pytest.approx(0.5)


# ---- formulas ------------------------------------------------------------------------------------------


def test_percentiles_of_pooled_gaps_do_not_hide_a_stall() -> None:
    """One gap of three seconds in thousands: the pooled p99 passes it by, so the longest gap is reported beside it."""
    decoder = {"prompt_tokens": 16, "output_tokens": 2_000, "arrivals": {"kind": "times", "times_s": [0]}}
    reader = {"prompt_tokens": 60_000, "output_tokens": 1, "arrivals": {"kind": "times", "times_s": [1]}}
    result = simulate(scenario(decoder, reader, server=VLLM | {"token_budget": 100_000}))
    assert result.metric("c0.itl_s.p99") < 0.02  # type: ignore[operator]
    assert result.metric("c0.itl_s.max") > 3  # type: ignore[operator]
    assert result.metric("c0.max_gap_s.max") == result.metric("c0.itl_s.max")


def test_tpot_leaves_out_the_first_token_and_says_nothing_of_a_single_one() -> None:
    times = {"kind": "times", "times_s": [0]}
    single = simulate(scenario({"output_tokens": 1, "arrivals": times}))
    assert single.metric("c0.tpot_s") is None
    several = simulate(scenario({"output_tokens": 11, "arrivals": times})).requests[0]
    assert several.tpot_s == pytest.approx(((several.e2e_s or 0) - (several.ttft_s or 0)) / 10)


def test_first_token_time_counts_the_queue() -> None:
    """A mock server's metric left it out (llm-d-inference-sim#266)."""
    result = simulate(
        scenario({"arrivals": {"kind": "burst", "count": 8}}, server=VLLM | {"max_seqs": 1}),
    )
    ttfts = [record.ttft_s or 0.0 for record in result.requests]
    assert all(later > earlier for earlier, later in pairwise(ttfts))
    assert all(
        record.ttft_s == pytest.approx((record.queue_s or 0) + (record.prefill_s or 0)) for record in result.requests
    )
