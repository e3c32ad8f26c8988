"""A store, a deck of plain items without a bank, and a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest

from question_bank.load import Bank
from question_bank.schema import Lesson
from tutor.drills import Answered, Deck, DrillItem, DrillPlan, Drills, Outcome, Rating
from tutor.store import Store, open_store

SMALL_LESSON = Path(__file__).parents[1] / "interview" / "small_lesson.json"


@dataclass
class Clock:
    """Stands still until it is moved."""

    now: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **passed: float) -> datetime:
        self.now += timedelta(**passed)
        return self.now


class Answer(Protocol):
    def __call__(self, item_id: str, rating: int, *, confidence: int | None = ...) -> Answered: ...


def drill_item(number: int, *, topic: str = "", difficulty: int = 1, version: int = 1) -> DrillItem:
    """An item that has no siblings unless its topic is named."""
    return DrillItem(
        id=f"pack/lesson/item-{number}",
        kind="exercise",
        version=version,
        title=f"Item {number}",
        topics=(topic or f"topic-{number}",),
        lesson_id="pack/lesson",
        difficulty=difficulty,
        minutes=5,
        section="section" if topic else "",
    )


def name(number: int) -> str:
    return f"pack/lesson/item-{number}"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "tutor.db") as opened:
        yield opened


@pytest.fixture
def new_id() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"p{next(numbers)}"


@pytest.fixture
def drills(store: Store, clock: Clock, new_id: Callable[[], str]) -> Iterator[Drills]:
    """Twenty items and a plan without fuzz whose intervals are as long as FSRS would have them."""
    with Drills(store, Deck([drill_item(number) for number in range(20)]), new_id=new_id) as opened:
        opened.set_plan(DrillPlan(fuzz=False, max_interval_days=36_500), clock())
        yield opened


@pytest.fixture
def answer(drills: Drills, clock: Clock) -> Answer:
    def give(item_id: str, rating: int, *, confidence: int | None = None) -> Answered:
        presentation = drills.present(item_id, "review", clock())
        outcome = Outcome(Rating(rating), rating > 1, "as the test wants it")
        return drills.record(presentation, outcome, clock(), confidence=confidence)

    return give


@pytest.fixture(scope="session")
def small_bank() -> Bank:
    lesson = Lesson.model_validate_json(SMALL_LESSON.read_text(encoding="utf-8"))
    return Bank(packs=(), lessons=(lesson,), paths={lesson.id: SMALL_LESSON})
