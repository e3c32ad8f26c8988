"""Predictions of one's own: locked before they are run, compared with an interval, kept right or wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import fmean, stdev

import pytest

from question_bank import Bank, load_bank
from tutor.drills import Drills
from tutor.drills.wanted import wanted_topics
from tutor.lab.events import Explained, Locked, Simulated
from tutor.lab.interval import estimate
from tutor.lab.predictions import (
    Prediction,
    PredictionError,
    explain,
    lock,
    past_predictions,
    predictions,
    record,
    simulate_prediction,
    topic_surprises,
)
from tutor.lab.scenario_text import STARTER, with_field
from tutor.store import Store, open_store

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FIXED = """\
name: One request
classes:
  - name: chat
    prompt_tokens: 100
    output_tokens: 11
    arrivals: {kind: times, times_s: [0.0]}
server: {policy: continuous, max_seqs: 1}
step_cost: {kind: linear, per_prefill_token_s: 0.001, per_decode_seq_s: 0.020}
"""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "tutor.db") as store:
        yield store


@pytest.fixture(scope="module")
def whole_bank() -> Bank:
    return load_bank()


def locked(**changes: object) -> Locked:
    """A prediction of the first token's time when the prompt is doubled."""
    fields: dict[str, object] = {
        "title": "one", "scenario": with_field(FIXED, "classes.chat.prompt_tokens", "200"), "baseline": FIXED,
        "changes": ("classes.chat.prompt_tokens 100 → 200",), "metric": "chat.ttft_s.p95", "unit": "ms",
        "scale": 1000.0, "direction": "higher", "value": 200.0, "low": 180.0, "high": 220.0, "confidence": 3,
        "topics": ("ttft",),
    }  # fmt: skip
    return Locked.model_validate(fields | changes)


def simulated(value: float, **changes: object) -> Simulated:
    """An outcome."""
    fields: dict[str, object] = {
        "value": value, "low": value, "high": value, "baseline": 100.0, "difference_low": value - 100,
        "difference_high": value - 100, "runs": 3, "requests": 6, "seconds": 0.1, "version": "0",
    }  # fmt: skip
    return Simulated.model_validate(fields | changes)


def ignore(done: int, total: int, what: str) -> None:
    """Nobody watches."""


def test_without_randomness_three_runs_say_exactly_what_arithmetic_says() -> None:
    # 200 prompt tokens at 1 ms; before the change 100.
    found = simulate_prediction(locked(), ignore, lambda: False)
    assert found is not None
    assert (found.value, found.low, found.high, found.baseline) == (200.0, 200.0, 200.0, 100.0)
    assert (found.difference_low, found.difference_high, found.runs) == (100.0, 100.0, 3)


def test_replications_differ_and_both_sides_share_their_requests() -> None:
    wanted = locked(
        scenario=with_field(STARTER, "server.max_seqs", "8"), baseline=STARTER, metric="chat.e2e_s.mean", value=200
    )
    found = simulate_prediction(wanted, ignore, lambda: False, replications=5)
    assert found is not None
    assert found.runs == 5
    assert found.low < found.value < found.high
    assert found.difference_low is not None
    assert found.difference_high is not None
    # The paired difference is known better than either side alone.
    assert found.difference_high - found.difference_low < found.high - found.low


def test_a_stopped_run_gives_nothing_and_a_metric_without_samples_is_said() -> None:
    assert simulate_prediction(locked(), ignore, lambda: True) is None
    one_token = FIXED.replace("output_tokens: 11", "output_tokens: 1")
    with pytest.raises(PredictionError, match="No run gave"):
        simulate_prediction(locked(scenario=one_token, baseline="", metric="chat.itl_s.p95"), ignore, lambda: False)


@pytest.mark.parametrize(
    ("value", "verdict", "missed", "moved"),
    [(200.0, "inside", False, "higher"), (230.0, "above", True, "higher"), (101.0, "below", True, "same"),
     (180.0, "inside", False, "higher"), (50.0, "below", True, "lower")],
)  # fmt: skip
def test_inside_outside_and_the_way_it_went(value: float, verdict: str, missed: bool, moved: str) -> None:
    made = Prediction("x", locked(), NOW, simulated(value))
    assert (made.verdict, made.missed, made.moved) == (verdict, missed, moved)
    assert made.ratio == pytest.approx(200 / value)
    assert made.bits is not None


def test_a_difference_whose_interval_holds_zero_is_about_the_same() -> None:
    made = Prediction("x", locked(), NOW, simulated(200.0, difference_low=-10.0, difference_high=210.0))
    assert made.moved == "same"
    assert made.direction_right is False
    assert made.missed is True


def test_locked_is_stored_first_and_the_first_outcome_counts(opened: Store) -> None:
    made = lock(opened, locked(), NOW)
    assert [one.simulated for one in predictions(opened)] == [None]
    made = record(opened, made, simulated(250.0), NOW)
    again = record(opened, made, simulated(200.0), NOW)
    assert again.simulated is not None
    assert again.simulated.value == 250.0
    (kept,) = predictions(opened)
    assert kept == made
    assert len(opened.events(kind=Simulated.kind)) == 1
    with pytest.raises(PredictionError, match="a number that has been seen is no prediction"):
        lock(opened, locked(value=219.0), NOW)


def test_an_explanation_comes_after_the_run_and_is_one_line(opened: Store) -> None:
    made = lock(opened, locked(), NOW)
    with pytest.raises(PredictionError, match="nothing to explain"):
        explain(opened, made, "because", NOW)
    made = record(opened, made, simulated(250.0), NOW)
    made = explain(opened, made, "  the queue \n decides ", NOW)
    assert made.explanation == "the queue decides"
    assert predictions(opened)[0].explanation == "the queue decides"
    for text in ("  ", "x" * 501):
        with pytest.raises(PredictionError, match="1 to 500"):
            explain(opened, made, text, NOW)
    assert len(opened.events(kind=Explained.kind)) == 1


def test_a_miss_brings_the_topics_new_items_to_the_front_for_a_week(opened: Store, whole_bank: Bank) -> None:
    with Drills.open(opened, whole_bank) as drills:
        first = drills.next(NOW)
        assert first is not None
        assert "speculative-decoding" not in first.item.topics
        made = lock(opened, locked(topics=("speculative-decoding",)), NOW)
        made = record(opened, made, simulated(200.0), NOW)
        assert wanted_topics(opened, NOW.date()) == frozenset()
        other = lock(opened, locked(topics=("speculative-decoding",), metric="chat.e2e_s.p95"), NOW)
        record(opened, other, simulated(300.0), NOW)
        assert wanted_topics(opened, NOW.date()) == {"speculative-decoding"}
        drills.queue.forget_order()
        first = drills.next(NOW)
        assert first is not None
        assert "speculative-decoding" in first.item.topics
        assert wanted_topics(opened, date(2026, 3, 9)) == {"speculative-decoding"}
        assert wanted_topics(opened, date(2026, 3, 10)) == frozenset()


def test_all_predictions_stand_in_one_list_with_their_bits(opened: Store) -> None:
    record(opened, lock(opened, locked(), NOW), simulated(200.0), NOW)
    record(opened, lock(opened, locked(metric="chat.e2e_s.p95"), NOW + timedelta(hours=1)), simulated(300.0), NOW)
    past = past_predictions(opened)
    assert [one.missed for one in past] == [False, True]
    assert past[0].bits == 0.0
    (topic,) = topic_surprises(past)
    assert (topic.topic, topic.predictions, topic.inside) == ("ttft", 2, 1)
    assert topic.mean_bits == pytest.approx(past[1].bits / 2)


def test_students_interval_by_hand() -> None:
    values = [10.0, 12.0, 11.0, 13.0]
    found = estimate(values)
    assert found is not None
    # t of 3 degrees of freedom at 97.5 % is 3.182.
    half = 3.182446 * stdev(values) / math.sqrt(4)
    assert (found.mean, found.low, found.high) == pytest.approx((fmean(values), 11.5 - half, 11.5 + half))
    assert estimate([]) is None
    alone = estimate([3.0])
    assert alone is not None
    assert alone.exact
