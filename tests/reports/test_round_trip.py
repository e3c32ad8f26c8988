"""Exported and imported into an empty store, everything is the same, and so is all that is derived from it."""

from __future__ import annotations

from pathlib import Path

from tests.reports.conftest import EXERCISE, PROBE, Held
from tests.reports.test_progress_report import practise
from tutor.drills import Drills
from tutor.lab.events import Locked, Simulated
from tutor.lab.predictions import explain, lock, predictions, record
from tutor.reports import report_of
from tutor.reports.progress import as_data, figures
from tutor.store import export_lines, import_lines, open_store, state_hash


def live(held: Held) -> str:
    """A few days with everything in them; returns the interview's id."""
    checkpoint = next(item.id for item in held.bank.items if item.kind == "checkpoint")
    prediction = next(item.id for item in held.bank.items if item.kind == "prediction")
    session = held.begin(EXERCISE, checkpoint, prediction, PROBE)
    session.take_hint()
    held.answered(session, "mxun")
    session.contest("reasoning", "it is there")
    session.self_mark("verification", "met")
    session.ask_follow_up()
    session.answer_follow_up("größer \u2028 x")
    session.show_reference()
    session.advance()
    assert session.question is not None
    session.choose_option(session.question.options[0].id)
    session.advance()
    session.set_confidence(3)
    name = session.question.expected[0].name
    session.predict(name, 10.0, 8.0, 12.0)
    session.record_simulation({"values": {name: {"simulated": 11.0, "reference": 11.0, "unit": "ms"}}, "runs": 3})
    session.explain_prediction("the queue")
    session.advance()
    session.set_confidence(1)
    session.save_draft("half an answ")
    locked = Locked(
        title="a scenario", scenario="x: 1", baseline="", changes=(), metric="all.ttft_s.p95", unit="ms", scale=1000.0,
        direction="", value=100.0, low=90.0, high=110.0, confidence=3, topics=("ttft",),
    )  # fmt: skip
    came = Simulated(
        value=200.0, low=200.0, high=200.0, baseline=None, difference_low=None, difference_high=None, runs=3,
        requests=10, seconds=0.1, version="1",
    )  # fmt: skip
    made = record(held.store, lock(held.store, locked, held.clock()), came, held.clock())
    explain(held.store, made, "a cold cache", held.clock())
    with Drills.open(held.store, held.bank) as drills:
        practise(drills, held.clock, 8)
        drills.undo(held.clock.forward(minutes=1))
        drills.log.note(EXERCISE, "my note", held.clock.forward(minutes=1))
        drills.log.suspend(checkpoint, held.clock.forward(minutes=1))
    return session.interview_id


def test_an_empty_store_gets_the_same_state_and_shows_the_same(held: Held, tmp_path: Path) -> None:
    interview_id = live(held)
    now, day = held.clock(), held.clock().date()
    with Drills.open(held.store, held.bank) as drills:
        here = as_data(figures(drills, now, day))
        report = report_of(held.store, interview_id, now, bank=held.bank, drills=drills)
    lines = list(export_lines(held.store))
    with open_store(tmp_path / "other" / "tutor.db") as other:
        assert import_lines(other, lines, source="export").events_added == len(held.store.events())
        assert state_hash(other) == state_hash(held.store)
        with Drills.open(other, held.bank) as drills:
            there = as_data(figures(drills, now, day))
            assert report_of(other, interview_id, now, bank=held.bank, drills=drills) == report
            assert drills.check() == []
        assert there == here
        assert predictions(other) == predictions(held.store)
        assert state_hash(other) == state_hash(held.store)
        assert import_lines(other, lines, source="export").events_added == 0
        assert state_hash(other) == state_hash(held.store)
