"""The table of docs/coverage.md from a measurement of branches.

pytest -q -n 2 --cov=sim --cov=question_bank --cov=rubrics --cov=tutor --cov-branch --cov-report=json:coverage.json
python -m benchmarks.coverage coverage.json           # prints the table and the files with the widest holes
python -m benchmarks.coverage coverage.json --write   # puts the table into the page
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.pages import replace_part

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
_COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def part_of(file: str) -> str:
    """`tutor/grading/x.py` -> `tutor.grading`; the other packages as one part each."""
    first, *rest = Path(file).parts
    return f"{first}.{Path(rest[0]).stem}" if first == "tutor" and rest else first


def rows(files: dict[str, Any]) -> list[tuple[str, int, float, int, float]]:
    """Part, lines, share of them that was run, branches, share of them that was taken; parts of few lines together."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for file, found in files.items():
        counts = [found["summary"][name] for name in _COUNTS]
        sums[part_of(file)] = [one + other for one, other in zip(sums[part_of(file)], counts, strict=True)]
    total = [sum(column) for column in zip(*sums.values(), strict=True)]
    small = [part for part, counts in sums.items() if counts[0] < 60]
    others = [sum(column) for column in zip(*(sums.pop(part) for part in small), strict=True)] if small else []
    named = [*sorted(sums.items()), *([("small modules of tutor", others)] if others else []), ("all", total)]
    return [
        (part, lines, run / max(1, lines), branches, taken / max(1, branches))
        for part, (lines, run, branches, taken) in named
    ]


def _shown(part: str) -> str:
    return part if " " in part or part == "all" else f"`{part}`"


def table(files: dict[str, Any]) -> str:
    """The rows as Markdown."""
    head = "| part | lines | run | branches | taken |\n|---|--:|--:|--:|--:|\n"
    return head + "\n".join(
        f"| {_shown(part)} | {lines:,} | {run:.0%} | {branches:,} | {taken:.0%} |"
        for part, lines, run, branches, taken in rows(files)
    )


def widest(files: dict[str, Any], count: int = 25) -> list[tuple[int, str]]:
    """The files with most branches that were not taken."""
    holes = [
        (found["summary"]["num_branches"] - found["summary"]["covered_branches"], file) for file, found in files.items()
    ]
    return sorted(holes, reverse=True)[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description="A table of branch coverage.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", action="store_true", help="put the table into docs/coverage.md")
    options = parser.parse_args()
    files = json.loads(options.file.read_text(encoding="utf-8"))["files"]
    print(table(files))
    for missing, file in widest(files):
        print(f"{missing:5} branches not taken in {file}: lines {files[file]['missing_lines'][:12]}")
    if options.write:
        replace_part(PAGE, "coverage", table(files))


if __name__ == "__main__":
    main()
