"""Against closed forms of queueing theory, and the random streams against their distributions."""

from __future__ import annotations

from statistics import fmean

import pytest

from sim import Result, parse_scenario, simulate


def run_queue(prompt_tokens: object, rho: float, count: int, **more: object) -> Result:
    """One seat, one token out, 1 ms a prompt token of mean 100: a single-server queue with S = 0.1 s."""
    return simulate(
        parse_scenario(
            {
                "name": "single server",
                "seed": 7,
                "classes": [
                    {
                        "name": "job",
                        "prompt_tokens": prompt_tokens,
                        "output_tokens": 1,
                        "arrivals": {"kind": "poisson", "rate_per_s": rho / 0.1, "count": count},
                    },
                    *([more["extra"]] if "extra" in more else []),
                ],
                "server": {"policy": "continuous", "max_seqs": 1},
                "step_cost": {"kind": "linear", "per_prefill_token_s": 0.001},
            },
            "theory",
        )
    )


@pytest.mark.parametrize("rho", [0.3, 0.6])
def test_md1_mean_wait(rho: float) -> None:
    """Pollaczek-Khinchine with constant service: Wq = rho S / (2 (1 - rho))."""
    result = run_queue(100, rho, 30_000)
    assert result.metric("job.queue_s") == pytest.approx(rho * 0.1 / (2 * (1 - rho)), rel=0.05)


def test_mg1_mean_wait_with_uniform_service() -> None:
    """Wq = lambda E[S^2] / (2 (1 - rho)) with S uniform on 1..199 ms."""
    rho = 0.5
    result = run_queue({"dist": "uniform", "low_tokens": 1, "high_tokens": 199}, rho, 30_000)
    second_moment = fmean((n / 1000) ** 2 for n in range(1, 200))
    expected = rho / 0.1 * second_moment / (2 * (1 - rho))
    assert result.metric("job.queue_s") == pytest.approx(expected, rel=0.06)


def test_littles_law_holds_within_the_run() -> None:
    """Waiting requests averaged over time, from the records, equal arrival rate times mean wait."""
    result = run_queue(100, 0.6, 5_000)
    changes = sorted(
        change
        for record in result.requests
        if record.queued_ticks is not None and record.scheduled_ticks is not None
        for change in ((record.queued_ticks, 1), (record.scheduled_ticks, -1))
    )
    area, waiting, clock = 0, 0, 0
    for time, step in changes:
        area += waiting * (time - clock)
        waiting, clock = waiting + step, time
    wait = result.metric("job.queue_s")
    assert wait is not None
    mean_waiting = area / result.duration_ticks
    assert mean_waiting == pytest.approx(result.counts.submitted / result.duration_s * wait, rel=1e-9)


def test_one_class_does_not_disturb_the_random_draws_of_another() -> None:
    alone = run_queue({"dist": "lognormal", "median_tokens": 90, "sigma": 0.4}, 0.5, 50)
    extra = {
        "name": "other",
        "prompt_tokens": {"dist": "uniform", "low_tokens": 1, "high_tokens": 9},
        "output_tokens": 1,
        "arrivals": {"kind": "poisson", "rate_per_s": 3, "count": 40},
    }
    both = run_queue({"dist": "lognormal", "median_tokens": 90, "sigma": 0.4}, 0.5, 50, extra=extra)

    def jobs(result: Result) -> list[tuple[int, int]]:
        return [(r.arrival_ticks, r.prompt_tokens) for r in result.requests if r.class_name == "job"]

    assert jobs(alone) == jobs(both)


def test_deterministic_arrivals_do_not_drift() -> None:
    result = simulate(
        parse_scenario(
            {
                "name": "thirds",
                "classes": [
                    {
                        "name": "a",
                        "prompt_tokens": 1,
                        "output_tokens": 1,
                        "arrivals": {"kind": "deterministic", "rate_per_s": 3, "count": 3001, "start_s": 0.5},
                    }
                ],
                "server": {"policy": "continuous"},
                "step_cost": {"kind": "fixed", "prefill_s": 0.001, "decode_s": 0.001},
            },
            "thirds",
        )
    )
    assert result.requests[0].arrival_s == 0.5
    assert result.requests[-1].arrival_s == 1000.5
