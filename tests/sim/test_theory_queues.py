"""Queueing theory: where a scenario is a textbook queue, the textbook's mean and percentiles come out.

Each test runs independent replications with their own seeds and asks that the 99.9 % t interval of the result
covers the exact value and is narrow, so that it cannot pass by being vague. A run starts empty, so its first
requests are left out.

How a queue is mapped: one seat and one output token make a single server whose service time is the prompt's
length times a cost. Seats whose step takes the same time however many are taken are servers that do not slow
each other down. Steps in proportion to the sequences in them share one processor equally.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, stdev
from typing import Any

import pytest

from sim import Result, parse_scenario, simulate

REPLICATIONS = 12
SEEDS = range(101, 101 + REPLICATIONS)
T999 = 4.4370
"""Two-sided 99.9 % point of Student's t with 11 degrees of freedom."""

SERVICE_S = 1.0
TICK_TOKENS = 1_000
"""Tokens of a mean job: service times are multiples of a thousandth of the mean."""


def exponential_lengths(mean: int, points: int = 4_000) -> dict[str, object]:
    """An exponential distribution as equally likely whole numbers: the middles of its `points` quantiles."""
    values = [max(1, round(-mean * math.log(1 - (k + 0.5) / points))) for k in range(points)]
    return {"dist": "empirical", "values": values}


def replicate(run: Callable[[int], Result], measure: Callable[[Result], float]) -> list[float]:
    """One measurement a replication; each has its own seed."""
    return [measure(run(seed)) for seed in SEEDS]


def assert_interval(values: Sequence[float], expected: float, width: float) -> None:
    """The interval covers `expected` and is at most `width` of it to either side."""
    assert len(values) == REPLICATIONS
    half = T999 * stdev(values) / math.sqrt(len(values))
    assert half <= width * expected, f"interval too wide: {half:.4g} around {fmean(values):.4g}"
    assert abs(fmean(values) - expected) <= half, f"{fmean(values):.5g} ± {half:.2g} misses {expected:.5g}"


def single_server(lengths: object, rho: float, count: int, **arrivals: Any) -> Callable[[int], Result]:
    """One seat; a prompt token takes a thousandth of the mean service time."""

    def run(seed: int) -> Result:
        return simulate(
            parse_scenario(
                {
                    "name": "single server",
                    "seed": seed,
                    "classes": [
                        {
                            "name": "job",
                            "prompt_tokens": lengths,
                            "output_tokens": 1,
                            "arrivals": {
                                "kind": "poisson",
                                "rate_per_s": rho / SERVICE_S,
                                "count": count,
                                **arrivals,
                            },
                        }
                    ],
                    "server": VLLM | {"max_seqs": 1},
                    "step_cost": {"kind": "linear", "per_prefill_token_s": SERVICE_S / TICK_TOKENS},
                },
                "theory",
            )
        )

    return run


def settled(result: Result, start: str, end: str) -> list[float]:
    """Seconds between two moments of the requests after the first tenth, which saw the queue fill."""
    spans = (result.columns[end] - result.columns[start]) / 1e12
    return list(map(float, spans[len(spans) // 10 :]))


def mean_wait(result: Result) -> float:
    return fmean(settled(result, "arrival", "scheduled"))


@pytest.mark.parametrize(("rho", "width"), [(0.3, 0.05), (0.5, 0.06), (0.8, 0.12)])
def test_md1_wait(rho: float, width: float) -> None:
    """Constant service: Wq = rho S / (2 (1 - rho)), half of M/M/1."""
    waits = replicate(single_server(TICK_TOKENS, rho, 12_000), mean_wait)
    assert_interval(waits, rho * SERVICE_S / (2 * (1 - rho)), width)


@pytest.mark.parametrize(("rho", "width"), [(0.5, 0.08), pytest.param(0.7, 0.14, marks=pytest.mark.slow)])
def test_mm1_wait_and_percentiles(rho: float, width: float) -> None:
    """Exponential service: the time in the system is exponential with mean S / (1 - rho)."""
    run = single_server(exponential_lengths(TICK_TOKENS), rho, 15_000)
    results = [run(seed) for seed in SEEDS]
    mean = SERVICE_S / (1 - rho)
    assert_interval([mean_wait(result) for result in results], rho * mean, width)
    ordered = [sorted(settled(result, "arrival", "last_token")) for result in results]
    for percent in (50, 90, 99):
        values = [times[round(percent / 100 * (len(times) - 1))] for times in ordered]
        assert_interval(values, -mean * math.log(1 - percent / 100), 2 * width)


@pytest.mark.parametrize(
    ("lengths", "second_moment"),
    [
        ({"dist": "uniform", "low_tokens": 1, "high_tokens": 1999}, fmean((n / 1000) ** 2 for n in range(1, 2000))),
        # one job in ten is ten times as long as the others: squared coefficient of variation 2.02
        ({"dist": "empirical", "values": [526, 5263], "weights": [9, 1]}, (9 * 0.526**2 + 5.263**2) / 10),
    ],
)
def test_mg1_wait_depends_on_the_second_moment_only(lengths: object, second_moment: float) -> None:
    """Pollaczek and Khinchine: Wq = lambda E[S^2] / (2 (1 - rho))."""
    rate, rho = 0.6, 0.6 * (1.0 if isinstance(lengths, dict) and lengths["dist"] == "uniform" else 0.9997)
    waits = replicate(single_server(lengths, rate, 15_000), mean_wait)
    assert_interval(waits, rate * second_moment / (2 * (1 - rho)), 0.10)


@pytest.mark.slow
def test_kingman_bounds_the_wait_of_clumped_arrivals() -> None:
    """G/G/1: Wq is at most lambda (Var A + Var S) / (2 (1 - rho)), and near it under heavy load.

    Gamma gaps with a coefficient of variation of 2 and constant service.
    """
    rho, cv = 0.8, 2.0
    waits = replicate(single_server(TICK_TOKENS, rho, 20_000, kind="gamma", cv=cv), mean_wait)
    bound = rho * (cv / rho) ** 2 / (2 * (1 - rho))
    assert 0.7 * bound < fmean(waits) <= bound


def servers(count: int, seats: int, rho: float) -> Callable[[int], Result]:
    """Seats that do not slow each other: a step takes 1/200 of a mean job however many sequences are in it."""
    steps = 200

    def run(seed: int) -> Result:
        return simulate(
            parse_scenario(
                {
                    "name": "many servers",
                    "seed": seed,
                    "classes": [
                        {
                            "name": "job",
                            "prompt_tokens": 1,
                            "output_tokens": exponential_lengths(steps),
                            "arrivals": {"kind": "poisson", "rate_per_s": rho * seats / SERVICE_S, "count": count},
                        }
                    ],
                    "server": VLLM | {"max_seqs": seats},
                    "step_cost": {"kind": "linear", "base_s": SERVICE_S / steps},
                },
                "theory",
            )
        )

    return run


VLLM: dict[str, object] = {"policy": "vllm", "token_budget": 1_000_000}


def erlang_c(seats: int, rho: float) -> float:
    """Chance to wait in M/M/c."""
    load = seats * rho
    terms = [load**k / math.factorial(k) for k in range(seats)]
    last = load**seats / math.factorial(seats) / (1 - rho)
    return last / (sum(terms) + last)


def test_erlang_c_gives_the_published_values() -> None:
    published = {(2, 0.8): 0.7111, (4, 0.8): 0.5964, (8, 0.9): 0.7015, (16, 0.9): 0.5913}
    assert {key: round(erlang_c(*key), 4) for key in published} == published


@pytest.mark.parametrize(
    ("seats", "rho", "count", "width"),
    [
        (2, 0.8, 8_000, 0.3),
        (4, 0.8, 8_000, 0.3),
        pytest.param(8, 0.9, 25_000, 0.3, marks=pytest.mark.slow),
        pytest.param(16, 0.9, 25_000, 0.3, marks=pytest.mark.slow),
    ],
)
def test_mmc_wait(seats: int, rho: float, count: int, width: float) -> None:
    """Wq = C(c, rho) S / (c (1 - rho)).

    A request that finds a free seat still waits for the step under way to end, half a step on average; one that
    had to queue starts with a step anyway.
    """
    waits = replicate(servers(count, seats, rho), mean_wait)
    chance = erlang_c(seats, rho)
    half_step = SERVICE_S / 200 / 2
    expected = chance * SERVICE_S / (seats * (1 - rho)) + (1 - chance) * half_step
    assert_interval(waits, expected, width)


def shared_processor(lengths: object, rho: float, count: int) -> Callable[[int], Result]:
    """A step takes a unit for each sequence in it and gives each of them one token."""
    unit = SERVICE_S / 100

    def run(seed: int) -> Result:
        return simulate(
            parse_scenario(
                {
                    "name": "processor sharing",
                    "seed": seed,
                    "classes": [
                        {
                            "name": "job",
                            "prompt_tokens": 1,
                            "output_tokens": lengths,
                            "arrivals": {"kind": "poisson", "rate_per_s": rho / SERVICE_S, "count": count},
                        }
                    ],
                    "server": VLLM | {"max_seqs": 1_000},
                    "step_cost": {"kind": "linear", "per_prefill_token_s": unit, "per_decode_seq_s": unit},
                },
                "theory",
            )
        )

    return run


def slowdown(sizes: Iterable[int] = ()) -> Callable[[Result], float]:
    """Mean time in the system over mean time alone, of the jobs of these sizes (all when empty), times 1 - load.

    Load is that of the very run, so that chance in the arrivals, which moves both, cancels: one is expected.
    """
    chosen = set(sizes)

    def measure(result: Result) -> float:
        times, tokens = settled(result, "arrival", "last_token"), list(map(int, result.columns["output_tokens"]))
        pairs = [
            (time, size)
            for time, size in zip(times, tokens[len(tokens) // 10 :], strict=True)
            if not chosen or size in chosen
        ]
        load = sum(tokens) * SERVICE_S / 100 / (int(result.columns["arrival"].max()) / 1e12)
        alone = fmean(size for _, size in pairs) * SERVICE_S / 100
        return fmean(time for time, _ in pairs) / alone * (1 - load)

    return measure


@pytest.mark.parametrize(
    "lengths",
    [
        {"dist": "fixed", "tokens": 100},
        {"dist": "empirical", "values": [20, 420], "weights": [4, 1]},
    ],
)
def test_processor_sharing_does_not_care_how_lengths_are_distributed(lengths: object) -> None:
    """E[T] = S / (1 - rho), whatever the distribution; the quantum of one token is a hundredth of a job."""
    assert_interval(replicate(shared_processor(lengths, 0.6, 5_000), slowdown()), 1.0, 0.08)


def test_processor_sharing_slows_short_and_long_jobs_alike() -> None:
    """E[T | size x] = x / (1 - rho)."""
    run = shared_processor({"dist": "empirical", "values": [50, 150]}, 0.6, 5_000)
    results = [run(seed) for seed in SEEDS]
    for size in (50, 150):
        assert_interval([slowdown([size])(result) for result in results], 1.0, 0.08)


@pytest.mark.parametrize(("seats", "mean_s"), [(2, 2.0), (1, 1.5)])
def test_two_equal_jobs_together_or_one_after_the_other(seats: int, mean_s: float) -> None:
    """Two jobs of 1 s at once: side by side both end at 2 s; in turn at 1 s and 2 s."""
    result = simulate(
        parse_scenario(
            {
                "name": "two jobs",
                "classes": [
                    {
                        "name": "job",
                        "prompt_tokens": 1,
                        "output_tokens": 100,
                        "arrivals": {"kind": "times", "times_s": [0, 0]},
                    }
                ],
                "server": VLLM | {"max_seqs": seats},
                "step_cost": {"kind": "linear", "per_prefill_token_s": 0.01, "per_decode_seq_s": 0.01},
            },
            "two jobs",
        )
    )
    assert result.metric("job.e2e_s") == mean_s
