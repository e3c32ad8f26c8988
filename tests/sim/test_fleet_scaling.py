"""Replicas that come and go with the load, and requests that are turned away (times in milliseconds)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sim import Result, parse_scenario, simulate
from sim.fleet.usage import replica_seconds, replicas_over_time
from sim.log import REJECTED

MS = 10**9


def served(
    fleet: dict[str, Any],
    times_ms: Sequence[float],
    prompt: int = 100,
    output: int = 1,
    server: dict[str, Any] | None = None,
    **traffic: Any,
) -> Result:
    """Jobs of 1 ms a prompt token and 10 ms a decode, one at a time on each replica."""
    return simulate(
        parse_scenario(
            {
                "name": "scaling",
                "classes": [
                    {
                        "name": "job",
                        "prompt_tokens": prompt,
                        "output_tokens": output,
                        "arrivals": {"kind": "times", "times_s": [time / 1000 for time in times_ms]},
                        **traffic,
                    }
                ],
                "server": server or {"policy": "continuous", "max_seqs": 1},
                "step_cost": {"kind": "linear", "per_prefill_token_s": 0.001, "per_decode_seq_s": 0.01},
                "fleet": {"routing": "least_outstanding", **fleet},
            },
            "scaling",
        )
    )


def scaling(**more: Any) -> dict[str, Any]:
    return {"signal": "queue", "target": 2, "max": 4, "evaluate_every_s": 0.05, **more}


def first_use_ms(result: Result) -> list[float | None]:
    return [float(runs["start"][0]) / MS if len(runs) else None for runs in result.log.runs]


def test_a_queue_brings_replicas_after_the_delay_and_the_cold_start() -> None:
    """Nine at once: at 50 ms eight wait, which at two a replica asks for four. Ready at 50 + 20 + 10 ms."""
    fleet = {"cold_start_s": 0.01, "autoscaling": scaling(delay_s=0.02)}
    result = served(fleet, [0] * 9 + [81, 82, 83, 84])
    assert first_use_ms(result) == [0, 81, 82, 83]
    assert len(result.log.runs) == 4
    assert result.counts.completed == 13


def test_what_a_fleet_costs_is_the_time_its_replicas_were_there() -> None:
    """One throughout, three more from 50 ms on; those three are told to go at the first look with no queue."""
    fleet = {"cold_start_s": 0.01, "autoscaling": scaling(delay_s=0.02)}
    result = served(fleet, [0] * 9 + [81, 82, 83, 84])
    assert replicas_over_time(result.log)[:2] == [(0.0, 1), (0.08, 4)]
    end = result.log.end / 10**12
    assert replicas_over_time(result.log)[-1][1] == 1
    assert end + 0.15 * 3 < replica_seconds(result.log) < 4 * end - 3 * 0.05
    fixed = served({"replicas": 4}, [0] * 9)
    assert fixed.metric("replica_seconds") == pytest.approx(4 * fixed.duration_s)
    assert replicas_over_time(fixed.log) == [(0.0, 4)]


def test_a_lost_replica_costs_nothing_until_it_starts_again() -> None:
    faults = [{"kind": "loss", "replica": 1, "at_s": 0.05, "down_s": 0.1}]
    result = served({"replicas": 2, "cold_start_s": 0.02, "faults": faults}, [0, 0, 300])
    assert result.log.end == 400 * MS
    assert replicas_over_time(result.log) == [(0.0, 2), (0.05, 1), (0.17, 2)]
    assert replica_seconds(result.log) == pytest.approx(0.4 + 0.4 - 0.1)


def test_nothing_waits_nothing_grows() -> None:
    result = served({"autoscaling": scaling()}, [0, 150, 300, 450])
    assert first_use_ms(result) == [0, None, None, None]


def test_the_most_and_the_fewest_are_kept() -> None:
    grown = served({"autoscaling": scaling(max=2)}, [0] * 20 + [400] * 5)
    assert len(grown.log.runs) == 2
    # Three at the start, idle, and one is kept: after the look at 50 ms only replica 0 serves.
    idle = served({"replicas": 3, "autoscaling": scaling()}, [0, 0, 0, 160, 161, 400])
    assert [record.replica for record in idle.requests] == [0, 1, 2, 0, 0, 0]


def test_a_draining_replica_finishes_what_it_has() -> None:
    fleet = {"replicas": 2, "routing": "round_robin", "autoscaling": scaling(target=100)}
    result = served(fleet, [0, 0, 10, 10, 20, 60])
    assert [record.replica for record in result.requests] == [0, 1, 0, 1, 0, 0]
    assert result.counts.completed == 6
    # Replica 1 was told to go at 50 ms and served its two until 200.
    assert [int(start) // MS for start in result.log.runs[1]["start"]] == [0, 100]


def test_a_replica_that_drains_is_taken_back_without_a_start() -> None:
    """At 50 ms nothing waits and one replica drains; at 100 five wait, and it is back at once."""
    fleet = {"replicas": 2, "cold_start_s": 10.0, "autoscaling": scaling(max=2)}
    result = served(fleet, [0, 0, *[60] * 5, 110], prompt=300)
    assert result.requests[-1].replica == 1


def test_after_a_decision_there_is_quiet() -> None:
    """Two decisions within the cool-down are one: replicas asked for at 50 and, later, no earlier than at 250."""
    fleet = {"autoscaling": scaling(cooldown_s=0.2, target=1)}
    result = served(fleet, [0, 0, 0, *[60] * 20, *[205] * 3, *[260] * 3])
    uses = first_use_ms(result)
    assert uses[1] == 60
    assert uses[2] is not None
    assert uses[2] >= 250


def test_scaling_in_waits_until_fewer_were_wanted_long_enough() -> None:
    def replicas_of_later(wait_s: float) -> set[int | None]:
        fleet = {"replicas": 3, "routing": "round_robin", "autoscaling": scaling(scale_in_wait_s=wait_s)}
        result = served(fleet, [0, 120, 125, 130], prompt=10)
        return {record.replica for record in result.requests[1:]}

    assert replicas_of_later(0.0) == {0}
    assert replicas_of_later(0.1) == {0, 1, 2}


def test_missed_limits_bring_one_replica_at_a_time() -> None:
    fleet = {"autoscaling": scaling(signal="slo", target=0.9, evaluate_every_s=0.2)}
    result = served(fleet, [*[0] * 6, 210, 211, 410, 411, 412, 413], slo={"ttft_s": 0.15})
    # In the first 200 ms one was in time and one was not.
    assert first_use_ms(result)[:3] == [0, 210, 410]


def test_cache_usage_brings_replicas() -> None:
    engine = {"policy": "vllm", "max_seqs": 8, "token_budget": 512, "kv_blocks": 40, "block_tokens": 16}
    fleet = {"autoscaling": scaling(signal="kv", target=0.5)}
    result = served(fleet, [0] * 4 + [60], prompt=128, output=20, server=engine)
    # Four prompts of eight blocks hold 32 to 36 of 40 blocks at 50 ms: asked for are two replicas.
    assert first_use_ms(result) == [0, 60, None, None]


def test_the_same_scaling_every_time() -> None:
    fleet = {"cold_start_s": 0.01, "autoscaling": scaling(delay_s=0.02)}
    times = [7 * number % 400 for number in range(60)]
    assert served(fleet, times) == served(fleet, times)


def test_a_lost_replica_is_replaced() -> None:
    fleet = {
        "replicas": 2,
        "routing": "round_robin",
        "cold_start_s": 0.01,
        "autoscaling": scaling(min=2, target=100),
        "faults": [{"kind": "loss", "replica": 1, "at_s": 0.02}],
    }
    result = served(fleet, [0, 0, 70, 70], prompt=10)
    assert [record.replica for record in result.requests[2:]] == [0, 1]


# ---- admission -------------------------------------------------------------------------------------


def refused(result: Result) -> list[int]:
    return [record.id for record in result.requests if record.status == "rejected"]


def test_the_front_end_counts_all_queues_together() -> None:
    """Two run, three wait, and whoever comes then is turned away, until at 100 ms two of them start."""
    fleet = {"replicas": 2, "admission": {"queue_limit": 3}}
    result = served(fleet, [0, 0, 0, 0, 0, 0, 1, 101, 102, 103])
    assert refused(result) == [5, 6, 9]
    assert result.counts.rejected == 3


def test_a_token_bucket_lets_bursts_through_up_to_its_size() -> None:
    fleet = {"replicas": 2, "admission": {"rate_per_s": 10, "burst": 3}}
    result = served(fleet, [0, 0, 0, 0, 99, 100, 101, 350, 350, 350], prompt=1)
    # Three at once, then one every 100 ms; by 350 two more have been saved up.
    assert refused(result) == [3, 4, 6, 9]


ONE_SEAT_ENGINE = {"policy": "vllm", "max_seqs": 1, "kv_blocks": 100}


@pytest.mark.parametrize("server", [None, ONE_SEAT_ENGINE])
def test_elapsed_waits_are_thrown_out_of_the_queue(server: dict[str, Any] | None) -> None:
    """One at a time for 100 ms each: with a deadline of 150 ms the third has waited too long when its turn comes."""
    result = served({"admission": {"deadline_s": 0.15, "shed": "elapsed"}}, [0, 0, 0, 0], server=server)
    assert [(record.status, record.ended_s) for record in result.requests] == [
        ("completed", 0.1),
        ("completed", 0.2),
        ("rejected", 0.15),
        ("rejected", 0.15),
    ]
    assert result.work.prompt_tokens == 200


def test_a_wait_that_ends_exactly_at_the_deadline_is_too_long() -> None:
    """Who has waited that long without starting goes before the next step is planned."""
    result = served({"admission": {"deadline_s": 0.1, "shed": "elapsed"}}, [0, 0])
    assert refused(result) == [1]


def test_estimated_waits_are_refused_at_the_door() -> None:
    """After some completions 100 ms apart, three in the queue mean 300 ms."""
    fleet = {"admission": {"deadline_s": 0.25, "shed": "estimated"}}
    early = [0, 100, 200, 300]
    result = served(fleet, [*early, 401, 402, 403, 404, 405])
    # One runs, two wait (200 ms), the third in the queue would be the one too many.
    assert refused(result) == [8]
    assert [record.ended_s for record in result.requests if record.status == "rejected"] == [0.405]


@pytest.mark.parametrize("shed", ["estimated", "elapsed"])
def test_shedding_keeps_the_waits_of_an_overload_near_the_deadline(shed: str) -> None:
    times = [50 * number for number in range(100)]
    open_door = served({}, times)
    shedding = served({"admission": {"deadline_s": 0.3, "shed": shed}}, times)
    longest = shedding.metric("job.queue_s.max")
    assert longest is not None
    assert longest <= 0.45
    assert open_door.metric("job.queue_s.max") == pytest.approx(4.95)
    # Half of the load is too much, and that half is counted.
    assert 40 <= shedding.counts.rejected <= 55
    assert shedding.counts.completed + shedding.counts.rejected == 100
    assert (shedding.columns["status"] == REJECTED).sum() == shedding.counts.rejected
