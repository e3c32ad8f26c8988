"""The straight lane and the fleet tell the same of the same scenario, to the last token."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Result, Scenario, ScenarioError, parse_scenario
from sim.arrivals import generate
from sim.fleet.driver import run_fleet
from sim.lane import Lane
from sim.log import LIFE

COST = {
    "kind": "linear",
    "base_s": 0.004,
    "per_prefill_token_s": 0.0001,
    "per_decode_seq_s": 0.0003,
    "per_context_token_s": 0.000001,
}


@st.composite
def engine_scenarios(draw: st.DrawFn) -> dict[str, Any]:
    classes = []
    for name in ("a", "b")[: draw(st.integers(1, 2))]:
        prefix = {"tokens": draw(st.integers(1, 40)), "groups": draw(st.integers(1, 3))}
        classes.append(
            {
                "name": name,
                "prompt_tokens": {"dist": "uniform", "low_tokens": 1, "high_tokens": draw(st.integers(1, 60))},
                "output_tokens": {"dist": "uniform", "low_tokens": 1, "high_tokens": draw(st.integers(1, 40))},
                "arrivals": {
                    "kind": "poisson",
                    "rate_per_s": draw(st.sampled_from([2.0, 20.0, 200.0])),
                    "count": draw(st.integers(1, 12)),
                },
                "prefix": draw(st.none() | st.just(prefix)),
                "preprocess_s": draw(st.sampled_from([0.0, 0.01])),
                "transport_s": draw(st.sampled_from([0.0, 0.003])),
                "priority": draw(st.integers(0, 1)),
            }
        )
    return {
        "name": "generated",
        "seed": draw(st.integers(0, 5)),
        "classes": classes,
        "server": {
            "policy": "vllm",
            "max_seqs": draw(st.integers(1, 6)),
            "token_budget": draw(st.integers(4, 80)),
            "kv_blocks": draw(st.integers(36, 90)),
            "block_tokens": 4,
            "order": draw(st.sampled_from(["fcfs", "priority"])),
            "prefix_cache": draw(st.booleans()),
        },
        "step_cost": COST,
    }


def lives_of(result: Result) -> list[tuple[object, ...]]:
    """Every life but the numbers of its runs, which depend on how steps are cut into runs, and its gaps."""
    rows = [row[: LIFE.index("first_run")] for row in result.log.lives.rows().tolist()]
    return [(*row, result.columns.gaps.of(number)) for number, row in enumerate(rows)]


def steps_of(result: Result) -> list[tuple[object, ...]]:
    return [(step.start_ticks, step.duration_ticks, step.kind, step.prefill_tokens) for step in result.steps]


@settings(max_examples=150, deadline=None)
@given(engine_scenarios())
def test_lane_and_fleet_agree_to_the_last_token(data: dict[str, Any]) -> None:
    scenario = parse_scenario(data, "generated")
    try:
        lane = Result(Lane(scenario, generate(scenario)).run())
    except ScenarioError as problem:
        refusal = str(problem)
        with pytest.raises(ScenarioError, match=re.escape(refusal)):
            run_fleet(scenario)
        return
    fleet = Result(run_fleet(scenario))
    assert lives_of(fleet) == lives_of(lane)
    assert steps_of(fleet) == steps_of(lane)


@settings(max_examples=60, deadline=None)
@given(engine_scenarios(), st.integers(1, 400))
def test_looking_at_the_cache_changes_nothing(data: dict[str, Any], every_ms: int) -> None:
    """An autoscaler that may not change anything settles every run at its looks."""
    scaling = {"signal": "kv", "target": 1.0, "min": 1, "max": 1, "evaluate_every_s": every_ms / 1000}
    scenario = parse_scenario(data, "generated")
    watched = parse_scenario({**data, "fleet": {"autoscaling": scaling}}, "generated")
    try:
        plain = Result(run_fleet(scenario))
    except ScenarioError:
        return
    looked_at = Result(run_fleet(watched))
    assert lives_of(looked_at) == lives_of(plain)
    assert steps_of(looked_at) == steps_of(plain)


@settings(max_examples=60, deadline=None)
@given(engine_scenarios(), st.integers(1, 600))
def test_a_horizon_cuts_the_same_run_short(data: dict[str, Any], horizon_ms: int) -> None:
    """What a client has by the horizon is what it has at that moment of the whole run."""
    try:
        whole = Result(run_fleet(parse_scenario(data, "generated")))
    except ScenarioError:
        return
    scenario: Scenario = parse_scenario({**data, "horizon_s": horizon_ms / 1000}, "generated")
    cut = Result(run_fleet(scenario))
    horizon = horizon_ms * 10**9
    for short, full in zip(cut.requests, whole.requests, strict=False):
        times: list[int] = []
        if full.first_token_ticks is not None:
            times.append(full.first_token_ticks)
            for gap in full.gap_ticks:
                times.append(times[-1] + gap)
        seen = [time for time in times if time <= horizon]
        assert short.output_tokens == len(seen)
        assert short.first_token_ticks == (seen[0] if seen else None)
        assert short.last_token_ticks == (seen[-1] if seen else None)
        assert short.gap_ticks == full.gap_ticks[: max(0, len(seen) - 1)]
        assert short.status == ("completed" if len(seen) == full.wanted_tokens else "in_flight")
