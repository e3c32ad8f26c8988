"""The serving pack is as large as an interview loop needs, over all of its topics, and each item is complete."""

from __future__ import annotations

from collections import Counter

import pytest

from question_bank.load import Bank, load_bank
from question_bank.schema import Checkpoint, Lesson
from question_bank.schema_items import AnyItem, Exercise, OpenItem, Prediction, Probe
from rubrics import CRITERION_IDS

FEWEST = {"exercise": 60, "probe": 60, "checkpoint": 100, "prediction": 40, "recall": 34}
FEWEST_CASES = 25
TOPICS = 34
BANK: Bank = load_bank()
ITEMS: tuple[AnyItem, ...] = tuple(item for item in BANK.items if item.id.startswith("serving/"))
EXERCISES = [item for item in ITEMS if isinstance(item, Exercise)]
PROBES = [item for item in ITEMS if isinstance(item, Probe)]
PREDICTIONS = [item for item in ITEMS if isinstance(item, Prediction)]


def test_there_are_enough_of_each_kind() -> None:
    counts = Counter(str(item.kind) for item in ITEMS)
    short = {kind: f"{counts[kind]} of {fewest}" for kind, fewest in FEWEST.items() if counts[kind] < fewest}
    assert not short


def test_enough_items_retell_a_public_case() -> None:
    cases = [item for item in ITEMS if item.case is not None]
    assert len(cases) >= FEWEST_CASES
    assert len({item.case for item in cases}) >= 0.7 * FEWEST_CASES
    assert all(item.case in item.sources for item in cases)


def test_each_topic_is_asked_and_recalled() -> None:
    topics = [topic.id for topic in BANK.topics["serving"]]
    assert len(topics) == TOPICS
    asked = {topic for item in (*EXERCISES, *PROBES) for topic in item.topics}
    recalled = {topic for item in ITEMS if item.kind == "recall" for topic in item.topics}
    assert not set(topics) - asked
    assert not set(topics) - recalled


def test_each_open_kind_has_all_three_difficulties() -> None:
    for kind in ("exercise", "probe", "checkpoint", "prediction"):
        levels = Counter(item.difficulty for item in ITEMS if item.kind == kind)
        assert set(levels) == {1, 2, 3}, kind
        assert min(levels.values()) >= 2, kind


@pytest.mark.parametrize(
    "lesson", [one for one in BANK.lessons if one.id.startswith("serving/")], ids=lambda one: one.id
)
def test_each_section_can_be_quizzed_on(lesson: Lesson) -> None:
    for section in lesson.sections:
        assert len(list(lesson.items_on(section.id))) >= 2, f"{lesson.id}/{section.id}"


def test_tables_and_code_of_every_lesson_fit_a_terminal() -> None:
    lines = [(one.id, line) for one in BANK.lessons for section in one.sections for line in section.text.splitlines()]
    assert not [(name, line) for name, line in lines if line.startswith(("|", "    ")) and len(line) > 76]


@pytest.mark.parametrize("item", EXERCISES, ids=lambda item: item.id)
def test_an_exercise_knows_two_slips_and_gives_four_hints(item: Exercise) -> None:
    assert len(item.slips) >= 2
    assert all(slip.diagnosis for slip in item.slips)
    assert len(item.hints) == 4
    assert item.parameters


@pytest.mark.parametrize("item", [item for item in ITEMS if not isinstance(item, Checkpoint)], ids=lambda item: item.id)
def test_an_open_item_says_for_each_point_what_earns_it_and_what_comes_near(item: OpenItem) -> None:
    assert set(item.criteria) == set(CRITERION_IDS)
    for guide in item.criteria.values():
        assert guide.not_enough
        assert guide.met_example.casefold() != guide.nearly_example.casefold()
    asked = {each.criterion for each in item.follow_ups}
    assert set(CRITERION_IDS) <= asked


@pytest.mark.parametrize("item", PROBES, ids=lambda item: item.id)
def test_a_probe_goes_deeper_and_knows_weak_answers(item: Probe) -> None:
    assert any(each.then for each in item.follow_ups)
    assert item.weak_indicators
    assert all(each.good for root in item.follow_ups for each in root.walk())


@pytest.mark.parametrize("item", PREDICTIONS, ids=lambda item: item.id)
def test_a_prediction_is_settled_by_the_simulator(item: Prediction) -> None:
    assert item.simulation.baseline is not None
    assert item.simulation.directions
