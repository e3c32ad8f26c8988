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


TRIALS = ("trial_baseline", "trial_larger_prompt_batch", "trial_bounded_chunks")


def test_the_three_trials_differ_only_in_how_much_prompt_work_a_step_may_hold() -> None:
    scenarios = [builtin_scenario(name) for name in TRIALS]
    bounds = {"token_budget": 1, "chunk_tokens": 1}
    alike = [
        item.model_copy(update={"name": "", "server": item.server.model_copy(update=bounds)}) for item in scenarios
    ]
    assert alike[0] == alike[1] == alike[2]


def test_the_three_trials_have_the_directions_of_the_lessons_table() -> None:
    baseline, larger, bounded = (run_builtin(name) for name in TRIALS)

    def held(result: Result) -> dict[str, bool | None]:
        return {f"{name}.{check.metric}": check.held for name, group in result.classes.items() for check in group.slo}

    assert held(baseline) == {"chat.ttft": True, "chat.itl": True, "document.ttft": True}
    assert held(larger) == {"chat.ttft": False, "chat.itl": False, "document.ttft": True}
    assert held(bounded) == {"chat.ttft": True, "chat.itl": True, "document.ttft": True}

    def column(metric: str) -> list[float]:
        values = [result.metric(metric) for result in (baseline, bounded, larger)]
        return [value for value in values if value is not None]

    # The bounded chunks lie between the other two, as in the table.
    for rising in ("output_tokens_per_s", "chat.itl_s.p95"):
        assert column(rising) == sorted(set(column(rising)))
        assert len(column(rising)) == 3
    assert max(column("chat.ttft_s.p95")) == larger.metric("chat.ttft_s.p95")
    documents = column("document.ttft_s.p95")
    assert documents == sorted(set(documents), reverse=True)
    assert all(result.counts.completed == result.counts.submitted for result in (baseline, larger, bounded))


@pytest.mark.parametrize("seed", range(2, 8))
def test_the_verdict_on_every_limit_does_not_hang_on_the_seed(seed: int) -> None:
    verdicts = []
    for name in TRIALS:
        result = simulate(builtin_scenario(name).model_copy(update={"seed": seed}))
        verdicts.append([check.held for group in result.classes.values() for check in group.slo])
    assert verdicts == [[True, True, True], [False, False, True], [True, True, True]]
