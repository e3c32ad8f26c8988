"""`python -m sim`: run a scenario, sweep over variants, look at traces, fit step costs, compare with records.

Exit codes: 0 done, 1 a negative result (a point of a sweep failed, a recorded step differs), 2 a file or the
command line cannot be used, 130 stopped by Ctrl+C.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

# One simulation needs one thread: NumPy's pool would be started for nothing and spin beside it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from sim.errors import ScenarioError

COMMANDS = {
    "run": ("sim.commands.run", "run a scenario file, or a built-in scenario by its name"),
    "sweep": ("sim.commands.sweep", "run every combination of some fields' values, and compare"),
    "goal": ("sim.commands.goal", "find the largest or smallest value of a field that keeps what is required"),
    "list": ("sim.commands.gallery", "list the built-in scenarios"),
    "trace": ("sim.traces.command", "what a file of recorded requests looks like"),
    "fit": ("sim.fit.command", "fit a step cost to measured steps or to a measured run"),
    "conformance": ("sim.conformance", "compare the vLLM scheduler with a file of recorded steps"),
}
"""Name to the module with `add_arguments` and `run_command`, and what it does."""


def _parser(arguments: Sequence[str], prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description="Simulate LLM serving.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    for name, (module, about) in COMMANDS.items():
        command = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        # Only the one that is used is imported: each brings what it needs with it.
        if name == wanted:
            import_module(module).add_arguments(command)
    return parser


def main(arguments: Sequence[str] | None = None, prog: str = "python -m sim") -> int:
    """Run the command line and return the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    options = _parser(given, prog).parse_args(given)
    try:
        code: int = import_module(COMMANDS[options.command][0]).run_command(options)
    except ScenarioError as error:
        # The name of a file may hold what a terminal would obey.
        sys.stderr.write("".join(each if each.isprintable() else "\ufffd" for each in str(error)) + "\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return 130
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # The reader (head, less) closed early; leave without a complaint at interpreter exit.
        sys.stderr.close()
        sys.exit(0)
