"""Speculative decoding: what comes out of a step, what it costs, and that nothing else changes."""

from __future__ import annotations

import re

import pytest

from sim import Result, ScenarioError, parse_scenario, simulate
from sim.report import render_text


def run(speculation: dict[str, object] | None, outputs: int = 200, replicas: int = 1) -> Result:
    """Three hundred requests, one every half second, decoding in steps of about 10 ms."""
    return simulate(
        parse_scenario(
            {
                "name": "drafts",
                "classes": [
                    {
                        "name": "a",
                        "prompt_tokens": 64,
                        "output_tokens": outputs,
                        "arrivals": {"kind": "deterministic", "rate_per_s": 2, "count": 300},
                    }
                ],
                "server": {"policy": "vllm", "max_seqs": 32, "token_budget": 512, "speculation": speculation},
                "step_cost": {"kind": "linear", "base_s": 0.01, "per_prefill_token_s": 2e-5},
                "fleet": {"replicas": replicas},
            },
            "test",
        )
    )


def tokens_per_event(result: Result) -> float:
    """Decoded tokens over the events they came in."""
    return sum(r.output_tokens - 1 for r in result.requests) / sum(len(r.gap_ticks) for r in result.requests)


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_run_of_accepted_drafts_ends_at_the_first_that_is_not(replicas: int) -> None:
    result = run({"draft_tokens": 3, "acceptance": 0.7}, replicas=replicas)
    # 1 + 0.7 + 0.7² + 0.7³ = 2.533; a little less, because the last event may be cut by the request's end.
    assert tokens_per_event(result) == pytest.approx(2.533, rel=0.02)
    assert result.tokens_per_event == pytest.approx(tokens_per_event(result))
    # (2.533 - 1) / 3 of the drafts.
    assert re.search(r"drafts +2\.5\d tokens an event: 5[01]\.\d % of the drafts accepted", render_text(result))
    assert result.counts.completed == 300
    assert all(record.output_tokens == 200 for record in result.requests)


def test_gaps_are_between_events_and_tpot_is_a_token() -> None:
    plain, sure = run(None), run({"draft_tokens": 3, "acceptance": 1.0}, outputs=201)
    itl, tpot = sure.metric("a.itl_s.p50"), sure.metric("a.tpot_s.p50")
    assert itl is not None
    assert tpot is not None
    # 200 tokens after the first, four in each event.
    assert tokens_per_event(sure) == 4
    assert tpot == pytest.approx(itl / 4, rel=0.01)
    assert itl > (plain.metric("a.itl_s.p50") or 0)


def test_drafts_that_never_hold_only_cost() -> None:
    plain, vain = run(None), run({"draft_tokens": 3, "acceptance": 0.0, "draft_s": 0.001})
    # Each decode step verifies three tokens a sequence at 20 µs, and the drafting takes a millisecond.
    first, second = plain.requests[0], vain.requests[0]
    assert len(first.gap_ticks) == len(second.gap_ticks) == 199
    assert second.gap_ticks[0] - first.gap_ticks[0] == 3 * 20_000_000 + 10**9


def test_the_same_seed_accepts_the_same_drafts() -> None:
    once, again = (run({"draft_tokens": 2, "acceptance": 0.5}) for _ in range(2))
    assert once.to_dict() == again.to_dict()


def test_only_the_vllm_engine_drafts() -> None:
    with pytest.raises(ScenarioError, match="speculation needs the policy vllm"):
        parse_scenario(
            {
                "name": "x",
                "classes": [
                    {"name": "a", "prompt_tokens": 1, "output_tokens": 1, "arrivals": {"kind": "times", "times_s": [0]}}
                ],
                "server": {"policy": "mixed", "speculation": {"draft_tokens": 2, "acceptance": 0.5}},
                "step_cost": {"kind": "linear", "base_s": 0.01},
            },
            "test",
        )
