"""Published claims about LLM serving, each as an experiment: the figure published and the figure got here.

    python -m benchmarks.sim_papers [NAME ...] [--mooncake FOLDER] [--update docs/experiments.md] [--json FILE]

All of them take about a minute of CPU. The experiment on Mooncake needs the published traces
conversation_trace.jsonl and synthetic_trace.jsonl in a folder, and is left out without them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.pages import replace_part
from benchmarks.papers import distserve, mooncake, orca, order, paged, sarathi, what_if
from benchmarks.papers.common import Experiment

EXPERIMENTS: dict[str, Callable[[], Experiment]] = {
    "orca": orca.experiment,
    "paged": paged.experiment,
    "sarathi": sarathi.experiment,
    "distserve": distserve.experiment,
    "splitwise": distserve.splitwise,
    "fastserve": order.experiment,
    "what-if": what_if.experiment,
}


def page(experiments: Sequence[Experiment]) -> str:
    """One section an experiment."""
    parts = []
    for item in experiments:
        parts += [f"### {item.paper}", "", f"`python -m benchmarks.sim_papers {item.name}`", "", item.setup, ""]
        parts += ["| claim | published | here | verdict |", "|---|---|---|---|"]
        parts += [f"| {claim.what} | {claim.published} | {claim.got} | {claim.verdict} |" for claim in item.claims]
        parts.append("")
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chosen experiments and print their tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known = [*EXPERIMENTS, "mooncake"]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones (all): {', '.join(known)}")
    parser.add_argument("--mooncake", type=Path, metavar="FOLDER", help=f"traces from {mooncake.WHERE}")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="replace the part `papers` of this page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here")
    chosen = parser.parse_args(arguments)
    names = chosen.names or known
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no experiment {unknown[0]!r}; choose from {', '.join(known)}")
    done = []
    for name in names:
        if name != "mooncake":
            done.append(EXPERIMENTS[name]())
        elif chosen.mooncake:
            done.append(mooncake.experiment(chosen.mooncake))
        elif chosen.names:
            parser.error("mooncake needs --mooncake FOLDER with its traces")
    text = page(done)
    print(text)
    if chosen.update:
        replace_part(chosen.update, "papers", text)
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(item) for item in done], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
