"""FSRS as we use it: golden intervals, real reviews, and what holds for every state."""

from __future__ import annotations

import csv
import gzip
import math
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import fsrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.drills import DrillPlan, Memory, MemoryModel, Rating
from tutor.drills.memory import fuzz_bounds, fuzzed
from tutor.errors import TutorError

REVIEWS = Path(__file__).parent / "data" / "fsrs_reviews.csv.gz"
stabilities = st.floats(0.001, 36_500)
memories = st.builds(Memory, stabilities, st.floats(1, 10))


def intervals(ratings: list[int], model: MemoryModel | None = None) -> list[int]:
    """Days to the next review, each taken on the day it is due."""
    model = model or MemoryModel()
    memory, days, found = None, 0, []
    for rating in ratings:
        memory = model.after(memory, Rating(rating), days)
        days = model.interval_days(memory.stability, 0.9)
        found.append(days)
    return found


def test_golden_intervals_with_steps_off() -> None:
    assert intervals([3, 3, 3, 3, 3]) == [2, 11, 46, 163, 497]
    assert intervals([1, 3, 3, 3, 3, 3]) == [1, 2, 6, 17, 44, 102]
    assert intervals([1, 1, 1, 3, 3, 3]) == [1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize(("rating", "days"), [(1, 1), (2, 1), (3, 2), (4, 8)])
def test_first_intervals(rating: int, days: int) -> None:
    assert intervals([rating]) == [days]


@pytest.mark.parametrize(("retention", "days"), [(0.7, 929), (0.8, 332), (0.85, 191), (0.9, 100), (0.95, 40)])
def test_a_memory_of_100_days_is_asked_sooner_the_more_is_to_be_kept(retention: float, days: int) -> None:
    assert MemoryModel().interval_days(100, retention) == days


def test_twenty_right_days_make_the_interval_grow() -> None:
    model = MemoryModel()
    memory = None
    for day in range(20):
        memory = model.after(memory, Rating.GOOD, min(day, 1))
    assert memory is not None
    assert model.interval_days(memory.stability, 0.9) > 20


def area_under_curve(chances: list[float], right: list[bool]) -> float:
    """The chance that one right answer was thought likelier than one wrong one; ties count half (Mann–Whitney)."""
    p, y = np.array(chances), np.array(right)
    wrong = np.sort(p[~y])
    below = np.searchsorted(wrong, p[y], "left")
    ties = np.searchsorted(wrong, p[y], "right") - below
    return float((below + ties / 2).sum() / (y.sum() * (~y).sum()))


def test_real_reviews_give_the_published_fit_of_the_default_parameters() -> None:
    by_card: dict[str, list[tuple[datetime, int]]] = defaultdict(list)
    with gzip.open(REVIEWS, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            moment = datetime.fromisoformat(row["review_time"])
            by_card[row["card_id"]].append((moment, int(row["review_rating"])))
    model = MemoryModel()
    chances: list[float] = []
    right: list[bool] = []
    for reviews in by_card.values():
        memory, last = None, None
        for at, rating in reviews:
            # Whole days of 24 hours here, as the published figures were made; the drills count local days.
            elapsed = 0 if last is None else (at - last).days
            if memory is not None and elapsed >= 1:
                chances.append(model.retrievability(memory.stability, elapsed))
                right.append(rating > 1)
            memory, last = model.after(memory, Rating(rating), elapsed), at
    assert sum(map(len, by_card.values())) == 12_580
    loss = -sum(math.log(p if y else 1 - p) for p, y in zip(chances, right, strict=True)) / len(right)
    assert len(right) == 5_329
    assert round(loss, 4) == 0.4587
    assert round(area_under_curve(chances, right), 3) == 0.714


@given(stabilities, st.integers(0, 3_000), st.floats(0.7, 0.97))
def test_the_closed_forms_are_those_of_the_package(stability: float, elapsed: int, retention: float) -> None:
    model = MemoryModel()
    start = datetime(2020, 1, 1, tzinfo=UTC)
    card = fsrs.Card(
        card_id=1, state=fsrs.State.Review, stability=stability, difficulty=5, due=start, last_review=start
    )
    package = fsrs.Scheduler(desired_retention=retention, learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    there = package.get_card_retrievability(card, start + timedelta(days=elapsed))
    assert model.retrievability(stability, elapsed) == pytest.approx(there, rel=1e-12)
    reviewed, _ = package.review_card(card, fsrs.Rating.Good, start + timedelta(days=elapsed))
    ours = model.after(Memory(stability, 5), Rating.GOOD, elapsed)
    assert (ours.stability, ours.difficulty) == (reviewed.stability, reviewed.difficulty)
    assert model.interval_days(ours.stability, retention) == (reviewed.due - start).days - elapsed


plans = st.builds(
    DrillPlan,
    desired_retention=st.floats(0.7, 0.97),
    max_interval_days=st.integers(1, 36_500),
    fuzz=st.booleans(),
    interview_day=st.one_of(st.none(), st.dates(date(2026, 1, 1), date(2026, 12, 31))),
)


@given(st.one_of(st.none(), memories), plans, st.integers(0, 4_000), st.integers(1, 500), st.text("abc/", max_size=5))
def test_a_better_rating_never_comes_back_sooner_and_none_later_than_the_longest(
    memory: Memory | None, plan: DrillPlan, elapsed: int, count: int, item_id: str
) -> None:
    model, today = MemoryModel(), date(2026, 6, 1)
    days = [
        plan.interval_days(model, model.after(memory, rating, elapsed if memory else 0), item_id, count, today)
        for rating in Rating
    ]
    assert 1 <= days[0] <= days[1] <= days[2] <= days[3] <= plan.max_interval_days


@given(st.lists(st.floats(0.01, 100), min_size=4, max_size=4))
def test_first_intervals_keep_their_order_whatever_was_fitted(first: list[float]) -> None:
    model = MemoryModel((*first, *MemoryModel().parameters[4:]))
    stability = [model.after(None, rating, 0).stability for rating in Rating]
    assert stability == sorted(stability)


@given(st.integers(1, 36_500), st.text(max_size=8), st.integers(0, 1_000))
def test_fuzz_stays_in_its_bounds_and_is_always_the_same(days: int, item_id: str, count: int) -> None:
    low, high = fuzz_bounds(days)
    assert low <= days <= high
    assert low <= fuzzed(days, item_id, count) <= high
    assert fuzzed(days, item_id, count) == fuzzed(days, item_id, count)


def test_fuzz_bounds_by_hand_and_all_of_them_are_reached() -> None:
    # 1 + 0.15·(7 − 2.5) + 0.1·(10 − 7) = 1.975 days around 10
    assert fuzz_bounds(10) == (8, 12)
    assert {fuzzed(10, f"item {number}", 1) for number in range(200)} == {8, 9, 10, 11, 12}
    assert fuzz_bounds(2) == (2, 2)


@given(st.text(max_size=8), st.integers(0, 50), st.integers(1, 400))
def test_fuzz_keeps_the_order_of_intervals(item_id: str, count: int, days: int) -> None:
    assert fuzzed(days, item_id, count) <= fuzzed(days + 1, item_id, count)


@pytest.mark.parametrize("parameters", [(), (1.0,) * 21, (*MemoryModel().parameters[:20], 9.0)])
def test_parameters_out_of_bounds_are_refused_in_one_sentence(parameters: tuple[float, ...]) -> None:
    with pytest.raises(TutorError) as refused:
        MemoryModel(parameters)
    assert "\n" not in str(refused.value)


def test_an_interview_caps_the_interval_so_that_the_item_comes_before_it() -> None:
    model = MemoryModel()
    memory = Memory(80, 5)
    plan = DrillPlan(interview_day=date(2026, 3, 20), fuzz=False)
    assert plan.interval_days(model, memory, "x", 3, date(2026, 3, 1)) == 18
    assert plan.interval_days(model, memory, "x", 3, date(2026, 3, 18)) == 1
    # On the eve and afterwards it caps nothing.
    assert plan.interval_days(model, memory, "x", 3, date(2026, 3, 19)) == 80
    assert plan.interval_days(model, memory, "x", 3, date(2026, 4, 1)) == 80


def test_before_an_interview_items_are_spread_over_the_last_week() -> None:
    plan = DrillPlan(interview_day=date(2026, 5, 1))
    model, memory, today = MemoryModel(), Memory(300, 5), date(2026, 3, 22)
    days = [plan.interval_days(model, memory, f"item {number}", 4, today) for number in range(200)]
    # 40 days off; the last day on which it can come is the eve.
    assert set(days) == set(range(32, 40))
    assert all(15 <= days.count(each) <= 40 for each in set(days))
