"""Percentiles, named metrics, the JSON form, bars and tables."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import ScenarioError, builtin_scenario, parse_scenario, simulate
from sim.metrics import percentile, summarise
from sim.report import render_text as render_report
from sim.timeline import Segment, TimelineRow, render_text, timeline


def test_percentiles_interpolate_linearly() -> None:
    """As NumPy's default: the p95 of 1..10 lies at position 8.55, so at 9.55."""
    assert percentile(list(range(1, 11)), 95) == 9.55
    assert percentile([10, 20], 50) == 15.0
    assert percentile([7], 99) == 7.0
    assert percentile([0, 10, 20, 30], 50) == 15.0


@given(st.lists(st.integers(0, 10**15), min_size=1), st.integers(0, 99))
def test_percentiles_lie_between_the_extremes_and_rise(values: list[int], percent: int) -> None:
    ordered = sorted(values)
    low, high = percentile(ordered, percent), percentile(ordered, percent + 1)
    assert ordered[0] <= low <= high <= ordered[-1]


def test_a_summary_of_nothing_is_none_and_a_small_one_is_marked() -> None:
    assert summarise([]) is None
    few, many = summarise([1.0] * 99), summarise([1.0] * 100)
    assert few is not None
    assert many is not None
    assert few.p99_is_thin
    assert not many.p99_is_thin


def test_metrics_by_name() -> None:
    result = simulate(builtin_scenario("worked_example"))
    assert result.metric("yours.queue_s") == 0.12
    assert result.metric("all.ttft_s.max") == 0.4
    assert result.metric("earlier.itl_s") is None
    # 51 tokens in 1.48 s, from the first arrival to the last token
    assert result.metric("output_tokens_per_s") == pytest.approx(51 / 1.48, rel=1e-12)
    assert result.metric("requests_per_s") == pytest.approx(2 / 1.48, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("yours.tfft_s", "did you mean 'yours.ttft_s'"),
        ("mine.ttft_s", "class of this scenario"),
        ("yours.ttft", "yours.ttft_s"),
        ("yours.ttft_s.p42", "one of mean, p50, p90, p95, p99, p999, max"),
        ("", "<class>.<metric>_s"),
    ],
)
def test_an_unknown_metric_is_refused_with_a_remedy(name: str, remedy: str) -> None:
    result = simulate(builtin_scenario("worked_example"))
    with pytest.raises(ScenarioError, match=r"there is no (metric|statistic)") as caught:
        result.metric(name)
    assert remedy in str(caught.value)


def test_the_json_form_survives_json() -> None:
    data = simulate(builtin_scenario("exercise")).to_dict()
    again = json.loads(json.dumps(data, allow_nan=False))
    assert again == data
    assert again["requests"][1]["ttft_s"] == 0.3
    assert again["classes"]["yours"]["e2e"]["p95_s"] == 1.05
    assert again["counts"]["completed"] == 2
    assert "requests" not in simulate(builtin_scenario("exercise")).to_dict(details=False)


def test_the_timeline_splits_a_request_into_its_stages() -> None:
    rows = timeline(simulate(builtin_scenario("exercise")))
    assert rows[1] == TimelineRow(
        "yours",
        "yours",
        (
            Segment("preprocess", 0.0, 0.04),
            Segment("queue", 0.04, 0.14),
            Segment("prefill", 0.14, 0.3),
            Segment("decode", 0.3, 1.05),
        ),
    )
    assert rows[0].segments == (Segment("prefill", 0.0, 0.14),)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_bars_fit_the_width_and_show_every_stage_in_order(width: int) -> None:
    lines = render_text(timeline(simulate(builtin_scenario("exercise"))), width)
    assert all(len(line) <= width for line in lines)
    bar = lines[1].removeprefix("yours").lstrip()
    assert list(dict.fromkeys(bar)) == ["p", "·", "█", "="]


def test_bars_of_nothing_and_of_many() -> None:
    assert render_text((), 80) == ["no request to show"]
    rows = timeline(simulate(builtin_scenario("trial_baseline")))
    assert "more requests are not drawn" in "\n".join(render_text(rows, 80))


def test_the_report_shows_counts_beside_rates_and_marks_thin_percentiles() -> None:
    text = render_report(simulate(builtin_scenario("exercise")))
    assert "2 submitted = 2 completed + 0 cancelled + 0 rejected + 0 failed" in text
    assert "1,050.00" in text
    assert "* from fewer than 100 samples" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_report_says_which_limits_held() -> None:
    text = render_report(simulate(builtin_scenario("trial_larger_prompt_batch")))
    assert "limit TTFT 700.00" in text
    assert "missed" in text


@pytest.mark.parametrize("seconds", [1e-6, 1.0, 1e4])
def test_the_report_fits_80_columns_whatever_the_numbers(seconds: float) -> None:
    """Steps of a microsecond to hours, the longest names, limits of every kind, two tenants."""
    kind = {"prompt_tokens": 50, "output_tokens": 30, "arrivals": {"kind": "poisson", "rate_per_s": 3, "count": 40}}
    limits = {f"{name}_s": seconds for name in ("ttft", "itl", "tpot", "e2e")}
    scenario = parse_scenario(
        {
            "name": "n" * 80,
            "classes": [
                {**kind, "name": "a" * 40, "tenant": "t" * 40, "slo": limits, "patience_s": 5 * seconds},
                {**kind, "name": "b", "tenant": "u", "slo": limits},
            ],
            "server": {"policy": "vllm", "max_seqs": 16, "kv_blocks": 40},
            "step_cost": {"kind": "linear", "base_s": seconds},
        },
        "a test",
    )
    result = simulate(scenario)
    lines = render_report(result).splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert f"{result.counts.completed:,} completed" in "".join(lines)
    assert sum(line.startswith("tenant") for line in lines) == 2


def test_goodput_counts_are_named_and_near_misses_are_helped() -> None:
    result = simulate(builtin_scenario("trial_larger_prompt_batch"))
    chat = result.classes["chat"].goodput
    assert result.metric("chat.attainment") == chat.attainment
    assert result.metric("chat.goodput") == result.metric("chat.goodput_requests_per_s")
    assert result.metric("chat.completed") == 42
    assert result.metric("chat.ttft_s.p90") == result.classes["chat"].ttft.p90_s  # type: ignore[union-attr]
    assert result.metric("all.itl_s.p999") is not None
    assert result.metric("all.ttft_s.p999") is None
    for wrong, near in (
        ("chat.goodputs", "chat.goodput"),
        ("preemption", "preemptions"),
        ("chat.attainmnt", "chat.att"),
    ):
        with pytest.raises(ScenarioError, match=f"did you mean '{near}"):
            result.metric(wrong)


def test_most_waiting_counts_between_the_starts_of_steps_too() -> None:
    """Of the exercise's two requests one waits 100 ms while the other's prompt is read: one, not none."""
    assert simulate(builtin_scenario("exercise")).metric("peak_waiting") == 1


@pytest.mark.parametrize(
    "name", ["trial_baseline", "kv_pressure", "priorities", "prefix_cache", "split_prefill_decode"]
)
def test_stages_add_up(name: str) -> None:
    """TTFT = preprocessing + queue + prefill + transport, E2E = TTFT + decode, and gaps add up to decode time."""
    scenario = builtin_scenario(name)
    few = [item.model_copy(update={"transport_s": 0.002, "preprocess_s": 0.003}) for item in scenario.classes]
    result = simulate(scenario.model_copy(update={"classes": tuple(few)}))
    assert result.counts.completed == result.counts.submitted
    means = {}
    for metric in ("ttft", "queue", "prefill", "decode", "e2e", "itl"):
        summary = result.overall.summary(metric)
        assert summary is not None
        means[metric] = summary.mean_s
        assert summary.p50_s <= summary.p90_s <= summary.p95_s <= summary.p99_s <= summary.max_s
    assert means["ttft"] == pytest.approx(0.005 + means["queue"] + means["prefill"], rel=1e-9)
    assert means["e2e"] == pytest.approx(means["ttft"] + means["decode"], rel=1e-9)
    itl = result.overall.itl
    assert itl is not None
    assert itl.n * means["itl"] == pytest.approx(result.counts.completed * means["decode"], rel=1e-9)
    tokens = result.overall.output_tokens
    assert itl.n == tokens - result.counts.completed
    # As many tokens a second as the duration says.
    assert result.metric("output_tokens_per_s") == pytest.approx(tokens / result.duration_s)
