"""Scenarios by name or path, and files that could not be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sim.commands.overrides import Change, apply_changes
from sim.errors import ScenarioError
from sim.loading import builtin_names, load_scenario, scenarios_dir
from sim.scenario import Scenario


def scenario_path(file: str) -> Path:
    """The path of a scenario file, or of a built-in scenario by its name."""
    if not Path(file).exists() and file in builtin_names():
        return scenarios_dir() / f"{file}.yaml"
    return Path(file)


def load_changed(file: str, changes: Sequence[Change] = (), seed: int | None = None) -> Scenario:
    """Read a scenario and change it. Raises ScenarioError."""
    wanted = [*changes, *([] if seed is None else [("seed", seed)])]
    return load_scenario(scenario_path(file), lambda data: apply_changes(data, wanted))


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """The path while it is written; a ScenarioError instead of the system's complaint."""
    try:
        yield path
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be written ({error.strerror or error}); check the folder") from None


def write_text(path: Path, text: str) -> None:
    """Write a whole text file. Raises ScenarioError."""
    with writing(path):
        path.write_text(text, encoding="utf-8")
