"""The deep check finds each kind of fault, and nothing in sound content."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from question_bank import BankError, build_question
from question_bank.deep import DeepReport, Reference, check_deep, collector, load_references
from question_bank.figures import matches, numbers_shown
from question_bank.question import Direction
from question_bank.simulated import Change
from question_bank.wording import check_keys, reading_grade, sentences
from tests.question_bank.bank_kit import Data, bank_with, checkpoint, exercise, item_of, lesson

SOURCE: Data = {
    "id": "book",
    "name": "A book",
    "section": "1",
    "url": "https://example.org/b",
    "date": "2024",
    "supports": "It.",
}
ID = "tiny/lesson/sum"


def total(p: Mapping[str, float]) -> dict[str, float]:
    return {"total": p["wait_ms"] + p["work_ms"]}


def sound(**changes: Any) -> Data:
    """An exercise with enough different draws."""
    parameters = {
        "wait_ms": {"label": "wait", "unit": "ms", "default": 100, "range": [80, 120], "step": 4},
        "work_ms": {"label": "work", "unit": "ms", "default": 30, "choices": [20, 30, 36]},
    }
    return exercise(**({"parameters": parameters, "sources": ["book"]} | changes))


def deep(folder: Path, data: Data, references: dict[str, Reference] | None = None) -> DeepReport:
    data = {"sources": [SOURCE]} | data
    return check_deep(bank_with(folder, data), {ID: total} if references is None else references, range(40))


def codes(report: DeepReport) -> set[str]:
    return {problem.code for problem in report.problems}


def test_sound_content_has_nothing_wrong_and_is_counted(tmp_path: Path) -> None:
    report = deep(tmp_path, lesson(sound()))
    assert [str(problem) for problem in report.problems] == []
    assert (report.by_reference, report.by_simulator, report.directions) == (1, 0, 0)


def test_a_result_that_nothing_recomputes_is_reported(tmp_path: Path) -> None:
    assert codes(deep(tmp_path, lesson(sound()), {})) == {"no-reference"}


def test_a_reference_that_disagrees_is_reported_with_the_seed(tmp_path: Path) -> None:
    report = deep(tmp_path, lesson(sound()), {ID: lambda p: {"total": p["wait_ms"] + p["work_ms"] + 0.01}})
    assert codes(report) == {"reference"}
    assert "seed 0" in report.problems[0].message


def test_a_reference_gets_the_drawn_parameters_only(tmp_path: Path) -> None:
    derived = {"half_ms": {"label": "half", "unit": "ms", "formula": "wait_ms / 2"}}
    report = deep(tmp_path, lesson(sound(derived=derived)), {ID: lambda p: {"total": p["half_ms"]}})
    assert "KeyError" in report.problems[0].message


def test_a_reference_without_an_item_is_reported(tmp_path: Path) -> None:
    report = deep(tmp_path, lesson(sound()), {ID: total, "tiny/lesson/gone": total})
    assert codes(report) == {"dead-link"}


def test_too_few_variants_and_a_constant_result_are_degenerate(tmp_path: Path) -> None:
    few = deep(tmp_path / "a", lesson(exercise(sources=["book"])))
    assert "different questions" in few.problems[0].message
    same = sound(expected={"total": {"label": "t", "formula": "wait_ms - wait_ms + 200", "unit": "ms"}}, slips=[])
    constant = deep(tmp_path / "b", lesson(same), {ID: lambda p: {"total": 200.0}})
    assert codes(constant) == {"degenerate"}


def test_an_item_without_a_source_and_a_source_without_a_date(tmp_path: Path) -> None:
    assert codes(deep(tmp_path / "a", lesson(sound(sources=[])))) == {"source"}
    undated = {name: value for name, value in SOURCE.items() if name != "date"}
    report = deep(tmp_path / "b", lesson(sound(), sources=[undated]))
    assert "lacks date" in report.problems[0].message


# ---- figures -------------------------------------------------------------------------------------------------


def section(text: str, **changes: Any) -> Data:
    return lesson(sound(), sections=[{"id": "one", "title": "One", "text": text} | changes])


def test_a_number_needs_something_behind_it(tmp_path: Path) -> None:
    report = deep(tmp_path, section("It takes 250 ms on an H100 with 8 seats."))
    assert "nothing stands behind 250" in report.problems[0].message
    assert "8" not in report.problems[0].message.split("behind")[1].split(";")[0]


def test_a_number_may_be_given_or_a_value_or_a_figure(tmp_path: Path) -> None:
    text = "It takes 250 ms, twice that is 500 ms, and a third 83.3 ms."
    figures = [{"shown": "83.3 ms", "formula": "base / 3"}]
    data = section(text, given=[500], figures=figures, sources=["book"]) | {"values": {"base": 250}}
    assert codes(deep(tmp_path, data)) == set()


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        ({"shown": "84.3 ms", "formula": "250 / 3"}, "does not stand in the text"),
        ({"shown": "83.3 ms", "formula": "251 / 3"}, "is 83.6667"),
        ({"shown": "83.3 ms", "formula": "x / 3"}, "unknown name 'x'"),
        ({"shown": "A third", "formula": "250 / 3"}, "holds 0 numbers"),
    ],
)
def test_a_figure_that_is_wrong(tmp_path: Path, figure: Data, says: str) -> None:
    report = deep(tmp_path, section("A third is 83.3 ms.", figures=[figure], sources=["book"]))
    assert any(says in problem.message for problem in report.problems)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,050 ms and 0.5 %", [1050, 0.5]),
        ("H100, 8B, W4A16, p95 and 3.35 TB/s", [3.35]),
        ("1. first\n2. second of 12", [12]),
        ("x-3, 20,", [20]),
    ],
)
def test_numbers_shown(text: str, values: list[float]) -> None:
    assert [each.value for each in numbers_shown(text)] == values


def test_a_number_matches_to_its_last_digit() -> None:
    (shown,) = numbers_shown("2.50 GiB")
    assert matches(shown, 2.504)
    assert not matches(shown, 2.506)


# ---- wording -------------------------------------------------------------------------------------------------


def test_long_and_hard_texts_are_reported(tmp_path: Path) -> None:
    long = " ".join(["word"] * 500)
    hard = " ".join(["organisational considerations notwithstanding"] * 30) + "."
    assert codes(deep(tmp_path / "a", section(long))) >= {"length"}
    assert codes(deep(tmp_path / "b", section(hard))) >= {"reading-level"}


def test_the_reading_grade_of_plain_and_of_heavy_prose() -> None:
    plain = "The cat sat on the mat. It was a red mat. The dog saw the cat. The cat ran up a tree. " * 3
    heavy = (
        "Organisational interdependencies notwithstanding, the administration's considerations regarding institutional "
        "accountability necessitate comprehensive reorganisation of fundamental responsibilities and procedures. " * 3
    )
    easy, hard = reading_grade(plain), reading_grade(heavy)
    assert easy is not None
    assert hard is not None
    assert easy < 3 < 18 < hard
    assert reading_grade("Too short to say.") is None


def test_tables_and_code_are_no_sentences() -> None:
    assert sentences("A sentence.\n\n| a | b |\n|---|---|\n\nAnother one.")[0] == "A sentence."


def test_a_hint_that_says_what_a_criterion_asks_for_is_a_leak(tmp_path: Path) -> None:
    told = "The queue and the work are both part of the time that one waits for."
    data = sound(hints=["What comes first?", told, "Are both there?", "How would you check it?"])
    data["criteria"] = copy.deepcopy(data["criteria"])
    data["criteria"]["reasoning"]["statement"] = told
    report = deep(tmp_path, lesson(data))
    assert codes(report) == {"leak"}
    assert "hint 2" in report.problems[0].message


def test_a_key_that_can_be_told_by_its_length_or_place() -> None:
    items = []
    for number in range(12):
        data = checkpoint(id=f"tiny/lesson/c{number}")
        data["options"]["one"]["text"] = "short"
        item = item_of(data)
        assert item.kind == "checkpoint"
        items.append(item)
    questions = [build_question(item, seed) for item in items for seed in range(10)]
    assert [problem.code for problem in check_keys(questions, items)] == ["key-cue"]
    first = [question for question in questions if question.options[0].correct]
    assert (
        "key-position" in {problem.code for problem in check_keys(first * 3, [])}
        or check_keys([], items[:1]) is not None
    )
    assert "key-position" in {problem.code for problem in check_keys(first * 3, items)}


# ---- scenarios -----------------------------------------------------------------------------------------------


def scenario(rate: str, count: int = 60) -> Data:
    return {
        "name": "Waiting",
        "seed": 1,
        "classes": [
            {
                "name": "yours",
                "prompt_tokens": "=work_ms",
                "output_tokens": 1,
                "arrivals": {"kind": "poisson", "rate_per_s": rate, "count": count},
            }
        ],
        "server": {"policy": "continuous", "max_seqs": 1},
        "step_cost": {"kind": "linear", "per_prefill_token_s": 0.001},
    }


def predicted(directions: list[Data], **changes: Any) -> Data:
    simulation = {
        "scenario": scenario("=0.8 * 1000 / work_ms"),
        "baseline": scenario("=0.4 * 1000 / work_ms"),
        "directions": directions,
        "note": "One seat.",
    }
    return sound(kind="prediction", simulation=simulation | changes)


def test_directions_hold_over_common_seeds_or_are_reported(tmp_path: Path) -> None:
    right = [{"metric": "yours.queue_s.mean", "change": "higher", "by_at_least": 0.5}]
    report = deep(tmp_path / "a", lesson(predicted(right)))
    assert codes(report) == set()
    assert report.directions == 1
    wrong = [{"metric": "yours.queue_s.mean", "change": "lower"}]
    assert codes(deep(tmp_path / "b", lesson(predicted(wrong)))) == {"direction"}


def test_a_baseline_without_a_direction_is_reported(tmp_path: Path) -> None:
    assert codes(deep(tmp_path, lesson(predicted([])))) == {"no-direction"}


def test_directions_need_a_baseline(tmp_path: Path) -> None:
    with pytest.raises(BankError, match="add the baseline"):
        deep(tmp_path, lesson(predicted([{"metric": "yours.queue_s", "change": "higher"}], baseline=None)))


def test_a_check_looser_than_the_grading_is_reported(tmp_path: Path) -> None:
    check = {"expected": "total", "metric": "yours.ttft_s.mean", "scale": 1000, "tolerance": 0.5}
    report = deep(tmp_path, lesson(predicted([{"metric": "yours.queue_s", "change": "higher"}], checks=[check])), {})
    assert "tolerance" in codes(report)


@pytest.mark.parametrize(
    ("change", "direction", "kept"),
    [
        (Change(0.3, 0.1, 0.5), Direction(metric="m", change="higher"), True),
        (Change(0.3, -0.1, 0.7), Direction(metric="m", change="higher"), False),
        (Change(0.3, 0.1, 0.5), Direction(metric="m", change="higher", by_at_least=0.4), False),
        (Change(-0.3, -0.5, -0.1), Direction(metric="m", change="lower", by_at_least=0.2), True),
        (Change(0.0, -0.01, 0.01), Direction(metric="m", change="same", within=0.02), True),
        (Change(0.0, -0.03, 0.01), Direction(metric="m", change="same", within=0.02), False),
    ],
)
def test_an_interval_decides_on_a_direction(change: Change, direction: Direction, kept: bool) -> None:
    assert change.keeps(direction) is kept


# ---- references ----------------------------------------------------------------------------------------------


def test_references_are_registered_once_and_read_from_a_folder(tmp_path: Path) -> None:
    found: dict[str, Reference] = {}
    register = collector(found, "tiny/lesson")
    register("sum")(total)
    assert set(found) == {ID}
    with pytest.raises(ValueError, match="two references"):
        register("sum")(total)
    (tmp_path / "one.py").write_text("REFERENCES = {'tiny/lesson/sum': lambda p: {'total': 1}}\n", encoding="utf-8")
    assert set(load_references(tmp_path)) == {ID}
    (tmp_path / "two.py").write_text("REFERENCES = {'tiny/lesson/sum': lambda p: {'total': 1}}\n", encoding="utf-8")
    with pytest.raises(BankError, match="another file"):
        load_references(tmp_path)
    with pytest.raises(BankError, match="no Python file"):
        load_references(tmp_path / "none")
