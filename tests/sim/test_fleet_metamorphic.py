"""What must not matter, and what must scale: a fleet in turns is n lone replicas, and time is only a unit."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sim import RequestRecord, parse_scenario, simulate

times_ms = st.lists(st.integers(0, 300), min_size=1, max_size=14).map(sorted)
lengths = st.tuples(st.integers(1, 60), st.integers(1, 25))
policies = st.sampled_from(["static", "continuous", "alternating", "mixed", "vllm"])


def served_at(
    times: list[int], size: tuple[int, int], policy: str, fleet: dict[str, Any], scale: int = 1, **more: Any
) -> tuple[RequestRecord, ...]:
    """Requests of one size at these milliseconds; with `scale`, on a clock that many times slower."""
    step = {"kind": "linear", "base_s": 0.004, "per_prefill_token_s": 0.0002, "per_decode_seq_s": 0.001}
    item = {
        "name": "job",
        "prompt_tokens": size[0],
        "output_tokens": size[1],
        "arrivals": {"kind": "times", "times_s": [time * scale / 1000 for time in times]},
        **more,
    }
    data = {
        "name": "metamorphic",
        "classes": [item],
        "server": {"policy": policy, "max_seqs": 3, "token_budget": 40, "kv_blocks": 60, "block_tokens": 4},
        "step_cost": step,
        "fleet": fleet,
    }
    return simulate(parse_scenario(data, "metamorphic")).requests


def story(record: RequestRecord) -> tuple[object, ...]:
    return (
        record.status,
        record.arrival_ticks,
        record.queued_ticks,
        record.scheduled_ticks,
        record.first_token_ticks,
        record.gap_ticks,
        record.ended_ticks,
        record.output_tokens,
        record.wasted_output_tokens,
        record.computed_prompt_tokens,
        record.preemptions,
    )


@settings(max_examples=80, deadline=None)
@given(times_ms, lengths, policies, st.integers(1, 4), st.none() | st.integers(1, 300))
def test_a_fleet_in_turns_is_so_many_lone_replicas(
    times: list[int], size: tuple[int, int], policy: str, replicas: int, patience_ms: int | None
) -> None:
    patience = None if patience_ms is None else patience_ms / 1000
    together = served_at(times, size, policy, {"replicas": replicas}, patience_s=patience)
    for index in range(replicas):
        mine = times[index::replicas]
        if mine:
            alone = served_at(mine, size, policy, {}, patience_s=patience)
            assert [story(record) for record in together[index::replicas]] == [story(record) for record in alone]


@settings(max_examples=60, deadline=None)
@given(times_ms, lengths, policies, st.integers(1, 3), st.integers(2, 7))
def test_twice_as_slow_and_twice_as_late_is_twice_as_long(
    times: list[int], size: tuple[int, int], policy: str, replicas: int, scale: int
) -> None:
    routing = {"replicas": replicas, "routing": "least_outstanding"}
    once = served_at(times, size, policy, routing)
    slow = {"replicas": [{"step_time_factor": scale}] * replicas, "routing": "least_outstanding"}
    later = served_at(times, size, policy, slow, scale)
    for short, long in zip(once, later, strict=True):
        assert long.replica == short.replica
        assert short.first_token_ticks is not None
        assert long.first_token_ticks == scale * short.first_token_ticks
        assert long.gap_ticks == tuple(scale * gap for gap in short.gap_ticks)


@settings(max_examples=40, deadline=None)
@given(times_ms, lengths, policies, st.integers(0, 400))
def test_slowing_down_for_a_moment_nobody_works_in_changes_nothing(
    times: list[int], size: tuple[int, int], policy: str, after_ms: int
) -> None:
    calm = served_at(times, size, policy, {"replicas": 2})
    end = max(record.ended_ticks or 0 for record in calm)
    from_s = (end // 10**9 + 1 + after_ms) / 1000
    slow = {"kind": "slow", "replica": 1, "from_s": from_s, "to_s": from_s + 1, "factor": 9}
    assert served_at(times, size, policy, {"replicas": 2, "faults": [slow]}) == calm
    # And one that ends as it begins, in the middle of everything: the steps that begin then are none.
    twice = [slow | {"from_s": 0.1, "to_s": 0.2, "factor": 4}, slow | {"from_s": 0.1, "to_s": 0.2, "factor": 0.25}]
    assert served_at(times, size, policy, {"replicas": 2, "faults": twice}) == calm


@settings(max_examples=40, deadline=None)
@given(times_ms, lengths, policies, st.integers(1, 3))
def test_restart_costs_work_and_never_an_answer(
    times: list[int], size: tuple[int, int], policy: str, survivors: int
) -> None:
    """While one replica is left, every request is completed, with the tokens it asked for."""
    losses = [{"kind": "loss", "replica": index, "at_s": 0.05 * (index + 1)} for index in range(survivors)]
    calm = served_at(times, size, policy, {"replicas": survivors + 1})
    for handling in ("restart", "resume"):
        faults = [loss | {"in_flight": handling} for loss in losses]
        hit = served_at(times, size, policy, {"replicas": survivors + 1, "faults": faults})
        assert [record.status for record in hit] == ["completed"] * len(calm)
        assert [record.output_tokens for record in hit] == [size[1]] * len(calm)
        if handling == "resume":
            assert sum(record.wasted_output_tokens for record in hit) == 0
