"""`tutor bank` beyond listing: new packs, drafts, imports, and what a candidate is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tutor.cli import main

REFERENCES = Path(__file__).parents[1] / "question_bank" / "references"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bank_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs `tutor bank …` in this process with an own data directory."""
    monkeypatch.setenv("TUTOR_DATA_DIR", str(tmp_path / "data"))

    def run(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(["--no-model", "bank", *args])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return run


def test_a_new_pack_is_checked_and_shown(bank_command: Run, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    code, out, _ = bank_command("new", str(folder))
    assert code == 0
    assert f"tutor bank check {folder}" in out
    assert bank_command("new", str(folder))[0] == 2


def test_a_draft_is_checked_alone(bank_command: Run, tmp_path: Path) -> None:
    notes, draft = tmp_path / "q.md", tmp_path / "draft.yaml"
    notes.write_text("# Sum\nWhat is one and one?\n- [x] two\n- [ ] three\n")
    lesson = ("--lesson", "serving/prefill-decode", "--topic", "ttft")
    code, out, _ = bank_command("import", str(notes), *lesson, "--output", str(draft))
    assert code == 0
    assert "1 checkpoints, 0 probes" in out
    code, out, _ = bank_command("check", "--draft", str(draft))
    assert code == 0
    assert "items 1," in out
    code, out, _ = bank_command("check", "--deep", "--references", str(REFERENCES), "--draft", str(draft))
    assert code == 1
    assert f"{draft}:3: serving/prefill-decode/sum: it names no source" in out
    assert bank_command("import", str(notes), *lesson, "--output", str(draft))[0] == 2


def test_an_import_without_a_file_goes_to_the_output(bank_command: Run, tmp_path: Path) -> None:
    notes = tmp_path / "q.csv"
    notes.write_text("question,answer\nWhy?,because\n")
    code, out, _ = bank_command("import", str(notes), "--lesson", "serving/prefill-decode")
    assert code == 0
    assert out.startswith("lesson: serving/prefill-decode\n")
    code, _, err = bank_command("import", str(tmp_path / "q.pdf"), "--lesson", "serving/prefill-decode")
    assert code == 2
    assert "q.pdf" in err


def test_a_question_is_shown_as_a_candidate_sees_it(bank_command: Run) -> None:
    item = "serving/prefill-decode/twenty-one-tokens"
    orders = set()
    for seed in ("1", "2", "3", "4"):
        code, out, _ = bank_command("show", item, "--seed", seed)
        assert code == 0
        assert "right" not in out
        orders.add(tuple(line.split()[1] for line in out.splitlines() if line.startswith("  ")))
    assert len(orders) > 1, "options are shuffled by seed"
    code, out, _ = bank_command("show", "serving/prefill-decode/from-memory")
    assert "getting there" in out


def test_answers_show_hints_slips_and_follow_ups(bank_command: Run) -> None:
    code, out, _ = bank_command("show", "serving/prefill-decode/completion-time", "--answer")
    assert code == 0
    assert "Hint 4:" in out
    assert "slip n-gaps: completion = 1075 ms" in out
    assert "follow-up (failure):" in out
