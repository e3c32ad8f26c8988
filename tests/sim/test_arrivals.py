"""When requests come and what they ask for: rates, spreads, independence of streams, columns."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import Scenario, ScenarioError, parse_scenario
from sim.arrivals import Arrival, bodies, generate, think_times
from sim.ticks import TICKS_PER_S, to_ticks

S = TICKS_PER_S


def traffic_class(arrivals: dict[str, Any], name: str = "chat", **fields: Any) -> dict[str, Any]:
    lengths = {} if "lengths" in fields else {"prompt_tokens": 10, "output_tokens": 5}
    return {"name": name, **lengths, "arrivals": arrivals, **fields}


def scenario_of(*classes: dict[str, Any], seed: int = 1, server: dict[str, Any] | None = None) -> Scenario:
    data = {
        "name": "traffic",
        "seed": seed,
        "classes": list(classes),
        "server": server or {"policy": "continuous"},
        "step_cost": {"kind": "linear", "base_s": 0.01},
    }
    return parse_scenario(data, "traffic")


def seconds(arrivals: dict[str, Any], seed: int = 1) -> list[float]:
    return [time / S for time in generate(scenario_of(traffic_class(arrivals), seed=seed)).times]


def cv(values: list[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)) / mean


def gaps_of(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise([0.0, *times])]


# ---- processes -------------------------------------------------------------------------------------


def test_poisson_times_are_the_running_sums_of_the_classs_own_exponential_stream() -> None:
    rng = random.Random("7/chat/arrivals")
    expected = [2 * S + round(time * S) for time in accumulate(rng.expovariate(3.0) for _ in range(50))]
    made = generate(
        scenario_of(traffic_class({"kind": "poisson", "rate_per_s": 3.0, "count": 50, "start_s": 2}), seed=7)
    )
    assert list(made.times) == expected


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_gamma_gaps_have_the_rate_and_the_variation_asked_for(spread: float) -> None:
    count = 40_000
    gaps = gaps_of(seconds({"kind": "gamma", "rate_per_s": 5.0, "cv": spread, "count": count}))
    # Standard error of the mean: cv / sqrt(n); the bounds are four of them.
    assert math.fsum(gaps) / count == pytest.approx(0.2, rel=4 * spread / math.sqrt(count))
    assert cv(gaps) == pytest.approx(spread, rel=0.06)


def test_deterministic_times_do_not_drift() -> None:
    times = generate(scenario_of(traffic_class({"kind": "deterministic", "rate_per_s": 3.0, "count": 30_001}))).times
    assert times[1] == 333_333_333_333
    assert times[30_000] == 10_000 * S
    assert max(later - earlier for earlier, later in pairwise(times)) == 333_333_333_334


@given(st.floats(0.001, 1e6), st.integers(1, 40), st.sampled_from([0.0, 0.1]))
def test_deterministic_times_are_the_rounded_multiples_of_the_exact_period(
    rate: float, count: int, start_s: float
) -> None:
    arrivals = {"kind": "deterministic", "rate_per_s": rate, "count": count, "start_s": start_s}
    period = TICKS_PER_S / Fraction(repr(rate))
    made = generate(scenario_of(traffic_class(arrivals)))
    assert list(made.times) == [to_ticks(start_s) + round(period * k) for k in range(count)]


def test_a_burst_comes_at_once() -> None:
    made = generate(scenario_of(traffic_class({"kind": "burst", "count": 4, "start_s": 1.5})))
    assert list(made) == [Arrival(3 * S // 2, 0, number, 10, 5, (), 0) for number in (1, 2, 3, 4)]


def test_on_and_off_phases_have_their_own_rates() -> None:
    bursts = {"kind": "bursts", "on_rate_per_s": 50, "on_s": 2, "off_rate_per_s": 5, "off_s": 6, "count": 26_000}
    times = seconds(bursts)
    on = sum(time % 8 < 2 for time in times)
    # A cycle of 8 s brings 100 in its 2 s on and 30 in its 6 s off.
    assert times[-1] == pytest.approx(26_000 / 130 * 8, rel=0.03)
    assert on / len(times) == pytest.approx(100 / 130, abs=0.012)


def test_nothing_arrives_while_a_source_is_off() -> None:
    times = seconds({"kind": "bursts", "on_rate_per_s": 10, "on_s": 1, "off_s": 9, "count": 2_000, "start_s": 100})
    assert all((time - 100) % 10 < 1 for time in times)
    assert times[0] >= 100


def test_exponential_phases_make_counts_overdispersed_and_keep_the_mean_rate() -> None:
    phase = {"dist": "exponential", "mean_s": 5.0}
    times = seconds({"kind": "bursts", "on_rate_per_s": 20, "on_s": phase, "off_s": phase, "count": 60_000})
    assert len(times) / times[-1] == pytest.approx(10.0, rel=0.1)
    counts = Counter(int(time // 10) for time in times)
    per_window = [float(counts[window]) for window in range(int(times[-1] // 10))]
    mean = math.fsum(per_window) / len(per_window)
    assert cv(per_window) ** 2 * mean > 10  # 1 for Poisson


def hazards(times: list[float], total: Callable[[float], float]) -> list[float]:
    """The rate summed between arrivals: exponential with mean 1 if the rate is right at every moment."""
    return gaps_of([total(time) for time in times])


def test_diurnal_arrivals_follow_the_cosine_at_every_moment() -> None:
    times = seconds(
        {"kind": "diurnal", "mean_rate_per_s": 4, "swing": 0.9, "period_s": 600, "peak_s": 150, "count": 20_000}
    )
    turn = 2 * math.pi / 600

    def total(time: float) -> float:
        return 4 * (time + 0.9 / turn * (math.sin(turn * (time - 150)) + math.sin(turn * 150)))

    summed = hazards(times, total)
    assert math.fsum(summed) / len(summed) == pytest.approx(1.0, abs=0.03)
    assert cv(summed) == pytest.approx(1.0, abs=0.04)
    # Half of a period around the peak gets a half plus swing / pi of the requests.
    near = sum(math.cos(turn * (time - 150)) > 0 for time in times)
    assert near / len(times) == pytest.approx(0.5 + 0.9 / math.pi, abs=0.015)


def test_piecewise_rates_hold_in_their_stretches_and_repeat() -> None:
    steps = [{"from_s": 0, "rate_per_s": 2}, {"from_s": 100, "rate_per_s": 0}, {"from_s": 150, "rate_per_s": 8}]
    times = seconds({"kind": "piecewise", "steps": steps, "period_s": 200, "count": 18_000})
    counts = Counter("quiet" if time % 200 < 100 else "off" if time % 200 < 150 else "busy" for time in times)
    assert counts["off"] == 0
    assert counts["quiet"] / counts["busy"] == pytest.approx(200 / 400, rel=0.06)
    assert times[-1] == pytest.approx(18_000 / 600 * 200, rel=0.04)


def test_the_last_rate_goes_on_without_a_period() -> None:
    steps = [{"from_s": 0, "rate_per_s": 0}, {"from_s": 10, "rate_per_s": 100}]
    times = seconds({"kind": "piecewise", "steps": steps, "count": 5_000, "start_s": 5})
    assert times[0] > 15
    assert times[-1] == pytest.approx(15 + 50, rel=0.05)


kinds = st.sampled_from(
    [
        {"kind": "poisson", "rate_per_s": 2.0},
        {"kind": "gamma", "rate_per_s": 2.0, "cv": 3.0},
        {"kind": "deterministic", "rate_per_s": 7.0},
        {"kind": "burst"},
        {"kind": "bursts", "on_rate_per_s": 9.0, "on_s": 1, "off_s": {"dist": "exponential", "mean_s": 2.0}},
        {"kind": "diurnal", "mean_rate_per_s": 2.0, "swing": 1.0, "period_s": 20.0},
        {"kind": "piecewise", "steps": [{"from_s": 0, "rate_per_s": 1}, {"from_s": 3, "rate_per_s": 9}]},
    ]
)


@given(kinds, st.integers(1, 60), st.integers(0, 2**63 - 1), st.sampled_from([0.0, 0.25, 1e5]))
def test_any_process_brings_its_count_in_order_after_its_start(
    kind: dict[str, Any], count: int, seed: int, start_s: float
) -> None:
    scenario = scenario_of(traffic_class({**kind, "count": count, "start_s": start_s}), seed=seed)
    made = generate(scenario)
    assert len(made) == count
    assert list(made.times) == sorted(made.times)
    assert made.times[0] >= to_ticks(start_s)
    assert list(made.numbers) == list(range(1, count + 1))
    assert generate(scenario) == made


@given(kinds, st.sampled_from(["uniform", "zipf"]))
def test_a_scenario_is_the_same_after_it_was_written_out(kind: dict[str, Any], dist: str) -> None:
    prefix = {"tokens": 3, "groups": 2, "dist": dist}
    scenario = scenario_of(traffic_class({**kind, "count": 3}, prefix=prefix), traffic_class(LOOP, name="users"))
    assert parse_scenario(scenario.model_dump(), "again") == scenario
    assert Scenario.model_validate_json(scenario.model_dump_json()) == scenario


# ---- independence ----------------------------------------------------------------------------------

POISSON = {"kind": "poisson", "rate_per_s": 2.0, "count": 40}
VARIED: dict[str, Any] = {
    "prompt_tokens": {"dist": "lognormal", "median_tokens": 200, "sigma": 1.0},
    "output_tokens": {"dist": "uniform", "low_tokens": 1, "high_tokens": 90},
    "prefix": {"tokens": 64, "groups": 5, "dist": "zipf"},
}


def of_class(scenario: Scenario, name: str) -> list[tuple[object, ...]]:
    index = [item.name for item in scenario.classes].index(name)
    return [
        (one.time, one.number, one.prompt_tokens, one.output_tokens, one.prefix)
        for one in generate(scenario)
        if one.class_index == index
    ]


def test_another_class_leaves_a_classs_requests_as_they_were() -> None:
    chat = traffic_class(POISSON, **VARIED)
    other = traffic_class({"kind": "gamma", "rate_per_s": 5.0, "cv": 2.0, "count": 60}, name="batch", **VARIED)
    assert of_class(scenario_of(chat), "chat") == of_class(scenario_of(other, chat), "chat")


def test_one_use_of_chance_leaves_the_others_as_they_were() -> None:
    before = generate(scenario_of(traffic_class(POISSON, **VARIED)))
    after = generate(scenario_of(traffic_class(POISSON, **{**VARIED, "output_tokens": 7, "prefix": None})))
    assert after.times == before.times
    assert [prompt + 64 for prompt in after.prompt_tokens] == list(before.prompt_tokens)


def test_a_changed_server_meets_the_same_requests() -> None:
    chat = traffic_class(POISSON, **VARIED)
    assert generate(scenario_of(chat)) == generate(scenario_of(chat, server={"policy": "mixed", "max_seqs": 3}))


def test_classes_merge_by_time_and_at_equal_times_in_their_order() -> None:
    first = traffic_class({"kind": "times", "times_s": [3, 1]}, name="a")
    second = traffic_class({"kind": "times", "times_s": [1, 2, 3]}, name="b", priority=-2)
    made = generate(scenario_of(first, second))
    assert [(one.time // S, one.class_index, one.number) for one in made] == [
        (1, 0, 1),
        (1, 1, 1),
        (2, 1, 2),
        (3, 0, 2),
        (3, 1, 3),
    ]
    assert list(made.priorities) == [0, -2, -2, 0, -2]


# ---- columns ---------------------------------------------------------------------------------------


def test_columns_rows_and_slices_tell_the_same() -> None:
    made = generate(scenario_of(traffic_class(POISSON, **VARIED), traffic_class(POISSON, name="other")))
    rows = list(made)
    assert rows == [Arrival(*row) for row in zip(*made.columns, strict=True)]
    assert [made[i] for i in range(len(made))] == rows
    assert list(made[3:9]) == rows[3:9]
    assert made[-1] == rows[-1]


def test_prompts_without_a_shared_part_have_an_empty_prefix() -> None:
    made = generate(scenario_of(traffic_class(POISSON)))
    assert set(made.prefixes) == {()}


# ---- prefixes --------------------------------------------------------------------------------------


def test_a_shared_prefix_stands_in_front_of_the_prompt() -> None:
    made = generate(scenario_of(traffic_class(POISSON, prefix={"tokens": 100})))
    assert set(made.prefixes) == {(("chat/1", 100),)}
    assert set(made.prompt_tokens) == {110}


def test_classes_share_a_prefix_under_one_name() -> None:
    prefix = {"tokens": 32, "name": "house"}
    made = generate(scenario_of(*(traffic_class(POISSON, name=name, prefix=prefix) for name in ("a", "b"))))
    assert set(made.prefixes) == {(("house/1", 32),)}


@pytest.mark.parametrize(("dist", "shares"), [("uniform", [1, 1, 1, 1]), ("zipf", [1, 1 / 2, 1 / 3, 1 / 4])])
def test_groups_are_chosen_as_their_distribution_says(dist: str, shares: list[float]) -> None:
    count = 20_000
    arrivals = {"kind": "burst", "count": count}
    made = generate(scenario_of(traffic_class(arrivals, prefix={"tokens": 8, "groups": 4, "dist": dist})))
    found = Counter(prefix[0][0] for prefix in made.prefixes)
    for group, share in enumerate(shares, 1):
        assert found[f"chat/{group}"] / count == pytest.approx(share / sum(shares), abs=0.015)


# ---- lengths ---------------------------------------------------------------------------------------


def test_empirical_lengths_come_with_their_weights() -> None:
    length = {"dist": "empirical", "values": [5, 70, 900], "weights": [1, 3, 0]}
    made = generate(scenario_of(traffic_class({"kind": "burst", "count": 20_000}, prompt_tokens=length)))
    found = Counter(made.prompt_tokens)
    assert set(found) == {5, 70}
    assert found[70] / 20_000 == pytest.approx(0.75, abs=0.015)


def test_pairs_keep_prompt_and_output_together() -> None:
    pairs = [[1000, 3], [20, 400], [5, 5]]
    made = generate(
        scenario_of(traffic_class({"kind": "burst", "count": 300}, lengths={"dist": "pairs", "pairs": pairs}))
    )
    assert set(zip(made.prompt_tokens, made.output_tokens, strict=True)) == {(1000, 3), (20, 400), (5, 5)}


# ---- closed loops ----------------------------------------------------------------------------------

LOOP = {"kind": "closed_loop", "users": 3, "think_s": {"dist": "exponential", "mean_s": 2.0}, "count": 50}


def test_a_closed_loop_sends_nothing_of_its_own_accord() -> None:
    made = generate(scenario_of(traffic_class(LOOP, name="users"), traffic_class(POISSON)))
    assert set(made.class_indexes) == {1}
    assert len(generate(scenario_of(traffic_class(LOOP)))) == 0


def test_bodies_one_by_one_are_those_that_come_in_columns() -> None:
    scenario = scenario_of(traffic_class(POISSON, **VARIED))
    made = generate(scenario)
    one_by_one = list(islice(bodies(scenario.classes[0], scenario.seed), len(made)))
    assert one_by_one == list(zip(made.prompt_tokens, made.output_tokens, made.prefixes, strict=True))


def test_think_times_have_their_mean_or_are_fixed() -> None:
    users = scenario_of(traffic_class(LOOP)).classes[0]
    drawn = list(islice(think_times(users, 1), 20_000))
    assert sum(drawn) / len(drawn) / S == pytest.approx(2.0, rel=0.03)
    steady = scenario_of(traffic_class({**LOOP, "think_s": 1.5})).classes[0]
    assert list(islice(think_times(steady, 1), 3)) == [3 * S // 2] * 3
    with pytest.raises(ValueError, match="not a closed loop"):
        think_times(scenario_of(traffic_class(POISSON)).classes[0], 1)


# ---- refusals --------------------------------------------------------------------------------------


def test_arrivals_beyond_the_clock_are_refused() -> None:
    scenario = scenario_of(traffic_class({"kind": "deterministic", "rate_per_s": 1e-7, "count": 5}))
    with pytest.raises(ScenarioError, match=r"class 'chat': its last request arrives after 40,000,000 s"):
        generate(scenario)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"arrivals": {"kind": "gamma", "rate_per_s": 1, "count": 2, "cv": 0}}, "arrivals.cv: must be at least 0.01"),
        (
            {"arrivals": {"kind": "bursts", "on_rate_per_s": 1, "on_s": 0, "off_s": 1, "count": 2}},
            "on_s must be above 0",
        ),
        (
            {"arrivals": {"kind": "bursts", "on_rate_per_s": 1e-9, "on_s": 1, "off_s": 1, "count": 2}},
            "more than 1,000,000 cycles",
        ),
        (
            {"arrivals": {"kind": "bursts", "on_rate_per_s": 1, "on_s": {"dist": "normal"}, "off_s": 1, "count": 2}},
            "dist must be one of fixed, exponential",
        ),
        ({"arrivals": {"kind": "diurnal", "mean_rate_per_s": 1, "swing": 1.5, "count": 2}}, "swing: must be at most 1"),
        ({"arrivals": {"kind": "piecewise", "steps": [], "count": 2}}, "at least one"),
        (
            {"arrivals": {"kind": "piecewise", "steps": [{"from_s": 1, "rate_per_s": 1}], "count": 2}},
            "must have from_s 0",
        ),
        (
            {"arrivals": {"kind": "piecewise", "steps": [{"from_s": 0, "rate_per_s": 0}], "count": 2}},
            "the last rate is 0",
        ),
        (
            {
                "arrivals": {
                    "kind": "piecewise",
                    "steps": [{"from_s": 0, "rate_per_s": 1}, {"from_s": 5, "rate_per_s": 2}],
                    "period_s": 4,
                    "count": 2,
                }
            },
            "period_s must be above the last from_s, 5",
        ),
        ({"arrivals": {**LOOP, "users": 0}}, "users: must be at least 1"),
        ({"arrivals": {"kind": "poisson", "rate_per_s": 1, "count": 2, "cv": 2}}, "cv: unknown field"),
        ({"arrivals": {"kind": "trace", "file": "a.csv"}}, "a scenario that is itself read from a file"),
        ({"prompt_tokens": None}, "prompt_tokens is missing; add it"),
        ({"lengths": {"dist": "pairs", "pairs": [[1, 2]]}, "output_tokens": None}, "remove one"),
        (
            {"lengths": {"dist": "pairs", "pairs": [[1, 0]]}, "prompt_tokens": None, "output_tokens": None},
            "pairs[0][1]: must be at least 1",
        ),
        ({"prompt_tokens": {"dist": "empirical", "values": [1, 2], "weights": [1]}}, "2 values but 1 weights"),
        ({"prompt_tokens": {"dist": "empirical", "values": [1], "weights": [0]}}, "all weights are zero"),
        ({"prompt_tokens": {"dist": "empirical"}}, "give either values"),
        ({"prompt_tokens": {"dist": "empirical", "file": "x.csv"}}, "itself read from a file"),
        ({"prefix": {"tokens": 0}}, "prefix.tokens: must be at least 1"),
        ({"prefix": {"tokens": 5, "dist": "normal"}}, "must be one of uniform, zipf"),
        ({"prefix": {"tokens": 5, "groups": 3, "exponent": 2}}, "set dist: zipf, or remove it"),
        ({"priority": 1.5}, "priority: must be a whole number"),
        ({"tenant": "a b"}, "tenant: must be a letter"),
    ],
)
def test_traffic_that_makes_no_sense_is_refused_in_one_sentence(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of({**traffic_class(POISSON), **fields})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
