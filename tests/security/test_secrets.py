"""The API key stays where it was put, and what a person wrote stays theirs."""

from __future__ import annotations

import io
import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.llm.faulty_server import Exchange, FaultyServer
from tutor.cli import main

ITEM = "serving/prefill-decode/completion-time"
SECRET = "sk-oneverysecretkey0123456789"
ANSWER = "TTFT is 300 ms. 31 tokens leave 30 gaps, so 1050 ms. If the queue doubles both rise by 100 ms.\n"
Run = Callable[..., str]


def refuses(code: int) -> Callable[[Exchange], None]:
    """Lists a model, and when it is asked repeats what was sent in its refusal, as some gateways do."""

    def behave(exchange: Exchange) -> None:
        if exchange.path == "/v1/models":
            listed = {"id": "big-model", "owned_by": "vllm", "max_model_len": 8192}
            exchange.respond(200, json.dumps({"data": [listed]}))
        else:
            sent = exchange.headers.get("authorization", "")
            exchange.respond(code, json.dumps({"error": {"message": f"Incorrect API key provided: {sent}"}}))

    return behave


@pytest.fixture
def tutor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.delenv("TUTOR_DATA_DIR")

    def run(*args: str, stdin: str = "") -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        with pytest.raises(SystemExit):
            main(["--config", str(tmp_path / "config.toml"), *args])
        captured = capsys.readouterr()
        return captured.out + captured.err

    return run


def settings(tmp_path: Path, base_url: str) -> None:
    (tmp_path / "config.toml").write_text(
        f'data_dir = "{tmp_path / "data"}"\n[model]\nbase_url = "{base_url}"\napi_key = "{SECRET}"\n'
        "discover = false\nuse_embedded = false\n"
    )


def written(folder: Path) -> dict[Path, bytes]:
    """Every file below a folder but the settings file that holds the key by intent."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "config.toml"}


@pytest.mark.slow
@pytest.mark.parametrize("code", [400, 401, 429, 503])
def test_a_key_is_neither_shown_nor_written(tutor: Run, tmp_path: Path, code: int) -> None:
    with FaultyServer(refuses(code)) as server:
        settings(tmp_path, server.base_url)
        shown = tutor("ask", ITEM, "--seed", "0", stdin=f"2\n{ANSWER}.\n\n.\n")
        shown += tutor("doctor") + tutor("model") if code == 503 else ""
    asked = [each.headers["authorization"] for each in server.exchanges if each.path.endswith("/completions")]
    assert set(asked) == {f"Bearer {SECRET}"}, "the key did go to the server it belongs to"
    for form in ("md", "html", "json"):
        shown += tutor("report", "-o", str(tmp_path / f"report.{form}"))
    shown += tutor("export", str(tmp_path / "export.jsonl"))
    assert SECRET not in shown
    files = written(tmp_path)
    assert {"report.md", "report.html", "report.json", "export.jsonl", "tutor.db"} <= {path.name for path in files}
    assert [path for path, data in files.items() if SECRET.encode() in data] == []


def test_an_address_with_a_password_is_refused_without_repeating_it(tutor: Run, tmp_path: Path) -> None:
    settings(tmp_path, "http://me:hunter2@127.0.0.1:9/v1")
    assert "hunter2" not in (shown := tutor("doctor"))
    assert "put a key into model.api_key" in shown
    settings(tmp_path, "http://127.0.0.1:9/v1")
    assert "hunter2" not in (shown := tutor("--model-url", "me:hunter2@gpu:8000", "doctor"))
    assert "put a key into model.api_key" in shown


def test_a_mistake_in_the_settings_does_not_repeat_the_key(tutor: Run, tmp_path: Path) -> None:
    for line in (f'api_key = ["{SECRET}"]', f'api_key = "{SECRET}" x', f'apikey = "{SECRET}"'):
        (tmp_path / "config.toml").write_text(f"[model]\n{line}\n")
        shown = tutor("doctor")
        assert "config.toml" in shown
        assert SECRET not in shown


@pytest.mark.parametrize(
    "first",
    [
        ["ask", ITEM],
        ["export", "FOLDER/export.jsonl"],
        *(
            pytest.param(first, marks=pytest.mark.slow)
            for first in (
                ["model"],
                ["doctor"],
                ["drill"],
                ["drill", "export", "FOLDER/reviews.csv", "--reviews"],
                ["drill", "export", "FOLDER/deck.apkg"],
                ["report", "--progress", "-o", "FOLDER/progress.html"],
            )
        ),
    ],
    ids=lambda first: " ".join(first[:2]),
)
def test_whatever_comes_first_what_is_kept_is_private(tutor: Run, tmp_path: Path, first: list[str]) -> None:
    (tmp_path / "config.toml").write_text(f'data_dir = "{tmp_path / "home" / "data"}"\n')
    (tmp_path / "out").mkdir(mode=0o755)
    tutor(
        "--no-model", *(part.replace("FOLDER", str(tmp_path / "out")) for part in first), stdin=f"2\n{ANSWER}.\n\n.\n"
    )
    data = tmp_path / "home" / "data"
    if data.exists():
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
    for file in (tmp_path / "out").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
    for file in data.rglob("tutor.db*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
