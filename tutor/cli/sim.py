"""`tutor sim`: the simulator, on scenario files and on the built-in ones."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.group(name="sim", context_settings={"help_option_names": ["-h", "--help"]})
def sim_command() -> None:
    """Run the simulator on a scenario file."""


@sim_command.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="The complete result as JSON.")
@click.option("--timeline/--no-timeline", default=True, help="Also draw queue, prefill and decode per request.")
def run(file: Path, as_json: bool, timeline: bool) -> None:
    """Simulate FILE (YAML or JSON), or a built-in scenario by its name."""
    from sim import builtin_scenario, load_scenario, simulate
    from sim.report import render_text
    from sim.timeline import render_text as render_timeline
    from sim.timeline import timeline as rows_of

    looks_like_name = not file.suffix and len(file.parts) == 1 and not file.exists()
    result = simulate(builtin_scenario(str(file)) if looks_like_name else load_scenario(file))
    if as_json:
        click.echo(json.dumps(result.to_dict(), indent=2))
        return
    width = click.get_terminal_width() if hasattr(click, "get_terminal_width") else 80
    click.echo(render_text(result, width=width))
    if timeline and len(result.requests) <= 40:
        click.echo()
        click.echo("\n".join(render_timeline(rows_of(result), width=width)))


@sim_command.command("list")
def list_scenarios() -> None:
    """List the built-in scenarios and what each shows."""
    from sim import load_scenario, scenarios_dir

    for path in sorted(scenarios_dir().glob("*.yaml")):
        click.echo(f"{path.stem:<28} {load_scenario(path).name}")
