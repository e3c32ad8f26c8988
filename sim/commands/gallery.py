"""`python -m sim list`: the built-in scenarios."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from sim.loading import builtin_names, scenarios_dir


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a command line the arguments that `run_command` reads."""
    parser.add_argument("--json", action="store_true", help="as a list of names, what they teach, and paths")


def run_command(options: argparse.Namespace) -> int:
    """Print a line for each scenario and return 0."""
    paths = {name: scenarios_dir() / f"{name}.yaml" for name in builtin_names()}
    if options.json:
        rows = [{"name": name, "teaches": _opening(path), "path": str(path)} for name, path in paths.items()]
        json.dump(rows, sys.stdout)
        sys.stdout.write("\n")
        return 0
    column = max(map(len, paths), default=0)
    for name, path in paths.items():
        sys.stdout.write(f"{name:<{column}}  {_opening(path)}\n")
    return 0


def _opening(path: Path) -> str:
    """What the scenario teaches: the first line of its opening comment."""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.lstrip("# ").strip()
