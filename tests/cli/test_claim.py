"""`tutor claim`: supported exits with 0, refuted with 1, a line that cannot be read with 2 and its word marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tutor.cli import main
from tutor.lab.claim_log import settled_claims
from tutor.store import open_store

LINE = "chunk_tokens 160 -> 512: chat itl p95 at most 50 ms"


def tutor(data_dir: Path, *args: str) -> int:
    """Run `tutor claim`; its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(["--data-dir", str(data_dir), "claim", *args])
    return int(ended.value.code or 0)


def test_a_supported_claim_is_attacked_reported_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "claim.html"
    assert tutor(tmp_path, "trial_baseline", LINE, "--overturn", "--report", str(report)) == 0
    text = capsys.readouterr().out
    assert "Change  server.chunk_tokens 160 → 512" in text
    assert "✓ chat ITL p95 is at most 50 ms: supported" in text
    assert "✓ other seeds: supported" in text
    assert "a replica lost for a third of the time: not tried" in text
    assert "Not shown: " in text
    written = report.read_text(encoding="utf-8")
    assert "chunk_tokens: 512" in written
    assert "Attempts to overturn it" in written
    assert tutor(tmp_path, "--list", "--json") == 0
    (kept,) = json.loads(capsys.readouterr().out)
    assert kept["verdict"] == "supported"
    assert kept["summary"].startswith("For the stated mix and targets, chat ITL p95 is at most 50 ms")


def test_a_refuted_claim_exits_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tutor(tmp_path, "trial_baseline", LINE.replace("at most 50", "at most 20"), "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "refuted"
    (statement,) = found["statements"]
    assert statement["low"] > 0.02
    assert found["changes"] == ["server.chunk_tokens 160 → 512"]
    with open_store(tmp_path / "tutor.db") as store:
        assert [one.settled.verdict for one in settled_claims(store)] == ["refuted"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("trial_baseline",), "Give a scenario and a claim"),
        (("nobody", LINE), "no such file"),
        (("trial_baseline", "chat itx p95 at most 5"), "     ^^^"),
        (("trial_baseline", LINE, "--report", "claim.pdf"), "is written as .html"),
    ],
)
def test_bad_input_is_one_sentence_and_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], said: str
) -> None:
    assert tutor(tmp_path, *args) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
    with open_store(tmp_path / "tutor.db") as store:
        assert settled_claims(store) == []


def test_an_empty_list_says_what_would_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tutor(tmp_path, "--list") == 0
    assert "No claim was put to the test so far" in capsys.readouterr().out


def test_a_claim_is_settled_by_measured_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name, ttft_s in (("before", 0.2), ("after", 0.1)):
        data = {
            "input_lens": [10] * 30,
            "output_lens": [2] * 30,
            "start_times": [float(n) for n in range(30)],
            "ttfts": [ttft_s + 0.001 * (n % 5) for n in range(30)],
            "itls": [[0.01]] * 30,
        }
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        files.append(str(path))
    before, after = files
    line = "ttft p50 lower by 30 %"
    assert tutor(tmp_path, line, "--baseline", before, "--measured", after) == 0
    out = capsys.readouterr().out
    assert "supported" in out
    assert "One run a side" in out
    assert tutor(tmp_path, line, "--baseline", after, "--measured", before) == 1
    assert tutor(tmp_path, "--list") == 0
    assert "before.json → after.json" in capsys.readouterr().out
    assert tutor(tmp_path, line, "--measured", after) == 2
    assert tutor(tmp_path, line, "--measured", after, "--baseline", after) == 2
    assert tutor(tmp_path, line, "--baseline", before) == 2
    assert tutor(tmp_path, "x", line, "--measured", after) == 2
    assert tutor(tmp_path, line, "--measured", str(tmp_path / "none.json")) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_sentence_is_shown_as_a_line_and_runs_only_when_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def sentence(text: str, *more: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main(["--no-model", "--data-dir", str(tmp_path), "claim", "trial_baseline", "--sentence", text, *more])
        return int(ended.value.code or 0)

    whole = "With 512-token chunks the chat p95 gap stays under 50 ms."
    assert sentence(whole) == 2
    shown = capsys.readouterr()
    assert "server.chunk_tokens -> 512: chat itl p95 at most 50 ms" in shown.out
    assert "Not run" in shown.err
    assert sentence("bounded chunks keep the chat gaps under 50 ms", "--yes") == 2
    assert "Open    what chunk_tokens is changed to" in capsys.readouterr().out
    assert sentence("With 512-token chunks the chat p95 gap stays under 50 ms, not always", "--yes") == 2
    assert "Unread  not" in capsys.readouterr().out
    assert sentence("chunks are nice", "--yes") == 2
    assert "No claim that can be tested" in capsys.readouterr().err
    with open_store(tmp_path / "tutor.db") as store:
        assert settled_claims(store) == []
    assert sentence(whole, "--yes") == 0
    assert "supported" in capsys.readouterr().out
