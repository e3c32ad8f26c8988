"""What holds for every scenario: nothing is lost, time runs forward, and a rerun is the same to the bit."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Result, Scenario, parse_scenario, simulate

milliseconds = st.integers(0, 40).map(lambda n: n / 1000)


@st.composite
def lengths(draw: st.DrawFn, high: int) -> object:
    match draw(st.sampled_from(["plain", "uniform", "lognormal"])):
        case "plain":
            return draw(st.integers(1, high))
        case "uniform":
            low = draw(st.integers(1, high))
            return {"dist": "uniform", "low_tokens": low, "high_tokens": draw(st.integers(low, high))}
        case _:
            return {
                "dist": "lognormal",
                "median_tokens": draw(st.integers(1, high)),
                "sigma": draw(st.sampled_from([0.0, 0.5, 1.5])),
                "max_tokens": high,
            }


@st.composite
def arrivals(draw: st.DrawFn) -> dict[str, object]:
    kind = draw(st.sampled_from(["times", "deterministic", "poisson"]))
    if kind == "times":
        return {"kind": kind, "times_s": draw(st.lists(milliseconds, min_size=1, max_size=8))}
    return {
        "kind": kind,
        "rate_per_s": draw(st.sampled_from([0.5, 3.0, 50.0, 400.0])),
        "count": draw(st.integers(1, 8)),
        "start_s": draw(milliseconds),
    }


@st.composite
def traffic(draw: st.DrawFn, name: str) -> dict[str, object]:
    return {
        "name": name,
        "prompt_tokens": draw(lengths(60)),
        "output_tokens": draw(lengths(12)),
        "arrivals": draw(arrivals()),
        "preprocess_s": draw(milliseconds),
        "transport_s": draw(st.sampled_from([0.0, 0.002, 0.03])),
        "patience_s": draw(st.none() | st.integers(1, 150).map(lambda n: n / 1000)),
        "prefilled": draw(st.booleans()),
    }


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    seats = draw(st.integers(1, 5))
    server: dict[str, Any] = {
        "policy": draw(st.sampled_from(["static", "continuous", "alternating", "mixed"])),
        "max_seqs": seats,
        "batch_size": draw(st.none() | st.integers(1, seats)),
        "prompt_batch": draw(st.none() | st.integers(1, 3)),
        "chunk_tokens": draw(st.none() | st.integers(1, 40)),
        "token_budget": draw(st.integers(1, 50)),
        "queue_limit": draw(st.none() | st.integers(0, 3)),
    }
    cost = draw(
        st.sampled_from(
            [
                {"kind": "fixed", "prefill_s": 0.01, "decode_s": 0.004, "chunk_s": 0.006},
                {"kind": "fixed", "prefill_s": 0.0, "decode_s": 0.004, "chunk_s": 0.0},
                {"kind": "linear", "base_s": 0.001, "per_prefill_token_s": 1e-4, "per_decode_seq_s": 5e-4},
                {"kind": "linear", "per_prefill_token_s": 1.7e-4, "per_context_token_s": 3.1e-6},
            ]
        )
    )
    return parse_scenario(
        {
            "name": "generated",
            "seed": draw(st.integers(0, 5)),
            "classes": [draw(traffic(name)) for name in ("a", "b")[: draw(st.integers(1, 2))]],
            "server": server,
            "step_cost": cost,
            "horizon_s": draw(st.none() | st.integers(1, 300).map(lambda n: n / 1000)),
        },
        "generated",
    )


def check_counts(result: Result) -> None:
    counts = result.counts
    assert counts.submitted == len(result.requests)
    assert counts.submitted == counts.rejected + counts.cancelled + counts.completed + counts.in_flight
    assert counts.completed <= counts.admitted <= counts.submitted - counts.rejected
    if result.scenario.horizon_s is None:
        assert counts.in_flight == 0


def check_requests(result: Result) -> None:
    classes = {item.name: item for item in result.scenario.classes}
    for record in result.requests:
        moments = [
            record.arrival_ticks,
            record.queued_ticks,
            record.scheduled_ticks,
            record.first_token_ticks,
            record.last_token_ticks,
        ]
        passed = [moment for moment in moments if moment is not None]
        assert passed == sorted(passed)
        assert len(record.gap_ticks) == max(0, record.output_tokens - 1)
        if record.output_tokens:
            assert record.first_token_ticks is not None
            assert record.first_token_ticks + sum(record.gap_ticks) == record.last_token_ticks
            assert record.computed_prompt_tokens == (
                0 if classes[record.class_name].prefilled else record.prompt_tokens
            )
        patience = classes[record.class_name].patience_s
        if record.status == "completed":
            assert record.output_tokens == record.wanted_tokens
            assert record.ended_ticks == record.last_token_ticks
            assert patience is None or (record.ttft_s is not None and record.ttft_s <= patience)
        else:
            assert record.output_tokens < record.wanted_tokens
        if record.status in ("cancelled", "rejected"):
            assert record.output_tokens == 0
        if record.status == "rejected":
            assert record.queued_ticks is None


def check_steps(result: Result) -> None:
    clock = 0
    for step in result.steps:
        assert step.start_ticks >= clock
        assert step.duration_ticks >= 0
        assert step.prefill_tokens + step.decode_seqs > 0
        assert step.decode_seqs <= result.scenario.server.max_seqs
        if result.scenario.server.policy == "mixed":
            assert step.prefill_tokens + step.decode_seqs <= result.scenario.server.token_budget
        clock = step.start_ticks + step.duration_ticks


def check_work(result: Result) -> None:
    """Tokens in the steps are the tokens of the requests; a token comes from a decode or ends a prompt."""
    assert sum(step.prefill_tokens for step in result.steps) == result.work.prompt_tokens
    if result.scenario.horizon_s is None:
        prefilled = {item.name for item in result.scenario.classes if item.prefilled}
        finished_prompts = sum(
            record.computed_prompt_tokens == record.prompt_tokens
            for record in result.requests
            if record.class_name not in prefilled
        )
        decodes = sum(step.decode_seqs for step in result.steps)
        assert decodes + finished_prompts == result.work.output_tokens


@settings(max_examples=150, deadline=None)
@given(scenarios())
def test_every_run_keeps_the_books(scenario: Scenario) -> None:
    result = simulate(scenario)
    check_counts(result)
    check_requests(result)
    check_steps(result)
    check_work(result)


@settings(max_examples=40, deadline=None)
@given(scenarios())
def test_a_rerun_is_equal_to_the_bit(scenario: Scenario) -> None:
    first, second = simulate(scenario), simulate(scenario)
    assert first == second
    assert first.to_dict() == second.to_dict()


@settings(max_examples=60, deadline=None)
@given(scenarios())
def test_the_replica_never_idles_while_a_request_could_run(scenario: Scenario) -> None:
    """Between two steps with a gap in time, nobody was waiting in the queue."""
    # With a horizon, tokens may be on their way to the client for ever, and nobody knows when the server was done.
    result = simulate(scenario.model_copy(update={"horizon_s": None}))
    for before, after in zip(result.steps, result.steps[1:], strict=False):
        end = before.start_ticks + before.duration_ticks
        if after.start_ticks > end:
            for record in result.requests:
                if record.queued_ticks is None or record.queued_ticks >= after.start_ticks:
                    continue
                left = record.ended_ticks
                server_done = None if left is None else left - record.transport_ticks
                assert left is not None
                assert server_done is not None
                # Whoever joins the queue in the gap and gives up at that very instant never waited.
                assert server_done <= end or left == record.queued_ticks
