"""A second pack of another field lies beside the first: nothing in the program is tied to one of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from question_bank.check import check_bank
from question_bank.load import Bank, load_bank
from question_bank.schema import Checkpoint
from question_bank.variants import build_question
from tests.question_bank.bank_kit import bank_with, exercise, lesson


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank()


def pack_of(one: str) -> str:
    return one.split("/")[0]


def test_both_packs_are_there_each_with_its_own_topics(bank: Bank) -> None:
    assert [pack.id for pack in bank.packs] == ["serving", "sql-tuning"]
    topics = {pack: {topic.id for topic in found} for pack, found in bank.topics.items()}
    assert not topics["serving"] & topics["sql-tuning"]
    for item in bank.items:
        assert set(item.topics) <= topics[pack_of(item.id)], item.id


def test_the_second_pack_has_each_kind_but_predictions_and_needs_no_simulator(bank: Bank) -> None:
    items = [item for item in bank.items if pack_of(item.id) == "sql-tuning"]
    kinds = Counter(item.kind for item in items)
    assert len(items) >= 10
    assert kinds["exercise"] >= 4
    assert kinds["probe"] >= 2
    assert kinds["checkpoint"] >= 3
    assert kinds["recall"] >= 1
    assert all(isinstance(item, Checkpoint) or item.simulation is None for item in items)
    assert {topic for item in items for topic in item.topics} == {topic.id for topic in bank.topics["sql-tuning"]}


def test_each_section_of_the_second_pack_has_items_to_be_quizzed_on(bank: Bank) -> None:
    for each in bank.lessons:
        if pack_of(each.id) == "sql-tuning":
            for section in each.sections:
                assert len(list(each.items_on(section.id))) >= 2, section.id


def test_the_first_question_of_each_is_the_worked_one(bank: Bank) -> None:
    """10 million rows, 100 in a page, 4 µs each: 0.4 s. 0.2 % of them at 100 µs: 2 s. Even at 400,000 / 100 rows."""
    question = build_question(bank.item("sql-tuning/reading-plans/scan-or-index"), 0)
    values = {expected.name: expected.value for expected in question.expected}
    assert values == pytest.approx({"scan_ms": 400, "index_ms": 2000, "even_rows": 4000})


def test_a_lesson_names_what_is_counted_in_it(tmp_path: Path) -> None:
    pages = {"pages": {"label": "pages", "unit": "pages", "default": 4, "range": [2, 90], "step": 1}}
    item = exercise(parameters=exercise()["parameters"] | pages)
    unknown = check_bank(bank_with(tmp_path / "without", lesson(item)), range(3))
    assert "unknown unit 'pages'" in " ".join(problem.message for problem in unknown)
    known = check_bank(bank_with(tmp_path / "with", lesson(item, counts=["pages"])), range(3))
    assert not [problem for problem in known if problem.code == "unit"]
