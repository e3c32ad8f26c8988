"""Runs taken at once and steps taken one by one decide the same, to the last token's tick."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import parse_scenario
from sim.arrivals import Requests
from sim.cost import LinearCost, cost_model
from sim.errors import ScenarioError
from sim.kv import TokenStream
from sim.lane import Lane
from sim.log import LIFE
from sim.scenario import Scenario
from sim.vllm import EngineConfig
from sim.vllm.job import Job
from sim.vllm.replica import Replica as VllmReplica

TICK_S = 1e-12


@dataclass(frozen=True)
class Ask:
    at: int
    own: int
    shared: tuple[str, int] | None
    outputs: int
    priority: int
    leaves_after: int | None


asks = st.lists(
    st.builds(
        Ask,
        at=st.integers(0, 3000),
        own=st.integers(1, 40),
        shared=st.none() | st.tuples(st.sampled_from("xy"), st.integers(1, 24)),
        outputs=st.integers(1, 30),
        priority=st.integers(0, 2),
        leaves_after=st.none() | st.none() | st.integers(0, 1500),
    ),
    min_size=1,
    max_size=14,
)
configs = st.builds(
    EngineConfig,
    max_num_batched_tokens=st.integers(1, 80),
    max_num_seqs=st.integers(1, 8),
    block_size=st.sampled_from([1, 3, 4]),
    usable_kv_blocks=st.integers(12, 110),
    long_prefill_token_threshold=st.sampled_from([0, 0, 0, 5]),
    enable_prefix_caching=st.booleans(),
    policy=st.sampled_from(["fcfs", "fcfs", "priority"]),
    max_model_len=st.sampled_from([60, 2000]),
    watermark=st.sampled_from([0.0, 0.1]),
    reserve_full_prompt_at_admission=st.booleans(),
    prefill_schedule_interval=st.sampled_from([1, 1, 1, 2]),
)
costs = st.builds(
    LinearCost,
    kind=st.just("linear"),
    base_s=st.integers(1, 50).map(lambda n: n * TICK_S),
    per_prefill_token_s=st.integers(0, 3).map(lambda n: n * TICK_S),
    per_prefill_pair_s=st.integers(0, 2).map(lambda n: n * TICK_S),
    per_decode_seq_s=st.integers(0, 9).map(lambda n: n * TICK_S),
    per_context_token_s=st.integers(0, 2).map(lambda n: n * TICK_S),
)


def token_times(replica: VllmReplica, job: Job) -> list[int]:
    """When each token came out, from the record."""
    if job.first_token < 0:
        return []
    table = replica.runs
    runs = list(zip(*(table[name].tolist() for name in ("steps", "first", "growth")), strict=True))
    times = [job.first_token]
    spans = [*job.stretches, (job.first_run, job.last_run)]
    for number, (begin, end) in enumerate(spans):
        if number:
            times.append(times[-1] + job.gaps[number - 1])
        for steps, first, growth in runs[begin + 1 : end + 1]:
            for step in range(steps):
                times.append(times[-1] + first + step * growth)
    assert len(times) == job.generated
    assert times[-1] == job.last_token
    return times


def drive(
    config: EngineConfig, cost: LinearCost, plans: list[Ask], fast: bool, looks: list[int], old: bool
) -> list[object]:
    """All that is decided, with the outside looking in at `looks`."""
    replica = VllmReplica(config, cost_model(cost), "0.11" if old else "0.33", fast=fast)
    jobs = []
    events: list[tuple[int, int, int]] = [(time, 2, 0) for time in looks]
    for number, ask in enumerate(plans):
        shared = ask.shared[1] if ask.shared else 0
        job = Job(number, ask.own + shared, ask.outputs, priority=ask.priority, arrival=number)
        if ask.shared:
            job.text = TokenStream([ask.shared, (f"prompt_of:{number}", ask.own)], config.block_size)
            job.shared_tokens = shared
        jobs.append(job)
        events.append((ask.at, 0, number))
        if ask.leaves_after is not None:
            events.append((ask.at + ask.leaves_after, 1, number))
    events.sort(reverse=True)
    finished: list[tuple[int, int]] = []
    refused: set[int] = set()
    now = 0
    while events or replica.end is not None:
        if replica.end is not None and (not events or replica.end <= events[-1][0]):
            now = replica.end
            finished += [(now, job.index) for job in replica.settle(now)]
        else:
            now = events[-1][0]
        while events and events[-1][0] == now:
            _, kind, number = events.pop()
            if kind == 0:
                jobs[number].index = number
                try:
                    replica.submit(jobs[number], now)
                except ValueError:
                    refused.add(number)
            elif kind == 1 and number not in refused:
                assert not replica.abort(jobs[number], now)
            else:
                assert not replica.settle(now)
        if replica.end is None:
            replica.plan(now)
    assert replica.scheduler.pool.free == config.usable_kv_blocks
    lives = [
        (
            job.status,
            job.queued,
            job.scheduled,
            token_times(replica, job),
            job.cached_tokens,
            job.prefilled_tokens,
            job.preemptions,
        )
        for job in jobs
    ]
    table = replica.runs
    steps = [
        (start + step * first + growth * (step * (step - 1) // 2), first + step * growth, kind, prefill, decode)
        for start, steps, first, growth, kind, prefill, decode in zip(
            *(table[name].tolist() for name in ("start", "steps", "first", "growth", "kind", "prefill_tokens")),
            table["decode_seqs"].tolist(),
            strict=True,
        )
        for step in range(steps)
    ]
    return [finished, lives, steps]


@settings(max_examples=400, deadline=None)
@given(configs, costs, asks, st.lists(st.integers(0, 4000), max_size=6), st.booleans())
def test_runs_at_once_and_step_by_step_agree_to_the_last_token(
    config: EngineConfig, cost: LinearCost, plans: list[Ask], looks: list[int], old: bool
) -> None:
    try:
        stepwise = drive(config, cost, plans, False, [], old)
    except ScenarioError:
        with pytest.raises(ScenarioError, match="for ever"):
            drive(config, cost, plans, True, looks, old)
        return
    assert drive(config, cost, plans, True, looks, old) == stepwise


def log_of(scenario: Scenario, requests: Requests, fast: bool) -> tuple[list[object], list[object]]:
    """Lives with the time of every token, and steps."""
    log = Lane(scenario, requests, fast=fast).run()
    runs = list(zip(*(log.runs[0][name].tolist() for name in ("start", "steps", "first", "growth")), strict=True))
    steps = [
        (start + step * first + growth * (step * (step - 1) // 2), first + step * growth)
        for start, count, first, growth in runs
        for step in range(count)
    ]
    gaps: dict[int, list[int]] = {}
    for number, gap in zip(log.gaps["id"].tolist(), log.gaps["ticks"].tolist(), strict=True):
        gaps.setdefault(number, []).append(gap)
    later: dict[int, list[tuple[int, int]]] = {}
    for number, begin, end in zip(
        *(log.stretches[name].tolist() for name in ("id", "first_run", "last_run")), strict=True
    ):
        later.setdefault(number, []).append((begin, end))
    lives: list[object] = []
    for row in log.lives.rows().tolist():
        life = dict(zip(LIFE, row, strict=True))
        spans = [(life.pop("first_run"), life.pop("last_run")), *later.get(life["id"], [])]
        times = [life["first_token"]]
        for number, (begin, end) in enumerate(spans):
            if number:
                times.append(times[-1] + gaps[life["id"]][number - 1])
            for _, count, first, growth in runs[begin + 1 : end + 1]:
                times += [times[-1] + count_first for count_first in _sums(count, first, growth)]
        assert len(times) == life["output_tokens"]
        assert times[-1] == life["last_token"]
        lives.append((life, times))
    return lives, list(steps)


def _sums(count: int, first: int, growth: int) -> list[int]:
    return [(step + 1) * first + growth * (step * (step + 1) // 2) for step in range(count)]


rows = st.lists(
    st.tuples(
        st.integers(0, 2500),
        st.integers(0, 1),
        st.integers(1, 60),
        st.integers(1, 40),
        st.none() | st.none() | st.none() | st.tuples(st.sampled_from("xy"), st.integers(1, 24)),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=30,
)
servers = st.fixed_dictionaries(
    {
        "policy": st.just("vllm"),
        "max_seqs": st.integers(1, 9),
        "token_budget": st.integers(1, 90),
        "kv_blocks": st.none() | st.integers(12, 300),
        "block_tokens": st.sampled_from([1, 3, 4, 16]),
        "prefix_cache": st.booleans(),
        "watermark": st.sampled_from([0.0, 0.05]),
        "order": st.sampled_from(["fcfs", "fcfs", "fcfs", "priority"]),
        "reserve_full_prompt": st.booleans(),
        "long_prefill_tokens": st.sampled_from([0, 0, 0, 7]),
        "max_model_tokens": st.sampled_from([90, 10_000]),
        "engine_version": st.sampled_from(["0.33", "0.33", "0.11"]),
    }
)


@settings(max_examples=300, deadline=None)
@given(servers, costs, rows, st.integers(0, 40))
def test_the_lane_agrees_with_itself_step_by_step(
    server: dict[str, object], cost: LinearCost, asked: list[tuple[int, int, int, int, object, int]], late: int
) -> None:
    arrivals = {"kind": "times", "times_s": [0.0]}
    plain = {"prompt_tokens": 1, "output_tokens": 1, "arrivals": arrivals}
    scenario = parse_scenario(
        {
            "name": "random",
            "classes": [
                {"name": "a", **plain},
                {"name": "b", **plain, "preprocess_s": late * TICK_S, "transport_s": 7e-12},
            ],
            "server": server,
            "step_cost": cost.model_dump(),
        },
        "test",
    )
    asked = sorted(asked, key=lambda row: row[0])
    requests = Requests(
        [row[0] for row in asked],
        [row[1] for row in asked],
        list(range(1, len(asked) + 1)),
        [row[2] + (row[4][1] if isinstance(row[4], tuple) else 0) for row in asked],
        [row[3] for row in asked],
        [(row[4],) if isinstance(row[4], tuple) else () for row in asked],
        [row[5] for row in asked],
    )
    assert outcome(scenario, requests, fast=True) == outcome(scenario, requests, fast=False)


def outcome(scenario: Scenario, requests: Requests, fast: bool) -> tuple[list[object], list[object]] | str:
    """What comes of it, or the sentence that refuses it."""
    try:
        return log_of(scenario, requests, fast)
    except ScenarioError as error:
        return str(error)
