"""Ranges, directions and explanations of a prediction item: locked before the run, replayed, counted as surprise."""

from __future__ import annotations

import pytest

from tests.interview.conftest import Begin
from tutor.interview import SessionError
from tutor.interview.events import PredictionLocked, parse
from tutor.lab.predictions import past_predictions, topic_surprises
from tutor.store import Store


def test_ranges_and_directions_are_locked_and_replayed(begin: Begin) -> None:
    session = begin("guess")
    with pytest.raises(SessionError, match="not time to predict"):
        session.predict_direction("chat.itl_s.p95", "lower")
    session.set_confidence(3)
    session.predict("y", 3.0, 2.0, 5.0)
    session.predict_direction("chat.itl_s.p95", "lower")
    with pytest.raises(SessionError, match="not time to predict"):
        session.predict_direction("chat.itl_s.p95", "higher")
    with pytest.raises(SessionError, match="nothing to explain"):
        session.explain_prediction("too early")
    session.record_simulation({"values": {"y": {"simulated": 6.0}}})
    session.explain_prediction("  one gap \n fewer ")
    with pytest.raises(SessionError, match="1 to 500"):
        session.explain_prediction("   ")
    entry = session.entry()
    assert dict(entry.ranges) == {"y": (2.0, 5.0)}
    assert dict(entry.directions) == {"chat.itl_s.p95": "lower"}
    assert entry.explanation == "one gap fewer"
    texts = [line.text for line in session.history]
    assert "predicted y = 3, between 2 and 5" in texts
    assert "predicted chat.itl_s.p95: lower" in texts
    assert "one gap fewer" in texts


def test_predictions_stored_before_there_were_ranges_are_still_read() -> None:
    old = parse("prediction.locked", {"position": 0, "name": "y", "value": 3.0})
    assert isinstance(old, PredictionLocked)
    assert old.low is None


def test_a_range_that_does_not_hold_its_number_is_passed_over(begin: Begin) -> None:
    session = begin("guess")
    session.set_confidence(2)
    session.predict("y", 3.0, 4.0, 5.0)
    assert dict(session.entry().predictions) == {"y": 3.0}
    assert dict(session.entry().ranges) == {}


def test_an_items_predictions_count_as_surprise_where_a_range_was_stated(begin: Begin, store: Store) -> None:
    session = begin("guess")
    session.set_confidence(3)
    name = session.question.expected[0].name if session.question is not None else ""
    session.predict(name, 3.0, 2.0, 5.0)
    session.record_simulation({"values": {name: {"simulated": 5.0, "interval": [2.9, 7.1]}}})
    (past,) = past_predictions(store)
    assert (past.value, past.outcome, past.missed) == (3.0, 5.0, False)
    # The simulator itself allows for the predicted number: no surprise.
    assert past.bits == 0.0
    assert topic_surprises([past]) == ()
