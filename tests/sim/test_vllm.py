"""The step scheduler's rules where the recorded cases do not reach, and what holds for every run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.kv import TokenStream
from sim.vllm import Engine, EngineConfig, EngineRequest, Scheduler, StepPlan


def engine(version: Engine = "0.33", **settings: object) -> Scheduler:
    plain: dict[str, object] = {
        "max_num_batched_tokens": 100,
        "max_num_seqs": 8,
        "usable_kv_blocks": 1000,
        "max_model_len": 1000,
        "enable_prefix_caching": False,
    }
    return Scheduler(EngineConfig.model_validate(plain | settings), version)


def ask(scheduler: Scheduler, name: str, prompt: int, outputs: int, **more: object) -> EngineRequest:
    request = EngineRequest(name, prompt, max_tokens=outputs)
    for field, value in more.items():
        setattr(request, field, value)
    scheduler.add(request)
    return request


def step(scheduler: Scheduler) -> dict[str, int]:
    plan = scheduler.plan()
    scheduler.complete(plan)
    return named(plan)


def named(plan: StepPlan) -> dict[str, int]:
    return {str(request.id): tokens for request, tokens in plan.scheduled.items()}


def test_cadence_lets_prompts_in_at_every_third_step_while_something_decodes() -> None:
    scheduler = engine(prefill_schedule_interval=3)
    ask(scheduler, "a", 10, 20)
    assert step(scheduler) == {"a": 10}
    ask(scheduler, "b", 150, 20)
    assert [step(scheduler) for _ in range(2)] == [{"a": 1}] * 2
    # The budget of 100 leaves 99 of the prompt's 150; the rest waits for the next turn as well.
    assert step(scheduler) == {"a": 1, "b": 99}
    assert [step(scheduler) for _ in range(2)] == [{"a": 1}] * 2
    assert step(scheduler) == {"a": 1, "b": 51}


def test_cadence_holds_nothing_back_when_nothing_decodes() -> None:
    scheduler = engine(prefill_schedule_interval=3)
    ask(scheduler, "a", 250, 2)
    assert [step(scheduler) for _ in range(3)] == [{"a": 100}, {"a": 100}, {"a": 50}]


def test_cadence_goes_on_releasing_while_the_last_release_left_a_backlog() -> None:
    scheduler = engine(prefill_schedule_interval=3)
    for name in "abc":
        ask(scheduler, name, 60, 9)
    assert step(scheduler) == {"a": 60, "b": 40}
    assert step(scheduler) == {"a": 1, "b": 20, "c": 60}
    ask(scheduler, "d", 10, 9)
    assert step(scheduler) == {"a": 1, "b": 1, "c": 1}
    assert step(scheduler) == {"a": 1, "b": 1, "c": 1, "d": 10}


def test_cadence_lets_a_prompt_in_that_the_cache_holds_but_for_one_token() -> None:
    scheduler = engine(prefill_schedule_interval=3, enable_prefix_caching=True)
    scheduler.add(EngineRequest("a", 40, max_tokens=9, text=TokenStream([("p", 40)], 16)))
    step(scheduler)
    scheduler.add(EngineRequest("b", 33, max_tokens=9, text=TokenStream([("p", 33)], 16)))
    scheduler.add(EngineRequest("c", 34, max_tokens=9, text=TokenStream([("p", 34)], 16)))
    assert step(scheduler) == {"a": 1, "b": 1}
    assert step(scheduler) == {"a": 1, "b": 1}
    assert step(scheduler) == {"a": 1, "b": 1, "c": 2}


def test_cadence_is_not_in_the_old_engine() -> None:
    scheduler = engine("0.11", prefill_schedule_interval=3)
    ask(scheduler, "a", 10, 20)
    step(scheduler)
    ask(scheduler, "b", 50, 20)
    assert step(scheduler) == {"a": 1, "b": 50}


@pytest.mark.parametrize(("version", "first"), [("0.33", {"a": 80}), ("0.11", {"a": 80, "c": 10})])
def test_without_chunks_only_the_old_engine_lets_others_past_a_prompt_that_does_not_fit(
    version: Engine, first: dict[str, int]
) -> None:
    scheduler = engine(version, enable_chunked_prefill=False)
    for name, prompt in (("a", 80), ("b", 50), ("c", 10)):
        ask(scheduler, name, prompt, 5)
    assert step(scheduler) == first
    assert scheduler.waiting[0].id == "b"


def test_the_old_engine_passes_over_a_request_after_taking_a_victim_before_it() -> None:
    def crowded(version: Engine) -> StepPlan:
        scheduler = engine(version, policy="priority", usable_kv_blocks=6)
        ask(scheduler, "low", 30, 9, priority=5)
        step(scheduler)
        ask(scheduler, "mid", 32, 9, priority=1)
        ask(scheduler, "high", 32, 9, priority=0)
        step(scheduler)
        return scheduler.plan()

    # Everyone holds two blocks. low still has room for a token, high needs a third block and takes low's.
    assert named(crowded("0.33")) == {"high": 1, "mid": 1}
    # The old engine keeps low's token in the step and forgets mid.
    assert named(crowded("0.11")) == {"low": 1, "high": 1}


def outputs_until_end(**more: object) -> tuple[str, int]:
    scheduler = engine(max_model_len=40)
    request = ask(scheduler, "a", 30, 6, **more)
    while not request.status.startswith("finished"):
        assert step(scheduler)
    return request.status, request.generated


@pytest.mark.parametrize(
    ("more", "end"),
    [
        ({}, ("finished_length_capped", 6)),
        ({"max_tokens": 99}, ("finished_length_capped", 10)),
        ({"eos_at": 3}, ("finished_stopped", 3)),
        ({"eos_at": 3, "ignore_eos": True}, ("finished_length_capped", 6)),
        ({"stop_at": 2, "eos_at": 3}, ("finished_stopped", 2)),
        ({"stop_at": 2, "ignore_eos": True}, ("finished_stopped", 2)),
        ({"eos_at": 3, "min_tokens": 4}, ("finished_length_capped", 6)),
        ({"eos_at": 4, "min_tokens": 4}, ("finished_stopped", 4)),
        ({"min_tokens": 50}, ("finished_length_capped", 6)),
        ({"eos_at": 6}, ("finished_stopped", 6)),
    ],
)
def test_stop_rules(more: dict[str, object], end: tuple[str, int]) -> None:
    assert outputs_until_end(**more) == end


def test_aborted_requests_give_back_seat_and_blocks_and_may_be_aborted_again() -> None:
    scheduler = engine(max_num_seqs=1)
    first, second = ask(scheduler, "a", 33, 5), ask(scheduler, "b", 5, 5)
    step(scheduler)
    assert scheduler.pool.free == 1000 - 3
    for _ in range(2):
        scheduler.abort(first)
    assert scheduler.pool.free == 1000
    assert step(scheduler) == {"b": 5}
    scheduler.abort(second)
    assert (first.status, second.status, second.generated) == ("finished_aborted", "finished_aborted", 1)
    assert step(scheduler) == {}


def test_a_lone_request_that_outgrows_the_cache_gives_way_to_itself_and_never_returns() -> None:
    scheduler = engine(usable_kv_blocks=2)
    request = ask(scheduler, "a", 31, 50)
    assert [step(scheduler) for _ in range(5)] == [{"a": 31}, {"a": 1}, {}, {}, {}]
    assert (request.status, request.preemptions, request.generated) == ("preempted", 1, 2)
    assert scheduler.pool.free == 2


def test_rejected_drafts_are_computed_but_do_not_count() -> None:
    scheduler = engine()
    request = ask(scheduler, "a", 10, 20)
    step(scheduler)
    request.drafts = 3
    plan = scheduler.plan()
    assert named(plan) == {"a": 4}
    assert scheduler.complete(plan, {request: 2}) == []
    # Prompt, first token and one accepted draft have their KV; the bonus token does not yet.
    assert (request.generated, request.computed) == (3, 12)
    assert step(scheduler) == {"a": 1}
    request.drafts = 1
    plan = scheduler.plan()
    with pytest.raises(ValueError, match="cannot emit 3 tokens with 1 drafts"):
        scheduler.complete(plan, {request: 3})


def test_tokens_after_the_one_that_ends_a_request_are_dropped() -> None:
    scheduler = engine()
    request = ask(scheduler, "a", 10, 3)
    step(scheduler)
    request.drafts = 4
    assert scheduler.complete(scheduler.plan(), {request: 5}) == [request]
    assert (request.status, request.generated) == ("finished_length_capped", 3)


def test_what_the_engine_refuses() -> None:
    scheduler = engine()
    for prompt in (0, 1001):
        with pytest.raises(ValueError, match=f"prompt of {prompt} tokens"):
            ask(scheduler, "b", prompt, 1)


@dataclass(frozen=True)
class Arrival:
    step: int
    segments: tuple[tuple[str, int], ...]
    outputs: int
    priority: int
    abort_after: int | None


arrivals = st.lists(
    st.builds(
        Arrival,
        step=st.integers(0, 12),
        segments=st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 14)), min_size=1, max_size=3).map(tuple),
        outputs=st.integers(1, 10),
        priority=st.integers(0, 2),
        abort_after=st.none() | st.integers(0, 6),
    ),
    min_size=1,
    max_size=8,
)
# The longest sequence, 3 × 14 prompt tokens and 10 outputs, fits 13 blocks of 4, so everyone can finish.
configs = st.builds(
    EngineConfig,
    max_num_batched_tokens=st.integers(1, 60),
    max_num_seqs=st.integers(1, 5),
    block_size=st.just(4),
    usable_kv_blocks=st.integers(13, 30),
    long_prefill_token_threshold=st.sampled_from([0, 3, 10]),
    long_prefill_token_threshold_adaptive=st.booleans(),
    enable_prefix_caching=st.booleans(),
    policy=st.sampled_from(["fcfs", "priority"]),
    max_model_len=st.integers(52, 80),
    watermark=st.sampled_from([0.0, 0.1]),
    prefill_schedule_interval=st.integers(1, 3),
)


def check_step(scheduler: Scheduler, plan: StepPlan) -> None:
    config = scheduler.config
    assert plan.total_tokens <= config.max_num_batched_tokens
    assert all(tokens > 0 for tokens in plan.scheduled.values())
    assert len(scheduler.running) <= config.max_num_seqs
    assert not (plan.preempted and (plan.admitted or plan.resumed))
    assert not set(plan.preempted) & set(plan.scheduled)
    shared = {block for request in scheduler.running for block in request.blocks}
    own = sum(request.held - len(request.blocks) for request in scheduler.running)
    assert scheduler.pool.free + len(shared) + own == config.usable_kv_blocks
    for request in scheduler.running:
        assert request.held * 4 >= request.computed
        assert len(request.blocks) <= request.full <= request.held
    ranks = [request.rank for request in scheduler.waiting]
    assert config.policy == "fcfs" or ranks == sorted(ranks)


@settings(max_examples=120, deadline=None)
@given(configs, arrivals)
def test_every_run_keeps_its_bounds_and_ends(config: EngineConfig, plans: list[Arrival]) -> None:
    scheduler = Scheduler(config)
    requests: dict[int, EngineRequest] = {}
    computed: Counter[EngineRequest] = Counter()
    saved: Counter[EngineRequest] = Counter()
    for now in range(2000):
        for number, arrival in enumerate(plans):
            if arrival.step == now:
                text = TokenStream(arrival.segments, config.block_size)
                requests[number] = EngineRequest(
                    str(number), text.tokens, arrival.outputs, text, priority=arrival.priority, arrival=now
                )
                scheduler.add(requests[number])
            if arrival.abort_after is not None and arrival.step + arrival.abort_after == now:
                scheduler.abort(requests[number])
        plan = scheduler.plan()
        check_step(scheduler, plan)
        computed.update(plan.scheduled)
        saved.update(plan.cached_tokens)
        assert all(tokens < request.total for request, tokens in plan.cached_tokens.items())
        scheduler.complete(plan)
        if now > 20 and not scheduler.running and not scheduler.waiting:
            break
    else:
        pytest.fail("the run does not end")
    assert scheduler.pool.free == config.usable_kv_blocks
    for number, request in requests.items():
        assert not request.held
        if request.status == "finished_aborted":
            continue
        assert request.generated == plans[number].outputs
        if not request.preemptions:
            # Every token but the last is computed once or was found.
            assert computed[request] + saved[request] == request.total - 1


@settings(max_examples=120, deadline=None)
@given(configs, arrivals, st.booleans())
def test_a_text_of_its_own_is_as_good_as_none(config: EngineConfig, plans: list[Arrival], old: bool) -> None:
    """Blocks that nobody can ask for are only counted; what is decided is the same as if each had its key."""

    def run(text: bool) -> list[object]:
        scheduler = Scheduler(config, "0.11" if old else "0.33")
        requests: list[EngineRequest] = []
        trail: list[object] = []
        for now in range(400):
            for number, arrival in enumerate(plans):
                if arrival.step == now:
                    tokens = sum(length for _, length in arrival.segments)
                    own = TokenStream([(f"own {number}", tokens)], 4) if text else None
                    request = EngineRequest(number, tokens, arrival.outputs, own, None, arrival.priority, now)
                    requests.append(request)
                    scheduler.add(request)
            plan = scheduler.plan()
            trail.append(
                [
                    {request.id: tokens for request, tokens in plan.scheduled.items()},
                    [request.id for request in plan.preempted],
                    {request.id: tokens for request, tokens in plan.cached_tokens.items()},
                    plan.prefix,
                    scheduler.pool.free,
                ]
            )
            scheduler.complete(plan)
        return trail

    assert run(text=True) == run(text=False)
