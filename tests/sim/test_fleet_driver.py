"""The driver itself: order at one instant, progress, stopping, and what it costs per request."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest

from sim import Result, Scenario, parse_scenario, simulate
from sim.cost import LinearCost, StepWork, cost_model
from sim.fleet.driver import run_fleet
from sim.fleet.pace import Paced

MS = 10**9


def fleet_of(count: int, replicas: int = 1, policy: str = "continuous", **more: Any) -> Scenario:
    return parse_scenario(
        {
            "name": "driver",
            "classes": [
                {
                    "name": "job",
                    "prompt_tokens": 10,
                    "output_tokens": 3,
                    "arrivals": {"kind": "poisson", "rate_per_s": 50.0, "count": count},
                }
            ],
            "server": {"policy": policy, "max_seqs": 8},
            "step_cost": {"kind": "linear", "base_s": 0.005, "per_prefill_token_s": 0.0005},
            "fleet": {"replicas": replicas},
            **more,
        },
        "driver",
    )


def test_progress_rises_to_nearly_all_and_time_with_it() -> None:
    told: list[tuple[int, int, float]] = []
    result = simulate(fleet_of(2000, replicas=3), lambda *news: told.append(news))
    assert len(told) > 3
    assert told == sorted(told)
    assert {total for _, total, _ in told} == {2000}
    assert told[-1][0] <= 2000
    assert told[-1][2] <= result.log.end / 10**12


@pytest.mark.parametrize("policy", ["continuous", "vllm"])
def test_a_stopped_run_is_marked_and_is_the_beginning_of_the_whole(policy: str) -> None:
    scenario = fleet_of(2000, replicas=3, policy=policy)
    asked = iter([False, True])
    partial = Result(run_fleet(scenario, stop=lambda: next(asked)))
    assert partial.partial
    assert 0 < partial.counts.completed < 1000
    assert partial.counts.submitted == partial.counts.completed + partial.counts.in_flight
    whole = Result(run_fleet(scenario))
    assert not whole.partial
    done = [record for record in partial.requests if record.status == "completed"]
    assert done == [whole.requests[record.id] for record in done]
    assert all(record.ended_ticks is None for record in partial.requests if record.status == "in_flight")
    assert partial.log.end <= whole.log.end


def test_at_one_instant_steps_end_before_requests_arrive_before_steps_are_planned() -> None:
    """The second request comes just as the first is done: it finds the seat free and starts without waiting."""
    times = {"kind": "times", "times_s": [0.0, 0.02]}
    classes = [{"name": "job", "prompt_tokens": 10, "output_tokens": 3, "arrivals": times}]
    server = {"policy": "continuous", "max_seqs": 1, "queue_limit": 0}
    first, second = simulate(fleet_of(1, classes=classes, server=server)).requests
    assert first.ended_ticks == second.scheduled_ticks == 20 * MS
    assert second.status == "completed"


def test_a_loss_comes_after_the_steps_that_end_and_before_the_requests_that_arrive_then() -> None:
    times = {"kind": "times", "times_s": [0.0, 0.02]}
    classes = [{"name": "job", "prompt_tokens": 10, "output_tokens": 3, "arrivals": times}]
    fleet = {"faults": [{"kind": "loss", "replica": 0, "at_s": 0.02}]}
    first, second = simulate(fleet_of(1, classes=classes, fleet=fleet)).requests
    assert (first.status, second.status) == ("completed", "failed")


def test_a_horizon_after_everything_is_the_end_of_the_log() -> None:
    assert run_fleet(fleet_of(3, horizon_s=100)).end == 100 * 1000 * MS
    assert run_fleet(fleet_of(3)).end < 1000 * MS


@pytest.mark.parametrize("factor", ["2", "1.5", "0.7", "1.001", "10/7"])
@pytest.mark.parametrize("context", [0, 1, 999, 123_457])
def test_a_paced_run_of_steps_is_the_sum_of_its_steps(factor: str, context: int) -> None:
    """Step k of a run takes what the k-th step takes by itself, to the tick, or the run is one step."""
    cost = LinearCost(kind="linear", base_s=0.001, per_decode_seq_s=3e-7, per_context_token_s=7.3e-11)
    paced = Paced(cost_model(cost), Fraction(factor))
    for seqs in (1, 7, 64):
        first, growth, steps = paced.decode_run(seqs, context)
        assert steps >= 1
        for step in range(min(steps, 50)):
            work = StepWork("decode", 0, seqs, context + step * seqs)
            assert first + step * growth == paced.ticks(work)


def test_the_simulator_starts_without_what_only_a_fleet_needs() -> None:
    code = "import sim, sys; print('simpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_results_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from sim import parse_scenario, simulate\n"
        "fleet = {'replicas': 3, 'routing': 'power_of_two', 'faults': [{'kind': 'loss', 'replica': 1, 'at_s': 0.3}]}\n"
        "job = {'name': 'job', 'prompt_tokens': 9, 'output_tokens': 5, 'patience_s': 0.05,\n"
        "       'client': {'retries': {'max': 2, 'backoff_s': 0.1, 'jitter': 1}},\n"
        "       'arrivals': {'kind': 'poisson', 'rate_per_s': 99.0, 'count': 80}}\n"
        "data = {'name': 'hash', 'classes': [job], 'server': {'policy': 'continuous'}, 'fleet': fleet,\n"
        "        'step_cost': {'kind': 'linear', 'base_s': 0.01}}\n"
        "print(simulate(parse_scenario(data, 'hash')).log.lives.rows().tolist())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 1000
