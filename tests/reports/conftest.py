"""Interviews held on the real bank with grades made to measure, and a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from question_bank import Bank, Question, load_bank
from tutor.drills import Drills
from tutor.grading.models import CRITERIA, CriterionGrade, Decider, Grade, Provenance, Quote, Verdict
from tutor.interview import Session
from tutor.interview.plan import Plan, PlanEntry
from tutor.reports import Report, report_of
from tutor.store import Store, open_store

EXERCISE = "serving/prefill-decode/completion-time"
PROBE = "serving/prefill-decode/change-tradeoff"
ANSWER = "First token at 300 ms. 31 tokens leave 30 gaps. A doubled queue adds 100 ms. I would log the queue."


@dataclass
class ReportClock:
    """Stands still until it is moved."""

    now: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=timezone(timedelta(hours=1)))

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **passed: float) -> datetime:
        self.now += timedelta(**passed)
        return self.now


def made_grade(
    question: Question, answer: str, verdicts: str, *, quotes: Mapping[str, str] | None = None, slip: str | None = None
) -> Grade:
    """A grade from four letters in the rubric's order: m met, x not met, u unsure, n not graded."""
    words: dict[str, Verdict] = {"m": "met", "x": "not_met", "u": "unsure", "n": "not_graded"}
    criteria = []
    for criterion, letter in zip(CRITERIA, verdicts, strict=True):
        text = (quotes or {}).get(criterion)
        start = answer.index(text) if text else 0
        by: Decider = "code" if criterion == "result" else "model"
        criteria.append(
            CriterionGrade(
                criterion=criterion,
                verdict=words[letter],
                decided_by=None if letter == "n" else by,
                p_met=None if criterion == "result" or letter == "n" else 0.9 if letter == "m" else 0.1,
                quote=Quote(text=text, start=start, end=start + len(text)) if text else None,
                reason=f"the {criterion} was looked at",
                slip_id=slip if criterion == "result" else None,
            )
        )
    provenance = Provenance(
        model="a-model", model_source="embedded", prompt_hash="p" * 64, rubric_hash="r" * 64, item_id=question.item_id,
        item_version=question.item_version, seed=question.seed, answer_hash="a", seconds=6.25, prompt_tokens=3120,
        completion_tokens=4,
    )  # fmt: skip
    return Grade(criteria=tuple(criteria), provenance=provenance)


def planned(*item_ids: str, seed: int = 0, mode: str = "study", minutes: float | None = 5.0) -> Plan:
    """A plan of these items in their order."""
    entries = tuple(PlanEntry(item_id=item_id, seed=seed, minutes=minutes) for item_id in item_ids)
    return Plan.model_validate(
        {
            "id": "screen-25",
            "title": "A screen",
            "mode": mode,
            "minutes": 25,
            "entries": [e.model_dump() for e in entries],
        }
    )


@dataclass
class Held:
    """What tests do with interviews."""

    store: Store
    bank: Bank
    clock: ReportClock

    def begin(self, *item_ids: str, seed: int = 0, mode: str = "study", minutes: float | None = 5.0) -> Session:
        plan = planned(*(item_ids or (EXERCISE,)), seed=seed, mode=mode, minutes=minutes)
        return Session.start(self.store, self.bank, plan, self.clock)

    def answered(
        self,
        session: Session,
        verdicts: str,
        *,
        text: str = ANSWER,
        confidence: int = 2,
        seconds: float = 130,
        quotes: Mapping[str, str] | None = None,
        slip: str | None = None,
    ) -> None:
        """State the confidence, answer after some seconds, be graded."""
        session.set_confidence(confidence)
        self.clock.forward(seconds=seconds)
        attempt = session.submit(text)
        assert session.question is not None
        session.record_grade(attempt, made_grade(session.question, text, verdicts, quotes=quotes, slip=slip))

    def whole(self, verdicts: str, *, seed: int = 0, seconds: float = 130) -> Session:
        """One exercise, answered, graded, finished."""
        session = self.begin(seed=seed)
        self.answered(session, verdicts, seconds=seconds)
        session.show_reference()
        session.advance()
        return session

    def report(self, session: Session, *, drills: bool = True) -> Report:
        if not drills:
            return report_of(self.store, session.interview_id, self.clock(), bank=self.bank)
        with Drills.open(self.store, self.bank) as opened:
            opened.sync(self.clock())
            return report_of(self.store, session.interview_id, self.clock(), bank=self.bank, drills=opened)


@pytest.fixture(scope="session")
def bank() -> Bank:
    return load_bank()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "data" / "tutor.db") as opened:
        yield opened


@pytest.fixture
def clock() -> ReportClock:
    return ReportClock()


@pytest.fixture
def held(store: Store, bank: Bank, clock: ReportClock) -> Held:
    return Held(store, bank, clock)
