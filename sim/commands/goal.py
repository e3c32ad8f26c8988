"""`python -m sim goal FILE --largest PATH=LOW..HIGH --require "METRIC<=VALUE"`: how far can one go?"""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import TYPE_CHECKING, Final

from sim.commands.overrides import parse_change
from sim.commands.progress import Watch
from sim.commands.run import STOPPED
from sim.errors import ScenarioError

if TYPE_CHECKING:
    from sim.experiment import Outcome, Term
    from sim.sweep.goal import Goal

_REQUIRED: Final = re.compile(r"^\s*(?P<metric>[\w.]+)\s*(?P<sign><=|>=|<|>)\s*(?P<amount>[-+.\deE]+)\s*$")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a command line the arguments that `run_command` reads."""
    parser.add_argument("file", metavar="FILE", help="a YAML file, or a name that `list` shows")
    want = parser.add_mutually_exclusive_group(required=True)
    want.add_argument("--largest", metavar="PATH=LOW..HIGH", help="the largest value that keeps the requirements")
    want.add_argument("--smallest", metavar="PATH=LOW..HIGH", help="the smallest one")
    parser.add_argument(
        "--require",
        metavar="METRIC<=VALUE",
        action="append",
        default=[],
        help="a requirement in the metric's own unit (seconds); the classes' own limits at 95 %% when none is given",
    )
    parser.add_argument("--set", metavar="PATH=VALUE", action="append", default=[], help="change a field first")
    parser.add_argument("--replications", type=int, default=24, metavar="N", help="at most so many a value (24)")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="S", help="at most so long a value (20)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_command(options: argparse.Namespace) -> int:
    """Seek, and print what was found. Returns 0, 1 when no value keeps the requirements, 130 when stopped.

    Raises ScenarioError for a field, a range, a requirement or a scenario that cannot be used.
    """
    from sim.experiment import Budget
    from sim.sweep.goal import seek
    from sim.sweep.plan import parse_range

    want = "largest" if options.largest else "smallest"
    within = parse_range(options.largest or options.smallest)
    if not within.low < within.high:
        raise ScenarioError(f"--{want} {within.path}: the lower end must be below the upper one")
    changes = [parse_change(text) for text in options.set]
    terms = [_term(text) for text in options.require] or _limits(options.file)
    try:
        budget = Budget(replications=options.replications, seconds=options.seconds)
    except ValueError as error:
        raise ScenarioError(f"--replications, --seconds: {error}") from None
    with Watch() as watch:

        def told(value: float, outcome: Outcome) -> None:
            watch.say(f"{within.path} = {value:g}: {outcome.verdict}")

        goal = seek(
            options.file, within, terms, "largest" if options.largest else "smallest", changes=changes, budget=budget,
            told=told, stop=watch.stop,
        )  # fmt: skip
    if options.json:
        data = {
            "path": goal.path,
            "want": goal.want,
            "kept": goal.kept,
            "broken": goal.broken,
            "open": list(goal.open_),
            "monotone": goal.monotone,
            "tried": [{"value": value, "verdict": verdict} for value, verdict in goal.tried.items()],
            "requests": goal.requests,
        }
        sys.stdout.write(json.dumps(data) + "\n")
    else:
        sys.stdout.write(render(goal))
    if watch.stopped:
        return STOPPED
    return 0 if goal.kept is not None else 1


def _term(text: str) -> Term:
    from sim.experiment import Term

    match = _REQUIRED.match(text)
    try:
        if match is None:
            raise ValueError
        amount = float(match["amount"])
    except ValueError:
        raise ScenarioError(
            f"--require {text}: write metric<=value or metric>=value, for example chat.ttft_s.p95<=0.5"
        ) from None
    return Term(match["metric"], "at_most" if match["sign"].startswith("<") else "at_least", amount)


def _limits(file: str) -> list[Term]:
    """What the classes' own limits ask for."""
    from sim.commands.files import load_changed
    from sim.experiment import Term

    found = []
    for item in load_changed(file).classes:
        for metric in ("ttft", "itl", "tpot", "e2e"):
            limit = getattr(item.slo, f"{metric}_s")
            if limit is not None:
                found.append(Term(f"{item.name}.{metric}_s.p95", "at_most", limit))
    if not found:
        raise ScenarioError(f"{file}: no class has a limit; say what is required with --require")
    return found


def render(goal: Goal) -> str:
    """What was found, in words, and every value that was looked at."""
    words = {"supported": "keeps it", "refuted": "breaks it", "undetermined": "cannot be told"}
    lines = []
    for value, verdict in goal.tried.items():
        note = f" ({goal.notes[value]})" if value in goal.notes else ""
        lines.append(f"  {value:g}: {words[verdict]}{note}")
    if not goal.monotone:
        lines.append("keeping and breaking do not lie on two sides, so there is no edge; the values above are all")
    if goal.kept is None:
        lines.append(f"no value of {goal.path} looked at is shown to keep the requirements")
    else:
        edge = f"; {goal.broken:g} breaks them" if goal.broken is not None else "; the range ends there"
        unknown = (
            f"; in between cannot be told: {', '.join(f'{value:g}' for value in goal.open_)}" if goal.open_ else ""
        )
        lines.append(f"{goal.want} {goal.path} that is shown to keep the requirements: {goal.kept:g}{edge}{unknown}")
    return "\n".join(lines) + "\n"
