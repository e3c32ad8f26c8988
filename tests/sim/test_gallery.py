"""The built-in scenarios run, and what their opening lines promise is what comes out."""

from __future__ import annotations

from typing import Any

import pytest

from sim import Result, builtin_scenario, parse_scenario, simulate
from sim.loading import builtin_names, scenarios_dir

LONG = {"autoscaling"}


def changed(name: str, **values: object) -> Result:
    """A built-in scenario with some fields set, `__` for the dots in their paths."""
    data: dict[str, Any] = builtin_scenario(name).model_dump(mode="json")
    for path, value in values.items():
        place: Any = data
        *parents, last = path.split("__")
        for key in parents:
            place = place[int(key) if key.isdigit() else key]
        place[last] = value
    return simulate(parse_scenario(data, name))


def value(result: Result, metric: str) -> float:
    found = result.metric(metric)
    assert found is not None
    return found


@pytest.mark.parametrize("name", sorted(set(builtin_names()) - LONG))
def test_every_scenario_runs_and_says_first_what_it_teaches(name: str) -> None:
    result = simulate(builtin_scenario(name))
    assert sum(result.counts[2:]) == result.counts.submitted > 0
    first = (scenarios_dir() / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert first.endswith(".")


def test_blocks_kept_back_at_admission_save_work_under_pressure() -> None:
    tight, kept, ample = (
        changed("kv_pressure"),
        changed("kv_pressure", server__watermark=0.05),
        changed("kv_pressure", server__kv_blocks=4000),
    )
    assert tight.work.recomputed_tokens > 2 * kept.work.recomputed_tokens > 0
    assert ample.work.recomputed_tokens == 0
    assert value(ample, "chat.ttft_s.p95") < value(tight, "chat.ttft_s.p95")


def test_a_prefix_cache_saves_prompts_as_long_as_they_fit() -> None:
    cached, small, without = (
        changed("prefix_cache"),
        changed("prefix_cache", server__kv_blocks=900),
        changed("prefix_cache", server__prefix_cache=False),
    )
    assert cached.work.cached_tokens > small.work.cached_tokens > without.work.cached_tokens == 0
    assert value(cached, "assistant.ttft_s") < value(without, "assistant.ttft_s")


def test_a_large_budget_serves_documents_sooner_and_stalls_chats() -> None:
    small, large = changed("long_prompts_among_chats"), changed("long_prompts_among_chats", server__token_budget=8192)
    assert value(large, "chat.max_gap_s.p95") > 3 * value(small, "chat.max_gap_s.p95")
    assert value(large, "document.ttft_s") < value(small, "document.ttft_s")


def test_priority_moves_the_waiting_from_short_work_to_long() -> None:
    first, alike = changed("priorities"), changed("priorities", server__order="fcfs")
    assert value(first, "interactive.queue_s") < 0.2 * value(alike, "interactive.queue_s")
    assert value(first, "batch.queue_s") > value(alike, "batch.queue_s")
    assert value(first, "batch.e2e_s.max") >= value(alike, "batch.e2e_s.max")


def test_a_router_that_looks_at_prefixes_saves_the_most_work() -> None:
    turns, affinity = changed("routing"), changed("routing", fleet__routing__kind="prefix_affinity")
    assert affinity.work.cached_tokens > 1.5 * turns.work.cached_tokens
    assert value(affinity, "agent.ttft_s.p95") < value(turns, "agent.ttft_s.p95")


def test_a_router_that_looks_at_load_hides_a_slow_replica_best() -> None:
    turns, load = changed("slow_replica"), changed("slow_replica", fleet__routing__kind="least_outstanding")
    assert value(load, "chat.ttft_s.p99") < 0.2 * value(turns, "chat.ttft_s.p99")


def test_retries_that_nobody_hears_of_keep_a_server_busy_for_nothing() -> None:
    storm, heard, once = (
        changed("retry_storm"),
        changed("retry_storm", classes__0__client__cancel_reaches_server=True),
        changed("retry_storm", classes__0__client__retries__max=0),
    )
    assert storm.work.wasted_output_tokens > storm.work.output_tokens / 2
    assert storm.counts.completed < 0.5 * once.counts.completed < heard.counts.completed
    assert value(storm, "caller.goodput") < 0.5 * value(heard, "caller.goodput")


def test_a_short_queue_keeps_its_promise_to_those_it_takes() -> None:
    short, long = changed("admission_control"), changed("admission_control", fleet__admission__queue_limit=400)
    assert short.counts.rejected > long.counts.rejected
    assert value(short, "chat.goodput") > 2 * value(long, "chat.goodput")


def test_a_lost_replica_is_felt_and_its_work_done_again() -> None:
    lost, whole = changed("replica_loss"), changed("replica_loss", fleet__faults=[])
    assert lost.counts.completed == lost.counts.submitted
    assert lost.work.recomputed_tokens > whole.work.recomputed_tokens == 0
    assert value(lost, "chat.ttft_s.p99") > 5 * value(whole, "chat.ttft_s.p99")


def test_split_pools_have_even_gaps() -> None:
    split, together = changed("split_prefill_decode"), changed("split_prefill_decode", fleet__disaggregated=None)
    assert value(split, "chat.itl_s.p99") < 0.5 * value(together, "chat.itl_s.p99")


@pytest.mark.slow
def test_a_slow_cold_start_costs_more_than_a_fast_one() -> None:
    slow, fast = changed("autoscaling"), changed("autoscaling", fleet__cold_start_s=5)
    assert value(fast, "chat.goodput") > value(slow, "chat.goodput")
