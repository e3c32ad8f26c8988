"""What the serving pack offers: enough of each kind, on every section and topic, to its own standard."""

from __future__ import annotations

from collections import Counter

import pytest

from question_bank import Bank, build_question, load_bank
from question_bank.schema import Exercise, Prediction, Probe

# lesson -> at least so many exercises, probes, checkpoints, predictions, recalls and field cases
LESSONS = {
    "serving/memory-roofline": (16, 16, 28, 7, 10, 3),
    "serving/prefill-decode": (11, 6, 20, 4, 5, 3),
}
KINDS = ("exercise", "probe", "checkpoint", "prediction", "recall")


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank()


@pytest.mark.parametrize(("lesson_id", "least"), LESSONS.items())
def test_a_lesson_has_enough_of_each_kind(bank: Bank, lesson_id: str, least: tuple[int, ...]) -> None:
    lesson = bank.lesson(lesson_id)
    kinds: Counter[str] = Counter(item.kind for item in lesson.items)
    found = (*(kinds[kind] for kind in KINDS), sum(item.case is not None for item in lesson.items))
    assert all(have >= need for have, need in zip(found, least, strict=True)), found
    assert {item.difficulty for item in lesson.items} == {1, 2, 3}


@pytest.mark.parametrize("lesson_id", LESSONS)
def test_each_section_can_be_quizzed_on(bank: Bank, lesson_id: str) -> None:
    lesson = bank.lesson(lesson_id)
    for section in lesson.sections:
        assert len(list(lesson.items_on(section.id))) >= 2, section.id


@pytest.mark.parametrize("lesson_id", LESSONS)
def test_items_keep_to_the_standard(bank: Bank, lesson_id: str) -> None:
    for item in bank.lesson(lesson_id).items:
        if isinstance(item, Exercise | Prediction):
            assert len(item.slips) >= 2, item.id
            assert len(item.hints) == 4, item.id
        if isinstance(item, Probe):
            tree = build_question(item, 0).follow_ups
            assert len(tree) >= 4, item.id
            if item.id != "serving/prefill-decode/batching-slower-chat":
                assert any(each.after for each in tree), item.id
                assert all(each.good for each in tree if each.criterion), item.id


def test_lessons_form_a_path(bank: Bank) -> None:
    seen: set[str] = set()
    for lesson in bank.lessons:
        assert set(lesson.prerequisites) <= seen, lesson.id
        seen.add(lesson.id)
    assert bank.lessons[0].id == "serving/memory-roofline"


def test_there_are_34_topics_and_the_first_two_lessons_cover_theirs(bank: Bank) -> None:
    topics = [topic.id for topic in bank.topics["serving"]]
    assert len(topics) == 34
    covered = {topic for lesson_id in LESSONS for item in bank.lesson(lesson_id).items for topic in item.topics}
    assert set(topics[:16]) <= covered
