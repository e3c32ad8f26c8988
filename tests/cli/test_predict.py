"""`tutor predict`: locked whole or not at all, run, compared; a hit exits with 0 and a miss with 1."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tutor.cli import main
from tutor.lab.predictions import predictions
from tutor.store import open_store

WHOLE = ("--metric", "document.ttft_s.p95", "--goes", "higher", "--value", "892", "--range", "10%", "--confidence", "3")
CHANGE = ("scheduler_trace", "--set", "server.chunk_tokens=256")


def tutor(data_dir: Path, *args: str) -> int:
    """Run `tutor predict`; its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(["--data-dir", str(data_dir), "predict", *args])
    return int(ended.value.code or 0)


def test_a_hit_and_a_miss_are_locked_run_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tutor(tmp_path, *CHANGE, *WHOLE, "--why", "a decode step after each chunk") == 0
    text = capsys.readouterr().out
    assert "Change     server.chunk_tokens 512 → 256" in text
    assert "✓ inside your range" in text
    assert "✓ higher" in text
    other = ("--metric", "chat.itl_s.p95", *WHOLE[2:4], "--value", "100", "--range", "90 to 110", "--confidence", "1")
    assert tutor(tmp_path, *CHANGE, *other) == 1
    assert "come first for a week" in capsys.readouterr().out
    assert tutor(tmp_path, "--list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["missed"] for one in listed["predictions"]] == [False, True]
    assert listed["predictions"][0]["explanation"] == "a decode step after each chunk"
    assert listed["topics"][0]["topic"] == "chunked-prefill"


def test_what_was_run_is_no_prediction_any_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tutor(tmp_path, *CHANGE, *WHOLE, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "inside"
    assert found["simulated"]["low"] == found["simulated"]["high"]
    assert tutor(tmp_path, *CHANGE, *WHOLE) == 2
    assert "a number that has been seen is no prediction" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("scheduler_trace",), "Missing: --metric, --value, --range, --confidence"),
        ((*CHANGE, *WHOLE[:2], *WHOLE[4:]), "Say which way it goes with --goes"),
        (("scheduler_trace", *WHOLE), "Nothing is changed, so it goes nowhere"),
        (("nobody", *WHOLE), "no such file"),
        (("scheduler_trace", "--set", "server.chunk_tokens", *WHOLE), "write path=value"),
        (("scheduler_trace", "--set", "server.chunk_tokens=0", *WHOLE), "server.chunk_tokens: must be"),
        ((*CHANGE, "--metric", "nobody.ttft_s.p95", *WHOLE[2:]), "cannot be predicted"),
        ((*CHANGE, "--metric", "document.ttft_s.p42", *WHOLE[2:]), "cannot be predicted"),
        ((*CHANGE, *WHOLE[:6], "--range", "1 to 2", *WHOLE[8:]), "does not hold your own number"),
    ],
)
def test_bad_input_is_one_sentence_and_locks_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], said: str
) -> None:
    assert tutor(tmp_path, *args) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    with open_store(tmp_path / "tutor.db") as store:
        assert predictions(store) == []


def test_an_empty_list_says_what_would_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tutor(tmp_path, "--list") == 0
    assert "Nothing was predicted and run so far" in capsys.readouterr().out


def test_ask_takes_range_and_directions_of_a_prediction_item(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "2\nmany\n20\n10 to 30\n600\n5\n10%\nl\nsideways\nh\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    with pytest.raises(SystemExit) as ended:
        main(["--data-dir", str(tmp_path), "--no-model", "ask", "serving/prefill-decode/chunk-limit", "--seed", "0"])
    assert not ended.value.code
    text = capsys.readouterr().out
    assert "Please give a number." in text
    assert "“5” is no range" in text
    # By the lesson's arithmetic: 12 + 8 ms, and 32 chunks of 12 ms with 31 decode steps of 8 ms between.
    assert "simulated 20.0 ms" in text
    assert "simulated 632.0 ms" in text
    assert "✓ inside your 540 to 660 ms" in text
    assert "✓ chat ITL max: lower" in text
    assert tutor(tmp_path, "--list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)["predictions"]
    assert [(one["predicted"], one["missed"]) for one in listed] == [(20.0, False), (600.0, False)]
