"""`tutor eval` as a script sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tutor.cli import main
from tutor.grading.combine import load_combiner

DATA = Path(__file__).parent / "data"
Run = Callable[..., tuple[int, str, str]]
REFERENCE = {
    "result": "The first token comes after 300 ms.",
    "reasoning": "The stages follow each other, so 100 + 40 + 160 = 300 ms.",
    "failure": "When the queue doubles, the first token comes 100 ms later and the gaps stay.",
    "verification": "Log the queue apart; if it is unchanged while the first token is late, I am wrong.",
}
QUESTION = {
    "id": "q1", "kind": "exercise", "question": "Queue 100 ms, tokenising 40 ms, prefill 160 ms: first token?",
    "reference": REFERENCE,
    "expected": [{"name": "first_token", "value": 300, "unit": "ms", "rel_tolerance": 0.01}],
}  # fmt: skip
POINTS = dict.fromkeys(REFERENCE, 1)


@pytest.fixture
def tutor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command in this process with a data directory of its own."""
    monkeypatch.setenv("TUTOR_DATA_DIR", str(tmp_path / "data"))

    def run(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(list(args))
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, ...]:
    """Two files: one question, and four answers to it."""
    answers = [
        ("full", " ".join(REFERENCE.values()), POINTS),
        ("number", "300 ms", {**dict.fromkeys(REFERENCE, 0), "result": 1}),
        ("wrong", "160 ms, as prefill takes that long.", dict.fromkeys(REFERENCE, 0)),
        ("blank", "", dict.fromkeys(REFERENCE, 0)),
    ]
    rows = [{"id": i, "question_id": "q1", "answer": text, "points": points} for i, text, points in answers]
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION) + "\n")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "--questions", str(tmp_path / "q.jsonl"), "--answers", str(tmp_path / "a.jsonl")


def test_questions_without_a_bank_are_graded_by_code_alone(tutor: Run, pair: tuple[str, ...], tmp_path: Path) -> None:
    code, out, _ = tutor("eval", *pair, "--model", "none", "--json", "--out", str(tmp_path / "reports"))
    report: dict[str, Any] = json.loads(out)
    result = report["summary"]["criteria"][0]
    assert code == 0
    assert report["grader"]["model"] is None
    assert (result["criterion"], result["decided"]["accuracy"], result["decided"]["answers"]) == ("result", 1.0, 4)
    verdicts = {a["id"]: a["record"]["criteria"]["result"]["verdict"] for a in report["answers"]}
    assert verdicts == {"full": "met", "number": "met", "wrong": "not_met", "blank": "not_met"}
    assert len(list((tmp_path / "reports").glob("*-a-no-model.*"))) >= 2


def test_the_table_fits_the_terminal_and_a_second_time_nothing_is_graded(tutor: Run, pair: tuple[str, ...]) -> None:
    code, first, _ = tutor("eval", *pair, "--grader", "none", "--runs", "2")
    again = tutor("eval", *pair, "--grader", "none", "--runs", "2")[1]
    assert code == 0
    assert first == again
    assert "0 of 16 verdicts flip" in first
    assert max(map(len, first.splitlines())) <= 80


def test_answers_without_points_have_their_verdicts_shown(tutor: Run, pair: tuple[str, ...], tmp_path: Path) -> None:
    row = {"id": "mine", "question_id": "q1", "answer": "160 ms"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    code, out, _ = tutor("eval", *pair, "--model", "none")
    assert code == 0
    assert "a: 1 answer to 1 item, no model" in out
    assert "mine  result not_met, reasoning not_met" in out


def test_a_public_set_stands_beside_its_published_lines(tutor: Run) -> None:
    code, out, _ = tutor("eval", str(DATA / "khan_rows.jsonl"), "--grader", "none")
    assert code == 0
    assert "8 answers to 2 items" in out
    assert "Llama 3.1 8B, criteria and examples" in out


def test_our_answers_are_the_default_and_can_be_narrowed(tutor: Run) -> None:
    code, out, _ = tutor("eval", "--grader", "none", "--limit", "4", "--split", "calibration")
    assert code == 0
    assert "4 answers to 4 items" in out
    assert "4 for calibration, 0 for test" in out


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_graded(tutor: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, out, err = tutor("eval", "--grader", "none", "--out", str(tmp_path / "file" / "reports"))
    assert (code, out) == (2, "")
    assert "--out" in err


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("nowhere.jsonl",), 2, "nowhere.jsonl: cannot be read"),
        (("--grader", "none", "--model", "x"), 2, "contradict"),
        (("--grader", "embedded", "--model", "none"), 2, "contradict"),
        (("--grader", "server"), 2, "needs the model's name"),
        (("--grader", "embedded", "--limit", "1"), 3, "No model file"),
        (("--model", "smollm2-135m", "--limit", "1"), 3, "tutor model get smollm2-135m"),
        (("--model", "nowhere/none.gguf", "--limit", "1"), 3, "none.gguf"),
        (("--items", "nowhere", "--grader", "none"), 2, "No answer is left"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(tutor: Run, args: tuple[str, ...], code: int, told: str) -> None:
    found, _, err = tutor("eval", *args)
    assert found == code
    assert told in err
    assert "Traceback" not in err


def test_help_shows_the_options_and_the_commands(tutor: Run) -> None:
    code, out, _ = tutor("eval", "--help")
    assert code == 0
    for word in ("--questions", "--split", "calibrate", "agree"):
        assert word in out


def test_calibrate_writes_a_file_that_the_combiner_reads(tutor: Run, tmp_path: Path) -> None:
    target = tmp_path / "mine.yaml"
    args = ("eval", "calibrate", "--grader", "none", "--limit", "24", "--output", str(target))
    code, out, _ = tutor(*args)
    assert code == 0
    assert "held out" in out
    assert "for no model" in load_combiner(target).provenance
    again, _, err = tutor(*args)
    assert again == 2
    assert "there already" in err


def test_agree_compares_two_label_files(tutor: Run, tmp_path: Path) -> None:
    def label_line(identity: str, met: bool) -> str:
        label = {"label": "met" if met else "not_met", "reason": "Because."}
        return json.dumps({"id": identity, "labels": dict.fromkeys(REFERENCE, label)}) + "\n"

    first = "".join(label_line(f"item-a{n:02}", n < 5) for n in range(10))
    second = "".join(label_line(f"item-a{n:02}", n < 4) for n in range(10))
    (tmp_path / "1.jsonl").write_text(first)
    (tmp_path / "2.jsonl").write_text(second + label_line("item-a99", True))
    code, out, _ = tutor("eval", "agree", str(tmp_path / "1.jsonl"), str(tmp_path / "2.jsonl"), "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["shared"], found["only_one"], len(found["differences"])) == (10, 1, 4)
    # 9 of 10 agree; chance .5·.4 + .5·.6 = .5 → .8
    assert found["criteria"]["failure"]["kappa"]["value"] == pytest.approx(0.8)
    assert tutor("eval", "agree", str(tmp_path / "1.jsonl"), str(tmp_path / "none"))[0] == 2


@pytest.mark.model
def test_real_weights_are_measured_and_said_to_be_too_small(
    tutor: Run, pair: tuple[str, ...], small_model_path: Path
) -> None:
    args = ("eval", *pair, "--model", str(small_model_path), "--json")
    code, out, err = tutor(*args)
    report: dict[str, Any] = json.loads(out)
    assert code == 0, err
    assert report["grader"]["counts"] is False
    assert any("too small to grade" in note for note in report["notes"])
    full = report["answers"][0]["record"]
    assert full["prompt_tokens"] > full["cached_tokens"] > 0
    assert full["criteria"]["failure"]["anchored"] is not None
    assert report["summary"]["cost"]["example_seconds"] > 0
    # The second time everything comes from the state.
    assert json.loads(tutor(*args)[1])["summary"]["criteria"] == report["summary"]["criteria"]
