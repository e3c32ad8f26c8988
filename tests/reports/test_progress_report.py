"""Progress over weeks: the report's figures are the drills' own, in every form, and nothing is judged too early."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from question_bank import Bank
from tests.reports.conftest import ReportClock
from tests.reports.test_forms import Page, safe
from tutor.drills import Drills, Outcome, Rating
from tutor.drills.calibration import calibration
from tutor.drills.history import weeks
from tutor.drills.mastery import mastery
from tutor.drills.readiness import readiness
from tutor.lab.events import Locked, Simulated
from tutor.lab.predictions import lock, record
from tutor.reports.progress import Figures, as_data, figures, schema
from tutor.reports.progress_page import progress_html, progress_markdown
from tutor.store import Store

SCHEMA = Path(__file__).parents[2] / "docs" / "progress.schema.json"


@pytest.fixture
def drills(store: Store, bank: Bank) -> Iterator[Drills]:
    with Drills.open(store, bank) as opened:
        yield opened


def practise(drills: Drills, clock: ReportClock, days: int, per_day: int = 3) -> datetime:
    """Every third answer wrong, all said with confidence."""
    count = 0
    for _ in range(days):
        for _ in range(per_day):
            shown = drills.next(clock())
            assert shown is not None
            right = count % 3 != 2
            rating = Rating.GOOD if right else Rating.AGAIN
            drills.record(shown, Outcome(rating, right, "as drawn"), clock.forward(minutes=2), confidence=3)
            count += 1
        clock.forward(days=1)
    return clock()


def test_every_figure_is_the_derivation_of_the_drills(drills: Drills, clock: ReportClock) -> None:
    now = practise(drills, clock, 20)
    day = now.date() + timedelta(days=10)
    found = figures(drills, now, day)
    assert (found.everything, found.by_topic) == calibration(drills)
    assert found.weeks == weeks(drills)
    assert found.topics == mastery(drills, now)
    assert found.ready == readiness(drills, now, day)
    assert found.counts == drills.counts(now)
    # By hand: 60 answers at 85 %, 40 right: (40 * .15² + 20 * .85²) / 60.
    assert found.everything.brier == pytest.approx((40 * 0.0225 + 20 * 0.7225) / 60)
    assert sum(each.reviews for each in found.weeks) <= 60
    for form in (progress_html(found), progress_markdown(found)):
        assert "Overconfident" in form
        assert "Brier score 0.256" in form
        assert "40 of 60" in form
        assert str(found.weeks[0].first_day) in form
        assert "of items" not in form


def test_nothing_is_said_about_a_person_under_twenty_answers(drills: Drills, clock: ReportClock) -> None:
    found = figures(drills, practise(drills, clock, 6), clock().date())
    assert found.everything.answers == 18
    for form in (progress_html(found), progress_markdown(found)):
        assert "Too few answers to judge: 18 of 20." in form
        assert "Too early to give a range." in form
        assert "onfident:" not in form


def test_without_answers_each_part_says_what_would_be_there(drills: Drills, clock: ReportClock) -> None:
    text = progress_markdown(figures(drills, clock(), None))
    for sentence in ("No answer had its confidence stated", "No week has an answer yet", "No interview day is set"):
        assert sentence in text


def test_surprise_stands_there_once_a_prediction_was_run(drills: Drills, store: Store, clock: ReportClock) -> None:
    locked = Locked(
        title="a scenario", scenario="x: 1", baseline="", changes=(), metric="all.ttft_s.p95", unit="ms", scale=1000.0,
        direction="", value=100.0, low=90.0, high=110.0, confidence=3, topics=("ttft",),
    )  # fmt: skip
    assert "Predicted numbers" not in progress_html(figures(drills, clock(), None))
    made = lock(store, locked, clock())
    came = Simulated(
        value=200.0, low=200.0, high=200.0, baseline=None, difference_low=None, difference_high=None, runs=3,
        requests=10, seconds=0.1, version="1",
    )  # fmt: skip
    record(store, made, came, clock())
    found = figures(drills, clock(), None)
    (row,) = found.surprises
    assert (row.topic, row.predictions, row.inside) == ("ttft", 1, 0)
    for form in (progress_html(found), progress_markdown(found)):
        assert "Predicted numbers" in form
        assert f"{row.mean_bits:.1f}" in form


def test_the_page_is_safe_and_its_pictures_have_words(drills: Drills, clock: ReportClock) -> None:
    now = practise(drills, clock, 20)
    text = progress_html(figures(drills, now, now.date() + timedelta(days=10)))
    safe(text)
    labels = [one["aria-label"] or "" for name, one in Page(text).tags if name == "svg"]
    assert [label.partition(".")[0] for label in labels] == [
        "Due in the coming days",
        "Confidence against outcome",
        "Answers per week",
        "Readiness",
    ]
    assert "confident, taken for 85%: 40 of 60 right, 67%, interval 54% to 77%" in labels[1]


def test_the_json_form_is_whole_and_its_schema_is_in_the_docs(drills: Drills, clock: ReportClock) -> None:
    now = practise(drills, clock, 8)
    found = figures(drills, now, date(2026, 4, 1))
    data = json.loads(json.dumps(as_data(found), allow_nan=False))
    assert (data.pop("format"), data.pop("version")) == ("tutor-progress", 1)
    assert TypeAdapter(Figures).validate_python(data) == found
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == schema()
