"""Replicas that are lost, come back cold, or slow down: worked out by hand (times in milliseconds)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sim import RequestRecord, Result, parse_scenario, simulate

MS = 10**9
LINEAR = {"kind": "linear", "per_prefill_token_s": 0.001, "per_decode_seq_s": 0.01}
"""1 ms a prompt token, 10 ms a decoding sequence."""


def troubled(
    faults: list[dict[str, Any]],
    times_ms: Sequence[float],
    replicas: int = 2,
    prompt: int = 20,
    output: int = 4,
    server: dict[str, Any] | None = None,
    fleet: dict[str, Any] | None = None,
    **traffic: Any,
) -> Result:
    """Requests to a fleet that serves them in turn, one at a time each."""
    return simulate(
        parse_scenario(
            {
                "name": "faults",
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
                "step_cost": LINEAR,
                "fleet": {"replicas": replicas, "faults": faults, **(fleet or {})},
            },
            "faults",
        )
    )


def loss(at_ms: float, replica: int = 0, **more: Any) -> dict[str, Any]:
    return {"kind": "loss", "replica": replica, "at_s": at_ms / 1000, **more}


def token_ms(record: RequestRecord) -> list[float]:
    assert record.first_token_ticks is not None
    times = [record.first_token_ticks]
    for gap in record.gap_ticks:
        times.append(times[-1] + gap)
    return [time / MS for time in times]


def test_without_faults_a_request_takes_its_prompt_and_three_decodes() -> None:
    (record,) = troubled([], [0]).requests
    assert token_ms(record) == [20, 30, 40, 50]


def test_restart_begins_again_elsewhere_and_counts_the_work_twice() -> None:
    """Lost at 35 ms with two tokens out: all over again on replica 1, and the two tokens were for nobody."""
    result = troubled([loss(35)], [0])
    (record,) = result.requests
    assert record.replica == 1
    assert record.attempts == 2
    assert token_ms(record) == [55, 65, 75, 85]
    # The prompt and the token whose state was in the lost cache; of them only the prompt is computed again.
    assert result.work.prompt_tokens == 40
    assert result.work.recomputed_tokens == 20
    assert result.work.wasted_output_tokens == 2
    # The step that was under way is nowhere: replica 0 has its prefill and one decode.
    assert [int(start) // MS for start in result.log.runs[0]["start"]] == [0, 20]


def test_resume_works_through_what_was_said_and_goes_on() -> None:
    """Two tokens at 20 and 30 ms; at 35 the prompt and both are read on replica 1 in 22 ms, which brings the third."""
    result = troubled([loss(35, in_flight="resume")], [0])
    (record,) = result.requests
    assert token_ms(record) == [20, 30, 57, 67]
    assert record.status == "completed"
    assert result.work.prompt_tokens == 20 + 22
    assert result.work.recomputed_tokens == 21
    assert result.work.wasted_output_tokens == 0


@pytest.mark.parametrize("budget", [22, 21, 11, 7, 3, 1])
def test_resume_in_chunks_of_any_size_goes_on(budget: int) -> None:
    """Also where all but one token are read by whole chunks, which leaves what looks like a decode."""
    server = {"policy": "mixed", "max_seqs": 1, "token_budget": budget}
    result = troubled([loss(35, in_flight="resume")], [0], server=server)
    (record,) = result.requests
    assert record.status == "completed"
    # Two tokens were out; what is read again costs 1 ms a token however it is cut.
    reads = [int(tokens) for tokens in result.log.runs[1]["prefill_tokens"]]
    assert sum(reads) == (22 if record.first_token_s == 0.02 else 20)


@pytest.mark.parametrize("retries", [0, 1])
def test_fail_leaves_it_to_the_client(retries: int) -> None:
    client = {"retries": {"max": retries, "backoff_s": 0.1}}
    result = troubled([loss(35, in_flight="fail")], [0], client=client)
    (record,) = result.requests
    if retries:
        # Sent again at 135 ms; the turn is replica 1's.
        assert token_ms(record) == [155, 165, 175, 185]
        assert (record.status, record.attempts, record.replica) == ("completed", 2, 1)
        assert result.work.wasted_output_tokens == 2
    else:
        assert record.status == "failed"
        assert record.ended_s == 0.035
        assert result.counts.failed == 1
        # What the client has of the broken answer.
        assert record.output_tokens == 2


def test_the_queue_of_a_lost_replica_goes_elsewhere_in_its_order() -> None:
    result = troubled([loss(35)], [0, 1, 2, 3, 4, 5])
    assert {record.replica for record in result.requests} == {1}
    assert all(record.status == "completed" for record in result.requests)
    firsts = [token_ms(record)[0] for record in result.requests]
    # Replica 1 has requests 1, 3 and 5 in its queue; 0, 2 and 4 join behind them.
    assert [firsts.index(first) for first in sorted(firsts)] == [1, 3, 5, 0, 2, 4]


def test_a_lone_replica_comes_back_cold_and_serves_what_waited() -> None:
    """Down from 35 to 135 ms, ready at 185."""
    result = troubled([loss(35, down_s=0.1)], [0, 90], replicas=1, fleet={"cold_start_s": 0.05})
    first, second = result.requests
    assert token_ms(first) == [205, 215, 225, 235]
    assert token_ms(second) == [255, 265, 275, 285]
    assert second.queued_s == 0.185


def test_without_any_replica_left_requests_fail_and_are_counted() -> None:
    result = troubled([loss(35)], [0, 90], replicas=1)
    assert [record.status for record in result.requests] == ["failed", "failed"]
    assert [record.ended_s for record in result.requests] == [0.035, 0.09]
    assert result.counts.failed == 2
    assert result.requests_per_s == 0.0


def test_a_loss_during_the_cold_start_starts_over() -> None:
    faults = [loss(35, down_s=0.01), loss(60, down_s=0.02)]
    result = troubled(faults, [0], replicas=1, fleet={"cold_start_s": 0.05})
    # Starting at 45, lost at 60, machine back at 80, ready at 130.
    assert token_ms(result.requests[0])[0] == 150


def test_a_slow_replica_stretches_the_steps_that_begin_meanwhile() -> None:
    """From 25 to 45 ms decodes take 30 ms: the one that began at 20 is not touched, that at 30 is, that at 60 not."""
    slow = {"kind": "slow", "replica": 0, "from_s": 0.025, "to_s": 0.045, "factor": 3}
    (record,) = troubled([slow], [0], replicas=1).requests
    assert token_ms(record) == [20, 30, 60, 70]


def test_slow_downs_that_overlap_multiply_and_end_exactly() -> None:
    slow = {"kind": "slow", "replica": 0, "factor": 3}
    faults = [slow | {"from_s": 0.025, "to_s": 0.065}, slow | {"from_s": 0.035, "to_s": 0.065, "factor": 0.5}]
    (record,) = troubled(faults, [0], replicas=1, output=5).requests
    # 30 ms from 30 on, then 15 ms from 60 on, then 10 ms from 75 on.
    assert token_ms(record) == [20, 30, 60, 75, 85]


ENGINE = {"policy": "vllm", "max_seqs": 4, "token_budget": 64, "kv_blocks": 40, "block_tokens": 4}


def test_an_engine_is_slowed_in_the_middle_of_a_run_of_steps() -> None:
    slow = {"kind": "slow", "replica": 0, "from_s": 0.045, "to_s": 0.105, "factor": 2}
    (record,) = troubled([slow], [0], replicas=1, output=8, server=ENGINE).requests
    assert token_ms(record) == [20, 30, 40, 50, 70, 90, 110, 120]


def test_an_engine_is_lost_in_the_middle_of_a_run_of_steps() -> None:
    restart = troubled([loss(55)], [0], output=8, server=ENGINE)
    (record,) = restart.requests
    assert token_ms(record) == [75, 85, 95, 105, 115, 125, 135, 145]
    assert restart.work.wasted_output_tokens == 4
    resume = troubled([loss(55, in_flight="resume")], [0], output=8, server=ENGINE)
    (record,) = resume.requests
    # Tokens at 20, 30, 40, 50; then 24 tokens are read in 24 ms, which brings the fifth.
    assert token_ms(record) == [20, 30, 40, 50, 79, 89, 99, 109]
    assert resume.work.prompt_tokens == 20 + 24
    assert resume.work.recomputed_tokens == 23
    assert [int(steps) for steps in resume.log.runs[0]["steps"]] == [1, 3]


def test_the_cache_of_a_lost_engine_is_empty_when_it_comes_back() -> None:
    prefix: dict[str, Any] = {"prefix": {"tokens": 16}}
    calm = troubled([], [0, 200], replicas=1, prompt=4, server=ENGINE, **prefix)
    lost = troubled([loss(150, down_s=0.01)], [0, 200], replicas=1, prompt=4, server=ENGINE, **prefix)
    assert [record.cached_tokens for record in calm.requests] == [0, 16]
    assert [record.cached_tokens for record in lost.requests] == [0, 0]


def test_the_same_client_sees_the_same_wherever_the_loss_hits_nobody() -> None:
    times = [0, 0, 200, 400]
    calm, troubled_fleet = troubled([], times), troubled([loss(150, replica=1, down_s=0.01)], times)
    assert [token_ms(record) for record in calm.requests] == [token_ms(record) for record in troubled_fleet.requests]
