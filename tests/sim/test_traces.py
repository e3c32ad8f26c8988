"""Reading recorded traces: every format, coarse clocks, shared prefixes, broken rows, other ways to write them."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import ScenarioError
from sim.__main__ import main
from sim.ticks import TICKS_PER_S
from sim.traces import FORMATS, Trace, TraceColumns, jsonl_lines, load_trace, mooncake_lines, write_trace
from sim.traces.prefixes import block_ids, shareable_tokens, shared_prefixes, without_private_parts
from sim.traces.rows import clock_step
from sim.traces.summary import render, summarize

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


# ---- coarse clocks ---------------------------------------------------------------------------------


def test_mooncakes_three_second_steps_are_spread_inside_the_step_and_say_so() -> None:
    path = DATA / "mooncake_conversation.jsonl"
    recorded = [json.loads(line)["timestamp"] / 1000 for line in path.read_text(encoding="utf-8").splitlines()]
    trace = load_trace(path)
    first = load_trace(path, spread=False)
    assert [time / S for time in first.times] == recorded
    assert first.notes == ()
    assert "steps of 3 s" in trace.notes[0]
    assert len(set(trace.times)) == len(trace)
    # Nobody leaves the step the clock gave, up to the shift that puts the first request at 0.
    assert all(-3 < time / S - noted < 3 for time, noted in zip(trace.times, recorded, strict=True))
    assert trace.prompt_tokens == first.prompt_tokens
    assert load_trace(path) == trace


def test_a_fine_clock_and_batches_are_left_alone() -> None:
    assert load_trace(DATA / "mooncake_synthetic.jsonl").notes == ()
    assert clock_step([0] * 50) is None
    assert clock_step([k * S for k in range(50)]) is None
    assert clock_step([60 * S * (k // 10) for k in range(500)]) is None


@given(st.lists(st.integers(0, 40), min_size=60, max_size=200), st.sampled_from([1, 2, 3, 5]))
def test_a_step_of_seconds_is_found_through_a_millisecond_of_jitter(slots: list[int], step: int) -> None:
    times = [(slot + 7) * step * S + (slot % 3 - 1) * S // 1000 for slot in [*slots, *range(40)]]
    found = clock_step(times)
    assert found is not None
    assert (step * S) % found == 0


# ---- prefixes --------------------------------------------------------------------------------------


def test_blocks_of_one_prompt_only_and_all_behind_them_are_private() -> None:
    ids = [[0, 1, 2, 3], [0, 1, 4], [0, 1, 2, 5], [9], [8, 0]]
    prefixes = shared_prefixes(ids, [2000, 1400, 2048, 512, 1000], 512, "t")
    lengths = [[tokens for _, tokens in prefix] for prefix in prefixes]
    assert [sum(prefix) for prefix in lengths] == [1536, 1024, 1536, 0, 0]
    assert prefixes[0] == prefixes[2]
    assert prefixes[3] == prefixes[4] == ()


def test_prompts_agree_exactly_as_far_as_their_ids_do() -> None:
    ids = [[1, 2, 3], [1, 2, 4], [1, 2, 3], [1, 5], [1, 5], [1, 2, 4, 6], [1, 2, 4, 6]]
    prompts = [30, 30, 30, 15, 15, 40, 40]
    prefixes = shared_prefixes(ids, prompts, 10, "t")
    for a, one in enumerate(ids):
        for b, other in enumerate(ids):
            if a != b:
                common = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
                blocks = min(len(one), len(other)) if common is None else common
                assert agreement(prefixes[a], prefixes[b]) == min(blocks * 10, prompts[a], prompts[b])


def agreement(one: tuple[tuple[str, int], ...], other: tuple[tuple[str, int], ...]) -> int:
    """Tokens two prefixes have in common, told token by token."""
    streams = [[(label, i) for label, tokens in prefix for i in range(tokens)] for prefix in (one, other)]
    return next((i for i, (a, b) in enumerate(zip(*streams, strict=False)) if a != b), min(map(len, streams)))


trees = st.lists(st.lists(st.sampled_from("abc"), max_size=5), min_size=1, max_size=12)


def ids_in(paths: list[list[str]]) -> list[list[int]]:
    """Ids as traces have them: one for each different start of a prompt."""
    numbers: dict[str, int] = {}
    return [[numbers.setdefault("".join(path[: i + 1]), len(numbers)) for i in range(len(path))] for path in paths]


@given(trees)
def test_ids_to_prefixes_to_ids_keeps_what_prompts_have_in_common(paths: list[list[str]]) -> None:
    ids = ids_in(paths)
    prompts = [max(1, 4 * len(one)) for one in ids]
    prefixes = shared_prefixes(ids, prompts, 4, "t")
    again = list(block_ids(prefixes, prompts, 4))
    assert [len(one) for one in again] == [-(-prompt // 4) for prompt in prompts]
    counts = Counter(block for one in ids for block in one)
    for (a, new_a), (b, new_b) in pairwise(zip(ids, again, strict=True)):
        common = sum(x == y for x, y in zip(a, b, strict=False))
        assert sum(x == y for x, y in zip(new_a, new_b, strict=False)) == common
    # What an unlimited cache saves: every use of a block but its first.
    assert shareable_tokens(prefixes) == 4 * sum(count - 1 for count in counts.values())


@given(st.lists(st.lists(st.tuples(st.sampled_from("xy"), st.integers(1, 3)), max_size=3).map(tuple), max_size=6))
def test_cutting_private_parts_keeps_every_agreement(prefixes: list[tuple[tuple[str, int], ...]]) -> None:
    # A part is told as a whole: two prompts that go on alike within a label must have told the parts before alike.
    cut = without_private_parts(prefixes)
    assert without_private_parts(cut) == cut
    assert shareable_tokens(cut) == shareable_tokens(prefixes)


# ---- the trace -------------------------------------------------------------------------------------


def test_speed_slices_and_what_they_leave_in_common() -> None:
    trace = load_trace(DATA / "mooncake_synthetic.jsonl")
    twice = trace.faster(2)
    assert [time // 2 for time in trace.times] == list(twice.times)
    assert "2 times its speed" in twice.notes[-1]
    part = trace.between(5, 10)
    inside = [time for time in trace.times if 5 * S <= time < 10 * S]
    assert list(part.times) == [time - inside[0] for time in inside]
    assert trace.first(1).prefixes == ((),)
    assert trace.first(10_000) == trace
    with pytest.raises(ScenarioError, match="no request arrives from 1e"):
        trace.between(1e6, 2e6)
    with pytest.raises(ScenarioError, match="speed must be above 0"):
        trace.faster(0)


def test_the_summary_is_that_of_hand_arithmetic() -> None:
    trace = Trace(
        times=(0, 1 * S, 3 * S, 61 * S, 130 * S),
        prompt_tokens=(10, 20, 30, 40, 100),
        output_tokens=(5, 4, 3, 2, 1),
        prefixes=((("a", 10),), (("a", 10),), (("a", 10), ("b", 10)), (("a", 10), ("b", 5)), ()),
        source="hand",
    )
    summary = summarize(trace)
    assert (summary.requests, summary.duration_s, summary.rate_per_s) == (5, 130.0, 4 / 130)
    # Gaps 1, 2, 58, 69: mean 32.5, variance 976.25.
    assert summary.gap_cv == pytest.approx(976.25**0.5 / 32.5)
    # The finished windows hold 3 and 1: mean 2, variance 1.
    assert summary.dispersion == pytest.approx(0.5)
    assert (summary.prompt_tokens.mean, summary.prompt_tokens.p50, summary.prompt_tokens.largest) == (40.0, 30.0, 100)
    assert summary.prompt_tokens.p95 == pytest.approx(88.0)
    # Deviations −30 −20 −10 0 60 and 2 1 0 −1 −2: −200 over the root of 5,000 times 10.
    assert summary.correlation == pytest.approx(-200 / 50_000**0.5)
    # Repeated: 10, then 10, then 10 and 5, of 200 tokens.
    assert summary.shareable_share == pytest.approx(35 / 200)
    assert "5 requests in 130.0 s" in render(summary)


def test_one_request_has_no_rate() -> None:
    summary = summarize(Trace((0,), (4,), (2,), ((),)))
    assert (summary.rate_per_s, summary.gap_cv, summary.dispersion, summary.correlation) == (None,) * 4
    assert "–" in render(summary)


@pytest.mark.parametrize("times", [(), (1,), (0, 2, 1)])
def test_columns_that_are_no_trace_are_refused(times: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="trace"):
        Trace(times, (1,) * len(times), (1,) * len(times), ((),) * len(times))


# ---- round trips -----------------------------------------------------------------------------------

lengths = st.integers(1, 1_000_000)
parts = st.lists(st.tuples(st.sampled_from(["a", "b", "é\n"]), st.integers(1, 40)), max_size=3).map(tuple)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    rows = draw(st.lists(st.tuples(st.integers(0, 10**17), lengths, lengths, parts), min_size=1, max_size=8))
    rows.sort(key=lambda row: row[0])
    return Trace(
        times=tuple(time - rows[0][0] for time, *_ in rows),
        prompt_tokens=tuple(prompt + sum(tokens for _, tokens in prefix) for _, prompt, _, prefix in rows if prompt),
        output_tokens=tuple(output for _, _, output, _ in rows),
        prefixes=without_private_parts([prefix for *_, prefix in rows]),
        source="t",
    )


@given(traces())
def test_our_own_lines_bring_any_trace_back(tmp_path_factory: pytest.TempPathFactory, trace: Trace) -> None:
    if max(trace.prompt_tokens) > 1_000_000:
        trace = Trace(trace.times, (1_000_000,) * len(trace), trace.output_tokens, trace.prefixes, source="t")
    path = tmp_path_factory.mktemp("round") / "trace.jsonl"
    write_trace(trace, path)
    assert load_trace(path, name="t") == trace


@given(traces(), st.sampled_from([1, 16]))
def test_mooncakes_lines_bring_times_lengths_and_whole_shared_blocks_back(
    tmp_path_factory: pytest.TempPathFactory, trace: Trace, block_tokens: int
) -> None:
    trace = Trace(trace.times, tuple(min(p, 500) for p in trace.prompt_tokens), trace.output_tokens, trace.prefixes)
    lines = list(mooncake_lines(trace, block_tokens))
    ids = [json.loads(line)["hash_ids"] for line in lines]
    again = shared_prefixes(ids, trace.prompt_tokens, block_tokens, "again")
    if block_tokens == 1:
        assert [sum(n for _, n in prefix) for prefix in again] == [sum(n for _, n in p) for p in trace.prefixes]
    assert shareable_tokens(again) <= shareable_tokens(trace.prefixes)
    # The reader takes blocks of 512 tokens, so here it gets the times and lengths only.
    path = tmp_path_factory.mktemp("round") / "trace.jsonl"
    path.write_text("".join(f"{json.dumps(json.loads(line) | {'hash_ids': []})}\n" for line in lines), encoding="utf-8")
    back = load_trace(path, "mooncake", spread=False)
    assert [round(time / 1e6) for time in back.times] == [round(time / 1e6) for time in trace.times]
    assert (back.prompt_tokens, back.output_tokens) == (trace.prompt_tokens, trace.output_tokens)


def test_a_mooncake_sample_survives_being_written_and_read(tmp_path: Path) -> None:
    trace = load_trace(DATA / "mooncake_conversation.jsonl", name="t")
    path = tmp_path / "again.jsonl"
    write_trace(trace, path, "mooncake")
    again = load_trace(path, name="t")
    assert (again.times, again.prompt_tokens, again.prefixes) == (trace.times, trace.prompt_tokens, trace.prefixes)
    with pytest.raises(ScenarioError, match="is there already"):
        write_trace(trace, path)


# ---- broken files ----------------------------------------------------------------------------------

GOOD = "arrived_at,num_prefill_tokens,num_decode_tokens\n1,10,2\n"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("2,10", "2 cells, but the header has 3"),
        ("soon,10,2", "arrived_at must be a number, not 'soon'"),
        ("nan,10,2", "arrived_at must be a number within reason"),
        ("1e99999,10,2", "within reason"),
        ("2,ten,2", "num_prefill_tokens must be a number, not 'ten'"),
        ("2,1.5,2", "must be a whole number"),
        ("2,-3,2", "must be from 1 to 1,000,000"),
        ("2,10,0", "num_decode_tokens must be from 1"),
        ("2,10,99999999999", "must be from 1"),
        ('2,"10,2', "quotation marks"),
    ],
)
def test_a_broken_row_is_named_or_skipped_and_counted(tmp_path: Path, row: str, said: str) -> None:
    path = written(tmp_path, f"{GOOD}{row}\n3,30,4\n")
    with pytest.raises(ScenarioError) as caught:
        load_trace(path)
    assert f"{path}, line 3: " in str(caught.value)
    assert said in str(caught.value)
    assert "on_error: skip" in str(caught.value)
    trace = load_trace(path, on_error="skip")
    assert rows_of(trace) == [(0.0, 10, 2), (2.0, 30, 4)]
    assert trace.notes[0].startswith("1 of 3 rows left out as broken: line 3")


def test_only_the_first_broken_rows_are_named(tmp_path: Path) -> None:
    trace = load_trace(written(tmp_path, GOOD + "x\n" * 10), on_error="skip")
    assert trace.notes[0].startswith("10 of 11 rows")
    assert "line 5" in trace.notes[0]
    assert "line 6" not in trace.notes[0]


def test_rows_out_of_order_are_sorted_and_a_limit_keeps_the_first(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD + "0.5,20,3\n7,30,4\n")
    trace = load_trace(path)
    assert rows_of(trace) == [(0.0, 20, 3), (0.5, 10, 2), (6.5, 30, 4)]
    assert trace.notes == ("rows sorted by time: 1 came earlier than the row before",)
    assert rows_of(load_trace(path, limit=2)) == [(0.0, 20, 3), (0.5, 10, 2)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("a,b,c\n1,2,3\n", "no known format has the columns 'a', 'b', 'c'; name the columns"),
        ('{"a": 1}\n', "no known format has the keys 'a'"),
        (GOOD.partition("\n")[0], "holds no request that can be used"),
        ('{"time_s": 0, "prompt_tokens": 5, "output_tokens": 5}\n{"time_s": 1}\n', "line 2: there is no 'prompt_tok"),
        ('{"time_s": 0, "prompt_tokens": 5, "output_tokens": NaN}\n', "not valid JSON"),
        ('{"time_s": 0, "prompt_tokens": 5, "output_tokens": 5}\n[1]\n', "line 2: must be an object"),
        ('{"time_s": 0, "prompt_tokens": 5, "output_tokens": 5, "prefix": [["a", 6]]}\n', "more than the prompt's 5"),
        ('{"time_s": 0, "prompt_tokens": 5, "output_tokens": 5, "prefix": [["a"]]}\n', "a list of [label, tokens]"),
        ('{"timestamp": 0, "input_length": 512, "output_length": 5, "hash_ids": [1, 2]}\n', "names 2 blocks"),
        ('{"timestamp": 0, "input_length": 512, "output_length": 5, "hash_ids": ["a"]}\n', "list of whole numbers"),
        ("{" * 100_000, "not valid JSON"),
        (GOOD + "1e10,5,5\n", "span more than 9,000,000 s"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_trace(written(tmp_path, text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_missing_folders_or_binary(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such file"):
        load_trace(tmp_path / "none.csv")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_trace(tmp_path)
    path = tmp_path / "binary.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="UTF-8"):
        load_trace(path)
    path.write_bytes(GOOD.encode() + b"2,\xff,1\n")
    with pytest.raises(ScenarioError, match="line 3: not UTF-8 text"):
        load_trace(path)
    with pytest.raises(ScenarioError, match="there is no column 'TIMESTAMP'"):
        load_trace(written(tmp_path, GOOD), "azure")


openings = st.sampled_from(
    [
        b"",
        GOOD.encode(),
        b"TIMESTAMP,ContextTokens,GeneratedTokens\n",
        b"0,1,1,Gamma,1,1\n",
        b'{"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": [1]}\n',
        b'{"time_s": 1, "prompt_tokens": 5, "output_tokens": 5, "prefix": [["a", 3]]}\n',
        b'{"input_lens": [1], "output_lens": [1], "start_times": [1]}',
    ]
)
pieces = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [b"\n", b",", b'"', b"{", b"[", b"]}", b"1e400", b"-0", b"NaN", b"9" * 5000, b"2023-13-45 00:00:00"]
    ),
)


@given(openings, st.lists(pieces, max_size=6), st.sampled_from(FORMATS), st.sampled_from(["refuse", "skip"]))
def test_any_bytes_are_a_trace_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, opening: bytes, rest: list[bytes], format: Any, on_error: Any
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    path = folder / "x-trace.csv"
    path.write_bytes(opening + b"".join(rest))
    (folder / "x-dataset.json").write_bytes(b'{"0": {"input_tokens": "{1: 1}", "output_tokens": "{1: 1}"}}')
    refusal = ""
    try:
        trace = load_trace(path, format, on_error=on_error)
        assert len(trace) >= 1
    except ScenarioError as error:
        refusal = str(error)
    assert "\n" not in refusal
    assert len(refusal) < 1_000


@given(st.binary(max_size=120))
def test_any_bytes_as_servegens_table_of_lengths(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "x-trace.csv").write_text("0,1,1,Gamma,1,1\n", encoding="utf-8")
    (folder / "x-dataset.json").write_bytes(data)
    with pytest.raises(ScenarioError):
        load_trace(folder / "x-trace.csv")


# ---- command line ----------------------------------------------------------------------------------


def test_the_command_prints_a_summary_and_writes_the_trace_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = str(DATA / "azure_2023_conversation.csv")
    new = tmp_path / "new.jsonl"
    assert main(["trace", sample, "--to", str(new), "--speed", "2"]) == 0
    assert "30 requests in" in capsys.readouterr().out
    assert main(["trace", str(new), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["requests"] == 30
    whole = load_trace(DATA / "azure_2023_conversation.csv")
    assert summary["duration_s"] == pytest.approx(whole.duration_s / 2)
    assert load_trace(new).prompt_tokens == whole.prompt_tokens
    assert main(["trace", sample, "--from", "10", "--until", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"] == sum(10 * S <= time < 20 * S for time in whole.times)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.csv"], "no such file"),
        (["{sample}", "--columns", "tim=x"], "did you mean 'time'?"),
        (["{sample}", "--columns", "unit=h"], "--columns: unit"),
        (["{sample}", "--limit", "0"], "limit must be at least 1"),
        (["{sample}", "--speed", "nan"], "speed must be above 0"),
        (["{sample}", "--from", "inf"], "from one second to another"),
        (["{sample}", "--block-tokens", "0"], "at least 1"),
        (["{sample}", "--to", "no/such/folder/x"], "cannot be written"),
    ],
)
def test_the_command_refuses_bad_input_with_code_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = str(DATA / "azure_2023_conversation.csv")
    assert main(["trace", *(part.format(sample=sample) for part in arguments)]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert len(printed.err.splitlines()) == 1


def test_lines_are_plain_json_with_exact_decimals() -> None:
    trace = Trace((0, 1, 3 * S // 2), (5, 6, 7), (1, 2, 3), ((("a", 4),), (("a", 4),), ()))
    assert list(jsonl_lines(trace)) == [
        '{"time_s": 0, "prompt_tokens": 5, "output_tokens": 1, "prefix": [["a", 4]]}',
        '{"time_s": 0.000000000001, "prompt_tokens": 6, "output_tokens": 2, "prefix": [["a", 4]]}',
        '{"time_s": 1.5, "prompt_tokens": 7, "output_tokens": 3}',
    ]
