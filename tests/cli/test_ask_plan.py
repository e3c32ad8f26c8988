"""`tutor ask --plan`: several questions in turn, listed before they are asked, the same for everyone with a seed."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from question_bank import load_bank
from tutor.cli import main
from tutor.interview import Plan, make_plan

SECTION = "serving/memory-roofline/worked-example"
RunPlan = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunPlan:
    """`tutor ask` in this process, without a model; `person` has a store of their own."""

    def run(*args: str, stdin: str = "", person: str = "one") -> tuple[int, str, str]:
        monkeypatch.setenv("TUTOR_DATA_DIR", str(tmp_path / person))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        with pytest.raises(SystemExit) as stopped:
            main(["--no-model", "ask", *args])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return run


def test_two_candidates_get_the_same_interview_whatever_they_did_before(ask: RunPlan) -> None:
    assert ask(SECTION.rpartition("/")[0] + "/bubbles", "--seed", "1", stdin="", person="two")[0] != 0
    ask("--plan", SECTION, "--seed", "1", stdin="2\na\n2\na\n", person="two")
    lists = [ask("--plan", "screen", "--seed", "7", "--list", person=person)[1] for person in ("one", "two")]
    assert lists[0] == lists[1]
    assert "of 25 minutes, seed 7" in lists[0]
    assert "easier" not in lists[0]
    assert "harder" in ask("--plan", "screen", "--seed", "7", "--adaptive", "--list")[1]


def test_the_list_as_json_is_the_plan(ask: RunPlan) -> None:
    code, out, _ = ask("--plan", "loop", "--seed", "5", "--minutes", "45", "--list", "--json")
    assert code == 0
    plan = Plan.model_validate(json.loads(out))
    assert plan == make_plan(load_bank(), "loop", 5, minutes=45, adaptive=False)
    assert plan.planned_minutes <= 45


def test_a_section_is_asked_question_by_question(ask: RunPlan) -> None:
    code, out, _ = ask("--plan", SECTION, "--seed", "3", stdin="2\na\n3\nb\n")
    assert code in (0, 1)
    assert "1 of 2" in out
    assert "2 of 2" in out
    assert out.count("right") >= 2
    code, _, err = ask("--plan", SECTION, "--seed", "3", stdin="2\na\n")
    assert code == 2
    assert "The input ended" in err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--plan", "sceen"), "Known are screen, loop, weak"),
        (("--plan", "weak"), "Take a 25-minute screen first"),
        (("--plan", "screen", "--minutes", "1"), "5 to 480 minutes"),
        (("some/item/here", "--plan", "screen"), "not both"),
        (("--minutes", "30"), "belong to --plan"),
        (("--plan", "screen", "--json"), "belongs to --list"),
    ],
)
def test_bad_plans_are_one_sentence(ask: RunPlan, args: tuple[str, ...], says: str) -> None:
    code, _, err = ask(*args)
    assert code == 2
    assert says in err
