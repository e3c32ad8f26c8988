"""The scheduler against recorded steps of vLLM, and the command that compares them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.__main__ import main as sim_main
from sim.conformance import main, run_file
from sim.vllm import Engine

CASES = Path(__file__).parent / "data" / "scheduler_cases.json"


@pytest.mark.parametrize("engine", ["0.33", "0.11"])
def test_every_recorded_step_is_reproduced(engine: Engine) -> None:
    outcomes = run_file(CASES, engine)
    assert [(outcome.id, str(outcome.difference or outcome.reason)) for outcome in outcomes if not outcome.passed] == []
    assert sum(outcome.kind == "case" for outcome in outcomes) == 40
    assert sum(outcome.kind == "table" for outcome in outcomes) == 2


Edit = Callable[[dict[str, Any]], None]


def edited(folder: Path, *edits: Edit, only: int = 1) -> Path:
    """A file with the first cases of the record, changed."""
    data = json.loads(CASES.read_text())
    data["cases"] = data["cases"][:only]
    for edit in edits:
        edit(data)
    path = folder / "cases.json"
    path.write_text(json.dumps(data))
    return path


def wrong_tokens(data: dict[str, Any]) -> None:
    data["cases"][0]["steps"][1]["expected"]["scheduled_tokens"]["r3"] = 2


def test_the_first_differing_step_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(edited(tmp_path, wrong_tokens, only=2))]) == 1
    failed, passed, summary = capsys.readouterr().out.splitlines()
    assert failed.startswith("FAILED  basic-ten-short-one-step  step 2: scheduled_tokens: expected {")
    assert passed == "passed  budget-split-three-long"
    assert summary == "1 passed, 1 failed"


def test_the_order_of_scheduled_tokens_counts(tmp_path: Path) -> None:
    def turn(data: dict[str, Any]) -> None:
        expected = data["cases"][0]["steps"][0]["expected"]
        expected["scheduled_tokens"] = dict(reversed(expected["scheduled_tokens"].items()))

    assert main([str(edited(tmp_path, turn))]) == 1


def test_json_says_the_same_for_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(edited(tmp_path, wrong_tokens, only=2)), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["engine"], said["passed"], said["failed"]) == ("0.33", 1, 1)
    first, second = said["cases"]
    assert (first["difference"]["step"], first["difference"]["field"]) == (2, "scheduled_tokens")
    assert first["difference"]["got"]["r3"] == 1
    assert second == {
        "id": "budget-split-three-long",
        "kind": "case",
        "passed": True,
        "difference": None,
        "reason": None,
    }


def test_all_agreeing_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(edited(tmp_path, only=3))]) == 0
    assert capsys.readouterr().out.endswith("3 passed, 0 failed\n")


def test_the_state_at_the_end_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def end(data: dict[str, Any]) -> None:
        data["cases"][0]["final"]["r4"]["status"] = "waiting"

    assert main([str(edited(tmp_path, end))]) == 1
    assert 'at the end: r4.status: expected "waiting", got "running"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda d: d["cases"][0]["config"].update(swap_space=4), "this engine does not know config.swap_space"),
        (lambda d: d["cases"][0]["requests"][0].update(lora="x"), "this engine does not know requests.0.lora"),
        (
            lambda d: d["cases"][0]["steps"][0]["expected"].update(temperature=70),
            "this engine has no value for temperature (step 1)",
        ),
        (
            lambda d: d["cases"][0]["steps"][0]["expected"].update(prefix_hit_tokens_if_arriving_now=[{"p": 1}]),
            "the probes of step 1 are not lists of prompts",
        ),
        (lambda d: d["cases"][0]["steps"][0]["expected"].update(preempted=[1, "a"]), "step 1: preempted: expected"),
        (lambda d: d["cases"][0]["steps"][1].update(events_before={"arrive": ["r0"]}), "'r0' is there already"),
        (lambda d: d["cases"][-1]["rows"][0].update(surprise=1), "row 1: this engine has no value for surprise"),
        (lambda d: d["cases"][-1].update(rows=[{"a": 1}]), "row 1 is of no kind of table this engine knows"),
        (lambda d: d["cases"][-1]["rows"][0].update(observations=5), "row 1 is not of the shape of its kind of table"),
    ],
)
def test_what_cannot_be_judged_fails_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edit: Edit, said: str
) -> None:
    assert main([str(edited(tmp_path, edit, only=42))]) == 1
    out = capsys.readouterr().out
    assert said in out
    assert out.endswith("41 passed, 1 failed\n")


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda d: d.update(cases=[]), "must be an object with a list `cases` that is not empty"),
        (lambda d: d["cases"].append(3), "case 2 must be an object with a text `id`"),
        (lambda d: d["cases"].append(d["cases"][0]), "the case id 'basic-ten-short-one-step' is given twice"),
        (lambda d: d["cases"][0].pop("config"), "case 'basic-ten-short-one-step': config: field required"),
        (
            lambda d: d["cases"][0]["requests"][1].update(prompt_tokens=11),
            "request 'r1': the segments must add up to prompt_tokens = 11",
        ),
        (
            lambda d: d["cases"][0]["requests"][1].update(prompt_segments=[["x"]]),
            "requests.1.prompt_segments.0",
        ),
        (
            lambda d: d["cases"][0]["requests"][1].update(prompt_segments=[5]),
            "requests.1.prompt_segments.0",
        ),
        (lambda d: d["cases"][0]["steps"][1].update(events_before={"abort": ["who"]}), "there is no request 'who'"),
        (lambda d: d["cases"][0]["config"].update(block_size=0), "config.block_size: input should be greater than"),
    ],
)
def test_a_bad_file_exits_2_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edit: Edit, said: str
) -> None:
    path = edited(tmp_path, edit)
    assert main([str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(str(path))
    assert said in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "line 1: not valid JSON"),
        (b"\xff", "is not UTF-8 text"),
        (b"[" * 200_000, "not valid JSON"),
        (b"[1]", "must be an object"),
    ],
)
def test_unreadable_text_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, said: str) -> None:
    path = tmp_path / "cases.json"
    path.write_bytes(content)
    assert main([str(path)]) == 2
    assert said in capsys.readouterr().err
    assert main([str(tmp_path / "none.json")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_the_package_has_it_as_a_command_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sim_main(["conformance", str(edited(tmp_path, only=2))]) == 0
    assert capsys.readouterr().out.endswith("2 passed, 0 failed\n")
    assert sim_main(["conformance", str(edited(tmp_path, wrong_tokens))]) == 1
    assert sim_main(["conformance", str(tmp_path / "none.json")]) == 2


def test_tables_of_the_capacity_of_the_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 16 tokens × 8 heads × (128 + 128) numbers × 2 bytes; 16,384 tokens are 1,024 blocks.
    bytes_row = {"block_size": 16, "kv_heads": 8, "k_dim": 128, "v_dim": 128, "dtype_bytes": 2}
    bytes_row["bytes_per_block_per_layer"] = 65536
    room_row = {"usable_kv_blocks": 1536, "block_size": 16, "max_model_len": 16384, "max_concurrency": 1.5}
    wrong_row = room_row | {"max_model_len": 16385}
    path = tmp_path / "tables.json"
    tables = [{"id": "right", "rows": [bytes_row, room_row]}, {"id": "wrong", "rows": [room_row, wrong_row]}]
    path.write_text(json.dumps({"cases": tables}))
    assert main([str(path)]) == 1
    right, wrong, _ = capsys.readouterr().out.splitlines()
    assert right == "passed  right"
    assert wrong.startswith("FAILED  wrong  row 2: max_concurrency: expected 1.5, got 1.49853")
