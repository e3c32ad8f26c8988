"""The machine's clock jumps in the middle of an interview: nothing is lost, refused or counted below zero."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from question_bank import load_bank
from tutor.interview import Session, check_interviews
from tutor.interview.plan import single_item_plan
from tutor.store import open_store

BEFORE = datetime(2026, 10, 25, 2, 55, tzinfo=timezone(timedelta(hours=2)))
JUMPS = {
    "an hour back, at the end of summer time": datetime(2026, 10, 25, 2, 0, 30, tzinfo=timezone(timedelta(hours=1))),
    "a day back": BEFORE - timedelta(days=1),
    "to 1970": datetime(1970, 1, 1, tzinfo=UTC),
    "a year ahead": BEFORE + timedelta(days=365),
    "across the date line": BEFORE.astimezone(timezone(timedelta(hours=-12))),
}


@pytest.mark.parametrize("after", JUMPS.values(), ids=JUMPS)
def test_an_interview_goes_on_after_the_clock_jumps(tmp_path: Path, after: datetime) -> None:
    bank, now = load_bank(), [BEFORE]
    item = next(item for item in bank.items if item.kind == "exercise")
    with open_store(tmp_path / "tutor.db") as store:
        session = Session.start(store, bank, single_item_plan(item.id, 0), lambda: now[0])
        session.set_confidence(2)
        session.save_draft("half an")
        now[0] = after
        session.save_draft("half an answer")
        attempt = session.submit("half an answer")
        session.record_ungraded(attempt, "cancelled")
        identity = session.interview_id
        again = Session.resume(store, bank, identity, lambda: now[0])
        assert again.state == session.state
        submitted = [event.payload["text"] for event in store.events(kind="answer.submitted")]
        assert submitted == ["half an answer"]
        assert store.check() == []
        assert check_interviews(store) == []
