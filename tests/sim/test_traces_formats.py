"""Reading the public formats of recorded traces, and ServeGen's rates."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sim import ScenarioError
from sim.ticks import TICKS_PER_S
from sim.traces import Trace, TraceColumns, load_trace
from sim.traces.summary import summarize

S = TICKS_PER_S
DATA = Path(__file__).parent / "data" / "traces"


def written(folder: Path, text: str, name: str = "trace") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def rows_of(trace: Trace) -> list[tuple[float, int, int]]:
    return [
        (time / S, prompt, output)
        for time, prompt, output in zip(trace.times, trace.prompt_tokens, trace.output_tokens, strict=True)
    ]


# ---- formats ---------------------------------------------------------------------------------------


def test_azure_times_are_read_to_the_last_digit() -> None:
    trace = load_trace(DATA / "azure_2023_conversation.csv")
    assert len(trace) == 30
    # 18:15:46.6805900 and 18:15:50.9951690
    assert trace.times[:2] == (0, 4_314_579_000_000)
    assert rows_of(trace)[1] == (4.314579, 396, 109)
    assert trace.notes == ()
    assert set(trace.prefixes) == {()}


def test_clock_times_may_carry_a_zone_and_cross_midnight(tmp_path: Path) -> None:
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 23:59:59.5+00:00,1,1\n2024-05-11T02:00:01+02:00,2,2\n"
    assert rows_of(load_trace(written(tmp_path, text))) == [(0.0, 1, 1), (1.5, 2, 2)]


def test_burstgpt_failures_are_refused_or_left_out_and_counted(tmp_path: Path) -> None:
    text = (
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,1,2.5,ChatGPT,472,18,490,Conversation log\n"
        "45.25,1,9,ChatGPT,1087,0,1087,Conversation log\n"
        '118,2,30,"GPT-4, large",417,276,693,API log\n'
    )
    path = written(tmp_path, text)
    with pytest.raises(ScenarioError, match=r"trace, line 3: Response tokens must be from 1 to .*not '0'; .*skip"):
        load_trace(path)
    trace = load_trace(path, on_error="skip")
    assert rows_of(trace) == [(0.0, 472, 18), (113.0, 417, 276)]
    assert trace.notes == (
        "1 of 3 rows left out as broken: line 3 (Response tokens must be from 1 to 1,000,000, not '0')",
    )


def test_vidur_generic_csv_and_named_columns(tmp_path: Path) -> None:
    vidur = written(tmp_path, "arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,10,3\n1.25,20.0,4\n", "vidur")
    assert rows_of(load_trace(vidur)) == [(0.0, 10, 3), (0.75, 20, 4)]
    own = written(tmp_path, "\ufefftime_s,model,prompt_tokens,output_tokens\n1,x,10,3\n\n3,y,20,4\n", "own")
    assert rows_of(load_trace(own)) == [(0.0, 10, 3), (2.0, 20, 4)]
    named = written(tmp_path, "in,out,when\n7,8,1500\n9,10,1750\n", "named")
    columns = TraceColumns(time="when", unit="ms", prompt_tokens="in", output_tokens="out")
    assert rows_of(load_trace(named, columns=columns)) == [(0.0, 7, 8), (0.25, 9, 10)]
    keys = written(tmp_path, '{"in": 7, "out": 8, "when": 1500}\n{"in": 9, "out": 10, "when": 1750.5}\n', "keys")
    assert rows_of(load_trace(keys, columns=columns)) == [(0.0, 7, 8), (0.2505, 9, 10)]


def test_a_detailed_result_of_vllm_bench_serve(tmp_path: Path) -> None:
    result: dict[str, Any] = {
        "completed": 2,
        "input_lens": [100, 50, 70],
        "output_lens": [20, 0, 30],
        "start_times": [1000.5, 1001.0, 1002.75],
        "errors": ["", "refused", ""],
    }
    for number, indent in enumerate((None, 2)):
        path = written(tmp_path, json.dumps(result, indent=indent), f"result{number}.json")
        with pytest.raises(ScenarioError, match="entry 2: output_lens"):
            load_trace(path)
        assert rows_of(load_trace(path, on_error="skip")) == [(0.0, 100, 20), (2.25, 70, 30)]
    del result["start_times"]
    with pytest.raises(ScenarioError, match=r"without the list 'start_times'.*--save-detailed"):
        load_trace(written(tmp_path, json.dumps(result)))


def test_measured_requests_with_prefix_blocks_of_16_tokens(tmp_path: Path) -> None:
    trace = load_trace(DATA / "measured_lengths.jsonl")
    assert len(trace) == 12
    assert trace.times[0] == 0
    lines = (
        '{"arrival_time_ns": 5, "input_toks": 40, "output_toks": 2, "prefix_block_ids_16": [0, 1]}\n'
        '{"arrival_time_ns": 9, "input_toks": 33, "output_toks": 3, "prefix_block_ids_16": [0, 2]}\n'
    )
    trace = load_trace(written(tmp_path, lines))
    assert trace.times == (0, 4_000)
    assert [[tokens for _, tokens in prefix] for prefix in trace.prefixes] == [[16], [16]]
    logged = '{"request_id": "b", "input_toks": 9, "output_toks": 2, "arrival_time": 1787267980.0827403}\n'
    assert rows_of(load_trace(written(tmp_path, logged + logged.replace("0827403", "5827403")))) == [
        (0.0, 9, 2),
        (0.5, 9, 2),
    ]


# ---- ServeGen --------------------------------------------------------------------------------------


def test_servegen_windows_bring_the_requests_their_rates_say() -> None:
    trace = load_trace(DATA / "servegen_client-trace.csv")
    # 0.0767 and 0.1683 requests a second, for 600 s each: 46 and 101; the windows start 1,200 s apart.
    split = next(i for i, (a, b) in enumerate(pairwise(trace.times), 1) if b - a > 300 * S)
    assert (split, len(trace) - split) == (46, 101)
    assert 600 <= (trace.times[split] - trace.times[0]) / S <= 1_800
    table = json.loads((DATA / "servegen_client-dataset.json").read_text(encoding="utf-8"))["129600"]
    known = {int(item.split(":")[0]) for item in table["input_tokens"].strip("{}").split(",")}
    assert set(trace.prompt_tokens) <= known
    assert load_trace(DATA / "servegen_client-trace.csv") == trace
    assert load_trace(DATA / "servegen_client-trace.csv", seed=2).times != trace.times


def test_servegen_gaps_follow_the_fitted_distribution(tmp_path: Path) -> None:
    # Gamma of shape 0.25 and scale 0.04 s: mean 10 ms, CV 2; 60,000 requests fill their window of 600 s.
    path = written(tmp_path, "0,100,2,Gamma,0.25,0.04\n600,0,0,,0,0\n", "busy-trace.csv")
    written(tmp_path, '{"0": {"input_tokens": "{7: 0.5, 9: 0.5}", "output_tokens": "{3: 1.0}"}}', "busy-dataset.json")
    summary = summarize(load_trace(path))
    assert summary.requests == 60_000
    assert summary.gap_cv == pytest.approx(2.0, rel=0.03)
    assert summary.duration_s == pytest.approx(600, rel=0.02)
    assert summary.prompt_tokens.mean == pytest.approx(8.0, abs=0.05)


@pytest.mark.parametrize(
    ("windows", "dataset", "said"),
    [
        ("0,1,1,Gamma,1,1\n", None, "busy-dataset.json: no such file"),
        ("0,1,1,Gamma,1,1\n", "[", "busy-dataset.json, line 1: not valid JSON"),
        ("0,1,1,Gamma,1,1\n", '{"0": {"input_tokens": "{a: 1}", "output_tokens": "{}"}}', "'a: 1' is no pair"),
        ("0,1,1,Gamma,1,1\n", '{"0": {"input_tokens": "{}", "output_tokens": "{}"}}', "line 1: the dataset has no"),
        ("0,1,1,Gamma,0,1\n", '{"0": {"input_tokens": "{1: 1}", "output_tokens": "{1: 1}"}}', "shape and scale"),
        ("0,1,1,Gamma,1,1\n5,1,1,Pareto,1,1\n", '{"0": {}}', "line 2: the family must be"),
        ("0,1,1,Gamma,1,1\n0,1,1,Gamma,1,1\n", '{"0": {}}', "line 2: the window from 0 s is there already"),
    ],
)
def test_broken_servegen_clients_are_refused(tmp_path: Path, windows: str, dataset: str | None, said: str) -> None:
    path = written(tmp_path, windows, "busy-trace.csv")
    if dataset is not None:
        written(tmp_path, dataset, "busy-dataset.json")
    with pytest.raises(ScenarioError) as caught:
        load_trace(path)
    assert said in str(caught.value)
