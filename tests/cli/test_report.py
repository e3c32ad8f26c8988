"""`tutor report` as a script sees it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from question_bank import load_bank
from tutor.cli import main
from tutor.interview import Session
from tutor.interview.plan import single_item_plan
from tutor.reports import Report
from tutor.store import open_store

EXERCISE = "serving/prefill-decode/completion-time"


def tutor(data_dir: Path, *args: str) -> int:
    """Run `tutor report`; its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(["--data-dir", str(data_dir), "report", *args])
    return int(ended.value.code or 0)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A store with one interview that was ended, and one skipped question in it."""
    start = datetime.now(UTC) - timedelta(hours=1)
    with open_store(tmp_path / "tutor.db") as store:
        plan = single_item_plan(EXERCISE, 0, title="One exercise")
        session = Session.start(store, load_bank(), plan, lambda: start, interview_id="abc123")
        session.skip()
    return tmp_path


def test_the_last_interview_in_each_form(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tutor(data_dir) == 0
    assert capsys.readouterr().out.startswith("# One exercise\n")
    assert tutor(data_dir, "abc", "--format", "json") == 0
    report = Report.model_validate_json(capsys.readouterr().out)
    assert (report.interview_id, report.items[0].outcome) == ("abc123", "skipped")
    page = data_dir / "out" / "r.html"
    assert tutor(data_dir, "--output", str(page)) == 0
    assert str(page) in capsys.readouterr().out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert tutor(data_dir, "--list") == 0
    assert "abc123" in capsys.readouterr().out
    assert tutor(data_dir, "--list", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)[0]["finished"] is True


def test_progress_in_each_form(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tutor(data_dir, "--progress", "--day", "2999-01-01") == 0
    assert "Interview on 2999-01-01" in capsys.readouterr().out
    assert tutor(data_dir, "--progress", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["format"] == "tutor-progress"
    assert tutor(data_dir, "--progress", "--format", "html") == 0
    assert "<svg" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["zzz"], "There is no interview zzz."),
        (["--output", "r.pdf"], "a report is written as .html, .md or .json"),
        (["--day", "2999-01-01"], "--day belongs to --progress."),
        (["--progress", "abc123"], "A report is on one interview or on progress."),
        (["--progress", "--day", "tomorrow"], "tomorrow is no day."),
        (["--progress", "--day", "2001-01-01"], "2001-01-01 is past."),
    ],
)
def test_bad_input_is_one_sentence(
    data_dir: Path, capsys: pytest.CaptureFixture[str], args: list[str], sentence: str
) -> None:
    assert tutor(data_dir, *args) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert sentence in told.err
    assert len(told.err.splitlines()) == 1


def test_no_interview_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tutor(tmp_path) == 2
    assert "No interview was held so far." in capsys.readouterr().err


def test_an_export_that_breaks_off_leaves_no_file(data_dir: Path, tmp_path: Path) -> None:
    path = data_dir / "tutor.db"
    path.write_bytes(path.read_bytes().replace(b'"position":0', b'"position" 0'))
    target = tmp_path / "export.jsonl"
    with pytest.raises(SystemExit) as ended:
        main(["--data-dir", str(data_dir), "export", str(target)])
    assert ended.value.code == 2
    assert not target.exists()


def test_export_and_import_show_the_same_state(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "export.jsonl"
    states = []
    for other, command in ((data_dir, "export"), (tmp_path / "new", "import"), (tmp_path / "new", "import")):
        with pytest.raises(SystemExit):
            main(["--data-dir", str(other), command, str(target)])
        states.append(capsys.readouterr().out.strip().rpartition("state ")[2])
    assert len(states[0]) == 64
    assert len(set(states)) == 1
