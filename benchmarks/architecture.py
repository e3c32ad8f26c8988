"""The picture of the parts in docs/architecture.md, drawn from what the code imports.

python -m benchmarks.architecture            # writes docs/pictures/architecture.svg
python -m benchmarks.architecture --check    # exit code 1 when it is not what the code says any more
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path

import grimp

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "architecture.svg"
PACKAGES = ("sim", "question_bank", "rubrics", "tutor")
ROWS = (
    ("tutor.cli",),
    ("tutor.serve",),
    ("tutor.tui",),
    ("tutor.reports", "tutor.evaluation", "tutor.batch", "tutor.coach", "tutor.imports"),
    ("tutor.lab", "tutor.grader"),
    ("tutor.drills", "tutor.measure"),
    ("tutor.interview", "tutor.settings"),
    ("tutor.grading", "tutor.store"),
    ("tutor.llm", "question_bank", "tutor.paths"),
    ("sim", "rubrics", "tutor.text", "tutor.errors"),
)
"""The parts from the top down: each imports from rows below its own only."""
ABOUT = {
    "tutor.cli": "the commands",
    "tutor.serve": "the screens in a browser",
    "tutor.tui": "the screens",
    "tutor.reports": "what is read afterwards",
    "tutor.evaluation": "how right the grader is",
    "tutor.batch": "grading many answers",
    "tutor.coach": "feedback and talk",
    "tutor.imports": "exports from others",
    "tutor.lab": "predictions and claims",
    "tutor.grader": "bank + model + settings",
    "tutor.drills": "what comes back, when",
    "tutor.measure": "a real server under load",
    "tutor.interview": "the conversation",
    "tutor.settings": "what a person can set",
    "tutor.grading": "answer → grade",
    "tutor.store": "the log of events",
    "tutor.llm": "finding and asking a model",
    "question_bank": "lessons and items",
    "tutor.paths": "where files are kept",
    "sim": "the simulator",
    "rubrics": "the four criteria",
    "tutor.text": "made safe for a terminal",
    "tutor.errors": "one sentence each",
}
TOGETHER = {"tutor.checking": "tutor.lab"}
"""Parts that share a box."""
LEFT_OUT = frozenset({"tutor", "tutor.__main__"})
_WIDTH, _BOX, _HEIGHT, _STEP = 1040, 186, 44, 86


def part_of(module: str) -> str:
    """The part that a module belongs to."""
    names = module.split(".")
    name = ".".join(names[:2]) if names[0] == "tutor" else names[0]
    return TOGETHER.get(name, name)


def imports() -> set[tuple[str, str]]:
    """Which part imports which, as the code stands."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    pairs = {
        (part_of(module), part_of(other))
        for module in graph.modules
        for other in graph.find_modules_directly_imported_by(module)
    }
    return {(one, other) for one, other in pairs if one != other and not {one, other} & LEFT_OUT}


def upward(pairs: set[tuple[str, str]]) -> list[str]:
    """Imports that do not go down, and parts that stand in no row; one sentence each."""
    row = {part: number for number, parts in enumerate(ROWS) for part in parts}
    unknown = sorted({part for pair in pairs for part in pair} - set(row))
    return [f"{part} stands in no row" for part in unknown] + [
        f"{one} imports {other}, which does not stand below it"
        for one, other in sorted(pairs)
        if one in row and other in row and row[other] <= row[one]
    ]


def needed(pairs: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs that do not follow from others."""
    below: dict[str, set[str]] = {}

    def reach(part: str) -> set[str]:
        if part not in below:
            direct = {other for one, other in pairs if one == part}
            below[part] = direct.union(*(reach(other) for other in direct))
        return below[part]

    return sorted(
        (one, other)
        for one, other in pairs
        if not any(other in reach(between) for start, between in pairs if start == one and between != other)
    )


def svg(pairs: set[tuple[str, str]]) -> str:
    """The picture."""
    place: dict[str, tuple[float, float]] = {}
    for number, parts in enumerate(ROWS):
        for column, part in enumerate(parts):
            place[part] = (_WIDTH * (column + 0.5) / len(parts), 20 + _STEP * number)
    height = _STEP * (len(ROWS) - 1) + _HEIGHT + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="14">',
        "<title>The parts of the program; each imports from those below it</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        '<g stroke="#9aa5b1" stroke-width="1.3" fill="none">',
    ]
    for one, other in needed(pairs):
        (x1, y1), (x2, y2) = place[one], place[other]
        top, bottom = y1 + _HEIGHT, y2
        bend = (bottom - top) / 2
        curve = f"M{x1:.0f} {top:.0f}C{x1:.0f} {top + bend:.0f} {x2:.0f} {bottom - bend:.0f} {x2:.0f} {bottom:.0f}"
        lines.append(f'<path d="{curve}"/>')
    lines.append("</g>")
    for part, (x, y) in place.items():
        fill = "#e8f1fb" if part.startswith("tutor") else "#e9f6ec"
        lines += [
            f'<rect x="{x - _BOX / 2:.0f}" y="{y:.0f}" width="{_BOX}" height="{_HEIGHT}" rx="6" fill="{fill}" '
            'stroke="#52606d"/>',
            f'<text x="{x:.0f}" y="{y + 18:.0f}" text-anchor="middle" font-weight="600">{escape(part)}</text>',
            f'<text x="{x:.0f}" y="{y + 35:.0f}" text-anchor="middle" font-size="12" fill="#3e4c59">'
            f"{escape(ABOUT[part])}</text>",
        ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw the picture of the parts.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 when the picture is old")
    options = parser.parse_args()
    pairs = imports()
    if wrong := upward(pairs):
        print("\n".join(wrong))
        return 1
    made = svg(pairs)
    if options.check:
        same = PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == made
        print("as the code says" if same else "old: run python -m benchmarks.architecture")
        return 0 if same else 1
    PICTURE.write_text(made, encoding="utf-8")
    print(f"wrote {PICTURE.name}: {len(pairs)} imports between parts, {len(needed(pairs))} drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main())
