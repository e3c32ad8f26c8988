"""Closed forms of continuous batching: fluid limits, full seats, token budgets, blocks and prefixes."""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Result, parse_scenario, simulate
from sim.table import NONE

BASE_S, PER_SEQ_S, PER_PROMPT_TOKEN_S = 0.010, 0.0001, 0.00005
COST: dict[str, object] = {
    "kind": "linear",
    "base_s": BASE_S,
    "per_decode_seq_s": PER_SEQ_S,
    "per_prefill_token_s": PER_PROMPT_TOKEN_S,
}


def run(
    prompt: object,
    output: object,
    arrivals: dict[str, object],
    server: dict[str, object] | None = None,
    cost: dict[str, object] = COST,
    seed: int = 5,
    **traffic: Any,
) -> Result:
    """One class of traffic on a server with more seats and blocks than it needs, unless `server` says otherwise."""
    return simulate(
        parse_scenario(
            {
                "name": "batching",
                "seed": seed,
                "classes": [
                    {"name": "a", "prompt_tokens": prompt, "output_tokens": output, "arrivals": arrivals, **traffic}
                ],
                "server": {
                    "policy": "vllm",
                    "max_seqs": 10_000,
                    "token_budget": 100_000,
                    **(server or {}),
                },
                "step_cost": cost,
            },
            "batching",
        )
    )


def steady_steps(result: Result, start: float, end: float) -> tuple[float, float]:
    """Mean step and time-averaged seats in use, over the runs that start in this part (0 to 1) of the whole."""
    runs = result.log.runs[0]
    chosen = (runs["start"] >= start * result.log.end) & (runs["start"] < end * result.log.end)
    steps = runs["steps"][chosen]
    ticks = steps * runs["first"][chosen] + runs["growth"][chosen] * steps * (steps - 1) // 2
    seats = float((ticks * runs["running"][chosen]).sum() / ticks.sum())
    return float(ticks.sum() / steps.sum()) / 1e12, seats


@pytest.mark.parametrize(
    ("rate", "prompt", "published_step_ms", "published_in_system"),
    [(2, 1, 10.4, 4.156), (5, 500, 12.9, 13.19), (10, 500, 18.2, 37.66), (14, 500, 26.9, 77.88)],
)
def test_open_loop_fluid_limit(rate: float, prompt: int, published_step_ms: float, published_in_system: float) -> None:
    """With rho = rate (c Lin + b (Lout - 1)), the batch is rate (Lout - 1) a / (1 - rho) and the step follows.

    The published columns are another simulation of the same four loads. Eight replications, each with its own
    seed; half the width of their 99 % t interval is allowed beside the fluid's own error.
    """
    output = 200
    rho = rate * (PER_PROMPT_TOKEN_S * prompt + PER_SEQ_S * (output - 1))
    batch = rate * (output - 1) * BASE_S / (1 - rho)
    step = (BASE_S + PER_SEQ_S * batch) / (1 - rate * PER_PROMPT_TOKEN_S * prompt)
    arrivals = {"kind": "poisson", "rate_per_s": rate, "count": round(400 * rate)}
    results = [run(prompt, output, arrivals, seed=seed) for seed in range(1, 9)]
    seen = [steady_steps(result, 0.1, 0.95) for result in results]
    steps, seats = [item[0] for item in seen], [item[1] for item in seen]
    assert fmean(steps) == pytest.approx(step, abs=half_width(steps) + 0.005 * step)
    assert fmean(steps) == pytest.approx(published_step_ms / 1000, abs=half_width(steps) + 0.005 * step)
    assert fmean(seats) == pytest.approx(batch, abs=half_width(seats) + 0.04 * batch)
    assert fmean(seats) == pytest.approx(published_in_system, abs=half_width(seats) + 0.04 * batch)
    assert half_width(steps) < 0.04 * step
    # Long steps hold more requests, so requests see a longer step than a clock does.
    tpot = fmean(result.metric("a.tpot_s") or 0.0 for result in results)
    assert fmean(steps) < tpot < 1.04 * fmean(steps)


def half_width(values: list[float]) -> float:
    """Half the 99 % t interval of eight replications."""
    assert len(values) == 8
    return 3.4995 * stdev(values) / math.sqrt(8)


def test_the_fluid_batch_explodes_at_the_stability_limit() -> None:
    """From half the limit to 0.8 of it the batch grows as rho / (1 - rho): fourfold."""
    limit = 1 / (PER_PROMPT_TOKEN_S * 500 + PER_SEQ_S * 199)
    batches = []
    for rho in (0.5, 0.8):
        rate = rho * limit
        result = run(500, 200, {"kind": "poisson", "rate_per_s": rate, "count": 12_000})
        batches.append(steady_steps(result, 0.2, 0.95)[1])
    assert batches[1] / batches[0] == pytest.approx(4, rel=0.06)


def full_seats_rate(seats: int, prompt: int, output: int) -> float:
    """Requests a second that solve X Lout (a + b N) / (1 - c X Lin) = N."""
    decode = output * (BASE_S + PER_SEQ_S * seats)
    return seats / (decode + seats * PER_PROMPT_TOKEN_S * prompt)


@pytest.mark.parametrize(("seats", "published"), [(8, 3.391), (32, 9.406), (128, 16.904)])
def test_closed_loop_throughput(seats: int, published: float) -> None:
    """N users without think time: the seats are always full."""
    formula = full_seats_rate(seats, 500, 200)
    result = run(
        500,
        200,
        {"kind": "closed_loop", "users": seats, "think_s": 0, "count": 40 * seats},
        {"max_seqs": seats, "token_budget": 2048},
    )
    ends = sorted(map(int, result.columns["ended"]))
    first, last = len(ends) // 4, len(ends) * 3 // 4
    rate = (last - first) / (ends[last] - ends[first]) * 1e12
    assert rate == pytest.approx(formula, rel=0.03)
    assert rate == pytest.approx(published, rel=0.025)


BUDGETS = {
    # budget: tokens a second, ms from first chunk to first token, TPOT ms, p50 and p99 gap ms
    64: (117.6, 863.4, 13.29, 13.3, 13.3),
    128: (188.6, 546.5, 16.56, 16.6, 16.6),
    256: (270.3, 393.0, 23.11, 23.1, 23.2),
    512: (344.9, 326.1, 36.22, 36.2, 36.3),
    1024: (400.2, 312.1, 62.44, 62.5, 62.5),
    2048: (414.1, 226.2, 75.76, 112.3, 114.0),
    4096: (414.7, 213.1, 75.79, 13.2, 213.1),
    8192: (414.7, 413.0, 73.78, 13.2, 413.0),
}
"""Another simulation of 32 users, 4,000 prompt and 100 output tokens, decodes first.

Its time to the first token starts when the prompt does: with a small budget most users wait for their turn.
"""


def budget_run(budget: int) -> Result:
    return run(
        4000,
        100,
        {"kind": "closed_loop", "users": 32, "think_s": 0, "count": 32 * 40},
        {"max_seqs": 32, "token_budget": budget},
    )


@pytest.mark.parametrize("budget", BUDGETS)
def test_token_budget_sweep(budget: int) -> None:
    """Throughput saturates, the worst gap grows with the budget, and prefill is quickest in between."""
    throughput, prefill, tpot, p50, p99 = BUDGETS[budget]
    result = budget_run(budget)
    middle = slice(len(result.requests) // 4, len(result.requests) * 3 // 4)
    records = sorted(result.requests, key=lambda record: record.ended_ticks or 0)[middle]
    span = (records[-1].ended_s or 0) - (records[0].ended_s or 0)
    assert (len(records) - 1) * 100 / span == pytest.approx(throughput, rel=0.02)
    assert fmean(1000 * (record.prefill_s or 0) for record in records) == pytest.approx(prefill, rel=0.03)
    assert fmean(1000 * (record.tpot_s or 0) for record in records) == pytest.approx(tpot, rel=0.02)
    gaps = sorted(gap / 1e9 for record in records for gap in record.gap_ticks)
    assert gaps[len(gaps) // 2] == pytest.approx(p50, rel=0.03)
    assert gaps[int(0.99 * len(gaps))] == pytest.approx(p99, rel=0.03)


@settings(max_examples=60, deadline=None)
@given(outputs=st.lists(st.integers(1, 60), min_size=2, max_size=12))
def test_a_static_batch_is_used_mean_over_max(outputs: list[int]) -> None:
    """Seats of a static batch work mean(n) of max(n) steps; iteration-level batching frees them at once."""
    shared: dict[str, Any] = {
        "name": "one batch",
        "classes": [
            {
                "name": f"c{index}",
                "prompt_tokens": 1,
                "output_tokens": tokens,
                "arrivals": {"kind": "times", "times_s": [0]},
            }
            for index, tokens in enumerate(outputs)
        ],
        "step_cost": {"kind": "linear", "base_s": 0.01},
    }
    static = simulate(parse_scenario(shared | {"server": {"policy": "static", "max_seqs": len(outputs)}}, "one batch"))
    steps = static.steps
    assert len(steps) == max(outputs)
    # The prefill step gives every request its first token, each decode step one to those that still want one.
    useful = len(outputs) + sum(step.decode_seqs for step in steps)
    assert useful == sum(outputs)
    assert useful / (len(outputs) * len(steps)) == pytest.approx(fmean(outputs) / max(outputs))


def test_first_preemption_comes_after_free_blocks_times_block_size_over_running() -> None:
    """R sequences that all grow take R tokens a step, so F free blocks of s tokens last about F s / R steps."""
    running, block, prompt, blocks = 16, 16, 64, 400
    result = run(
        prompt,
        1_000,
        {"kind": "burst", "count": running},
        {"max_seqs": running, "kv_blocks": blocks, "block_tokens": block, "prefix_cache": False},
        {"kind": "linear", "base_s": 0.01},
    )
    free = blocks - running * prompt // block
    expected = free * block / running
    runs = result.log.runs[0]
    # The first run with fewer seats taken than requests: somebody was sent back.
    shrunk = int((runs["running"] < running).argmax())
    steps = int(runs["steps"][:shrunk].sum()) - 1
    assert steps == pytest.approx(expected, abs=block)
    assert result.metric("preemptions") > 0  # type: ignore[operator]


@settings(max_examples=80, deadline=None)
@given(common=st.integers(1, 200), own=st.integers(1, 100), block=st.sampled_from([1, 8, 16, 32]))
def test_last_block_rule(common: int, own: int, block: int) -> None:
    """A prompt of n tokens that shares `common` with one before finds floor(min(common, n - 1) / s) s of them."""
    result = run(
        own,
        2,
        {"kind": "times", "times_s": [0, 100]},
        {"block_tokens": block, "prefix_cache": True},
        prefix={"tokens": common},
    )
    first, second = result.requests
    assert first.cached_tokens == 0
    assert second.cached_tokens == common // block * block
    assert second.computed_prompt_tokens == common + own - second.cached_tokens


def test_every_number_of_tokens_of_a_shared_prompt_but_the_last_block() -> None:
    """The same prompt again: 64 tokens in blocks of 16 give 48, since one token must be worked through; 65 give 64."""
    for prompt, hit in ((64, 48), (65, 64), (16, 0), (17, 16)):
        result = run(1, 1, {"kind": "times", "times_s": [0, 9]}, {"block_tokens": 16}, prefix={"tokens": prompt - 1})
        assert result.requests[1].cached_tokens == (prompt - 1) // 16 * 16 == hit


def test_a_request_alone_takes_one_step_a_token() -> None:
    """n tokens come from n steps: prefill gives the first."""
    for tokens in (1, 2, 128):
        result = run(300, tokens, {"kind": "times", "times_s": [0]})
        assert result.step_count == tokens
        expected = BASE_S + 300 * PER_PROMPT_TOKEN_S + (tokens - 1) * (BASE_S + PER_SEQ_S)
        assert result.requests[0].e2e_s == pytest.approx(expected, rel=1e-12)


def test_idle_replica_has_no_steps() -> None:
    """The steps' durations add up to the time with anything to do."""
    result = run(10, 3, {"kind": "times", "times_s": [0, 50, 90]})
    busy = sum(step.duration_s for step in result.steps)
    assert busy == pytest.approx(sum(record.e2e_s or math.nan for record in result.requests))
    assert all(int(value) != NONE for value in result.columns["ended"])


@pytest.mark.parametrize(
    ("output", "blocks", "last_ms"),
    [
        # Both hold 8 blocks at 128 computed tokens; then A needs a ninth and B, with 65 tokens out, gives way. A ends
        # after 20 + 99 x 10 ms and has taken B's last three blocks, so B finds 80 of its 129 tokens, reads the rest
        # in one step of 20 ms, which gives its 66th token, and needs 34 more.
        (100, 16, 1010 + 20 + 340),
        # The same with 10 blocks each: B gives way with 97 tokens out, A takes seven of its blocks.
        (200, 20, 2010 + 20 + 1020),
    ],
)
def test_a_preempted_request_finds_what_the_other_left_of_its_blocks(output: int, blocks: int, last_ms: int) -> None:
    result = run(
        64,
        output,
        {"kind": "burst", "count": 2},
        {"kv_blocks": blocks, "block_tokens": 16, "token_budget": 512},
        {"kind": "fixed", "prefill_s": 0.02, "decode_s": 0.01},
    )
    first, second = result.requests
    assert (first.preemptions, second.preemptions) == (0, 1)
    assert first.e2e_s == pytest.approx(0.020 + (output - 1) * 0.010)
    assert second.e2e_s == pytest.approx(last_ms / 1000)
