"""The local day that a review belongs to.

A day begins at the rollover hour of the wall clock (4 in the morning, say), so that an answer after midnight still
counts for the evening. The day and the hour are stored with each review and never worked out again: neither travel
nor another rollover hour changes what has been.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

MAX_ROLLOVER_H = 12


def local_day(at: datetime, rollover_h: int) -> date:
    """The day of a moment, by the wall clock where it happened.

    Args:
        at: the moment; must carry its offset from UTC.
        rollover_h: the hour of the wall clock at which a day begins, 0 to 12.

    Raises:
        ValueError: `at` has no offset, or the hour is out of range.
    """
    if at.utcoffset() is None:
        raise ValueError("a moment without its offset from UTC has no local day")
    if not 0 <= rollover_h <= MAX_ROLLOVER_H:
        raise ValueError(f"the day begins between 0 and {MAX_ROLLOVER_H} o'clock, not at {rollover_h}")
    return (at.replace(tzinfo=None) - timedelta(hours=rollover_h)).date()


def next_rollover(now: datetime, rollover_h: int) -> datetime:
    """When the local day of `now` ends, on the same wall clock: what a screen left open waits for."""
    tomorrow = local_day(now, rollover_h) + timedelta(days=1)
    return datetime.combine(tomorrow, time(rollover_h), tzinfo=now.tzinfo)


def not_before(now: datetime, last: datetime | None) -> tuple[datetime, bool]:
    """The moment at which something new is recorded, and whether the clock had moved back.

    Records of one item are strictly ordered: one that would come at or before the last is put just after it.
    """
    if last is None or now > last:
        return now, False
    after = (last + timedelta(microseconds=1)).astimezone(now.tzinfo)
    return after, last - now > timedelta(seconds=1)
