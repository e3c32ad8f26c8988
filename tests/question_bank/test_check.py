"""The bank check finds each kind of fault, and nothing in sound content."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from question_bank import Problem, check_bank
from question_bank.check import longest_key_bias, position_is_biased
from question_bank.schema import Checkpoint
from tests.question_bank.bank_kit import Data, bank_with, checkpoint, exercise, item_of, lesson

SCENARIO: Data = {
    "name": "Sum",
    "seed": 1,
    "classes": [
        {
            "name": "yours",
            "prompt_tokens": "=work_ms",
            "output_tokens": 1,
            "preprocess_s": "=wait_ms / 1000",
            "arrivals": {"kind": "times", "times_s": [0.0]},
        }
    ],
    "server": {"policy": "continuous", "max_seqs": 1},
    "step_cost": {
        "kind": "linear",
        "base_s": 0.0,
        "per_prefill_token_s": 0.001,
        "per_decode_seq_s": 0.0,
    },
}


def simulation(**changes: object) -> Data:
    check = {"expected": "total", "metric": "yours.ttft_s", "scale": 1000}
    return {"scenario": SCENARIO, "checks": [check], "note": "One request."} | changes


def problems(folder: Path, data: Data) -> list[Problem]:
    found = check_bank(bank_with(folder, data))
    assert all(problem.where.startswith("tiny/") for problem in found)
    assert all(str(problem) for problem in found)
    return found


def codes(folder: Path, data: Data) -> set[str]:
    return {problem.code for problem in problems(folder, data)}


def test_sound_content_has_no_problems(tmp_path: Path) -> None:
    assert problems(tmp_path, lesson(exercise(simulation=simulation()), checkpoint())) == []


def expected(formula: str, unit: str = "ms", tolerance: float = 0.01) -> Data:
    return {"total": {"label": "total", "formula": formula, "unit": unit, "rel_tolerance": tolerance}}


def slip(formula: str, name: str = "again") -> Data:
    return {"id": name, "values": {"total": formula}, "diagnosis": "A mistake."}


def follow_up(**link: str) -> Data:
    return {"id": "next", "text": "What next?"} | link


@pytest.mark.parametrize(
    ("code", "item"),
    [
        ("unsatisfiable", exercise(constraints=["wait_ms > 1000"])),
        ("unsatisfiable", exercise(constraints=["wait_ms == 100 and work_ms == 31"], work=31)),
        ("zero-division", exercise(expected=expected("wait_ms * work_ms / (work_ms - 30)"))),
        ("formula", exercise(expected=expected("wait_ms + wrk_ms"))),
        ("formula", exercise(solution="It is {totl} ms")),
        ("unit", exercise(expected=expected("wait_ms + work_ms", unit="s"))),
        ("unit", exercise(expected=expected("wait_ms * work_ms"))),
        ("unit", exercise(expected=expected("wait_ms + work_ms", unit="mss"))),
        ("slip-is-right", exercise(slips=[slip("work_ms + wait_ms")])),
        ("slip-is-right", exercise(slips=[slip("work_ms + wait_ms * (work_ms != 20)")])),
        ("slip-is-right", exercise(slips=[slip("1.015 * total")])),
        ("slips-coincide", exercise(slips=[slip("wait_ms", "one"), slip("wait_ms * 1.001", "two")])),
        ("leak", exercise(prompt="Waiting {wait_ms} and working {work_ms}, {total} ms in all.")),
        ("leak", exercise(hints=["a", "b", "c", "It is {wait_ms + work_ms} ms."])),
        ("contradicted", exercise(simulation=simulation(), expected=expected("wait_ms + 2 * work_ms"))),
        ("scenario", exercise(simulation=simulation(scenario={**SCENARIO, "server": {"policy": "magic"}}))),
        (
            "scenario",
            exercise(
                simulation=simulation(
                    checks=[{"expected": "total", "metric": "nobody.ttft_s", "scale": 1000}],
                )
            ),
        ),
        ("dead-link", exercise(follow_ups=[follow_up(misconception="unheard-of")])),
        ("dead-link", exercise(prompt="See [this](tiny/lesson/gone): {wait_ms}, {work_ms}?")),
        ("duplicate-id", exercise(follow_ups=[follow_up(), follow_up()])),
        ("duplicate-id", exercise(slips=[slip("work_ms"), slip("wait_ms")])),
    ],
)
def test_a_fault_in_an_exercise_is_found(tmp_path: Path, code: str, item: Data) -> None:
    assert codes(tmp_path, lesson(item)) == {code}


def test_a_fault_that_shows_with_many_seeds_is_told_once(tmp_path: Path) -> None:
    assert len(problems(tmp_path, lesson(exercise(slips=[slip("total")])))) == 1


def test_examples_that_do_not_differ_are_found(tmp_path: Path) -> None:
    item = copy.deepcopy(exercise())
    item["criteria"]["failure"]["nearly_example"] = item["criteria"]["failure"]["met_example"]
    assert codes(tmp_path, lesson(item)) == {"same-example"}


def test_links_and_ids_of_a_lesson(tmp_path: Path) -> None:
    assert codes(tmp_path / "a", lesson(prerequisites=["tiny/other"])) == {"dead-link"}
    section = {"id": "one", "title": "One", "text": "Add."}
    assert codes(tmp_path / "b", lesson(sections=[section, section])) == {"duplicate-id"}
    fine = section | {"text": "See [it](tiny/lesson/sum) and [there](https://example.org)."}
    assert codes(tmp_path / "c", lesson(sections=[fine])) == set()


def options(*texts: str) -> Data:
    names = ("one", "two", "three", "four")
    return {name: {"text": text, "reason": "r"} for name, text in zip(names, texts, strict=False)}


def test_faults_of_checkpoints(tmp_path: Path) -> None:
    double = checkpoint(options=options("the same", "The  same", "another"))
    assert codes(tmp_path / "a", lesson(double)) == {"duplicate-option"}
    long_key = checkpoint(options=options("one that is explained in so many more words", "two", "three"))
    assert "key-length" in codes(tmp_path / "b", lesson(long_key))
    leak = checkpoint(prompt="Is it THE FIRST of them, or is it the first of them all?")
    leak["options"]["one"]["text"] = "it the first of them all"
    leak["options"]["two"]["text"] = "it the second of them all"
    assert codes(tmp_path / "c", lesson(leak)) == {"leak"}


def test_the_key_must_not_be_the_longest_option_too_often() -> None:
    def made(number: int, key: str) -> Checkpoint:
        data = checkpoint(id=f"tiny/lesson/c{number}", options=options(key, "abcd", "abce", "abcf"))
        item = item_of(data)
        assert isinstance(item, Checkpoint)
        return item

    # Chance is 1 in 4: five of five has a probability of 1/1024, three of five of about 10 %.
    assert longest_key_bias([made(n, "abcdef") for n in range(5)]) != []
    assert longest_key_bias([made(n, "abcdef" if n < 3 else "abc") for n in range(5)]) == []
    assert longest_key_bias([]) == []


def test_places_of_the_key_are_compared_with_even_ones() -> None:
    assert not position_is_biased([60, 60, 60, 60])
    assert not position_is_biased([70, 55, 60, 55])
    assert position_is_biased([120, 40, 40, 40])
    assert position_is_biased([240, 0])
    assert not position_is_biased([5])
