"""Each policy step by step on small scenarios worked out by hand (times in milliseconds)."""

from __future__ import annotations

from sim import RequestRecord, Result, parse_scenario, simulate

MS = 10**9
UNIT_COST = {"kind": "linear", "per_prefill_token_s": 0.001, "per_decode_seq_s": 0.01}
"""1 ms for a prompt token, 10 ms for each decoding sequence."""


def traffic(name: str, prompt: int, output: int, *times_ms: float, **more: object) -> dict[str, object]:
    return {
        "name": name,
        "prompt_tokens": prompt,
        "output_tokens": output,
        "arrivals": {"kind": "times", "times_s": [time / 1000 for time in times_ms]},
        **more,
    }


def run_classes(
    classes: list[dict[str, object]], server: dict[str, object], cost: object = None, **more: object
) -> Result:
    data = {
        "name": "by hand",
        "classes": classes,
        "server": server,
        "step_cost": UNIT_COST if cost is None else cost,
        **more,
    }
    return simulate(parse_scenario(data, "by hand"))


def trace(result: Result) -> list[tuple[float, str, int, int]]:
    """Start in ms, kind, prompt tokens, decoding sequences."""
    return [(s.start_ticks / MS, s.kind, s.prefill_tokens, s.decode_seqs) for s in result.steps]


def record_of(result: Result, class_name: str) -> RequestRecord:
    (record,) = [item for item in result.requests if item.class_name == class_name]
    return record


def test_static_batch_runs_to_its_end_before_the_next_begins() -> None:
    result = run_classes(
        [traffic("short", 10, 2, 0), traffic("long", 20, 3, 0), traffic("late", 10, 1, 5)],
        {"policy": "static", "max_seqs": 4, "batch_size": 4},
    )
    assert trace(result) == [
        (0, "prefill", 30, 0),
        (30, "decode", 0, 2),
        (50, "decode", 0, 1),
        (60, "prefill", 10, 0),
    ]
    assert record_of(result, "late").queue_s == 0.055


def test_static_batch_takes_no_more_than_its_size() -> None:
    result = run_classes([traffic("a", 10, 1, 0, 0, 0)], {"policy": "static", "max_seqs": 8, "batch_size": 2})
    assert trace(result) == [(0, "prefill", 20, 0), (20, "prefill", 10, 0)]


def test_continuous_admits_a_prompt_between_decodes_and_decodes_wait_for_all_of_it() -> None:
    result = run_classes(
        [traffic("chat", 10, 3, 0), traffic("document", 100, 1, 15)],
        {"policy": "continuous", "max_seqs": 4},
    )
    assert trace(result) == [
        (0, "prefill", 10, 0),
        (10, "decode", 0, 1),
        (20, "prefill", 100, 0),
        (120, "decode", 0, 1),
    ]
    assert record_of(result, "chat").gaps_s == (0.01, 0.11)


def test_continuous_without_a_free_seat_makes_the_prompt_wait() -> None:
    result = run_classes(
        [traffic("first", 10, 3, 0), traffic("second", 5, 1, 1)], {"policy": "continuous", "max_seqs": 1}
    )
    assert record_of(result, "second").queue_s == 0.029
    assert record_of(result, "second").ttft_s == 0.034


def test_prompt_batch_bounds_the_prompts_of_one_prefill_step() -> None:
    result = run_classes([traffic("a", 10, 1, 0, 0, 0)], {"policy": "continuous", "max_seqs": 8, "prompt_batch": 2})
    assert trace(result) == [(0, "prefill", 20, 0), (20, "prefill", 10, 0)]
    assert [record.ttft_s for record in result.requests] == [0.02, 0.02, 0.03]


def test_alternating_gives_a_decode_step_after_every_chunk() -> None:
    result = run_classes(
        [traffic("chat", 10, 4, 0), traffic("document", 25, 1, 15)],
        {"policy": "alternating", "max_seqs": 4, "chunk_tokens": 10},
    )
    assert trace(result) == [
        (0, "chunk", 10, 0),
        (10, "decode", 0, 1),
        (20, "chunk", 10, 0),
        (30, "decode", 0, 1),
        (40, "chunk", 10, 0),
        (50, "decode", 0, 1),
        (60, "chunk", 5, 0),
    ]
    assert record_of(result, "chat").gaps_s == (0.01, 0.02, 0.02)
    assert record_of(result, "document").first_token_s == 0.065


def test_mixed_fills_the_budget_after_the_decodes_with_prompt_chunks() -> None:
    result = run_classes(
        [traffic("chat", 4, 3, 0), traffic("document", 12, 2, 1)],
        {"policy": "mixed", "max_seqs": 4, "token_budget": 8},
    )
    assert trace(result) == [
        (0, "chunk", 4, 0),
        (4, "mixed", 7, 1),
        (21, "mixed", 5, 1),
        (36, "decode", 0, 1),
    ]
    assert record_of(result, "document").scheduled_s == 0.004
    assert record_of(result, "document").first_token_s == 0.036


def test_mixed_bounds_what_one_prompt_takes_so_that_the_next_gets_a_share() -> None:
    result = run_classes(
        [traffic("document", 20, 1, 0), traffic("chat", 4, 1, 0)],
        {"policy": "mixed", "max_seqs": 4, "token_budget": 12, "chunk_tokens": 8},
    )
    assert trace(result) == [(0, "chunk", 12, 0), (12, "chunk", 8, 0), (20, "chunk", 4, 0)]
    assert record_of(result, "chat").ttft_s == 0.012


def test_context_tokens_cost_what_was_computed_before() -> None:
    """Chunks of 4 over a prompt of 8 read 0 then 4 tokens; the decode reads the prompt and one token."""
    result = run_classes(
        [traffic("a", 8, 2, 0)],
        {"policy": "mixed", "max_seqs": 1, "token_budget": 4},
        {"kind": "linear", "base_s": 0.001, "per_context_token_s": 0.001},
    )
    assert [step.duration_ticks // MS for step in result.steps] == [1, 5, 10]


def test_one_token_has_no_gap_and_no_time_per_output_token() -> None:
    result = run_classes([traffic("a", 10, 1, 0)], {"policy": "continuous"})
    (record,) = result.requests
    assert record.gaps_s == ()
    assert record.tpot_s is None
    assert record.ttft_s == record.e2e_s == 0.01
    assert result.classes["a"].tpot is None
    assert result.metric("a.itl_s") is None


def test_transport_delays_what_the_client_sees_but_no_gap_and_no_prefill() -> None:
    result = run_classes([traffic("a", 10, 3, 0, transport_s=0.007)], {"policy": "continuous"})
    (record,) = result.requests
    assert record.prefill_s == 0.01
    assert record.ttft_s == 0.017
    assert record.gaps_s == (0.01, 0.01)
    assert record.e2e_s == 0.037


def test_queue_limit_counts_those_beyond_the_free_seats() -> None:
    result = run_classes([traffic("a", 10, 1, 0, 0, 0, 0)], {"policy": "continuous", "max_seqs": 2, "queue_limit": 1})
    assert [record.status for record in result.requests] == ["completed"] * 3 + ["rejected"]
    assert result.counts == (4, 3, 1, 0, 3, 0, 0)


def test_queue_limit_zero_turns_away_whoever_finds_no_seat() -> None:
    result = run_classes([traffic("a", 10, 1, 0, 5, 10)], {"policy": "continuous", "max_seqs": 1, "queue_limit": 0})
    assert [record.status for record in result.requests] == ["completed", "rejected", "completed"]


def test_the_horizon_leaves_the_unfinished_in_flight() -> None:
    result = run_classes([traffic("a", 10, 5, 0), traffic("b", 10, 5, 90)], {"policy": "continuous"}, horizon_s=0.03)
    assert result.counts == (1, 1, 0, 0, 0, 1, 0)
    (record,) = result.requests
    assert record.status == "in_flight"
    assert record.output_tokens == 3
    assert record.e2e_s is None
    assert result.duration_s == 0.03
    assert result.output_tokens_per_s == 100.0
    assert result.requests_per_s == 0.0


# ---- patience --------------------------------------------------------------------------------------


def test_a_client_that_leaves_the_queue_costs_the_server_nothing() -> None:
    result = run_classes(
        [traffic("first", 50, 1, 0), traffic("impatient", 50, 1, 0, patience_s=0.02)],
        {"policy": "continuous", "max_seqs": 1},
    )
    left = record_of(result, "impatient")
    assert left.status == "cancelled"
    assert left.ended_s == 0.02
    assert left.scheduled_s is None
    assert result.work[:4] == (50, 1, 0, 0)


def test_a_client_that_leaves_during_preprocessing_never_joins_the_queue() -> None:
    result = run_classes([traffic("impatient", 50, 1, 0, preprocess_s=0.03, patience_s=0.02)], {"policy": "continuous"})
    assert result.requests[0].status == "cancelled"
    assert result.counts == (1, 0, 0, 1, 0, 0, 0)
    assert result.steps == ()


def test_leaving_during_prefill_wastes_the_step_and_frees_the_seat_for_the_next() -> None:
    result = run_classes(
        [traffic("impatient", 50, 9, 0, patience_s=0.02), traffic("next", 10, 1, 1)],
        {"policy": "continuous", "max_seqs": 1},
    )
    assert record_of(result, "impatient").status == "cancelled"
    # The running step ends at 50 ms; no decode step for the client that left follows.
    assert trace(result) == [(0, "prefill", 50, 0), (50, "prefill", 10, 0)]
    assert record_of(result, "next").first_token_s == 0.06
    assert result.work.wasted_prompt_tokens == 50
    assert result.work.wasted_output_tokens == 1


def test_leaving_between_chunks_stops_the_rest_of_the_prompt() -> None:
    result = run_classes(
        [traffic("impatient", 50, 1, 0, patience_s=0.015)],
        {"policy": "mixed", "max_seqs": 1, "token_budget": 10},
    )
    assert trace(result) == [(0, "chunk", 10, 0), (10, "chunk", 10, 0)]
    assert result.work[:4] == (20, 0, 20, 0)


def test_leaving_while_the_first_token_is_on_its_way_cancels_a_decoding_request() -> None:
    """The token leaves the server at 10 ms, would be seen at 40, and the client is gone at 25."""
    result = run_classes([traffic("impatient", 10, 9, 0, patience_s=0.025, transport_s=0.03)], {"policy": "continuous"})
    (record,) = result.requests
    assert record.status == "cancelled"
    assert record.first_token_s is None
    assert trace(result) == [(0, "prefill", 10, 0), (10, "decode", 0, 1), (20, "decode", 0, 1)]
    assert result.work[:4] == (10, 3, 10, 3)


def test_a_first_token_exactly_at_the_deadline_is_in_time() -> None:
    result = run_classes([traffic("a", 10, 2, 0, patience_s=0.01)], {"policy": "continuous"})
    assert result.requests[0].status == "completed"
