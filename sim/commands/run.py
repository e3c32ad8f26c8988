"""`python -m sim run FILE`: one scenario, its report, and what is to be written of it."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime
from pathlib import Path

from sim.commands.files import load_changed, write_text, writing
from sim.commands.overrides import parse_change
from sim.commands.progress import Watch
from sim.errors import ScenarioError
from sim.result import Result, simulate

STOPPED = 130
"""Exit code after Ctrl+C, as shells have it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a command line the arguments that `run_command` reads."""
    parser.add_argument("file", metavar="FILE", help="a YAML file, or a name that `list` shows")
    parser.add_argument("--set", metavar="PATH=VALUE", action="append", default=[], help="change a field, e.g. seed=3")
    parser.add_argument("--seed", type=int, metavar="N", help="the same as --set seed=N")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--brief", action="store_true", help="with JSON: without the lists of requests and steps")
    parser.add_argument("--metric", metavar="NAME", action="append", default=[], help="print only this number")
    parser.add_argument(
        "--out",
        metavar="PATH",
        type=Path,
        action="append",
        default=[],
        help="write requests (.csv, .parquet), the whole result (.json), or all of it into a folder",
    )
    parser.add_argument("--perfetto", metavar="FILE", type=Path, help="write a trace for ui.perfetto.dev")
    parser.add_argument("--prometheus", metavar="FILE", type=Path, help="write vLLM's metrics as text")
    parser.add_argument("--bench", metavar="FILE", type=Path, help="write a `vllm bench serve` result")
    parser.add_argument(
        "--detailed", action="store_true", help="with --bench: an entry a request too, which `trace` can read"
    )
    parser.add_argument(
        "--plot",
        metavar="[KIND=]FILE",
        action="append",
        default=[],
        help="draw overview, distributions, requests or load as .png, .svg or .pdf",
    )


def run_command(options: argparse.Namespace) -> int:
    """Simulate, write the files and print the report. Returns 0, or 130 for a run stopped by Ctrl+C.

    Raises ScenarioError for a bad scenario, a metric that does not exist, or a file that cannot be written.
    """
    scenario = load_changed(options.file, [parse_change(text) for text in options.set], options.seed)
    pictures = [_picture(text) for text in options.plot]
    with Watch() as watch:
        result = simulate(scenario, watch.progress, watch.stop)
        numbers = {name: result.metric(name) for name in options.metric}
        for path in options.out:
            write_result(result, path)
        _export(result, options, pictures)
    if options.json:
        data = numbers if numbers else result.to_dict(details=not options.brief)
        json.dump(data, sys.stdout, allow_nan=False)
        sys.stdout.write("\n")
    elif numbers:
        width = max(map(len, numbers))
        for name, value in numbers.items():
            sys.stdout.write(f"{name:<{width}}  {'no sample' if value is None else f'{value:.6g}'}\n")
    else:
        from sim.report import render_text

        sys.stdout.write(render_text(result))
    if result.partial:
        sys.stderr.write(f"stopped at {result.log.end / 10**12:,.3f} s of the simulation; the result is partial\n")
        return STOPPED
    return 0


def _picture(text: str) -> tuple[str, Path]:
    from sim.plots import check_ending, check_kind

    kind, equals, path = text.partition("=")
    # A file's name may hold an equals sign, a picture's name holds neither a dot nor a slash.
    if not equals or not kind.isidentifier():
        kind, path = "overview", text
    check_kind(kind)
    return kind, check_ending(Path(path))


def _export(result: Result, options: argparse.Namespace, pictures: list[tuple[str, Path]]) -> None:
    if options.perfetto is not None:
        from sim.export.chrome import write_trace

        with writing(options.perfetto) as path, path.open("w", encoding="utf-8") as file:
            write_trace(result, file)
    if options.prometheus is not None:
        from sim.export.prometheus import prometheus_text

        write_text(options.prometheus, prometheus_text(result))
    if options.bench is not None:
        from sim.export.bench import bench_result

        now = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        write_text(
            options.bench, json.dumps(bench_result(result, detailed=options.detailed, date=now), allow_nan=False) + "\n"
        )
    for kind, path in pictures:
        from sim.plots import plot, save

        with writing(path):
            save(plot(result, kind), path)


def write_result(result: Result, path: Path) -> None:
    """Write requests to `.csv` or `.parquet`, the whole result to `.json`, and everything into a folder.

    A folder gets summary.json, scenario.json, requests.csv and steps.csv. Raises ScenarioError.
    """
    from sim.export.tables import request_blocks, step_blocks, write_table

    if path.suffix in (".csv", ".parquet"):
        with writing(path):
            write_table(request_blocks(result), path)
    elif path.suffix == ".json":
        write_text(path, json.dumps(result.to_dict(), allow_nan=False) + "\n")
    elif path.suffix and not path.is_dir():
        raise ScenarioError(f"{path}: write to .csv, .parquet or .json, or into a folder; change the ending")
    else:
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
            write_table(request_blocks(result), path / "requests.csv")
            write_table(step_blocks(result), path / "steps.csv")
        write_text(path / "summary.json", json.dumps(result.to_dict(details=False), indent=1, allow_nan=False) + "\n")
        scenario = result.scenario.model_dump_json(indent=1, exclude_unset=True)
        write_text(path / "scenario.json", scenario + "\n")
