"""How fast the simulator is, side by side with two peers from the package index, in one run.

    python -m benchmarks.sim_speed [--only ours,dynamo,...] [--repeats N] [--limit-s S] [--quick] [--million]
                                   [--json FILE] [--update docs/experiments.md]

The peers are NVIDIA Dynamo's offline replay (compiled Rust) and sched-sim (Python); they are installed into an
environment of their own on first use. Everyone gets the same traces and, as near as it can express them, the
same step costs. All times are CPU seconds, so that a busy machine changes them little; every figure is the
median of repeated runs, the simulators taken in turn. A peer is left out where it would need more than the limit.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import replace_part
from benchmarks.sim_peers import cost
from benchmarks.sim_peers.environment import PEERS, cache_folder, peers_python
from benchmarks.sim_peers.traces import (
    BLOCK_TOKENS,
    CASES,
    COMPARED,
    STRETCHED,
    Case,
    draw,
    write_list,
    write_mooncake,
)

SHORT_RUN_S, SHORT_RUN_REPEATS = 0.25, 5
"""A shorter run is repeated within its process: what is imported on first use is then not part of the median."""
LONG_RUN_S = 4.0
"""A longer run is done once."""

ROOT = Path(__file__).parents[1]
ENGINES = ("ours", "dynamo", "dynamo-64", "sched-sim")
LABELS = {
    "ours": "Tutor `sim`",
    "dynamo": "Dynamo replay, 16-token blocks",
    "dynamo-64": "Dynamo replay, its default 64-token blocks",
    "sched-sim": "sched-sim, no prefix cache",
}


@dataclass(slots=True)
class Measured:
    """One simulator on one trace. CPU seconds are medians; `note` says why there are none."""

    engine: str
    case: str
    requests: int
    run_cpu_s: float | None = None
    read_cpu_s: float | None = None
    process_cpu_s: float | None = None
    peak_mib: float | None = None
    requests_per_cpu_s: float | None = None
    tokens_per_cpu_s: float | None = None
    simulated: dict[str, Any] = field(default_factory=dict)
    note: str = ""


class Workshop:
    """Traces, options and processes: runs one simulator on one trace."""

    def __init__(self, engines: Sequence[str]) -> None:
        self.folder = cache_folder() / "traces"
        self.folder.mkdir(exist_ok=True)
        self._python = {name: Path(sys.executable) for name in engines}
        if peers := [name for name in engines if name != "ours"]:
            self._python.update(dict.fromkeys(peers, peers_python()))
        self.profile = self.folder / "profile.npz"
        context = np.linspace(0, 400_000, 101)
        prompt = np.linspace(0, 16_384, 65)
        np.savez(
            self.profile,
            prefill_isl=prompt,
            prefill_ttft_ms=cost.PER_PREFILL_TOKEN_MS * prompt,
            decode_active_kv_tokens=context,
            decode_context_length=np.linspace(1, 20_000, 11),
            decode_itl=(cost.BASE_MS + cost.PER_CONTEXT_TOKEN_MS * context)[:, None] * np.ones(11),
        )

    def trace(self, case: Case, engine: str) -> Path:
        """The file with the trace in the engine's format, written on first use."""
        suffix = "json" if engine == "sched-sim" else "jsonl"
        stem = f"{case.count}-{case.rate_per_s:g}-{case.long_share:g}-{case.stretch}-{case.groups}"
        path = self.folder / f"{stem}.{suffix}"
        if not path.exists():
            (write_mooncake if suffix == "jsonl" else write_list)(draw(case), path)
        return path

    def options(self, case: Case, engine: str, repeat: int, kind: str, details: bool) -> dict[str, Any]:
        """What the engine's little program reads."""
        return {
            "trace": str(self.trace(case, engine)),
            "trace_block_tokens": BLOCK_TOKENS,
            "repeat": repeat,
            "cost": kind,
            "details": details,
            "profile": str(self.profile),
            "base_ms": cost.BASE_MS,
            "per_prefill_token_ms": cost.PER_PREFILL_TOKEN_MS,
            "per_context_token_ms": cost.PER_CONTEXT_TOKEN_MS,
            "chunk_ms": cost.CHUNK_MS,
            "decode_ms": cost.DECODE_MS,
            "max_seqs": cost.MAX_SEQS,
            "token_budget": cost.TOKEN_BUDGET,
            "kv_tokens": case.kv_blocks * cost.BLOCK_TOKENS,
            "prefix_cache": case.prefix_cache,
            "block_tokens": 64 if engine == "dynamo-64" else cost.BLOCK_TOKENS,
        }

    def run(
        self, engine: str, case: Case, repeat: int = 1, kind: str = "linear", details: bool = False
    ) -> tuple[dict[str, Any], float]:
        """The program's report, and the CPU seconds of its whole process.

        Raises SystemExit with the last line the program wrote when it fails.
        """
        program = {"ours": "run_ours", "sched-sim": "run_sched_sim"}.get(engine, "run_dynamo")
        with tempfile.TemporaryDirectory() as folder:
            options = Path(folder) / "options.json"
            options.write_text(json.dumps(self.options(case, engine, repeat, kind, details)), encoding="utf-8")
            environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
            with (Path(folder) / "out").open("w+") as out, (Path(folder) / "err").open("w+") as err:
                process = subprocess.Popen(
                    [str(self._python[engine]), "-m", f"benchmarks.sim_peers.{program}", str(options)],
                    stdout=out,
                    stderr=err,
                    cwd=ROOT,
                    env=environment,
                )
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                if process.returncode:
                    err.seek(0)
                    lines = err.read().strip().splitlines() or [f"exit code {process.returncode}"]
                    raise SystemExit(f"{engine} failed on {case.name}: {lines[-1]}")
                out.seek(0)
                report: dict[str, Any] = json.loads(out.read().strip().splitlines()[-1])
        return report, usage.ru_utime + usage.ru_stime


def measure(
    workshop: Workshop, cases: Iterable[Case], engines: Sequence[str], repeats: int, limit_s: float
) -> list[Measured]:
    """Every engine on every trace, in turn, `repeats` times; long runs once, and none beyond the limit."""
    results: list[Measured] = []
    pace: dict[str, float] = {}
    for case in cases:
        gathered: dict[str, list[tuple[dict[str, Any], float]]] = {name: [] for name in engines}
        notes: dict[str, str] = {}
        rounds: dict[str, int] = {}
        for name in engines:
            expected = pace.get(name, 0.0) * case.count
            rounds[name] = repeats if expected < LONG_RUN_S else 1
            if expected > limit_s:
                rounds[name] = 0
                notes[name] = f"left out: about {expected:,.0f} CPU s, over the limit of {limit_s:.0f} s"
        for turn in range(repeats):
            for name in engines:
                if turn < rounds[name]:
                    short = pace.get(name, 0.0) * case.count < SHORT_RUN_S
                    gathered[name].append(workshop.run(name, case, SHORT_RUN_REPEATS if short else 1))
        for name in engines:
            row = summarise(name, case, gathered[name], notes.get(name, ""))
            if row.run_cpu_s is not None:
                pace[name] = row.run_cpu_s / case.count
            results.append(row)
            print(progress(row), file=sys.stderr, flush=True)
    return results


def summarise(engine: str, case: Case, runs: list[tuple[dict[str, Any], float]], note: str) -> Measured:
    """Medians over the runs of one engine on one trace."""
    row = Measured(engine, case.name, case.count, note=note)
    if not runs:
        return row
    report = runs[-1][0]
    row.run_cpu_s = statistics.median(value for item, _ in runs for value in item["run_cpu_s"])
    row.read_cpu_s = statistics.median(item["read_cpu_s"] for item, _ in runs)
    row.process_cpu_s = statistics.median(seconds - item["again_cpu_s"] for item, seconds in runs)
    row.peak_mib = max(item["peak_mib"] for item, _ in runs)
    row.requests_per_cpu_s = case.count / row.run_cpu_s
    row.tokens_per_cpu_s = report["output_tokens"] / row.run_cpu_s
    row.simulated = {
        key: value for key, value in report.items() if key.endswith("_ms") or key in ("completed", "output_tokens")
    }
    return row


def progress(row: Measured) -> str:
    """One line on a finished measurement."""
    if row.requests_per_cpu_s is None:
        return f"{row.case:32} {row.engine:10} {row.note}"
    return f"{row.case:32} {row.engine:10} {row.requests_per_cpu_s:10,.0f} requests/CPU s  {row.peak_mib:7,.0f} MiB"


def agreement(workshop: Workshop, cases: Iterable[Case]) -> list[dict[str, Any]]:
    """Largest difference of any request's first and last token time between Dynamo and us, exact step times."""
    rows = []
    for case in cases:
        ours, _ = workshop.run("ours", case, kind="fixed", details=True)
        theirs, _ = workshop.run("dynamo", case, kind="fixed", details=True)
        row: dict[str, Any] = {"case": case.name, "requests": case.count}
        row["e2e_mean_ms"] = {"ours": ours["e2e_mean_ms"], "theirs": theirs["e2e_mean_ms"]}
        for key in ("first_token_ms", "last_token_ms"):
            # Both clocks start with the first request of a trace.
            gaps = np.abs(np.array(ours[key]) - np.array(theirs[key]))
            # Dynamo's clock is a floating-point number of milliseconds; a nanosecond is far below any step.
            unequal = gaps > 1e-6
            row[key] = {"largest": float(gaps.max()) if unequal.any() else 0.0, "unequal": int(unequal.sum())}
        rows.append(row)
    return rows


def start_up(workshop: Workshop, engines: Sequence[str], repeats: int) -> dict[str, float]:
    """CPU seconds of a whole process that simulates ten requests: almost all of it is starting."""
    tiny = Case("ten requests", 10, 8.0)
    spent: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(repeats):
        for name in engines:
            spent[name].append(workshop.run(name, tiny)[1])
    return {name: statistics.median(values) for name, values in spent.items()}


def table(results: Sequence[Measured], engines: Sequence[str]) -> str:
    """Requests per CPU second for every trace, and our ratio to the faster of Dynamo's two settings."""
    lines = [
        "| trace | " + " | ".join(LABELS[name] for name in engines) + " | ratio to Dynamo's faster |",
        "|---" * (len(engines) + 2) + "|",
    ]
    for case in dict.fromkeys(row.case for row in results):
        rows = {row.engine: row for row in results if row.case == case}
        cells = [cell(rows[name]) for name in engines]
        lines.append(f"| {case} | " + " | ".join(cells) + f" | {ratio(rows)} |")
    return "\n".join(lines)


def cell(row: Measured) -> str:
    """Requests, output tokens and memory of one measurement."""
    if row.requests_per_cpu_s is None or row.tokens_per_cpu_s is None:
        return row.note
    return f"{row.requests_per_cpu_s:,.0f} req/s, {row.tokens_per_cpu_s / 1e6:.2f} M tok/s, {row.peak_mib:,.0f} MiB"


def ratio(rows: dict[str, Measured]) -> str:
    """How many times the requests per CPU second of the faster Dynamo setting ours are."""
    peers = [
        row.requests_per_cpu_s
        for name, row in rows.items()
        if name.startswith("dynamo") and row.requests_per_cpu_s is not None
    ]
    mine = rows["ours"].requests_per_cpu_s if "ours" in rows else None
    return f"{mine / max(peers):.1f}" if mine and peers else ""


def markdown(
    report: dict[str, Any], results: Sequence[Measured], stretched: Sequence[Measured], engines: Sequence[str]
) -> str:
    """All of the report as a page."""
    parts = [
        f"{report['machine']}, Python {report['python']}; CPU seconds, medians of up to {report['repeats']} runs.",
        "",
        "Simulation loop with metrics, without reading the trace:",
        "",
        table(results, engines),
        "",
        "Whole process (start, reading, simulation, report), requests per CPU second:",
        "",
        "| trace | " + " | ".join(LABELS[name] for name in engines) + " |",
        "|---" * (len(engines) + 1) + "|",
    ]
    for case in dict.fromkeys(row.case for row in results):
        rows = {row.engine: row for row in results if row.case == case}
        cells = [
            f"{row.requests / row.process_cpu_s:,.0f}" if (row := rows[name]).process_cpu_s else "" for name in engines
        ]
        parts.append(f"| {case} | " + " | ".join(cells) + " |")
    parts += ["", "Start-up (a process that simulates ten requests), CPU seconds: "]
    parts[-1] += ", ".join(f"{LABELS[name]} {value:.3f}" for name, value in report["start_up_cpu_s"].items())
    if stretched:
        parts += [
            "",
            "Longer answers, CPU seconds of the loop:",
            "",
            "| trace | " + " | ".join(LABELS[n] for n in engines) + " |",
        ]
        parts.append("|---" * (len(engines) + 1) + "|")
        for case in dict.fromkeys(row.case for row in stretched):
            rows = {row.engine: row for row in stretched if row.case == case}
            cells = [f"{row.run_cpu_s:.3f}" if (row := rows[name]).run_cpu_s else row.note for name in engines]
            parts.append(f"| {case} | " + " | ".join(cells) + " |")
    if report["agreement"]:
        parts += ["", "Token times against Dynamo's, request by request, with step times both express exactly:", ""]
        parts += [
            "| trace | requests | first token: largest gap, ms (unequal) | last token | mean E2E, ms, here, there |",
            "|---|---|---|---|---|",
        ]
        for row in report["agreement"]:
            first, last, mean = row["first_token_ms"], row["last_token_ms"], row["e2e_mean_ms"]
            parts.append(
                f"| {row['case']} | {row['requests']:,} | {first['largest']:.3g} ({first['unequal']}) "
                f"| {last['largest']:.3g} ({last['unequal']}) | {mean['ours']:,.2f}, {mean['theirs']:,.2f} |"
            )
    parts += ["", "Simulated results with the linear cost (Dynamo charges no base time to a step without decodes):", ""]
    parts += ["| trace | simulator | completed | TTFT mean / p99 ms | E2E mean / p99 ms |", "|---|---|---|---|---|"]
    for row in results:
        # The size of its blocks changes nothing in what Dynamo simulates here.
        if row.simulated and row.engine != "dynamo-64":
            s = row.simulated
            parts.append(
                f"| {row.case} | {LABELS[row.engine]} | {s['completed']:,} "
                f"| {s['ttft_mean_ms']:,.1f} / {s['ttft_p99_ms']:,.1f} "
                f"| {s['e2e_mean_ms']:,.1f} / {s['e2e_p99_ms']:,.1f} |"
            )
    return "\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the page, and write it where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(ENGINES), help="simulators to run, comma-separated")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each (5)")
    parser.add_argument("--limit-s", type=float, default=60.0, help="CPU seconds one peer may take on one trace (60)")
    parser.add_argument("--quick", action="store_true", help="only traces of 1,000 requests")
    parser.add_argument("--million", action="store_true", help="also the trace of a million requests")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="replace the part `speed` of this page")
    chosen = parser.parse_args(arguments)
    engines = [name for name in ENGINES if name in chosen.only.split(",")]
    if not engines:
        parser.error(f"--only takes one or more of {', '.join(ENGINES)}")
    limit = 1_000 if chosen.quick else 1_000_000 if chosen.million else 100_000
    workshop = Workshop(engines)
    results = measure(
        workshop, [case for case in CASES if case.count <= limit], engines, chosen.repeats, chosen.limit_s
    )
    stretched = [] if chosen.quick else measure(workshop, STRETCHED, engines, chosen.repeats, chosen.limit_s)
    both = {"ours", "dynamo"} <= set(engines)
    report = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "python": platform.python_version(),
        "peers": PEERS,
        "repeats": chosen.repeats,
        "start_up_cpu_s": start_up(workshop, engines, chosen.repeats),
        "agreement": agreement(workshop, COMPARED) if both else [],
        "results": [asdict(row) for row in results],
        "stretched": [asdict(row) for row in stretched],
    }
    page = markdown(report, results, stretched, engines)
    print(page)
    if chosen.update:
        replace_part(chosen.update, "speed", page)
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
