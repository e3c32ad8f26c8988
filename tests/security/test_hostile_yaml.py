"""Texts that are small and cost much: YAML of a pack, a scenario, a step cost or labelled answers from anybody."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from question_bank.errors import BankError
from question_bank.load import load_bank
from question_bank.read import read_file
from question_bank.schema import Lesson
from sim.errors import ScenarioError
from sim.loading import MAX_FILE_BYTES, load_scenario, read_scenario
from tutor.cli.measure import read_step_cost
from tutor.errors import TutorError
from tutor.lab.scenario_text import check, leaves

LIMIT_S = 3.0
"""A text is refused in far less; this is what a slow machine is given."""

ALIASES = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
"""Ten to the ninth x's, in less than 500 characters."""

HOSTILE = {
    "aliases that multiply": ALIASES,
    "an alias of itself": "name: &a [*a]",
    "merge keys": "name: &a {x: 1}\nother: {<<: *a}",
    "brackets, deep": "[" * 600,
    "blocks, deep": "".join(" " * depth + "a:\n" for depth in range(900)),
    "base 60": "name: 1" + ":1" * 150_000,
    "base 60, a fraction": "name: 1" + ":1" * 150_000 + ".5",
    "hexadecimal": "name: 0x" + "f" * 300_000,
    "digits": "name: " + "9" * 300_000,
    "many keys": "".join(f"k{number}: 1\n" for number in range(8_000)),
    "one long key": "? " + "k" * 300_000 + "\n: 1",
    "a key twice": "name: a\nname: b",
    "a program": "name: !!python/object/apply:os.system ['touch owned']",
    "a tag without its value": "name: !!int ''",
    "a tag with a wrong value": "name: !!bool maybe",
    "no such day": "name: 2001-99-99",
    "a NUL": "name: a\0b",
}


@pytest.fixture(params=HOSTILE, ids=str)
def hostile(request: pytest.FixtureRequest) -> str:
    return HOSTILE[request.param]


def in_one_sentence(said: str) -> None:
    assert len(said) < 1000, "what is refused is not repeated at length"
    assert "\n" not in said
    assert said.isprintable()


def test_a_hostile_scenario_is_refused_at_once(hostile: str) -> None:
    began = time.perf_counter()
    with pytest.raises(ScenarioError) as refused:
        read_scenario(hostile, "given.yaml")
    assert time.perf_counter() - began < LIMIT_S
    in_one_sentence(str(refused.value))


def test_a_hostile_lesson_is_refused_at_once(hostile: str, tmp_path: Path) -> None:
    file = tmp_path / "lesson.yaml"
    file.write_text(hostile, encoding="utf-8")
    began = time.perf_counter()
    with pytest.raises(BankError) as refused:
        read_file(file, Lesson)
    assert time.perf_counter() - began < LIMIT_S
    in_one_sentence(str(refused.value))


def test_a_hostile_step_cost_is_refused_at_once(hostile: str, tmp_path: Path) -> None:
    file = tmp_path / "cost.yaml"
    file.write_text(hostile, encoding="utf-8")
    began = time.perf_counter()
    with pytest.raises(TutorError) as refused:
        read_step_cost(file)
    assert time.perf_counter() - began < LIMIT_S
    in_one_sentence(refused.value.message)


@pytest.mark.parametrize("name", ["aliases that multiply", "base 60", "blocks, deep", "brackets, deep"])
def test_the_editor_of_scenarios_stays_quick(name: str) -> None:
    text = HOSTILE[name][:20_000]
    began = time.perf_counter()
    assert check(text).scenario is None
    leaves(text)
    assert time.perf_counter() - began < LIMIT_S


def test_files_beyond_their_limit_are_not_read(tmp_path: Path) -> None:
    big = tmp_path / "big.yaml"
    with big.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    for read in (load_scenario, read_step_cost, lambda path: read_file(path, Lesson)):
        with pytest.raises((ScenarioError, TutorError, BankError), match=r"larger than|the limit is"):
            read(big)


def test_a_pack_of_endless_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "items").mkdir()
    for number in range(501):
        (tmp_path / "items" / f"{number}.yaml").touch()
    (tmp_path / "pack.yaml").write_text("id: mine\nversion: 1\ntitle: Mine\ndescription: Mine\nlessons: []\n")
    with pytest.raises(BankError):
        load_bank([tmp_path], built_in=False)
