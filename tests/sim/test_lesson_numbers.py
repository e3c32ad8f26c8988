"""The lesson's own numbers come out of the simulator exactly: compared in ticks, not within a tolerance."""

from __future__ import annotations

import pytest

from sim import RequestRecord, Result, builtin_scenario, simulate

MS = 10**9  # ticks in a millisecond


def run_builtin(name: str) -> Result:
    return simulate(builtin_scenario(name))


def only(result: Result, class_name: str) -> RequestRecord:
    (record,) = [item for item in result.requests if item.class_name == class_name]
    return record


def test_the_trace_alternates_decode_and_chunk_at_0_8_28_36_and_56_ms() -> None:
    steps = run_builtin("scheduler_trace").steps
    seen = [(step.start_ticks, step.kind, step.duration_ticks) for step in steps[:5]]
    assert seen == [
        (0, "decode", 8 * MS),
        (8 * MS, "chunk", 20 * MS),
        (28 * MS, "decode", 8 * MS),
        (36 * MS, "chunk", 20 * MS),
        (56 * MS, "decode", 8 * MS),
    ]
    assert [step.prefill_tokens for step in steps[:5]] == [0, 512, 0, 512, 0]
    assert [step.decode_seqs for step in steps[:5]] == [3, 0, 3, 0, 3]


def test_the_trace_reads_the_document_in_sixteen_chunks_and_gives_its_first_token_with_the_last() -> None:
    result = run_builtin("scheduler_trace")
    chunks = [step for step in result.steps if step.kind == "chunk"]
    assert [step.prefill_tokens for step in chunks] == [512] * 16
    document = only(result, "document")
    assert document.first_token_ticks == chunks[-1].start_ticks + chunks[-1].duration_ticks
    # sixteen rounds of decode and chunk, 28 ms each, from time 0
    assert document.first_token_ticks == 16 * 28 * MS
    assert document.scheduled_ticks == 8 * MS


@pytest.mark.parametrize(
    ("name", "queue", "preprocess", "prefill", "ttft", "gap", "tokens", "e2e"),
    [
        ("worked_example", 120, 30, 250, 400, 20, 50, 1380),
        ("worked_example_changed", 120, 30, 180, 330, 28, 50, 1702),
        ("exercise", 100, 40, 160, 300, 25, 31, 1050),
        ("exercise_queue_doubled", 200, 40, 160, 400, 25, 31, 1150),
    ],
)
def test_stages_first_token_and_completion_are_exact(
    name: str, queue: int, preprocess: int, prefill: int, ttft: int, gap: int, tokens: int, e2e: int
) -> None:
    result = run_builtin(name)
    yours = only(result, "yours")
    assert yours.queued_ticks is not None
    assert yours.queued_ticks - yours.arrival_ticks == preprocess * MS
    assert yours.queue_ticks == queue * MS
    assert yours.prefill_ticks == prefill * MS
    assert yours.ttft_ticks == ttft * MS
    assert yours.gap_ticks == (gap * MS,) * (tokens - 1)
    assert yours.e2e_ticks == e2e * MS
    assert yours.tpot_s == gap / 1000
    assert result.metric("yours.ttft_s") == ttft / 1000
    assert result.metric("yours.itl_s.max") == gap / 1000
    assert result.metric("yours.e2e_s.p99") == e2e / 1000


def test_doubling_the_queue_moves_first_token_and_completion_by_100_ms_and_no_gap() -> None:
    once, twice = only(run_builtin("exercise"), "yours"), only(run_builtin("exercise_queue_doubled"), "yours")
    assert once.ttft_ticks is not None
    assert once.e2e_ticks is not None
    assert twice.ttft_ticks == once.ttft_ticks + 100 * MS
    assert twice.e2e_ticks == once.e2e_ticks + 100 * MS
    assert twice.gap_ticks == once.gap_ticks
