"""Coefficients and labelled answers from anybody; what once hung is read in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.security.test_hostile_yaml import HOSTILE
from tutor.grading.combine import load_combiner


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "aliases that multiply"])
def test_hostile_coefficients_are_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "coefficients.yaml"
    file.write_text(HOSTILE[name], encoding="utf-8")
    with pytest.raises((ValueError, yaml.YAMLError)) as said:
        load_combiner(file)
    assert len(str(said.value).splitlines()[0]) < 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("coefficients", "aliases that multiply"),
        ("coefficients", "brackets, deep"),
        ("questions.yaml", "aliases that multiply"),
        ("split.yaml", "aliases that multiply"),
    ],
)
def test_hostile_files_of_an_evaluation_are_refused_in_one_sentence(where: str, name: str, tmp_path: Path) -> None:
    """In `aliases that multiply` the mistake itself is small; writing it out took hours."""
    given = tmp_path / ("mine.yaml" if where == "coefficients" else where)
    given.write_text(HOSTILE[name], encoding="utf-8")
    command = [sys.executable, "-m", "tutor", "--no-model", "--data-dir", str(tmp_path / "data"), "eval"]
    command += ["--grader", "none", "--limit", "1"]
    command += ["--coefficients", str(given)] if where == "coefficients" else [str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 2000
