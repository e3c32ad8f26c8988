"""Comparing scenarios: intervals, stopping, common random numbers, warm-up, and what cannot be told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import Scenario, ScenarioError, builtin_scenario, parse_scenario, simulate
from sim.experiment import Budget, Term, compare
from sim.experiment.comparison import _Runner, lowest, replicate
from sim.experiment.intervals import mean_interval, welch_interval
from sim.experiment.measure import mser, read, warm_up_ticks
from sim.experiment.terms import looks, spent


def queue(rate_per_s: float = 5.0, count: int = 60, service_s: float = 0.1, seed: int = 1) -> Scenario:
    """One seat, one step a request: M/D/1."""
    data = {
        "name": "A queue",
        "seed": seed,
        "classes": [
            {
                "name": "job",
                "prompt_tokens": 1,
                "output_tokens": 1,
                "arrivals": {"kind": "poisson", "rate_per_s": rate_per_s, "count": count},
                "slo": {"ttft_s": 0.3},
            }
        ],
        "server": {"policy": "vllm", "max_seqs": 1},
        "step_cost": {"kind": "linear", "base_s": service_s},
    }
    return parse_scenario(data, "test")


# ---- statistics ------------------------------------------------------------------------------------


def test_the_interval_is_students() -> None:
    # Five values with mean 10 and standard deviation 1: half-width 2.776 / sqrt(5).
    values = [10 + d for d in (-1.264911, -0.632456, 0.0, 0.632456, 1.264911)]
    low, high = mean_interval(values, 0.05)
    assert (low + high) / 2 == pytest.approx(10)
    assert (high - low) / 2 == pytest.approx(2.776 / math.sqrt(5), rel=1e-3)


def test_skewed_values_reach_further_to_their_long_side() -> None:
    # Hall's transformation by hand for 0, 0, 0, 4: mean 1, deviation 2, skewness (3 · (−1/2)³ + (3/2)³) / 4 = 0.75,
    # Student's quantile 3.1824 / 2 = 1.5912, shift 0.75 / 24 = 0.03125.
    low, high = mean_interval([0.0, 0.0, 0.0, 4.0], 0.05)
    assert low == pytest.approx(1 - 2 * (math.cbrt(1 + 0.75 * (1.5912 - 0.03125)) - 1) * 4, rel=1e-3)
    assert high == pytest.approx(1 - 2 * (math.cbrt(1 + 0.75 * (-1.5912 - 0.03125)) - 1) * 4, rel=1e-3)
    assert high - 1 > 1 - low


def test_welchs_interval_is_that_of_the_textbook() -> None:
    # Means 2 and 5, variances 1 and 4 over three values each: standard error sqrt(5/3) = 1.29099, degrees of freedom
    # (5/3)² / ((1/3)² / 2 + (4/3)² / 2) = 2.941, quantile 3.219.
    low, high = welch_interval([1.0, 2.0, 3.0], [3.0, 5.0, 7.0], 0.05)
    assert (low + high) / 2 == pytest.approx(-3)
    assert (high - low) / 2 == pytest.approx(3.219 * 1.29099, rel=2e-3)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(0.001, 0.5))
def test_an_interval_is_in_order_and_turns_with_the_sign(values: list[float], alpha: float) -> None:
    low, high = mean_interval(values, alpha)
    assert low <= high
    turned = mean_interval([-v for v in values], alpha)
    assert turned == pytest.approx((-high, -low), rel=1e-6, abs=1e-6)


def test_one_value_has_no_interval_and_equal_ones_no_width() -> None:
    assert mean_interval([3.0], 0.05) == (-math.inf, math.inf)
    assert mean_interval([3.0, 3.0, 3.0], 0.05) == (3.0, 3.0)


@given(st.integers(2, 500), st.floats(0.001, 0.2))
def test_looks_rise_to_the_budget_and_spend_what_is_allowed(most: int, alpha: float) -> None:
    counts = looks(most)
    assert counts == sorted(set(counts))
    assert counts[-1] == most
    shares = spent(counts, alpha)
    assert sum(shares) == pytest.approx(alpha)
    assert all(share > 0 for share in shares)


@pytest.mark.parametrize(
    ("term", "low", "high", "verdict"),
    [
        (Term("m", "at_most", 5), 3, 5, "supported"),
        (Term("m", "at_most", 5), 3, 5.1, "undetermined"),
        (Term("m", "at_most", 5), 5.1, 6, "refuted"),
        (Term("m", "at_least", 5), 5, 9, "supported"),
        (Term("m", "at_least", 5), 1, 4.9, "refuted"),
        (Term("m", "within", 2, upper=4), 2, 4, "supported"),
        (Term("m", "within", 2, upper=4), 1, 3, "undetermined"),
        (Term("m", "within", 2, upper=4), 5, 6, "refuted"),
        (Term("m", "within", 2, upper=4), 1, 5, "undetermined"),
    ],
)
def test_an_interval_supports_refutes_or_tells_nothing(term: Term, low: float, high: float, verdict: str) -> None:
    assert term.verdict(low, high) == verdict


@pytest.mark.parametrize(
    "make",
    [
        lambda: Term("m", "within", 3),
        lambda: Term("m", "at_most", 3, upper=4),
        lambda: Term("m", "within", 4, upper=4),
        lambda: Term("m", "at_most", math.nan),
        lambda: Budget(replications=1),
        lambda: Budget(seconds=0),
    ],
)
def test_what_makes_no_sense_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=r"."):
        make()


# ---- warm-up ---------------------------------------------------------------------------------------


def test_mser_leaves_out_a_start_that_differs_and_nothing_where_all_is_alike() -> None:
    rng = np.random.default_rng(1)
    steady = rng.normal(10, 1, 1000)
    assert mser(steady) <= 250
    rising = np.concatenate([np.linspace(0, 10, 200), rng.normal(10, 1, 800)])
    assert 120 <= mser(rising) <= 260
    assert mser(np.arange(12.0)) == 0


@given(st.lists(st.floats(0, 1e6), min_size=20, max_size=200))
def test_mser_never_leaves_out_more_than_half(values: list[float]) -> None:
    assert 0 <= mser(np.array(values)) <= len(values) // 2 + 5


def test_a_short_or_passing_load_is_taken_whole() -> None:
    assert warm_up_ticks(simulate(queue(count=100))) == 0
    assert warm_up_ticks(simulate(builtin_scenario("trial_baseline"))) == 0


def test_what_is_left_out_is_left_out_of_every_metric() -> None:
    result = simulate(queue(rate_per_s=8, count=400))
    since = int(np.median(result.columns["arrival"]))
    later = [each for each in result.requests if each.arrival_ticks >= since]
    waits = [each.first_token_ticks - each.arrival_ticks for each in later if each.first_token_ticks is not None]
    found = read(result, "job.ttft_s.p95", since)
    assert found.samples == len(later)
    assert found.value == pytest.approx(np.percentile(waits, 95) / 1e12)
    last = max(each.last_token_ticks or 0 for each in result.requests)
    rate = read(result, "job.requests_per_s", since)
    assert rate.value == pytest.approx(len(later) * 1e12 / (last - since))
    good = sum(wait <= 0.3e12 for wait in waits)
    assert read(result, "goodput", since).value == pytest.approx(good * 1e12 / (last - since))
    assert read(result, "all.output_tokens_per_s", since).value == rate.value


def test_without_a_warm_up_every_metric_is_the_results_own() -> None:
    result = simulate(queue())
    for name in ("job.ttft_s.p95", "all.e2e_s", "goodput", "job.attainment", "output_tokens_per_s", "completed",
                 "duration_s", "peak_waiting"):  # fmt: skip
        assert read(result, name).value == result.metric(name)


# ---- comparing -------------------------------------------------------------------------------------


def test_both_sides_of_a_replication_meet_the_same_requests() -> None:
    slow, fast = queue(service_s=0.1), queue(service_s=0.05)
    pair = replicate(slow, fast, ("job.ttft_s", "submitted"), False, 7)
    assert pair.baseline is not None
    assert pair.baseline.readings[1] == pair.changed.readings[1]
    one = simulate(slow.model_copy(update={"seed": 7}))
    assert pair.baseline.readings[0].value == one.metric("job.ttft_s")


def test_a_plain_improvement_is_supported_and_its_opposite_refuted() -> None:
    slow, fast = queue(service_s=0.15), queue(service_s=0.1)
    faster = compare(slow, fast, [Term("job.ttft_s", "at_most", 0.0, "difference")])
    assert (faster.verdict, faster.stopped) == ("supported", "decided")
    assert faster.replications <= 9
    slower = compare(slow, fast, [Term("job.ttft_s", "at_least", 0.0, "change")])
    assert slower.verdict == "refuted"
    value = slower.terms[0]
    assert value.baseline is not None
    assert value.changed is not None
    assert value.baseline > value.changed
    assert value.interval is not None
    assert value.interval[0] <= (value.estimate or 0) <= value.interval[1] < 0


def test_the_true_wait_of_m_d_1_is_supported_within_a_tenth_and_refuted_beside_it() -> None:
    # Pollaczek-Khinchine: mean wait ρs / (2(1-ρ)) = 0.05 s at ρ = 0.5 and s = 0.1 s; TTFT adds the service.
    scenario = queue(rate_per_s=5, count=2000)
    near = compare(None, scenario, [Term("job.ttft_s", "within", 0.14, upper=0.16)], Budget(replications=40))
    assert near.verdict == "supported"
    assert near.warm_up_s >= 0
    beside = compare(None, scenario, [Term("job.ttft_s", "at_least", 0.17)], Budget(replications=40))
    assert beside.verdict == "refuted"


def test_the_same_on_both_sides_differs_by_nothing() -> None:
    outcome = compare(queue(), queue(), [Term("job.ttft_s", "within", -0.001, "difference", upper=0.001)])
    assert outcome.verdict == "supported"
    assert outcome.terms[0].interval == (0.0, 0.0)


def test_where_nothing_is_random_three_runs_are_enough() -> None:
    data = queue().model_dump(mode="json", exclude_unset=True)
    data["classes"][0]["arrivals"] = {"kind": "deterministic", "rate_per_s": 5, "count": 30}
    fixed = parse_scenario(data, "test")
    outcome = compare(None, fixed, [Term("job.ttft_s.p95", "at_most", 0.1)], Budget(replications=48))
    assert (outcome.verdict, outcome.stopped, outcome.replications) == ("supported", "nothing random", 4)


def test_a_quantile_of_too_few_samples_is_undetermined_and_says_so() -> None:
    outcome = compare(None, queue(count=60), [Term("job.ttft_s.p99", "at_most", 100.0)])
    assert (outcome.verdict, outcome.stopped) == ("undetermined", "too few samples")
    assert outcome.terms[0].note == "p99 of 60 samples a run; it takes 100"


def test_several_statements_stand_or_fall_together() -> None:
    slow, fast = queue(service_s=0.15), queue(service_s=0.1)
    holds, fails = Term("job.ttft_s", "at_most", 0.0, "difference"), Term("job.ttft_s", "at_most", 0.01)
    outcome = compare(slow, fast, [holds, fails])
    assert outcome.verdict == "refuted"
    assert [each.verdict for each in outcome.terms] == ["supported", "refuted"]
    alone = compare(slow, fast, [holds], Budget(replications=4))
    both = compare(slow, fast, [holds, holds], Budget(replications=4))
    assert both.terms[0].level > alone.terms[0].level


def test_the_budget_ends_what_cannot_be_decided() -> None:
    scenario = queue(rate_per_s=9)
    exactly = compare(None, scenario, [Term("job.ttft_s", "at_most", 1.0)], Budget(replications=200))
    middle = exactly.terms[0].estimate
    assert middle is not None
    outcome = compare(None, scenario, [Term("job.ttft_s", "at_most", middle)], Budget(replications=6))
    assert (outcome.verdict, outcome.stopped, outcome.replications) == ("undetermined", "budget", 6)


def test_stopping_keeps_what_is_there_and_decides_nothing() -> None:
    seen: list[int] = []
    outcome = compare(
        queue(), queue(service_s=0.05), [Term("job.ttft_s", "at_most", 0.0, "difference")],
        progress=lambda done, most, requests: seen.append(requests), stop=lambda: len(seen) >= 4,
    )  # fmt: skip
    assert outcome.partial
    assert outcome.verdict == "undetermined"
    assert outcome.replications == 4
    assert outcome.terms[0].interval is not None
    assert seen == [120, 240, 360, 480]


def test_a_metric_that_does_not_exist_is_named() -> None:
    with pytest.raises(ScenarioError, match=r"there is no metric 'job\.ttf_s'"):
        compare(None, queue(), [Term("job.ttf_s", "at_most", 1.0)])


def test_a_difference_needs_a_baseline() -> None:
    with pytest.raises(ValueError, match="baseline"):
        compare(None, queue(), [Term("job.ttft_s", "at_most", 0.0, "change")])


def test_processes_give_what_one_process_gives() -> None:
    job = (queue(count=300), queue(count=300, service_s=0.09), ("job.ttft_s.p95", "goodput"), True)
    with _Runner(1, job, lambda: False) as here, _Runner(2, job, lambda: False, worth_s=0.0) as there:
        assert here.run(range(5, 11)) == there.run(range(5, 11))
        assert here.pool is None
        assert there.pool is not None


def test_every_look_is_shown_while_more_is_run() -> None:
    seen: list[tuple[int, bool]] = []
    outcome = compare(
        None,
        queue(0.1),
        [Term("job.ttft_s", "at_most", 0.0)],
        Budget(replications=10, jobs=1),
        looked=lambda terms, count: seen.append((count, terms[0].interval is not None)),
    )
    assert outcome.verdict == "refuted"
    assert seen == [(4, True)]
    undecided = outcome.terms[0].estimate
    assert undecided is not None
    compare(
        None,
        queue(0.1),
        [Term("job.ttft_s", "at_most", undecided)],
        Budget(replications=10, jobs=1),
        looked=lambda terms, count: seen.append((count, terms[0].interval is not None)),
    )
    assert [count for count, _ in seen[1:]] == looks(10)


def test_no_interval_reaches_where_nothing_can_lie() -> None:
    # Half of the runs fall by 99 %: Student's interval alone would go below -100 %.
    assert lowest(Term("m", "at_most", -0.3, "change"), [-0.99, 0.0]) == -1.0
    assert lowest(Term("m", "at_most", 1.0), [0.0, 3.0]) == 0.0
    assert lowest(Term("m", "at_most", 1.0, "difference"), [0.0, 3.0]) == -math.inf
    assert lowest(Term("m", "at_most", 1.0), [-0.1, 3.0]) == -math.inf
    outcome = compare(
        None, queue(rate_per_s=5.0, count=4), [Term("job.ttft_s", "at_most", 1.0)], Budget(replications=4, jobs=1)
    )
    assert outcome.terms[0].interval is not None
    assert outcome.terms[0].interval[0] >= 0
