"""Broken traces: named by line or skipped and counted; never a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import ScenarioError
from sim.ticks import TICKS_PER_S
from sim.traces import FORMATS, Trace, load_trace

S = TICKS_PER_S


def written(folder: Path, text: str, name: str = "trace") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def rows_of(trace: Trace) -> list[tuple[float, int, int]]:
    return [
        (time / S, prompt, output)
        for time, prompt, output in zip(trace.times, trace.prompt_tokens, trace.output_tokens, strict=True)
    ]


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
