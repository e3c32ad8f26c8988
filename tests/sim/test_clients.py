"""Clients that lose patience, tell the server late or never, and try again; users who think."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import RequestRecord, Result, parse_scenario, simulate

MS = 10**9


def asked(
    client: dict[str, Any],
    times_ms: Sequence[float] = (0,),
    prompt: int = 20,
    output: int = 4,
    server: dict[str, Any] | None = None,
    fleet: dict[str, Any] | None = None,
    **traffic: Any,
) -> Result:
    """1 ms a prompt token, 10 ms a decoding sequence, one seat unless told otherwise."""
    return simulate(
        parse_scenario(
            {
                "name": "clients",
                "classes": [
                    {
                        "name": "job",
                        "prompt_tokens": prompt,
                        "output_tokens": output,
                        "arrivals": {"kind": "times", "times_s": [time / 1000 for time in times_ms]},
                        "client": client,
                        **traffic,
                    }
                ],
                "server": server or {"policy": "continuous", "max_seqs": 1},
                "step_cost": {"kind": "linear", "per_prefill_token_s": 0.001, "per_decode_seq_s": 0.01},
                "fleet": fleet or {},
            },
            "clients",
        )
    )


def steps_ms(result: Result) -> list[float]:
    return [step.start_ticks / MS for step in result.steps]


# ---- time-outs -------------------------------------------------------------------------------------


def test_a_timed_out_answer_counts_what_was_seen_and_stops_the_server() -> None:
    """Tokens at 20, 30, 40, 50, …; given up at 45: three seen, and the step under way is for nobody."""
    result = asked({"timeout_s": 0.045}, output=9)
    (record,) = result.requests
    assert (record.status, record.ended_s, record.output_tokens) == ("cancelled", 0.045, 3)
    assert record.gaps_s == (0.01, 0.01)
    assert steps_ms(result) == [0, 20, 30, 40]
    assert result.work.output_tokens == 4
    assert result.work.wasted_output_tokens == 1
    assert result.work.unfinished_output_tokens == 3


def test_with_transport_the_client_has_seen_less_by_then() -> None:
    (record,) = asked({"timeout_s": 0.045}, output=9, transport_s=0.012).requests
    # At 45 ms it has what was emitted by 33.
    assert (record.output_tokens, record.first_token_s, record.last_token_s) == (2, 0.032, 0.042)
    assert record.wasted_output_tokens == 2


def test_an_answer_that_is_complete_exactly_at_the_time_out_is_in_time() -> None:
    assert asked({"timeout_s": 0.05}).counts.completed == 1
    assert asked({"timeout_s": 0.0499}).counts.completed == 0


def test_an_answer_still_on_its_way_at_the_time_out_is_lost() -> None:
    result = asked({"timeout_s": 0.055}, transport_s=0.01)
    (record,) = result.requests
    assert (record.status, record.output_tokens, record.wasted_output_tokens) == ("cancelled", 3, 1)
    # The server was done at 50 and has nothing more to do.
    assert steps_ms(result) == [0, 20, 30, 40]


# ---- when the server hears of it -------------------------------------------------------------------


def test_a_late_cancellation_wastes_the_steps_until_it_arrives() -> None:
    result = asked({"timeout_s": 0.045, "cancel_delay_s": 0.02}, output=9)
    (record,) = result.requests
    assert record.output_tokens == 3
    # Known at 65, when the step from 60 to 70 is under way.
    assert steps_ms(result) == [0, 20, 30, 40, 50, 60]
    assert record.wasted_output_tokens == 3


def test_a_cancellation_that_never_arrives_wastes_the_whole_rest() -> None:
    result = asked({"timeout_s": 0.045, "cancel_reaches_server": False}, (0, 50), output=9)
    first, second = result.requests
    assert (first.output_tokens, first.wasted_output_tokens) == (3, 6)
    # The seat is taken until 100 ms, when the second's client is gone as well: all of that is for nobody.
    assert (second.status, second.ended_s, second.scheduled_s) == ("cancelled", 0.095, 0.1)
    assert (second.output_tokens, second.wasted_output_tokens) == (0, 9)
    assert steps_ms(result)[-1] == 190


def test_a_cancellation_after_the_end_changes_nothing() -> None:
    late = asked({"timeout_s": 0.045, "cancel_delay_s": 1.0}, output=5)
    never = asked({"timeout_s": 0.045, "cancel_reaches_server": False}, output=5)
    assert late.requests == never.requests
    assert steps_ms(late) == steps_ms(never)


@pytest.mark.parametrize("told", [True, False])
def test_what_a_lost_cancellation_costs_the_others(told: bool) -> None:
    """Ten impatient clients before one who waits: that one pays for work nobody receives."""
    result = asked(
        {"cancel_reaches_server": told},
        [*range(10), 600],
        patience_s=0.1,
        output=20,
        server={"policy": "continuous", "max_seqs": 2, "prompt_batch": 1},
    )
    assert result.requests[-1].status == ("completed" if told else "cancelled")
    # Untold, the server answers the eight that left and the last one, 20 tokens each, for nobody.
    assert result.work.wasted_output_tokens == (0 if told else 180)


ENGINE = {"policy": "vllm", "max_seqs": 4, "token_budget": 64, "kv_blocks": 40, "block_tokens": 4}


@pytest.mark.parametrize(
    ("client", "tokens", "wasted", "last_step"),
    [
        ({}, 20, 0, 200),
        ({"timeout_s": 0.045}, 3, 0, 40),
        ({"timeout_s": 0.045, "cancel_delay_s": 0.02}, 3, 2, 60),
        ({"timeout_s": 0.045, "cancel_reaches_server": False}, 3, 17, 200),
    ],
)
def test_the_same_on_an_engine_that_takes_many_steps_at_once(
    client: dict[str, Any], tokens: int, wasted: int, last_step: int
) -> None:
    """A cancelled request is taken out of the step under way: an engine emits nothing for it."""
    result = asked(client, output=20, server=ENGINE)
    (record,) = result.requests
    assert (record.output_tokens, record.wasted_output_tokens) == (tokens, wasted)
    ends = [int(row["start"] + row["steps"] * row["first"]) / MS for row in runs_of(result)]
    assert ends[-1] == last_step + 10


def runs_of(result: Result) -> list[dict[str, int]]:
    (runs,) = result.log.runs
    return [dict(zip(runs.names, row, strict=True)) for row in runs.rows().tolist()]


# ---- retries ---------------------------------------------------------------------------------------


def test_a_retry_comes_after_the_back_off_and_begins_from_nothing() -> None:
    """Impatient at 40 behind a long job; sent again at 140, when the server is free."""
    result = asked(
        {"retries": {"max": 1, "backoff_s": 0.1}}, (0, 1), prompt=60, output=4, patience_s=0.07, transport_s=0.0
    )
    first, second = result.requests
    assert first.status == "completed"
    # The first is done at 90; the second gave up at 71 and is back at 171.
    assert (second.attempts, second.status, second.queued_s, second.first_token_s) == (2, "completed", 0.171, 0.231)
    assert second.ttft_s == 0.23


def test_each_further_wait_is_longer_by_the_multiplier() -> None:
    client = {"timeout_s": 0.01, "retries": {"max": 3, "backoff_s": 0.1, "multiplier": 3}}
    (record,) = asked(client).requests
    # Given up at 10, 10 + 100 + 10 = 120, 120 + 300 + 10 = 430, and 430 + 900 + 10 = 1340.
    assert (record.attempts, record.status, record.ended_s) == (4, "cancelled", 1.34)


@given(st.integers(0, 200))
@settings(max_examples=25, deadline=None)
def test_jitter_only_shortens_the_wait(seed: int) -> None:
    client = {"timeout_s": 0.01, "retries": {"max": 1, "backoff_s": 0.1, "jitter": 0.5}}
    scenario = {
        "name": "jitter",
        "seed": seed,
        "classes": [
            {
                "name": "job",
                "prompt_tokens": 20,
                "output_tokens": 1,
                "arrivals": {"kind": "burst", "count": 3},
                "client": client,
            }
        ],
        "server": {"policy": "continuous", "max_seqs": 4},
        "step_cost": {"kind": "linear", "per_prefill_token_s": 0.001},
    }
    ends = [record.ended_s for record in simulate(parse_scenario(scenario, "jitter")).requests]
    assert all(end is not None and 0.07 <= end <= 0.12 for end in ends)
    assert len(set(ends)) == 3


@pytest.mark.parametrize(("after", "attempts", "status"), [(["rejected"], 3, "failed"), (["timeout"], 1, "rejected")])
def test_only_the_named_troubles_are_worth_a_retry(after: list[str], attempts: int, status: str) -> None:
    client = {"retries": {"max": 2, "backoff_s": 0.001, "multiplier": 1, "after": after}}
    result = asked(client, (0, 1), server={"policy": "continuous", "max_seqs": 1, "queue_limit": 0})
    refused = result.requests[1]
    assert (refused.attempts, refused.status) == (attempts, status)


def test_a_retry_finds_the_seat_its_own_first_attempt_still_holds() -> None:
    """The server never hears of the time-out: the second attempt waits behind the ghost of the first."""
    client = {"timeout_s": 0.03, "cancel_reaches_server": False, "retries": {"max": 1, "backoff_s": 0.01}}
    (record,) = asked(client, output=9).requests
    # The first attempt runs until 100; the second, sent at 40, is given up at 70 and runs from 100 to 200 for nobody.
    assert (record.status, record.attempts, record.ended_s) == ("cancelled", 2, 0.07)
    assert record.wasted_output_tokens == 18
    assert record.computed_prompt_tokens == 40


def test_an_answer_to_a_given_up_attempt_is_not_an_answer() -> None:
    """Both attempts run to their end at once; the request is completed once, by the second."""
    client = {"timeout_s": 0.06, "cancel_reaches_server": False, "retries": {"max": 1, "backoff_s": 0.0}}
    result = asked(client, output=3, server={"policy": "static", "max_seqs": 2}, prompt=45)
    (record,) = result.requests
    # 45 ms to read, two decodes: done at 65, 5 ms after the client left. The second attempt reads 65 to 110.
    assert (record.status, record.attempts) == ("cancelled", 2)
    patient = asked(client | {"timeout_s": 0.075}, output=3, server={"policy": "static", "max_seqs": 2}, prompt=45)
    assert patient.counts.completed == 1
    assert patient.work.output_tokens == 3


def test_retries_make_an_overload_worse() -> None:
    """A retry storm: the same clients send several times, and fewer of them get an answer."""

    def outcome(retries: int) -> tuple[int, int]:
        client = {"cancel_reaches_server": False, "retries": {"max": retries, "backoff_s": 0.05}}
        result = asked(client, [10 * number for number in range(60)], patience_s=0.2)
        return result.counts.completed, sum(record.attempts for record in result.requests)

    once, thrice = outcome(0), outcome(2)
    assert once[1] == 60
    assert thrice[1] > 100
    useful = [done / (sent * 4) for done, sent in (once, thrice)]
    assert useful[1] < useful[0]


# ---- closed loops ----------------------------------------------------------------------------------


def looped(users: int, think: object, count: int, **more: Any) -> Result:
    return simulate(
        parse_scenario(
            {
                "name": "loop",
                "classes": [
                    {
                        "name": "user",
                        "prompt_tokens": 20,
                        "output_tokens": 4,
                        "arrivals": {
                            "kind": "closed_loop",
                            "users": users,
                            "think_s": think,
                            "count": count,
                            "start_s": 0.1,
                        },
                        **more,
                    }
                ],
                "server": {"policy": "continuous", "max_seqs": 8},
                "step_cost": {"kind": "linear", "per_prefill_token_s": 0.001, "per_decode_seq_s": 0.01},
            },
            "loop",
        )
    )


def arrivals_ms(requests: Sequence[RequestRecord]) -> list[float]:
    return [record.arrival_ticks / MS for record in requests]


def test_one_user_sends_the_next_request_a_think_time_after_the_last_answer() -> None:
    result = looped(1, 0.03, 3)
    # Think, then 50 ms of service, then think again.
    assert arrivals_ms(result.requests) == [130, 210, 290]
    assert result.counts.completed == 3


def test_the_answer_is_over_when_the_user_sees_it() -> None:
    assert arrivals_ms(looped(1, 0.03, 3, transport_s=0.01).requests) == [130, 220, 310]


def test_a_user_who_gives_up_thinks_from_then_on() -> None:
    result = looped(1, 0.03, 3, client={"timeout_s": 0.02})
    assert arrivals_ms(result.requests) == [130, 180, 230]
    assert result.counts.cancelled == 3


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.sampled_from([0.0, 0.02, {"dist": "exponential", "mean_s": 0.05}]), st.integers(1, 40))
def test_no_more_requests_than_users_at_any_time(users: int, think: object, count: int) -> None:
    result = looped(users, think, count)
    assert result.counts.submitted == count
    assert [record.id for record in result.requests] == list(range(count))
    for record in result.requests:
        there = [
            other
            for other in result.requests
            if other.arrival_ticks <= record.arrival_ticks
            and other.ended_ticks is not None
            and other.ended_ticks > record.arrival_ticks
        ]
        assert len(there) <= users


def test_users_of_an_engine_that_is_alone_go_through_the_fleet_as_well() -> None:
    """Nothing but the loop makes it a matter for the fleet."""
    data = {
        "name": "loop",
        "classes": [
            {
                "name": "user",
                "prompt_tokens": 20,
                "output_tokens": 4,
                "arrivals": {"kind": "closed_loop", "users": 2, "think_s": 0.0, "count": 10},
            }
        ],
        "server": ENGINE,
        "step_cost": {"kind": "linear", "base_s": 0.01},
    }
    result = simulate(parse_scenario(data, "loop"))
    assert result.counts.completed == 10
    # Two users, four steps of 10 ms a request, the first two together: five rounds of 40 ms.
    assert result.duration_s == 0.2
