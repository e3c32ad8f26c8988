"""`tutor drill` as a script sees it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from question_bank.load import Bank, load_bank
from tutor.cli import main

Run = Callable[..., tuple[int, str, str]]
CHECKPOINT = "serving/prefill-decode/next-experiment"


@pytest.fixture(scope="session")
def whole_bank() -> Bank:
    """Our packs, read once: a command reads them anew, and there are many commands here."""
    return load_bank()


@pytest.fixture
def drill(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whole_bank: Bank) -> Run:
    """Runs a drill command in this process, with an own data directory."""
    monkeypatch.setenv("TUTOR_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr("tutor.cli.drill_kit.load_bank_for", lambda flags: whole_bank)

    def run(*args: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        with pytest.raises(SystemExit) as stopped:
            main(["--no-model", "drill", *args])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return run


def status(drill: Run) -> dict[str, Any]:
    code, out, _ = drill("--json")
    assert code == 0
    found: dict[str, Any] = json.loads(out)
    return found


def answer_one(drill: Run, stdin: str = "3\na\n") -> dict[str, Any]:
    """Asks one checkpoint and gives what was recorded."""
    _, out, _ = drill("run", "--kind", "checkpoint", "--limit", "1", "--json", stdin=stdin)
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["event"] for line in lines] == ["question", "answered", "summary"]
    found: dict[str, Any] = lines[1]
    return found


def test_counts_before_and_after_an_answer(drill: Run) -> None:
    before = status(drill)
    assert (before["due"], before["overdue"], before["done_today"]) == (0, 0, 0)
    assert before["new"] == before["today_new"] + (before["new"] - before["today_new"])
    answered = answer_one(drill)
    assert answered["counts"]
    after = status(drill)
    assert (after["new"], after["done_today"]) == (before["new"] - 1, 1)
    assert after["next_due"] == answered["due_day"]
    code, out, _ = drill()
    assert code == 0
    assert "0 due (0 overdue)" in out
    assert "1 done" in out


def test_a_sitting_in_sentences(drill: Run) -> None:
    code, out, err = drill("run", "--kind", "checkpoint", "--limit", "2", stdin="9\n2\na\nskip\n1\nb\n")
    assert code in (0, 1)
    assert out.count("· checkpoint · new") == 3
    assert "Please give one of 1, 2, 3." in err
    assert "2 answers:" in out
    assert "Traceback" not in out + err


def test_a_recall_is_marked_by_its_candidate(drill: Run) -> None:
    code, out, _ = drill("run", "--kind", "recall", "--limit", "1", stdin="2\nall of it\n.\n3\n")
    assert code == 0
    assert "Reference" in out
    assert "You marked it: well." in out
    assert "learned:" in out


def test_numbers_alone_and_the_end_of_the_input(drill: Run) -> None:
    code, out, err = drill("run", "--kind", "numbers", stdin="2\nno idea\n")
    assert code == 1
    assert "Only the numbers, with their units" in err
    assert "missed:" in out
    assert status(drill)["done_today"] == 1


def test_a_prediction_takes_numbers_only(drill: Run) -> None:
    _, out, err = drill("run", "--kind", "prediction", "--limit", "1", stdin="2\nmuch\n" + "1\n" * 9)
    assert "Please give a number." in err
    assert "1 answers: 0 right, 1 wrong" in out


def test_undo_and_then_nothing_is_left(drill: Run) -> None:
    answer_one(drill)
    code, out, _ = drill("undo")
    assert code == 0
    assert "the answer rated" in out
    assert status(drill)["done_today"] == 0
    code, out, _ = drill("undo")
    assert (code, out) == (1, "There is nothing to undo.\n")


def test_suspend_resume_bury_note_and_card(drill: Run) -> None:
    assert drill("suspend", CHECKPOINT)[0] == 0
    assert status(drill)["suspended"] == 1
    assert drill("resume", CHECKPOINT)[0] == 0
    assert drill("bury", CHECKPOINT, "--days", "3")[0] == 0
    assert status(drill)["buried"] == 1
    assert drill("note", CHECKPOINT, "one change at a time")[1] == "one change at a time\n"
    code, out, _ = drill("card", CHECKPOINT, "--json")
    assert code == 0
    card = json.loads(out)
    assert (card["note"], card["memory"], card["due_day"]) == ("one change at a time", None, None)
    assert drill("note", CHECKPOINT, "")[1] == "There is no note.\n"


def test_a_plan_is_changed_in_part_and_undone(drill: Run) -> None:
    code, out, _ = drill("plan", "--interview", "2099-03-20", "--new", "2", "--json")
    assert code == 0
    (plan,) = json.loads(out)
    assert (plan["interview_day"], plan["new_per_day"], plan["desired_retention"]) == ("2099-03-20", 2, 0.9)
    assert status(drill)["today"] == 2
    drill("plan", "--name", "soon", "--lesson", "serving/prefill-decode", "--retention", "0.95")
    plans = json.loads(drill("plan", "--json")[1])
    assert [each["name"] for each in plans] == ["all", "soon"]
    assert drill("plan", "--name", "soon", "--drop")[0] == 0
    assert len(json.loads(drill("plan", "--json")[1])) == 1
    drill("undo")
    assert len(json.loads(drill("plan", "--json")[1])) == 2


@pytest.mark.parametrize(
    "args", [("forecast",), ("calibration",), ("mastery",), ("ready", "2099-01-01"), ("weeks",), ("check",)]
)
def test_every_view_speaks_in_sentences_and_in_json(drill: Run, args: tuple[str, ...]) -> None:
    answer_one(drill)
    code, out, err = drill(*args)
    assert (code, err) == (0, "")
    assert out.strip()
    if args != ("check",):
        assert json.loads(drill(*args, "--json")[1])


def test_out_to_files_and_back(drill: Run, tmp_path: Path) -> None:
    answer_one(drill)
    drill("note", CHECKPOINT, "mine")
    for file in ("deck.apkg", "deck.tsv", "deck.csv"):
        assert drill("export", str(tmp_path / file))[0] == 0
    assert drill("export", "--reviews", str(tmp_path / "reviews.csv"))[1].endswith(": 1 reviews\n")
    drill("undo")
    assert "1 notes changed" in drill("import", str(tmp_path / "deck.tsv"))[1]
    assert "0 notes changed" in drill("import", str(tmp_path / "deck.csv"))[1]
    assert "0 reviews added" in drill("import", str(tmp_path / "deck.apkg"))[1]
    code, _, err = drill("export", str(tmp_path / "deck.tsv"))
    assert code == 2
    assert "is there already" in err


@pytest.mark.parametrize(
    ("args", "words", "code"),
    [
        (("suspend", "serving/prefill-decode/next-experimant"), "next-experiment", 2),
        (("ready", "tomorrow"), "2026-03-20", 2),
        (("ready", "2001-01-01"), "past", 2),
        (("plan", "--name", "x"), "", 0),
        (("plan", "--name", "x", "--new", "3"), "which lessons", 2),
        (("plan", "--lesson", "serving/prefill-decode"), "for all items", 2),
        (("plan", "--lesson", "nowhere", "--name", "x"), "nowhere", 2),
        (("plan", "--drop", "--name", "x"), "no plan x", 2),
        (("plan", "--retention", "1.5"), "0.97", 2),
        (("import", "missing.anki2"), "missing.anki2", 2),
        (("import", "missing.csv"), "missing.csv", 2),
        (("export", "deck.pdf"), ".pdf", 2),
        (("fit",), "512", 2),
    ],
)
def test_bad_input_is_one_sentence(drill: Run, args: tuple[str, ...], words: str, code: int) -> None:
    found, out, err = drill(*args)
    assert found == code
    assert words in err
    assert "Traceback" not in out + err
