"""`tutor sim`: the simulator's own command line, under this program's name."""

from __future__ import annotations

from typing import Any

import click


@click.command(
    name="sim",
    # Help and options are the simulator's own.
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def sim_command(arguments: tuple[str, ...]) -> Any:
    """Run the simulator: run, sweep, list, trace, fit and conformance."""
    from sim.__main__ import main

    return main(arguments or ("--help",), prog="tutor sim")
