"""`python -m sim trace FILE`: what a recorded trace looks like, and the same trace in another format."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from sim.errors import ScenarioError, nearest
from sim.traces.columns import TraceColumns
from sim.traces.layouts import FORMATS
from sim.traces.reading import load_trace
from sim.traces.summary import render, summarize
from sim.traces.writing import WrittenFormat, write_trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a command line the arguments that `run_command` reads."""
    parser.add_argument("file", metavar="FILE", type=Path, help="a file of recorded requests")
    parser.add_argument("--format", choices=FORMATS, default="auto", help="told from the content when not given")
    parser.add_argument(
        "--columns",
        metavar="NAME=COLUMN,…",
        help="columns of a table of your own: time, unit (s, ms, us, ns, clock), prompt_tokens, output_tokens",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="read the first N requests only")
    parser.add_argument("--skip-broken", action="store_true", help="leave broken rows out and count them")
    parser.add_argument("--no-spread", action="store_true", help="keep the times of a coarse clock as they are")
    parser.add_argument("--seed", type=int, default=1, help="for requests drawn from ServeGen's rates")
    parser.add_argument("--speed", type=float, metavar="X", help="divide all gaps by X")
    parser.add_argument("--from", dest="start_s", type=float, metavar="S", help="from this second on")
    parser.add_argument("--until", dest="end_s", type=float, metavar="S", help="before this second")
    parser.add_argument("--to", type=Path, metavar="NEW", help="write the trace to a new file")
    parser.add_argument("--to-format", choices=get_args(WrittenFormat), default="jsonl", help="of that file")
    parser.add_argument("--block-tokens", type=int, default=512, metavar="N", help="of --to-format mooncake")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def _columns(text: str | None) -> TraceColumns | None:
    if text is None:
        return None
    given = {}
    for part in text.split(","):
        name, equals, column = part.partition("=")
        if name not in TraceColumns.model_fields or not equals:
            known = ", ".join(TraceColumns.model_fields)
            close = nearest(name, TraceColumns.model_fields)
            raise ScenarioError(f"--columns: {part!r} is no pair NAME=COLUMN{close}; the names are {known}")
        given[name] = column
    try:
        return TraceColumns.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ScenarioError(f"--columns: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}") from None


def run_command(options: argparse.Namespace) -> int:
    """Print the summary, write the new file if one is wanted, and return 0. Raises ScenarioError."""
    if options.block_tokens < 1:
        raise ScenarioError(f"--block-tokens must be at least 1, not {options.block_tokens}")
    trace = load_trace(
        options.file,
        options.format,
        columns=_columns(options.columns),
        on_error="skip" if options.skip_broken else "refuse",
        limit=options.limit,
        spread=not options.no_spread,
        seed=options.seed,
    )
    if options.start_s is not None or options.end_s is not None:
        start_s, end_s = options.start_s or 0.0, options.end_s
        trace = trace.between(start_s, trace.duration_s + 1 if end_s is None else end_s)
    if options.speed is not None:
        trace = trace.faster(options.speed)
    if options.to is not None:
        write_trace(trace, options.to, options.to_format, options.block_tokens)
    summary = summarize(trace)
    if options.json:
        json.dump(summary.to_dict(), sys.stdout, allow_nan=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(render(summary))
    return 0
