"""Split pools: reading here, decoding there, and a link between them (times in milliseconds)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sim import RequestRecord, Result, parse_scenario, simulate

MS = 10**9
LINK = {"prefill_replicas": 1, "kv_bytes_per_token": 1000, "bandwidth_bytes_per_s": 1e6, "latency_s": 0.002}
"""1 ms of link a token, and 2 ms on top."""


def split(
    link: dict[str, Any],
    times_ms: Sequence[float] = (0,),
    replicas: int = 2,
    prompt: int = 20,
    output: int = 4,
    server: dict[str, Any] | None = None,
    fleet: dict[str, Any] | None = None,
    **traffic: Any,
) -> Result:
    """1 ms a prompt token, 10 ms a decoding sequence."""
    return simulate(
        parse_scenario(
            {
                "name": "split",
                "classes": [
                    {
                        "name": "job",
                        "prompt_tokens": prompt,
                        "output_tokens": output,
                        "arrivals": {"kind": "times", "times_s": [time / 1000 for time in times_ms]},
                        **traffic,
                    }
                ],
                "server": server or {"policy": "continuous", "max_seqs": 4, "prompt_batch": 1},
                "step_cost": {"kind": "linear", "per_prefill_token_s": 0.001, "per_decode_seq_s": 0.01},
                "fleet": {"replicas": replicas, "disaggregated": {**LINK, **link}, **(fleet or {})},
            },
            "split",
        )
    )


def tokens_ms(record: RequestRecord) -> list[float]:
    assert record.first_token_ticks is not None
    times = [record.first_token_ticks]
    for gap in record.gap_ticks:
        times.append(times[-1] + gap)
    return [time / MS for time in times]


def test_the_first_token_waits_for_the_transfer_and_a_step_of_the_decoder() -> None:
    """Read by 20, on the link until 40, there at 42, first token at 52."""
    result = split({})
    (record,) = result.requests
    assert tokens_ms(record) == [52, 62, 72, 82]
    assert record.ttft_s == 0.052
    assert record.replica == 1
    assert (result.work.prompt_tokens, result.work.output_tokens, result.work.wasted_output_tokens) == (20, 4, 0)
    assert [int(runs["decode_seqs"].sum()) for runs in result.log.runs] == [0, 4]


def test_a_first_token_sent_by_the_reader_puts_the_transfer_into_the_first_gap() -> None:
    result = split({"first_token": "prefill"})
    (record,) = result.requests
    assert tokens_ms(record) == [20, 52, 62, 72]
    assert [int(runs["decode_seqs"].sum()) for runs in result.log.runs] == [0, 3]
    assert result.work.output_tokens == 4


def test_one_token_needs_no_transfer_when_the_reader_sends_it() -> None:
    assert tokens_ms(split({"first_token": "prefill"}, output=1).requests[0]) == [20]
    assert tokens_ms(split({}, output=1).requests[0]) == [52]


def test_transfers_share_a_link_one_after_the_other() -> None:
    """Read by 20, 40 and 60; with a link at half the speed they are over at 60, 100 and 140."""
    slow = {"bandwidth_bytes_per_s": 5e5, "first_token": "prefill"}
    one = split(slow, [0, 0, 0], output=2)
    assert [tokens_ms(record)[1] for record in one.requests] == [72, 112, 152]
    two = split({**slow, "links": 2}, [0, 0, 0], output=2)
    # The second does not wait, and the third finds the first link free at 60.
    assert [tokens_ms(record)[1] for record in two.requests] == [72, 92, 112]


def test_decoding_is_not_disturbed_by_prompts() -> None:
    """The point of it: on one replica the second prompt holds up the first answer, on two it does not."""
    times = [0, 35]
    together = simulate(
        parse_scenario(
            {
                "name": "together",
                "classes": [
                    {
                        "name": "job",
                        "prompt_tokens": 100,
                        "output_tokens": 20,
                        "arrivals": {"kind": "times", "times_s": [time / 1000 for time in times]},
                    }
                ],
                "server": {"policy": "continuous", "max_seqs": 4},
                "step_cost": {"kind": "linear", "per_prefill_token_s": 0.001, "per_decode_seq_s": 0.01},
            },
            "together",
        )
    )
    apart = split({"bandwidth_bytes_per_s": 1e9}, times, prompt=100, output=20)
    worst = together.metric("job.itl_s.max"), apart.metric("job.itl_s.max")
    assert worst[0] == 0.12
    assert worst[1] == 0.02


@pytest.mark.parametrize("first_token", ["decode", "prefill"])
def test_a_client_that_leaves_during_the_transfer_costs_no_decode(first_token: str) -> None:
    result = split({"first_token": first_token}, client={"timeout_s": 0.03})
    (record,) = result.requests
    assert record.status == "cancelled"
    assert record.output_tokens == (1 if first_token == "prefill" else 0)
    assert record.output_tokens + record.wasted_output_tokens == 1
    assert len(result.log.runs[1]) == 0


def test_a_lost_reader_is_made_up_for_by_the_other() -> None:
    fleet = {"faults": [{"kind": "loss", "replica": 0, "at_s": 0.01}]}
    (record,) = split({"prefill_replicas": 2}, replicas=3, fleet=fleet).requests
    assert tokens_ms(record)[0] == 62
    assert record.attempts == 2


def test_a_decoder_lost_while_the_cache_is_under_way_means_reading_again() -> None:
    fleet = {"faults": [{"kind": "loss", "replica": 1, "at_s": 0.03}]}
    result = split({}, replicas=3, fleet=fleet)
    (record,) = result.requests
    # The transfer ends at 42; then 20 to read, 20 + 2 to send, 10 to decode.
    assert tokens_ms(record)[0] == 94
    assert (record.replica, record.attempts) == (2, 2)
    assert result.work.recomputed_tokens == 20


def test_what_was_read_waits_for_a_decoder_to_come_back() -> None:
    fleet = {"faults": [{"kind": "loss", "replica": 1, "at_s": 0.01, "down_s": 0.09}]}
    (record,) = split({}, fleet=fleet).requests
    # Back at 100, then the transfer of 22 and a step of 10.
    assert tokens_ms(record)[0] == 132


def test_without_any_decoder_left_requests_fail() -> None:
    fleet = {"faults": [{"kind": "loss", "replica": 1, "at_s": 0.01}]}
    result = split({}, [0, 100], fleet=fleet)
    assert [record.status for record in result.requests] == ["failed", "failed"]


def test_engines_decode_what_others_have_read() -> None:
    """The decoding engine works through the last position again, to have something to sample from: 1 ms."""
    engine = {"policy": "vllm", "max_seqs": 4, "token_budget": 64, "kv_blocks": 20, "block_tokens": 4}
    result = split({}, server=engine)
    (record,) = result.requests
    assert tokens_ms(record) == [43, 53, 63, 73]
    assert result.work.prompt_tokens == 21
    early = split({"first_token": "prefill"}, server=engine)
    assert tokens_ms(early.requests[0]) == [20, 43, 53, 63]


def test_a_prompt_whose_state_is_there_goes_straight_to_a_decoder() -> None:
    (record,) = split({}, prefilled=True).requests
    assert tokens_ms(record) == [10, 20, 30, 40]
