"""`tutor sim` is the simulator's own command line under the program's name."""

from __future__ import annotations

import json

import pytest

from tutor.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["sim", *arguments])
    code = ended.value.code
    return 0 if code is None else int(code)


def test_a_sweep_through_tutor(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("sweep", "exercise", "--set", "seed=1,2", "--metric", "yours.ttft_s", "--jobs", "1", "--json")
    assert run(*arguments) == 0
    assert [row["yours.ttft_s"] for row in json.loads(capsys.readouterr().out)] == [0.3, 0.3]


def test_options_and_help_are_the_simulators(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "--help") == 0
    assert "usage: tutor sim run" in capsys.readouterr().out
    assert run() == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("run", "sweep", "list", "trace", "fit", "conformance"))


def test_a_command_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rnu") == 2
    assert "rnu" in capsys.readouterr().err
