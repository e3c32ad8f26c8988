"""`tutor sim`: the simulator's own command line, under this program's name."""

from __future__ import annotations

from typing import Any

import click


@click.group(name="sim", context_settings={"help_option_names": ["-h", "--help"]})
def sim_command() -> None:
    """Run the simulator on a scenario file."""


@sim_command.command("run")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="The complete result as JSON.")
def run(file: str, as_json: bool) -> Any:
    """Simulate FILE (YAML or JSON), or a built-in scenario by its name ('tutor sim list')."""
    from sim.__main__ import main

    return main(["run", *(["--json"] if as_json else []), "--", file])


@sim_command.command("list")
def list_scenarios() -> Any:
    """List the built-in scenarios and what each teaches."""
    from sim.__main__ import main

    return main(["list"])


@sim_command.command("conformance")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def conformance(file: str, as_json: bool) -> Any:
    """Hold the step scheduler against the recorded steps in FILE; exit code 1 when a case differs."""
    from sim.__main__ import main

    return main(["conformance", *(["--json"] if as_json else []), "--", file])
