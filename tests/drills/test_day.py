"""Local days: the rollover hour, zones, the two nights a year when the clock is put, travel, and clocks put back."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.drills.conftest import Answer, Clock, name
from tutor.drills import Drills, events
from tutor.drills.day import local_day, next_rollover, not_before

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Chatham",
    "America/Sao_Paulo",
]
DATES = {
    "winter": date(2026, 1, 15),
    "summer": date(2026, 7, 15),
    "clock forward in Europe": date(2026, 3, 29),
    "clock back in Europe": date(2026, 10, 25),
    "clock forward in the United States": date(2026, 3, 8),
    "clock back in the United States": date(2026, 11, 1),
    "leap day": date(2028, 2, 29),
    "new year": date(2027, 1, 1),
}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("day", DATES.values(), ids=DATES)
def test_a_minute_before_four_is_yesterday_and_a_minute_after_is_today(zone: str, day: date) -> None:
    place = ZoneInfo(zone)
    before = datetime(day.year, day.month, day.day, 3, 59, tzinfo=place)
    after = datetime(day.year, day.month, day.day, 4, 1, tzinfo=place)
    assert local_day(before, 4) == day - timedelta(days=1)
    assert local_day(after, 4) == day
    # The stored form keeps the offset but not the zone, and says the same.
    assert local_day(datetime.fromisoformat(before.isoformat()), 4) == day - timedelta(days=1)
    assert local_day(datetime.fromisoformat(after.isoformat()), 4) == day


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("day", DATES.values(), ids=DATES)
def test_the_rollover_is_the_first_moment_of_the_next_day(zone: str, day: date) -> None:
    now = datetime(day.year, day.month, day.day, 21, 30, tzinfo=ZoneInfo(zone))
    turn = next_rollover(now, 4)
    assert local_day(turn, 4) == day + timedelta(days=1)
    just_before = (turn.astimezone(UTC) - timedelta(seconds=1)).astimezone(turn.tzinfo)
    assert local_day(just_before, 4) == day


def test_midnight_can_be_the_rollover_too() -> None:
    assert local_day(datetime(2026, 5, 5, 23, 59, tzinfo=UTC), 0) == date(2026, 5, 5)
    assert local_day(datetime(2026, 5, 6, 0, 0, tzinfo=UTC), 0) == date(2026, 5, 6)


def test_a_moment_without_offset_and_an_hour_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="offset"):
        local_day(datetime(2026, 5, 5, 9, 0), 4)  # noqa: DTZ001
    with pytest.raises(ValueError, match="13"):
        local_day(datetime(2026, 5, 5, 9, 0, tzinfo=UTC), 13)


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001
    st.integers(-720, 840),
    st.integers(0, 12),
)
def test_the_next_rollover_is_ahead_by_at_most_a_day(wall: datetime, offset_minutes: int, hour: int) -> None:
    now = wall.replace(tzinfo=timezone(timedelta(minutes=offset_minutes)))
    assert timedelta(0) < next_rollover(now, hour) - now <= timedelta(days=1)


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001
    st.timedeltas(timedelta(-400), timedelta(400)),
)
def test_what_is_recorded_is_always_after_the_last(wall: datetime, step: timedelta) -> None:
    last = wall.replace(tzinfo=UTC)
    at, behind = not_before(last + step, last)
    assert at > last
    assert behind == (step < timedelta(seconds=-1))


def reviewed(drills: Drills, item_id: str) -> list[tuple[str, str]]:
    return [
        (event.payload["day"], event.at.isoformat())
        for event in drills.store.events(f"drill:{item_id}", events.Reviewed.kind)
    ]


def test_travel_leaves_history_unchanged_and_a_repeated_day_counts_once(
    drills: Drills, clock: Clock, answer: Answer
) -> None:
    tokyo, los_angeles = ZoneInfo("Asia/Tokyo"), ZoneInfo("America/Los_Angeles")
    clock.now = datetime(2026, 3, 2, 9, 0, tzinfo=tokyo)
    first = answer(name(0), 3)
    assert (first.due_day, first.counts) == (date(2026, 3, 4), True)
    before = reviewed(drills, name(0))
    # Eleven hours later and seventeen hours back: it is 2 March, 3 in the morning, which is still 1 March there.
    clock.now = (clock.now + timedelta(hours=11)).astimezone(los_angeles)
    assert drills.today(clock()) == date(2026, 3, 1)
    again = answer(name(0), 3)
    assert not again.counts
    assert again.due_day == date(2026, 3, 4)
    assert reviewed(drills, name(0))[:1] == before
    assert before == [("2026-03-02", "2026-03-02T09:00:00+09:00")]
    assert drills.cache.differences() == []


def test_another_rollover_hour_leaves_history_unchanged(drills: Drills, clock: Clock, answer: Answer) -> None:
    clock.now = datetime(2026, 3, 3, 3, 0, tzinfo=UTC)
    answer(name(0), 3)
    state = drills.card(name(0)).state
    assert state.last_day == date(2026, 3, 2)
    plan = drills.cache.settings.base
    drills.set_plan(plan.model_copy(update={"rollover_h": 0}), clock.forward(minutes=1))
    assert drills.today(clock()) == date(2026, 3, 3)
    drills.cache.rebuild()
    assert drills.card(name(0)).state == state


def test_an_hour_over_the_rollover_is_a_new_day_for_memory(drills: Drills, clock: Clock, answer: Answer) -> None:
    # 23 hours apart on two local days: a day has passed, whatever 24 hours would say.
    answer(name(0), 3)
    clock.forward(hours=23)
    clock.now = clock.now.replace(hour=8)
    assert answer(name(0), 3).counts
    assert drills.card(name(0)).state.reviews == 2


def test_a_clock_put_back_moves_nothing_into_the_past(drills: Drills, clock: Clock, answer: Answer) -> None:
    answer(name(0), 3)
    at = clock.now
    assert drills.clock_warning(clock()) is None
    clock.now = at - timedelta(days=30)
    warning = drills.clock_warning(clock())
    assert warning is not None
    assert "2026-01-31 09:00" in warning
    assert "2026-03-02 09:00" in warning
    late = answer(name(0), 1)
    assert late.recorded.review.clock_behind
    assert late.recorded.review.day == date(2026, 3, 2)
    assert late.recorded.at > at
    assert not late.counts
    assert late.due_day == date(2026, 3, 4)
    # Other items are not held up by it.
    other = answer(name(1), 3)
    assert not other.recorded.review.clock_behind
    assert other.due_day == date(2026, 2, 2)
