"""A small bank of one item a kind, a store, a clock that steps by a second, and grades made to measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import pytest

from question_bank.load import Bank
from question_bank.schema import Lesson
from rubrics.schema import CriterionId
from tutor.grading.models import CRITERIA, CriterionGrade, Grade, Provenance, Verdict
from tutor.interview import Plan, Session, lesson_plan, single_item_plan
from tutor.store import Store, open_store

LESSON_FILE = Path(__file__).parent / "small_lesson.json"
SUM = "small/lesson/sum"


class MakeGrade(Protocol):
    def __call__(self, *verdicts: Verdict, slip: str | None = None) -> Grade: ...


class Begin(Protocol):
    def __call__(self, item: str = ..., mode: str = ..., plan: Plan | None = ...) -> Session: ...


@pytest.fixture(scope="session")
def bank() -> Bank:
    lesson = Lesson.model_validate_json(LESSON_FILE.read_text(encoding="utf-8"))
    return Bank(packs=(), lessons=(lesson,), paths={lesson.id: LESSON_FILE})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "tutor.db") as opened:
        yield opened


@pytest.fixture
def clock() -> Callable[[], datetime]:
    seconds = iter(range(1_000_000))
    return lambda: datetime(2026, 3, 1, 9, 0, tzinfo=UTC) + timedelta(seconds=next(seconds))


@pytest.fixture
def grade() -> MakeGrade:
    def make(*verdicts: Verdict, slip: str | None = None) -> Grade:
        """Verdicts in the rubric's order; those left out are met."""
        given: dict[CriterionId, Verdict] = dict(zip(CRITERIA, (*verdicts, *["met"] * 4), strict=False))  # type: ignore[arg-type]
        return Grade(
            criteria=tuple(
                CriterionGrade(
                    criterion=criterion,
                    verdict=verdict,
                    decided_by="code" if criterion == "result" else "model",
                    reason="because",
                    slip_id=slip if criterion == "result" else None,
                )
                for criterion, verdict in given.items()
            ),
            provenance=Provenance(item_id=SUM, item_version=1, seed=0, answer_hash="a"),
        )

    return make


@pytest.fixture
def begin(store: Store, bank: Bank, clock: Callable[[], datetime]) -> Begin:
    def start(item: str = "sum", mode: str = "study", plan: Plan | None = None) -> Session:
        wanted = plan or single_item_plan(f"small/lesson/{item}", 0)
        if mode == "interview":
            wanted = wanted.model_copy(update={"mode": "interview"})
        return Session.start(store, bank, wanted, clock)

    return start


@pytest.fixture
def whole_lesson(bank: Bank) -> Plan:
    return lesson_plan(bank.lessons[0], 0)
