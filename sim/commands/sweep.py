"""`python -m sim sweep FILE --set path=v1,v2`: a table with a line for each combination of values."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sim.commands.files import write_text, writing
from sim.commands.overrides import parse_choices
from sim.commands.points import Point, grid, sweep
from sim.commands.progress import Watch
from sim.commands.run import STOPPED
from sim.errors import ScenarioError
from sim.metrics import name_in_words

DEFAULT_METRICS = (
    "output_tokens_per_s",
    "goodput",
    "all.ttft_s.p50",
    "all.ttft_s.p99",
    "all.tpot_s.p50",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a command line the arguments that `run_command` reads."""
    parser.add_argument("file", metavar="FILE", help="a YAML file, or a name that `list` shows")
    parser.add_argument(
        "--set",
        metavar="PATH=V1,V2,…",
        action="append",
        default=[],
        required=True,
        help="values of a field; several --set give every combination, the last varying fastest",
    )
    parser.add_argument(
        "--metric", metavar="NAME", action="append", default=[], help="a column of the table; several may be given"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes; as many as there are cores when not given")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write the table as .csv or .json as well")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw throughput against latency (.png, .svg, .pdf)")


def run_command(options: argparse.Namespace) -> int:
    """Run every point and print the table. Returns 0, 1 when a point failed, 130 when stopped by Ctrl+C.

    Raises ScenarioError for paths, values, metrics or files that cannot be used.
    """
    if options.jobs is not None and options.jobs < 1:
        raise ScenarioError(f"--jobs must be at least 1, not {options.jobs}")
    if options.out is not None and options.out.suffix not in (".csv", ".json"):
        raise ScenarioError(f"{options.out}: a sweep is written as .csv or .json; change the ending")
    if options.plot is not None:
        from sim.plots import check_ending

        check_ending(options.plot)
    points = grid([parse_choices(text) for text in options.set])
    metrics = list(dict.fromkeys(options.metric or DEFAULT_METRICS))
    with Watch() as watch:
        done = list(
            sweep(
                options.file,
                points,
                metrics,
                jobs=options.jobs,
                progress=lambda ready, total: watch.say(f"{ready:,} of {total:,} points done"),
                stop=watch.stop,
            )
        )
    reasons = {point.error for point in done}
    if len(reasons) == 1 and not watch.stopped and (reason := reasons.pop()):
        # All for the same reason: the command is wrong, not a point.
        raise ScenarioError(reason)
    rows = [_row(point, metrics) for point in done]
    if options.out is not None:
        write_text(options.out, _csv(rows) if options.out.suffix == ".csv" else json.dumps(rows, indent=1) + "\n")
    if options.plot is not None:
        _plot(options.plot, done, metrics)
    if options.json:
        json.dump(rows, sys.stdout, allow_nan=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(render(done, metrics))
    if watch.stopped:
        return STOPPED
    return 1 if any(point.error for point in done) else 0


def _row(point: Point, metrics: Sequence[str]) -> dict[str, object]:
    fates = ("submitted", "completed", "cancelled", "rejected", "failed", "in_flight")
    row: dict[str, object] = dict(point.changes)
    row |= {name: point.counts.get(name) for name in fates}
    row |= {name: point.values.get(name) for name in metrics}
    return row | {"error": point.error}


def _csv(rows: Sequence[dict[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


_SHORT = {"output tokens/s": "tokens/s", "goodput": "good/s", "goodput requests/s": "good/s"}


def _title(name: str) -> str:
    """A metric as a column's title."""
    spelled = name_in_words(name).removeprefix("all ")
    return _SHORT.get(spelled, spelled)


def _is_time(name: str) -> bool:
    return "_s." in name or (name.endswith("_s") and not name.endswith("_per_s"))


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    value *= 1000 if _is_time(name) else 1
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def render(points: Sequence[Point], metrics: Sequence[str]) -> str:
    """The table; what failed says why below it."""
    paths = [path for path, _ in points[0].changes]
    # The last part of a path is enough where it tells the paths apart.
    ends = [path.rpartition(".")[2] for path in paths]
    titles = [*(ends if len(set(ends)) == len(ends) else paths), "done/sent", *map(_title, metrics)]
    table = [titles]
    for point in points:
        done = f"{point.counts['completed']:,}/{point.counts['submitted']:,}" if point.counts else "failed"
        values = [_shown(name, point.values.get(name)) for name in metrics] if point.counts else []
        table.append([*(str(value) for _, value in point.changes), done, *values])
    widths = [max(len(row[column]) for row in table if column < len(row)) for column in range(len(titles))]
    lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=False)) for row in table]
    if any(_is_time(name) for name in metrics):
        lines.append("times in milliseconds")
    lines += [
        f"{', '.join(f'{path} = {value}' for path, value in point.changes)}: {point.error}"
        for point in points
        if point.error is not None
    ]
    return "\n".join(lines) + "\n"


def _plot(path: Path, points: Sequence[Point], metrics: Sequence[str]) -> None:
    from sim.plots import plot_points, save

    latencies = [name for name in metrics if _is_time(name)]
    across = next((name for name in metrics if name.endswith("_per_s")), None)
    if not latencies or across is None:
        raise ScenarioError(
            "--plot needs a rate and a time among the metrics; add for example "
            "--metric output_tokens_per_s --metric all.ttft_s.p99"
        )
    ready = [point for point in points if point.error is None]
    if not ready:
        raise ScenarioError(f"{path}: no point has figures to draw; see the reasons with --json")
    labels = [", ".join(str(value) for _, value in point.changes) for point in ready]
    sizes = sorted({point.counts["submitted"] for point in ready})
    requests = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    title = f"{', '.join(name for name, _ in ready[0].changes)}; {requests} requests a point"
    values = [point.values for point in ready]
    with writing(path):
        save(plot_points(values, x=across, y=latencies, labels=labels, title=title), path)
