"""`python -m sim`: run a scenario, list the built-in ones, or compare the engine with recorded steps.

Exit codes: 0 done, 1 a recorded step differs, 2 the file or the command line cannot be used.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sim import conformance
from sim.errors import ScenarioError
from sim.loading import builtin_names, builtin_scenario, load_scenario, scenarios_dir
from sim.report import render_text
from sim.result import simulate
from sim.scenario import Scenario
from sim.traces import command as trace


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sim", description="Simulate LLM serving.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a scenario file, or a built-in scenario by its name")
    run.add_argument("file", metavar="FILE", help="a YAML file, or a name that `list` shows")
    run.add_argument("--json", action="store_true", help="print the whole result as JSON")
    commands.add_parser("list", help="list the built-in scenarios")
    conformance.add_arguments(
        commands.add_parser("conformance", help="compare the vLLM scheduler with a file of recorded steps")
    )
    trace.add_arguments(commands.add_parser("trace", help="what a file of recorded requests looks like"))
    return parser


def _find(file: str) -> Scenario:
    if not Path(file).exists() and file in builtin_names():
        return builtin_scenario(file)
    return load_scenario(Path(file))


def _opening(path: Path) -> str:
    """What the scenario teaches: the first line of its opening comment."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.lstrip("# ").strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "list":
            names = builtin_names()
            column = max((len(name) for name in names), default=0)
            for name in names:
                sys.stdout.write(f"{name:<{column}}  {_opening(scenarios_dir() / f'{name}.yaml')}\n")
            return 0
        if options.command == "conformance":
            return conformance.run_command(options)
        if options.command == "trace":
            return trace.run_command(options)
        result = simulate(_find(options.file))
    except ScenarioError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("stopped before the simulation ended\n")
        return 130
    if options.json:
        json.dump(result.to_dict(), sys.stdout, allow_nan=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(render_text(result))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # The reader (head, less) closed early; leave without a complaint at interpreter exit.
        sys.stderr.close()
        sys.exit(0)
