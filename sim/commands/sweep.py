"""`python -m sim sweep FILE --set path=v1,v2`: a table with a line for each combination of values."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sim.commands.files import write_text, writing
from sim.commands.overrides import parse_choices
from sim.commands.points import Point, grid, sweep
from sim.commands.progress import Watch
from sim.commands.run import STOPPED
from sim.errors import ScenarioError
from sim.metrics import name_in_words

if TYPE_CHECKING:
    from sim.sweep.plan import Points

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
        help="values of a field; several --set give every combination, the last varying fastest",
    )
    parser.add_argument(
        "--range",
        metavar="PATH=LOW..HIGH",
        action="append",
        default=[],
        help="instead of --set: a range of a field, from which --latin draws",
    )
    parser.add_argument("--latin", type=int, metavar="N", help="N points of a Latin hypercube over the --range fields")
    parser.add_argument("--latin-seed", type=int, default=1, metavar="N", help="of the hypercube (1)")
    parser.add_argument("--dask", metavar="ADDRESS", help="run the points on this Dask scheduler, with --out")
    parser.add_argument(
        "--metric", metavar="NAME", action="append", default=[], help="a column of the table; several may be given"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes; as many as there are cores when not given")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="write as .csv or .json as well; as .jsonl or .parquet point by point, and go on if it exists",
    )
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw throughput against latency (.png, .svg, .pdf)")


def run_command(options: argparse.Namespace) -> int:
    """Run every point and print the table. Returns 0, 1 when a point failed, 130 when stopped by Ctrl+C.

    Raises ScenarioError for paths, values, metrics or files that cannot be used.
    """
    if options.jobs is not None and options.jobs < 1:
        raise ScenarioError(f"--jobs must be at least 1, not {options.jobs}")
    if options.out is not None and options.out.suffix not in (".csv", ".json", ".jsonl", ".parquet"):
        raise ScenarioError(f"{options.out}: a sweep is written as .csv, .json, .jsonl or .parquet; change the ending")
    if bool(options.set) == bool(options.range) or bool(options.range) != (options.latin is not None):
        raise ScenarioError("say which points: --set with values, or --range with --latin N")
    if options.latin is not None and options.latin < 1:
        raise ScenarioError(f"--latin must be at least 1, not {options.latin}")
    if options.out is not None and options.out.suffix in (".jsonl", ".parquet"):
        return _kept(options)
    if options.dask is not None:
        raise ScenarioError("--dask keeps its points in a file; add --out points.jsonl or points.parquet")
    if options.plot is not None:
        from sim.plots import check_ending

        check_ending(options.plot)
    if options.range:
        hypercube = _points(options)
        points = [hypercube[number] for number in range(len(hypercube))]
    else:
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


def _points(options: argparse.Namespace) -> Points:
    from sim.sweep.plan import Grid, LatinHypercube, parse_range

    if options.range:
        return LatinHypercube([parse_range(text) for text in options.range], options.latin, options.latin_seed)
    return Grid(tuple(parse_choices(text) for text in options.set))


def _kept(options: argparse.Namespace) -> int:
    """A sweep whose points go to a file as they come; the same command goes on where it stopped."""
    import os

    from sim.sweep.kept import Kept, write_parquet
    from sim.sweep.run import locally, on_dask

    points, metrics = _points(options), list(dict.fromkeys(options.metric or DEFAULT_METRICS))
    parquet = options.out.suffix == ".parquet"
    identity = f"{options.file}:{points.identity}:{','.join(metrics)}"
    kept = Kept(options.out.with_suffix(".jsonl") if parquet else options.out, identity, len(points))
    before, failed = kept.kept, 0
    missing = (number for number in range(len(points)) if not kept.has(number))
    try:
        with Watch() as watch:
            if options.dask is not None:
                coming = on_dask(options.dask, options.file, points, missing, metrics, watch.stop)
            else:
                jobs = options.jobs or os.cpu_count() or 1
                coming = locally(options.file, points, missing, metrics, jobs, watch.stop)
            for number, point in coming:
                kept.put(number, _row(point, metrics))
                failed += point.error is not None
                watch.say(f"{kept.kept:,} of {len(points):,} points done")
    finally:
        kept.close()
    if parquet and kept.kept == len(points):
        write_parquet(kept, options.out)
    sys.stdout.write(
        f"{kept.kept:,} of {len(points):,} points in {options.out if kept.kept == len(points) else kept.path}"
        f"{f', {before:,} of them from before' if before else ''}\n"
    )
    if watch.stopped:
        sys.stdout.write("stopped; the same command goes on\n")
        return STOPPED
    return 1 if failed else 0


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
