"""`python -m sim trace` and the files it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import ScenarioError
from sim.__main__ import main
from sim.ticks import TICKS_PER_S
from sim.traces import Trace, jsonl_lines, load_trace, mooncake_lines, write_trace
from sim.traces.prefixes import shareable_tokens, shared_prefixes, without_private_parts

S = TICKS_PER_S
DATA = Path(__file__).parent / "data" / "traces"


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
