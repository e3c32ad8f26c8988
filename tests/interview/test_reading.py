"""Plans, how far a lesson was read, and what the doctor finds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from pydantic import ValidationError

from question_bank.load import Bank
from tutor.interview import (
    Plan,
    Session,
    check_interviews,
    last_section,
    lesson_opened,
    lesson_plan,
    section_read,
    sections_read,
    single_item_plan,
)
from tutor.store import Store


def test_the_place_in_a_lesson_is_remembered(store: Store, clock: Callable[[], datetime]) -> None:
    assert last_section(store, "small/lesson") is None
    lesson_opened(store, "small/lesson", clock())
    assert last_section(store, "small/lesson") is None
    for section in ("one", "two", "two", "one"):
        section_read(store, "small/lesson", section, clock())
    section_read(store, "small/other", "nine", clock())
    assert last_section(store, "small/lesson") == "one"
    assert sections_read(store, "small/lesson") == {"one", "two"}
    assert len(store.events("lesson:small/lesson")) == 4


def test_a_lessons_plan_has_every_item_once_in_order(bank: Bank) -> None:
    lesson = bank.lessons[0]
    plan = lesson_plan(lesson, 7)
    assert [entry.item_id for entry in plan.entries] == [item.id for item in lesson.items]
    assert plan == lesson_plan(lesson, 7)
    assert plan != lesson_plan(lesson, 8)
    assert {entry.seed for entry in lesson_plan(lesson, 0).entries} == {0}
    assert (plan.title, plan.mode, lesson_plan(lesson, 7, mode="interview").mode) == (
        "A small lesson",
        "study",
        "interview",
    )


def test_a_single_item_keeps_its_seed() -> None:
    plan = single_item_plan("small/lesson/sum", 42, title="Sum")
    assert [(entry.item_id, entry.seed) for entry in plan.entries] == [("small/lesson/sum", 42)]
    assert plan.title == "Sum"
    with pytest.raises(ValidationError):
        Plan(id="empty", title="Empty", entries=())
    with pytest.raises(ValidationError):
        single_item_plan("small/lesson/sum", -1)


def test_the_doctor_names_what_does_not_fold(store: Store, bank: Bank, clock: Callable[[], datetime]) -> None:
    session = Session.start(store, bank, single_item_plan("small/lesson/sum", 0), clock)
    session.save_draft("kept")
    assert check_interviews(store) == []
    stream = f"interview:{session.interview_id}"
    store.append(stream, "hint.taken", {"position": 0, "number": 9, "text": "t"}, clock())
    store.append("interview:damaged", "interview.started", {"plan": 3}, clock())
    store.append("interview:headless", "interview.finished", {"reason": "stopped"}, clock())
    store.save_draft("interview:gone", 0, "orphan", clock())
    found = " ".join(problem.what for problem in check_interviews(store))
    assert f"{stream}: 1 events did not fit" in found
    assert "interview:damaged: A stored event of kind interview.started is damaged: plan" in found
    assert "interview:headless has no beginning" in found
    assert "draft of 6 characters belongs to no interview" in found


def test_the_doctor_knows_the_drafts_of_drill_items(store: Store, clock: Callable[[], datetime]) -> None:
    store.save_draft("drill:pack/lesson/item", 0, "42 ms", clock())
    assert check_interviews(store) == []
