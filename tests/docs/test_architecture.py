"""docs/architecture.md and the import contracts say what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from benchmarks.architecture import ABOUT, PICTURE, ROWS, TOGETHER, imports, needed, svg, upward

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "architecture.md").read_text(encoding="utf-8")
PARTS = {part for row in ROWS for part in row} | set(TOGETHER)


@pytest.mark.slow
def test_arrows_point_down_and_the_picture_is_of_today() -> None:
    pairs = imports()
    assert upward(pairs) == []
    assert PICTURE.read_text(encoding="utf-8") == svg(pairs), "run python -m benchmarks.architecture"


def test_an_arrow_that_points_up_is_found() -> None:
    assert upward({("sim", "tutor.llm")}) == ["sim imports tutor.llm, which does not stand below it"]
    assert upward({("tutor.new", "sim")}) == ["tutor.new stands in no row"]
    assert needed({("a", "b"), ("b", "c"), ("a", "c")}) == [("a", "b"), ("b", "c")]


def test_every_part_is_on_the_page_and_has_its_words() -> None:
    named = set(re.findall(r"`((?:tutor\.)?\w+)`", PAGE))
    assert named >= PARTS
    assert set(ABOUT) == PARTS - set(TOGETHER)


def test_the_contracts_name_every_part_of_the_domain() -> None:
    contracts = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    by_name = {contract["name"]: set(contract["source_modules"]) for contract in contracts}
    faces = {"tutor.cli", "tutor.tui", "tutor.serve"}
    known = by_name["only the terminal face imports textual"]
    assert faces & known == set()
    assert known <= PARTS
    assert by_name["sim stands alone"] == {"sim"}
