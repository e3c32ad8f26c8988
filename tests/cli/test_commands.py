"""The command line as a script sees it: output, exit codes, one sentence for bad input."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tutor.cli import main

EXERCISE = "serving/prefill-decode/completion-time"
FULL = (
    "TTFT is 100 + 40 + 160 = 300 ms. 31 tokens leave 30 gaps, so 300 + 30*25 = 1050 ms. "
    "If the queue doubles, both rise by 100 ms and the gaps stay at 25 ms."
)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tutor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command in this process, without a model and with an own data directory."""
    monkeypatch.setenv("TUTOR_DATA_DIR", str(tmp_path / "data"))

    def run(*args: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        with pytest.raises(SystemExit) as stopped:
            main(["--no-model", *args])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return run


def test_grade_reads_a_file_and_says_who_decided_without_a_model(tutor: Run, tmp_path: Path) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text(FULL)
    code, out, _ = tutor("grade", "--item", EXERCISE, "--answer", str(answer))
    assert code in (0, 1)
    assert "✓ result       met         code" in out
    assert "evidence" in out
    assert "not graded" not in out
    assert "No model:" in out


def test_grade_as_json_is_a_whole_grade_with_its_provenance(tutor: Run) -> None:
    code, out, _ = tutor("grade", "--item", EXERCISE, "--answer", "-", "--json", stdin="300 ms and 1,075 ms")
    grade: dict[str, Any] = json.loads(out)
    result = grade["criteria"][0]
    assert code in (1, 3)
    assert result["verdict"] == "not_met"
    assert result["decided_by"] == "code"
    assert result["slip_id"] is not None
    assert grade["provenance"]["item_id"] == EXERCISE
    assert grade["provenance"]["model"] is None


def test_a_blank_answer_earns_nothing_and_needs_no_model(tutor: Run) -> None:
    code, out, _ = tutor("grade", "--item", EXERCISE, "--answer", "-", stdin=" \n ")
    assert code == 1
    assert "0 of 4" in out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("grade", "--item", "serving/none", "--answer", "-"), "serving/none"),
        (("grade", "--item", EXERCISE, "--answer", "missing.txt"), "missing.txt"),
        (("sim", "run", "missing.yaml"), "missing.yaml"),
        (("bank", "show", "serving/none"), "serving/none"),
        (("model", "get", "qwen2.5-coder"), "qwen2.5-coder-1.5b"),
        (("import", "missing.jsonl"), "missing.jsonl"),
        (("gade",), "grade"),
        (("grade", "--item", "serving/prefill-decode/twenty-one-tokens", "--answer", "-"), "choosing an option"),
        (("grade", "--item", EXERCISE, "--answer", "-", "--variant", "-5"), "-5"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tutor: Run, args: tuple[str, ...], words: str) -> None:
    code, out, err = tutor(*args)
    assert code == 2
    assert words in err
    assert "Traceback" not in out + err


def test_an_answer_that_is_not_text_is_refused_with_the_byte(tutor: Run, tmp_path: Path) -> None:
    file = tmp_path / "answer.bin"
    file.write_bytes(b"ok \xff")
    code, _, err = tutor("grade", "--item", EXERCISE, "--answer", str(file))
    assert code == 2
    assert "byte 3" in err


def test_the_screens_are_refused_without_a_terminal(tutor: Run) -> None:
    code, _, err = tutor()
    assert code == 2
    assert "tutor ask" in err


def test_the_exercise_scenario_gives_the_lessons_figures(tutor: Run) -> None:
    code, out, _ = tutor("sim", "run", "exercise", "--json")
    result = json.loads(out)
    assert code == 0
    yours = result["classes"]["yours"]
    assert yours["ttft"]["mean_s"] == pytest.approx(0.3)
    assert yours["e2e"]["mean_s"] == pytest.approx(1.05)


def test_the_step_scheduler_is_held_against_recorded_steps(tutor: Run, tmp_path: Path) -> None:
    recorded = Path(__file__).parents[1] / "sim" / "data" / "scheduler_cases.json"
    assert tutor("sim", "conformance", str(recorded))[0] == 0
    wrong = tmp_path / "cases.json"
    wrong.write_text("{}")
    assert tutor("sim", "conformance", str(wrong))[0] == 2


def test_bank_list_show_and_check(tutor: Run) -> None:
    code, out, _ = tutor("bank", "list", "--json")
    assert code == 0
    assert EXERCISE in {row["id"] for row in json.loads(out)}
    code, out, _ = tutor("bank", "show", EXERCISE, "--seed", "0")
    assert code == 0
    assert "300" not in out, "showing a question must not give its result away"
    code, out, _ = tutor("bank", "check", "--seeds", "5")
    assert code == 0
    assert "nothing wrong" in out


def test_ask_keeps_everything_and_export_brings_it_back(tutor: Run, tmp_path: Path) -> None:
    code, out, _ = tutor("ask", EXERCISE, "--seed", "0", stdin=f"2\n{FULL}\n.\n\n.\n")
    assert code in (0, 1)
    assert "✓ result" in out
    assert "1,050 ms" in out, "the reference answer comes at the end"
    export = tmp_path / "all.jsonl"
    assert tutor("export", str(export))[0] == 0
    assert FULL in "".join(json.loads(line).get("payload", {}).get("text", "") for line in export.open())
    code, _, err = tutor("export", str(export))
    assert code == 2
    assert "there already" in err
    code, out, _ = tutor("import", str(export))
    assert code == 0
    assert out.startswith("0 events added")


def test_ask_on_a_checkpoint_is_right_by_option_and_gives_each_reason(tutor: Run) -> None:
    item = "serving/prefill-decode/twenty-one-tokens"
    codes = {tutor("ask", item, "--seed", "1", stdin=f"3\n{letter}\n")[0] for letter in "abcd"}
    assert codes == {0, 1}, "one letter is right, the others are not"


def test_an_input_that_ends_early_loses_nothing(tutor: Run) -> None:
    code, _, err = tutor("ask", EXERCISE, stdin="2\n")
    assert code in (0, 1, 2)
    assert "Traceback" not in err


def test_doctor_finds_nothing_to_mend_in_a_new_place(tutor: Run) -> None:
    code, out, _ = tutor("doctor")
    assert code == 0
    assert "nothing to mend" in out


def test_help_imports_neither_textual_nor_litellm_nor_pydantic() -> None:
    script = (
        "import sys\nfrom tutor.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'textual', 'litellm', 'pydantic', 'simpy', 'yaml', 'sqlite_utils'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
