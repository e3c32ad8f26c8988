"""`tutor sim`: the simulator, on scenario files and on the built-in ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click


@click.group(name="sim", context_settings={"help_option_names": ["-h", "--help"]})
def sim_command() -> None:
    """Run the simulator on a scenario file."""


@sim_command.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="The complete result as JSON.")
def run(file: Path, as_json: bool) -> None:
    """Simulate FILE (YAML or JSON), or a built-in scenario by its name ('tutor sim list')."""
    from sim import builtin_scenario, load_scenario, simulate
    from sim.report import render_text

    is_name = not file.suffix and len(file.parts) == 1 and not file.exists()
    result = simulate(builtin_scenario(str(file)) if is_name else load_scenario(file))
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2))
    else:
        click.echo(render_text(result, width=shutil.get_terminal_size((80, 24)).columns))


@sim_command.command("list")
def list_scenarios() -> None:
    """List the built-in scenarios."""
    from sim import load_scenario, scenarios_dir

    for path in sorted(scenarios_dir().glob("*.yaml")):
        click.echo(f"{path.stem:<28} {load_scenario(path).name}")
