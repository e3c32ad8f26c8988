"""What other programs read: JSON, tables, Perfetto traces, Prometheus text, benchmark results."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from sim import Result, ScenarioError, builtin_scenario, parse_scenario, simulate
from sim.emission import tokens_per_bin
from sim.export.bench import bench_result
from sim.export.chrome import events, write_trace
from sim.export.prometheus import definitions, prometheus_text
from sim.export.tables import request_blocks, step_blocks, write_table
from sim.metrics import summarise
from sim.traces.reading import load_trace

SCENARIO: dict[str, object] = {
    "name": "two classes on few blocks",
    "seed": 3,
    "classes": [
        {
            "name": "chat",
            "prompt_tokens": {"dist": "uniform", "low_tokens": 20, "high_tokens": 90},
            "output_tokens": {"dist": "uniform", "low_tokens": 1, "high_tokens": 60},
            "arrivals": {"kind": "poisson", "rate_per_s": 12, "count": 60},
            "transport_s": 0.004,
            "slo": {"ttft_s": 0.2, "itl_s": 0.03, "tpot_s": 0.025, "e2e_s": 1.0},
        },
        {
            "name": "long",
            "prompt_tokens": 700,
            "output_tokens": 40,
            "arrivals": {"kind": "poisson", "rate_per_s": 2, "count": 10},
        },
    ],
    "server": {"policy": "vllm", "max_seqs": 16, "token_budget": 256, "kv_blocks": 90},
    "step_cost": {
        "kind": "linear",
        "base_s": 0.006,
        "per_prefill_token_s": 6e-5,
        "per_decode_seq_s": 3e-4,
        "per_context_token_s": 1e-7,
    },
}


@pytest.fixture(scope="module")
def crowded() -> Result:
    """A run with preemptions, on so few blocks that requests push each other out."""
    result = simulate(parse_scenario(SCENARIO, "a test"))
    assert result.metric("preemptions")
    return result


def gaps_of_completed(result: Result) -> list[int]:
    return [gap for record in result.requests if record.status == "completed" for gap in record.gap_ticks]


# ---- tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_requests_as_a_table_say_what_the_records_say(crowded: Result, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"requests{ending}"
    write_table(request_blocks(crowded, rows=32), path)
    if ending == ".csv":
        with path.open(encoding="utf-8") as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
    else:
        rows = parquet.read_table(path).to_pylist()
    assert len(rows) == 70
    for row, record in zip(rows, crowded.requests, strict=True):
        for name in ("arrival_s", "first_token_s", "ttft_s", "queue_s", "prefill_s", "decode_s", "e2e_s"):
            assert float(row[name]) == getattr(record, name)
        assert int(row["preemptions"]) == record.preemptions
        assert (row["class"], row["status"]) == (record.class_name, "completed")
        if record.tpot_s is None:
            assert row["tpot_s"] in (None, "")
        else:
            assert float(row["tpot_s"]) == pytest.approx(record.tpot_s, rel=1e-15)
            assert float(row["max_gap_s"]) == max(record.gaps_s)
    good = sum(str(row["good"]) == "True" for row in rows)
    assert good == crowded.overall.goodput.good


def test_steps_as_a_table_can_be_written_out_again(crowded: Result) -> None:
    table: dict[str, list[Any]] = defaultdict(list)
    for block in step_blocks(crowded, rows=100):
        for name, cells in block.items():
            table[name] += cells
    spans: list[float] = [
        first + growth * number
        for first, growth, steps in zip(table["first_step_s"], table["growth_s"], table["steps"], strict=True)
        for number in range(steps)
    ]
    assert spans == pytest.approx([step.duration_s for step in crowded.steps], rel=1e-9)
    assert sum(spans) <= crowded.duration_s


def test_a_table_with_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"\.csv or \.parquet"):
        write_table(iter([{"id": [1]}]), tmp_path / "requests.xls")


# ---- Perfetto --------------------------------------------------------------------------------------


def test_the_trace_is_json_and_slices_of_a_thread_nest(crowded: Result) -> None:
    file = io.StringIO()
    write_trace(crowded, file)
    trace = json.loads(file.getvalue())
    threads: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        assert {"ph", "name", "pid"} <= event.keys()
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for spans in threads.values():
        open_until: list[float] = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= start + 1e-6:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 1e-6
            open_until.append(end)


def test_the_trace_holds_every_step_every_request_and_the_counters(crowded: Result) -> None:
    found = list(events(crowded))
    steps = [event for event in found if event.get("cat") == "step"]
    assert [event["ts"] for event in steps] == [step.start_ticks / 10**6 for step in crowded.steps]
    requests = {event["args"]["id"]: event for event in found if event.get("cat") == "request"}
    assert len(requests) == 70
    for record in crowded.requests:
        assert requests[record.id]["ts"] == record.scheduled_ticks / 10**6  # type: ignore[operator]
    waits = [event for event in found if event.get("cat") == "queue"]
    assert sorted(event["ph"] for event in waits) == ["b"] * 70 + ["e"] * 70
    counters = {event["name"] for event in found if event["ph"] == "C"}
    assert counters == {"queue", "running", "KV usage %"}
    seats = {event["args"]["name"] for event in found if event["name"] == "thread_name"} - {"steps"}
    # A request that was pushed out keeps its seat in the picture, so there may be more than 16.
    assert {f"seat {number}" for number in range(1, 9)} <= seats


def test_requests_that_reach_no_seat_are_drawn_at_the_front_end() -> None:
    data = {**SCENARIO, "server": {"policy": "continuous", "max_seqs": 1, "queue_limit": 1}}
    result = simulate(parse_scenario(data, "a test"))
    rejected = [event for event in events(result) if event["ph"] == "i"]
    assert len(rejected) == result.counts.rejected > 0
    assert {event["pid"] for event in rejected} == {0}


# ---- Prometheus ------------------------------------------------------------------------------------


def samples_of(text: str) -> dict[str, dict[str, float]]:
    """Metric name to label text to value."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in text.splitlines():
        if not line.startswith("#"):
            key, value = line.rsplit(" ", 1)
            name, _, labels = key.partition("{")
            found[name][labels.rstrip("}")] = float(value)
    return found


ENGINE = 'engine="0",model_name="simulated"'


def test_every_metric_of_vllm_is_there_with_its_buckets(crowded: Result) -> None:
    samples = samples_of(prometheus_text(crowded))
    for definition in definitions():
        if definition.kind == "histogram":
            buckets = samples[f"{definition.name}_bucket"]
            counts = list(buckets.values())
            assert counts == sorted(counts)
            assert counts[-1] == samples[f"{definition.name}_count"][ENGINE]
            if definition.buckets is not None:
                assert len(counts) == len(definition.buckets) + 1
        else:
            assert samples[definition.name + ("_total" if definition.kind == "counter" else "")]


def test_prometheus_figures_are_those_of_the_run(crowded: Result) -> None:
    samples = samples_of(prometheus_text(crowded))
    gaps = gaps_of_completed(crowded)
    itl = samples["vllm:inter_token_latency_seconds_bucket"]
    for label, count in itl.items():
        bound = float(label.split('le="')[1].strip('"'))
        assert count == sum(gap <= bound * 10**12 for gap in gaps)
    # The sum of a request's gaps is its decode time.
    decode = samples["vllm:request_decode_time_seconds_sum"][ENGINE]
    assert samples["vllm:inter_token_latency_seconds_sum"][ENGINE] == pytest.approx(decode, rel=1e-12)
    prefill = samples["vllm:request_prefill_time_seconds_sum"][ENGINE]
    inference = samples["vllm:request_inference_time_seconds_sum"][ENGINE]
    assert inference == pytest.approx(prefill + decode, rel=1e-12)
    # The server does not see the transport: 4 ms on the first token of 60 requests.
    client = sum(record.ttft_s or 0 for record in crowded.requests)
    assert samples["vllm:time_to_first_token_seconds_sum"][ENGINE] == pytest.approx(client - 60 * 0.004, rel=1e-9)
    assert samples["vllm:num_preemptions_total"][ENGINE] == crowded.metric("preemptions")
    assert samples["vllm:generation_tokens_total"][ENGINE] == sum(record.output_tokens for record in crowded.requests)
    assert samples["vllm:request_success_total"][ENGINE + ',finished_reason="length"'] == 70
    assert 0 <= samples["vllm:kv_cache_usage_perc"][ENGINE] <= 1


def test_an_answer_of_one_token_counts_as_zero_time_per_token() -> None:
    one = {"name": "one", "prompt_tokens": 10, "output_tokens": 1, "arrivals": {"kind": "times", "times_s": [0, 1]}}
    result = simulate(parse_scenario({**SCENARIO, "classes": [one]}, "a test"))
    samples = samples_of(prometheus_text(result))
    assert samples["vllm:request_time_per_output_token_seconds_count"][ENGINE] == 2
    assert samples["vllm:request_time_per_output_token_seconds_sum"][ENGINE] == 0
    assert samples["vllm:inter_token_latency_seconds_count"][ENGINE] == 0
    assert result.overall.tpot is None


def test_cancelled_requests_count_as_a_success_by_abort() -> None:
    kind = {"prompt_tokens": 100, "output_tokens": 50, "patience_s": 0.05}
    hasty = {**kind, "name": "hasty", "arrivals": {"kind": "times", "times_s": [0, 0, 0, 0]}}
    result = simulate(
        parse_scenario({**SCENARIO, "classes": [hasty], "server": {"policy": "continuous", "max_seqs": 1}}, "a test")
    )
    assert result.counts.cancelled
    samples = samples_of(prometheus_text(result))["vllm:request_success_total"]
    assert samples[ENGINE + ',finished_reason="abort"'] == result.counts.cancelled


def test_names_are_escaped_in_labels(crowded: Result) -> None:
    assert 'model_name="a\\"b\\\\c\\nd"' in prometheus_text(crowded, 'a"b\\c\nd')


# ---- vllm bench serve ------------------------------------------------------------------------------


def test_the_benchmark_result_has_the_tools_figures(crowded: Result) -> None:
    """Against NumPy on the records, as the tool itself computes them."""
    data: dict[str, Any] = bench_result(crowded)
    done = [record for record in crowded.requests if record.status == "completed"]
    samples = {
        "ttft": [record.ttft_s for record in done],
        "tpot": [record.tpot_s for record in done if record.tpot_s is not None],
        "itl": [gap / 10**12 for gap in gaps_of_completed(crowded)],
        "e2el": [record.e2e_s for record in done],
    }
    for name, values in samples.items():
        numbers = np.array(values) * 1000
        assert data[f"mean_{name}_ms"] == pytest.approx(numbers.mean(), rel=1e-12)
        assert data[f"median_{name}_ms"] == pytest.approx(np.median(numbers), rel=1e-12)
        assert data[f"std_{name}_ms"] == pytest.approx(numbers.std(), rel=1e-9)
        assert data[f"p99_{name}_ms"] == pytest.approx(np.percentile(numbers, 99), rel=1e-12)
    assert data["completed"] == 70
    assert data["output_throughput"] * data["duration"] == pytest.approx(data["total_output_tokens"])
    assert data["total_output_tokens"] == sum(data["output_lens"])
    assert [len(gaps) for gaps in data["itls"]] == [tokens - 1 for tokens in data["output_lens"]]
    json.dumps(data, allow_nan=False)


def test_the_peaks_of_the_benchmark_are_those_of_its_seconds(crowded: Result) -> None:
    data: dict[str, Any] = bench_result(crowded)
    start = min(record.arrival_ticks for record in crowded.requests)
    seconds: dict[int, int] = defaultdict(int)
    for record in crowded.requests:
        time = record.first_token_ticks
        assert time is not None
        for gap in (0, *record.gap_ticks):
            time += gap
            seconds[(time - start) // 10**12] += 1
    assert data["max_output_tokens_per_s"] == max(seconds.values())
    moments = [(record.arrival_s, 1) for record in crowded.requests]
    moments += [(record.last_token_s or 0, -1) for record in crowded.requests]
    level, most = 0, 0
    for _, change in sorted(moments, key=lambda moment: (moment[0], moment[1])):
        level += change
        most = max(most, level)
    assert data["max_concurrent_requests"] == most


def test_the_tools_goodput_leaves_the_gap_limit_out(crowded: Result) -> None:
    """Chat alone has limits; a request of one token has TPOT 0 there and passes."""
    data: dict[str, Any] = bench_result(crowded, detailed=False)
    good = 0
    for record in crowded.requests:
        if record.class_name == "long":
            good += 1
        else:
            assert record.ttft_s is not None
            assert record.e2e_s is not None
            good += record.ttft_s <= 0.2 and (record.tpot_s or 0) <= 0.025 and record.e2e_s <= 1.0
    assert data["request_goodput"] == pytest.approx(good / data["duration"])
    assert "itls" not in data
    unlimited = simulate(builtin_scenario("exercise"))
    assert bench_result(unlimited)["request_goodput"] is None


def test_our_own_trace_reader_reads_the_benchmark_result_back(crowded: Result, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(bench_result(crowded)), encoding="utf-8")
    trace = load_trace(path)
    assert list(trace.prompt_tokens) == [record.prompt_tokens for record in crowded.requests]
    assert list(trace.output_tokens) == [record.output_tokens for record in crowded.requests]
    first = crowded.requests[0].arrival_s
    assert [time / 10**12 for time in trace.times] == pytest.approx(
        [record.arrival_s - first for record in crowded.requests], abs=1e-9
    )


def test_tokens_per_bin_add_up_to_all_tokens(crowded: Result) -> None:
    for width in (10**9, 10**11, 7 * 10**12):
        assert tokens_per_bin(crowded.columns, width=width).sum() == sum(r.output_tokens for r in crowded.requests)


def test_figures_of_a_run_without_samples_are_numbers_still() -> None:
    data: dict[str, Any] = bench_result(
        simulate(
            parse_scenario(
                {**SCENARIO, "horizon_s": 0.001, "server": {"policy": "continuous"}},
                "a test",
            )
        )
    )
    assert data["completed"] == 0
    assert all(math.isfinite(value) for value in data.values() if isinstance(value, float))


# ---- fleets ----------------------------------------------------------------------------------------

LOSSES: dict[str, dict[str, object]] = {
    fate: {"replicas": 2, "faults": [{"kind": "loss", "replica": 1, "at_s": 2.0, "in_flight": fate}]}
    for fate in ("fail", "restart", "resume")
}
SPLIT: dict[str, object] = {
    "replicas": 3,
    "disaggregated": {"prefill_replicas": 1, "kv_bytes_per_token": 1e5, "bandwidth_bytes_per_s": 1e10},
}


@pytest.mark.parametrize("fleet", [*LOSSES.values(), SPLIT], ids=[*LOSSES, "split"])
@pytest.mark.parametrize("horizon_s", [None, 3.0])
def test_every_token_of_a_fleet_is_where_its_log_says(fleet: dict[str, object], horizon_s: float | None) -> None:
    """Through losses, pauses and transfers: n tokens have n - 1 gaps that lead from the first to the last."""
    data = {**SCENARIO, "fleet": fleet, "horizon_s": horizon_s}
    result = simulate(parse_scenario(data, "a test"))
    for record in result.requests:
        if record.first_token_ticks is not None:
            assert len(record.gap_ticks) == record.output_tokens - 1
            assert record.first_token_ticks + sum(record.gap_ticks) == record.last_token_ticks
    overall = result.overall
    gaps = [gap for record in result.requests for gap in record.gap_ticks]
    assert overall.itl == summarise(gaps, 10**12)
    tokens = sum(record.output_tokens for record in result.requests)
    assert tokens_per_bin(result.columns).sum() == tokens
    assert sum(result.counts) - result.counts.submitted - result.counts.admitted == result.counts.submitted
    # What the steps computed is what became of it.
    prefill = sum(step.prefill_tokens for step in result.steps)
    work = result.work
    if horizon_s is None:
        assert prefill == work.prompt_tokens
    if result.counts.cancelled + result.counts.failed == 0:
        parts = work.useful_tokens + work.recomputed_tokens + work.wasted_output_tokens
        assert parts == work.prompt_tokens + work.output_tokens
    # Every engine's metrics together count every token that was generated.
    generated = samples_of(prometheus_text(result))["vllm:generation_tokens_total"]
    assert sum(generated.values()) == result.work.output_tokens
    assert len({event["pid"] for event in events(result)}) == 1 + len(result.log.runs)
