"""Little's law, L = lambda W, to the last tick on every run, whatever the policy.

The run starts and ends empty, so the law is exact. What is averaged over time comes from the steps, what is
averaged over requests from their lives: the two are written down independently.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Result, parse_scenario, simulate

POLICIES: dict[str, dict[str, object]] = {
    "static": {"policy": "static"},
    "continuous": {"policy": "continuous"},
    "alternating": {"policy": "alternating", "chunk_tokens": 32},
    "mixed": {"policy": "mixed", "token_budget": 48},
    "vllm": {"policy": "vllm", "token_budget": 48, "kv_blocks": 10_000, "block_tokens": 16},
}


@st.composite
def traffic(draw: st.DrawFn) -> list[dict[str, object]]:
    """One to three classes of a few requests each."""
    return [
        {
            "name": f"c{index}",
            "prompt_tokens": draw(
                st.one_of(
                    st.integers(1, 150),
                    st.just({"dist": "uniform", "low_tokens": 1, "high_tokens": 200}),
                )
            ),
            "output_tokens": draw(
                st.one_of(st.integers(1, 40), st.just({"dist": "uniform", "low_tokens": 1, "high_tokens": 60}))
            ),
            "arrivals": draw(
                st.one_of(
                    st.fixed_dictionaries(
                        {
                            "kind": st.just("poisson"),
                            "rate_per_s": st.sampled_from([0.5, 5, 50]),
                            "count": st.integers(1, 25),
                        }
                    ),
                    st.fixed_dictionaries({"kind": st.just("burst"), "count": st.integers(1, 25)}),
                )
            ),
        }
        for index in range(draw(st.integers(1, 3)))
    ]


def scenario(classes: list[dict[str, object]], policy: str, seats: int, seed: int) -> dict[str, Any]:
    return {
        "name": "little",
        "seed": seed,
        "classes": classes,
        "server": POLICIES[policy] | {"max_seqs": seats},
        "step_cost": {
            "kind": "linear",
            "base_s": 0.01,
            "per_prefill_token_s": 1e-4,
            "per_decode_seq_s": 2e-4,
            "per_context_token_s": 1e-6,
        },
    }


def area(enter: list[int], leave: list[int]) -> int:
    """Ticks times requests between the two moments, swept over time."""
    changes = sorted([(time, 1) for time in enter] + [(time, -1) for time in leave])
    total, inside, clock = 0, 0, 0
    for time, change in changes:
        total += inside * (time - clock)
        inside, clock = inside + change, time
    assert inside == 0
    return total


def seat_ticks(result: Result) -> int:
    """Seats taken times the length of each step, over all steps."""
    runs = result.log.runs[0]
    return sum(
        running * (steps * first + growth * steps * (steps - 1) // 2)
        for running, steps, first, growth in zip(
            *(runs[name].tolist() for name in ("running", "steps", "first", "growth")), strict=True
        )
    )


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=60, deadline=None)
@given(classes=traffic(), seats=st.sampled_from([1, 2, 7, 64]), seed=st.integers(0, 2**31))
def test_littles_law_to_the_tick(policy: str, classes: list[dict[str, object]], seats: int, seed: int) -> None:
    result = simulate(parse_scenario(scenario(classes, policy, seats, seed), "little"))
    columns = {name: list(map(int, result.columns[name])) for name in ("arrival", "queued", "scheduled", "ended")}
    assert result.counts.completed == len(columns["arrival"])
    # Seats: the steps' record of who holds one, against the requests' record of when they held it.
    held = sum(columns["ended"]) - sum(columns["scheduled"])
    if policy == "static":
        # A static batch keeps its seats until the last one is done; only the others give theirs back at once.
        assert seat_ticks(result) >= held
    else:
        assert seat_ticks(result) == held
    # Queue and whole system: the average over time, from sweeping the moments, times the length of the window.
    assert area(columns["queued"], columns["scheduled"]) == sum(columns["scheduled"]) - sum(columns["queued"])
    assert area(columns["arrival"], columns["ended"]) == sum(columns["ended"]) - sum(columns["arrival"])


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=40, deadline=None)
@given(classes=traffic(), seats=st.sampled_from([1, 3, 64]), seed=st.integers(0, 2**31))
def test_steps_and_requests_count_the_same_tokens(
    policy: str, classes: list[dict[str, object]], seats: int, seed: int
) -> None:
    """Prompt tokens of all steps are those of all prompts; each prompt's last step and each decode give a token."""
    result = simulate(parse_scenario(scenario(classes, policy, seats, seed), "little"))
    runs = result.log.runs[0]
    assert int((runs["prefill_tokens"] * runs["steps"]).sum()) == sum(r.prompt_tokens for r in result.requests)
    decoded = int((runs["decode_seqs"] * runs["steps"]).sum())
    assert decoded + len(result.requests) == sum(record.output_tokens for record in result.requests)
    assert [record.output_tokens for record in result.requests] == [r.wanted_tokens for r in result.requests]
