"""`tutor measure`: bad input is one sentence, and a real llama.cpp server is measured, fitted and predicted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tests.measure.measure_kit import CompletionsServer, chats, streams
from tutor.cli import main
from tutor.cli.measure import measure_command, read_step_cost
from tutor.errors import TutorError


def scenario_file(folder: Path, *classes: dict[str, object]) -> Path:
    path = folder / "load.yaml"
    data = {
        "name": "A small load",
        "classes": list(classes),
        "server": {"policy": "vllm", "max_seqs": 2, "token_budget": 512, "prefix_cache": False},
        "step_cost": {"kind": "linear", "base_s": 0.01},
    }
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "either --url or --gguf"),
        (("--url", "http://gpu-box/v1"), 2, "--my-host gpu-box"),
        (("--url", "http://127.0.0.1:9/v1", "--api-key-env", "NO_SUCH_NAME"), 2, "NO_SUCH_NAME is empty"),
        (("--url", "http://127.0.0.1:9/v1"), 3, "no server answers there"),
        (("--gguf", "nowhere.gguf"), 3, "nowhere.gguf"),
        (("--url", "http://127.0.0.1:9/v1", "--set", "classes.chat.arrivals.kind=burst"), 2, "count"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, says: str
) -> None:
    path = scenario_file(tmp_path, chats([0.0, 0.1]))
    with pytest.raises(SystemExit) as caught:
        main(["measure", "run", str(path), "-o", str(tmp_path / "x.json"), *arguments])
    error = capsys.readouterr().err
    assert caught.value.code == code
    assert says in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "x.json").exists()


def test_a_server_is_measured_and_the_result_written(tmp_path: Path) -> None:
    path = scenario_file(tmp_path, chats([0.0, 0.1]))
    with CompletionsServer(streams(4, gap_s=0.01)) as server:
        arguments = ["run", str(path), "--url", server.base_url, "-o", str(tmp_path / "x.json")]
        done = CliRunner().invoke(measure_command, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert "2 completed" in done.output
    assert json.loads((tmp_path / "x.json").read_text())["completed"] == 2


def test_a_run_in_which_nothing_completed_is_a_negative_result(tmp_path: Path) -> None:
    path = scenario_file(tmp_path, chats([0.0]))
    with CompletionsServer(streams(0)) as server:
        arguments = ["run", str(path), "--url", server.base_url, "--model", "m", "-o", str(tmp_path / "x.json")]
        done = CliRunner().invoke(measure_command, arguments, catch_exceptions=False)
    assert done.exit_code == 1
    assert "First failure" in done.output


@pytest.mark.parametrize("text", ["[1, 2]", "kind", "a: {b: 1}", "\t:"])
def test_a_file_without_a_step_cost_is_said_to_have_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cost.yaml"
    path.write_text(text)
    with pytest.raises(TutorError, match=r"cost\.yaml"):
        read_step_cost(path)


@pytest.mark.model
def test_a_real_server_is_measured_fitted_and_its_next_load_predicted(
    tmp_path: Path, small_model_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the load to the forecast; the forecast's bounds are loose, since other work shares the cores."""
    lengths = {"prompt_tokens": {"dist": "uniform", "low_tokens": 10, "high_tokens": 60}, "output_tokens": 8}
    arrivals = {"kind": "deterministic", "rate_per_s": 2, "count": 12}
    path = scenario_file(tmp_path, {"name": "chat", **lengths, "arrivals": arrivals})
    out = tmp_path / "run.json"
    run = ["measure", "run", str(path), "--gguf", str(small_model_path), "--slots", "2", "--threads", "1"]
    with pytest.raises(SystemExit) as caught:
        main([*run, "-o", str(out)])
    assert caught.value.code in (0, None)
    data = json.loads(out.read_text())
    assert (data["completed"], data["failed"]) == (12, 0)
    assert set(data["output_lens"]) == {8}
    assert data["tutor"]["exact_prompts"]
    assert all(given == asked[0] for given, asked in zip(data["input_lens"], data["tutor"]["asked"], strict=True))
    assert data["tutor"]["server_counters"]["llamacpp:prompt_tokens_total"] == sum(data["input_lens"])
    capsys.readouterr()
    fit = ["sim", "fit", str(tmp_path / "run.requests.jsonl"), "--max-seqs", "2", "--token-budget", "512"]
    with pytest.raises(SystemExit):
        main([*fit, "--no-prefix-cache", "--json"])
    (tmp_path / "cost.json").write_text(capsys.readouterr().out)
    predict = ["measure", "predict", str(path), str(out), "--step-cost", str(tmp_path / "cost.json"), "--slots", "2"]
    with pytest.raises(SystemExit):
        main([*predict, "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert {(row["quantity"], row["percent"]) for row in rows} >= {("ttft", 50), ("itl", 50), ("e2e", 95)}
    middle = next(row for row in rows if (row["quantity"], row["percent"]) == ("e2e", 50))
    assert abs(middle["error_percent"]) < 50
