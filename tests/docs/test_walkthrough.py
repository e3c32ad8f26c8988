"""Every command on the first three pages is run, in the order of the page, by somebody without a model."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tutor.cli import main

TOP = Path(__file__).parents[2]
ITEM = "serving/prefill-decode/completion-time"
ANSWER = "TTFT is 300 ms. 31 tokens leave 30 gaps, so 1050 ms. If the queue doubles both rise by 100 ms."
TYPED = f"2\n{ANSWER}\n.\n\n.\n"
QUESTIONS = "## Decode\nWhat bounds decode?\n\n- [x] memory bandwidth\n- [ ] the network\n- [ ] the disk\n"
NEGATIVE = {"ask", "run", "predict", "claim", "grade", "report"}
"""Commands whose exit code 1 is an answer: not all points, something wrong, a miss, a refuted claim."""


def shown(page: str) -> list[str]:
    """The tutor's commands of the page's shell blocks."""
    text = (TOP / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in re.sub(r" *\\\n\s*", " ", block).splitlines()]
    return [line.split("  #")[0].strip() for line in lines if line.startswith("tutor ")]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of, and settings without a model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUTOR_MODEL__DISCOVER", "false")
    monkeypatch.setenv("TUTOR_MODEL__USE_EMBEDDED", "false")
    (tmp_path / "questions.md").write_text(QUESTIONS)
    answer = {"id": "a1", "item": ITEM, "seed": 0, "answer": ANSWER}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", ["index.md", "candidates.md", "coaches.md"])
def test_the_commands_of_a_page_run(desk: Path, page: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands = shown(page)
    assert len(commands) >= 5
    for command in commands:
        if command.startswith(("tutor eval", "tutor bank check")):
            continue  # they take labelled answers, or a minute; tests/evaluation and tests/question_bank run them
        with pytest.MonkeyPatch.context() as patch:
            typed = "" if "--answers" in command else TYPED * 4
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="utf-8"))
            with pytest.raises(SystemExit) as ended:
                main(shlex.split(command)[1:])
        said = capsys.readouterr()
        code = int(ended.value.code or 0)
        allowed = {0, 1} if NEGATIVE & set(command.split()) else {0}
        if "Which one?" in said.err and code == 2:
            continue  # an interview of other kinds of questions than are answered here; it ended with the input
        assert code in allowed, f"{command}\n{said.out[-500:]}\n{said.err}"
        assert "Traceback" not in said.err
