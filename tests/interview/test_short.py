"""Short plans fit their time, mix kinds and topics, and come again with the same seed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from question_bank import Bank, load_bank
from tutor.interview.short import KIND_ORDER, QUIZ_ITEMS, quiz_plan, short_plan

BANK: Bank = load_bank()
LESSONS = [lesson.id for lesson in BANK.lessons]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(LESSONS), st.integers(0, 2**31), st.sampled_from([10.0, 25.0, 60.0]))
def test_a_plan_fits_its_time_and_repeats_nothing(lesson_id: str, seed: int, minutes: float) -> None:
    plan = short_plan(BANK.lesson(lesson_id), seed, minutes=minutes)
    items = [BANK.item(entry.item_id) for entry in plan.entries]
    assert sum(item.minutes for item in items) <= minutes or len(items) == 1
    assert len({item.id for item in items}) == len(items)
    assert plan == short_plan(BANK.lesson(lesson_id), seed, minutes=minutes)
    counts = Counter[str](item.kind for item in items)
    kinds = [counts[kind] for kind in KIND_ORDER if counts[kind]]
    # Turn by turn: no kind is two ahead of another that still had something short enough.
    assert [item.kind for item in items[: len(kinds)]] == [kind for kind in KIND_ORDER if counts[kind]]


@pytest.mark.parametrize("lesson_id", LESSONS)
def test_twenty_five_minutes_are_a_mix(lesson_id: str) -> None:
    lesson = BANK.lesson(lesson_id)
    plans = [short_plan(lesson, seed) for seed in range(1, 6)]
    for plan in plans:
        items = [BANK.item(entry.item_id) for entry in plan.entries]
        assert 3 <= len(items) <= 15
        assert len({item.kind for item in items}) >= 3
        assert len({topic for item in items for topic in item.topics}) >= 2
    assert len({tuple(entry.item_id for entry in plan.entries) for plan in plans}) > 1


@pytest.mark.parametrize("lesson_id", LESSONS)
def test_a_quiz_is_on_its_section(lesson_id: str) -> None:
    lesson = BANK.lesson(lesson_id)
    for section in lesson.sections:
        plan = quiz_plan(lesson, section.id, 7)
        assert plan is not None
        assert 1 <= len(plan.entries) <= QUIZ_ITEMS
        bound = {item.id for item in lesson.items_on(section.id)}
        if bound:
            assert {entry.item_id for entry in plan.entries} <= bound
            assert section.title in plan.title
