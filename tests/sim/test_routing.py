"""Who gets which request: spread, load, caches, and figures that are out of date."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Result, ScenarioError, parse_scenario, simulate


def routed(
    routing: object, replicas: object, classes: list[dict[str, Any]], server: dict[str, Any] | None = None, **fleet: Any
) -> Result:
    return simulate(
        parse_scenario(
            {
                "name": "routing",
                "classes": classes,
                "server": server or {"policy": "continuous", "max_seqs": 4},
                "step_cost": {"kind": "linear", "per_prefill_token_s": 0.001, "per_decode_seq_s": 0.01},
                "fleet": {"replicas": replicas, "routing": routing, **fleet},
            },
            "routing",
        )
    )


def jobs(count: int, rate_per_s: float, **more: Any) -> dict[str, Any]:
    arrivals = {"kind": "poisson", "rate_per_s": rate_per_s, "count": count}
    return {"name": "job", "prompt_tokens": 10, "output_tokens": 5, "arrivals": arrivals, **more}


def shares(result: Result) -> list[int]:
    counted = Counter(record.replica for record in result.requests)
    return [counted[index] for index in range(len(result.log.runs))]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 60), st.sampled_from([1.0, 30.0, 500.0]))
def test_round_robin_gives_every_replica_its_even_share(replicas: int, count: int, rate: float) -> None:
    spread = shares(routed("round_robin", replicas, [jobs(count, rate)]))
    assert sum(spread) == count
    assert max(spread) - min(spread) <= 1
    # From the first on, so the earlier ones have the surplus.
    assert spread == sorted(spread, reverse=True)


@pytest.mark.parametrize("rate", [1.0, 60.0, 200.0, 2000.0])
@pytest.mark.parametrize("kind", ["least_outstanding", "power_of_two", "random"])
def test_no_replica_starves(kind: str, rate: float) -> None:
    """A published simulator's least-outstanding router sent 875, 120, 5 and 0 of 1,000 requests to four replicas."""
    spread = shares(routed(kind, 4, [jobs(1000, rate)]))
    assert sum(spread) == 1000
    assert min(spread) > 190
    assert max(spread) < 310


def test_least_outstanding_looks_at_what_is_under_way_and_not_at_turns() -> None:
    """Replica 0 has a long job, so the next two go to replica 1 while it is busy with less or as much."""
    long_job = {
        "name": "long",
        "prompt_tokens": 1000,
        "output_tokens": 1,
        "arrivals": {"kind": "times", "times_s": [0]},
    }
    short = {
        "name": "short",
        "prompt_tokens": 10,
        "output_tokens": 1,
        "arrivals": {"kind": "times", "times_s": [0.1, 0.2, 0.3]},
    }
    result = routed("least_outstanding", 2, [long_job, short])
    assert [record.replica for record in result.requests] == [0, 1, 1, 1]


def test_least_outstanding_beats_turns_when_jobs_differ() -> None:
    mixed = jobs(600, 9.0) | {"output_tokens": {"dist": "lognormal", "median_tokens": 10, "sigma": 1.5}}
    waits = {}
    for kind in ("round_robin", "least_outstanding", "power_of_two"):
        waits[kind] = routed(kind, 4, [mixed]).metric("job.queue_s")
    assert waits["least_outstanding"] is not None
    assert waits["round_robin"] is not None
    assert waits["power_of_two"] is not None
    assert waits["least_outstanding"] < waits["power_of_two"] < waits["round_robin"]


def test_old_figures_send_a_herd_to_whoever_was_idle() -> None:
    """Replica 0 is busy when the router looks, and it does not look again while eight requests come."""
    early = {"name": "early", "prompt_tokens": 100, "output_tokens": 1, "arrivals": {"kind": "burst", "count": 1}}
    herd = {
        "name": "herd",
        "prompt_tokens": 9,
        "output_tokens": 1,
        "arrivals": {"kind": "times", "times_s": [0.05] * 8},
    }
    old = {"kind": "least_outstanding", "signals_every_s": 0.04}
    assert shares(routed(old, 2, [early, herd])) == [1, 8]
    assert shares(routed("least_outstanding", 2, [early, herd])) == [5, 4]


ENGINE = {"policy": "vllm", "max_seqs": 8, "token_budget": 512, "kv_blocks": 200, "block_tokens": 16}


def prefixed(groups: int, count: int) -> dict[str, Any]:
    return jobs(count, 5.0, prefix={"tokens": 160, "groups": groups})


def test_prefix_affinity_computes_each_prefix_once_and_round_robin_once_a_replica() -> None:
    def computed(kind: str) -> int:
        return routed(kind, 4, [prefixed(1, 100)], ENGINE).work.prompt_tokens

    own = 100 * 10
    # Of 160 shared tokens and 10 own, all ten full blocks are found again.
    assert computed("prefix_affinity") == own + 160
    assert computed("round_robin") == own + 4 * 160


def test_prefix_affinity_keeps_groups_apart() -> None:
    result = routed("prefix_affinity", 2, [prefixed(8, 200)], ENGINE)
    assert min(shares(result)) > 30
    assert result.work.prompt_tokens == 200 * 10 + 8 * 160


def test_prefix_affinity_leaves_an_overloaded_home() -> None:
    burst = {
        "name": "job",
        "prompt_tokens": 10,
        "output_tokens": 5,
        "arrivals": {"kind": "burst", "count": 40},
        "prefix": {"tokens": 160},
    }
    at_home = routed({"kind": "prefix_affinity", "imbalance": 1000}, 4, [burst], ENGINE)
    assert shares(at_home) == [40, 0, 0, 0]
    spread = shares(routed({"kind": "prefix_affinity", "imbalance": 2}, 4, [burst], ENGINE))
    assert max(spread) - min(spread) <= 3
    assert sum(spread) == 40


def test_least_kv_avoids_the_replica_whose_cache_is_full() -> None:
    big = {"name": "big", "prompt_tokens": 1600, "output_tokens": 100, "arrivals": {"kind": "times", "times_s": [0]}}
    small = {
        "name": "small",
        "prompt_tokens": 16,
        "output_tokens": 2,
        "arrivals": {"kind": "times", "times_s": [0.1, 0.3, 0.5, 0.7]},
    }
    result = routed("least_kv", 2, [big, small], ENGINE)
    assert [record.replica for record in result.requests] == [0, 1, 1, 1, 1]


def test_least_kv_is_refused_where_no_blocks_are_counted() -> None:
    with pytest.raises(ScenarioError, match="least_kv needs KV blocks") as problem:
        routed("least_kv", 2, [jobs(1, 1.0)])
    assert "\n" not in str(problem.value)


def test_a_slow_replica_gets_less_from_a_router_that_looks() -> None:
    pair = [{"step_time_factor": 4}, {}]
    assert shares(routed("round_robin", pair, [jobs(300, 20.0)])) == [150, 150]
    slow, fast = shares(routed("least_outstanding", pair, [jobs(300, 20.0)]))
    assert slow < 100 < fast


def test_replicas_may_have_servers_of_their_own() -> None:
    burst = {"name": "b", "prompt_tokens": 10, "output_tokens": 1, "arrivals": {"kind": "burst", "count": 8}}
    pair = [{"server": {"policy": "continuous", "max_seqs": 1}}, {}]
    result = routed("round_robin", pair, [burst])
    steps = [[int(tokens) for tokens in runs["prefill_tokens"]] for runs in result.log.runs]
    assert steps == [[10, 10, 10, 10], [40]]


@pytest.mark.parametrize(
    ("fleet", "part"),
    [
        ({"replicas": 0}, "1 to 1,024"),
        ({"replicas": 2.5}, "1 to 1,024"),
        ({"replicas": 2, "routing": "fastest"}, "fleet.routing"),
        ({"replicas": []}, "at least one entry"),
        ({"replicas": 2, "faults": [{"kind": "loss", "replica": 2, "at_s": 1}]}, "count from 0 to 1"),
        ({"replicas": 2, "faults": [{"kind": "fire", "replica": 1, "at_s": 1}]}, "kind must be one of loss, slow"),
        ({"replicas": [{}, {"server": {"policy": "vllm"}}]}, "cannot be mixed"),
        ({"replicas": 2, "autoscaling": {"signal": "kv", "target": 0.5, "max": 3}}, "needs KV blocks"),
        (
            {
                "replicas": 2,
                "disaggregated": {"prefill_replicas": 1, "kv_bytes_per_token": 1, "bandwidth_bytes_per_s": 1},
                "faults": [{"kind": "loss", "replica": 1, "at_s": 1, "in_flight": "resume"}],
            },
            "say in_flight: restart",
        ),
        ({"replicas": 4, "autoscaling": {"signal": "queue", "target": 2, "max": 3}}, "keeps 1 to 3 replicas"),
        (
            {
                "replicas": 1,
                "disaggregated": {"prefill_replicas": 1, "kv_bytes_per_token": 1, "bandwidth_bytes_per_s": 1},
            },
            "none to decode",
        ),
    ],
)
def test_a_fleet_that_cannot_be_is_refused_in_one_sentence(fleet: dict[str, Any], part: str) -> None:
    data = {
        "name": "bad",
        "classes": [jobs(1, 1.0)],
        "server": {"policy": "continuous"},
        "step_cost": {"kind": "linear", "base_s": 0.01},
        "fleet": fleet,
    }
    with pytest.raises(ScenarioError) as problem:
        parse_scenario(data, "bad.yaml")
    assert part in str(problem.value)
    assert "\n" not in str(problem.value)


def test_the_step_cost_must_fit_every_replica() -> None:
    data = {
        "name": "bad",
        "classes": [jobs(1, 1.0)],
        "server": {"policy": "continuous"},
        "step_cost": {"kind": "fixed", "prefill_s": 0.01, "decode_s": 0.01},
        "fleet": {"replicas": [{}, {"server": {"policy": "mixed"}}]},
    }
    with pytest.raises(ScenarioError, match="chunk_s is needed with the policy 'mixed'"):
        parse_scenario(data, "bad.yaml")
