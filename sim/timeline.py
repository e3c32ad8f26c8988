"""Where each request spent its time, as rows of segments and as plain text bars."""

from __future__ import annotations

from typing import Literal, NamedTuple

from sim.records import RequestRecord
from sim.result import Result
from sim.ticks import to_seconds

SegmentKind = Literal["preprocess", "queue", "prefill", "decode"]

# Distinguishable without colour and by their order, which is always this one.
GLYPHS: dict[SegmentKind, str] = {"preprocess": "p", "queue": "·", "prefill": "█", "decode": "="}


class Segment(NamedTuple):
    """One stretch of a request's life, in seconds from the start of the simulation."""

    kind: SegmentKind
    start_s: float
    end_s: float


class TimelineRow(NamedTuple):
    """One request; a request that was rejected or cancelled early has fewer segments."""

    label: str
    class_name: str
    segments: tuple[Segment, ...]


def timeline(result: Result) -> tuple[TimelineRow, ...]:
    """One row a request, in order of arrival. What is unfinished is drawn to where it was cut off."""
    return timeline_rows(result, result.counts.submitted)


def timeline_rows(result: Result, most: int) -> tuple[TimelineRow, ...]:
    """The first `most` rows of it."""
    count = min(most, result.counts.submitted)
    records = [result.request(number) for number in range(count)]
    end = (records[0].arrival_ticks if records else 0) + result.duration_ticks
    return tuple(TimelineRow(record.label, record.class_name, _segments(record, end)) for record in records)


def _segments(record: RequestRecord, end_of_run: int) -> tuple[Segment, ...]:
    end = end_of_run if record.ended_ticks is None else record.ended_ticks
    # Each stage begins at its moment and lasts to the next one; a stage that never began has None.
    moments: list[tuple[SegmentKind, int | None]] = [
        ("preprocess", record.arrival_ticks),
        ("queue", record.queued_ticks),
        ("prefill", record.scheduled_ticks),
        ("decode", record.first_token_ticks),
    ]
    segments = []
    for index, (kind, begin) in enumerate(moments):
        if begin is None:
            break
        following = moments[index + 1][1] if index + 1 < len(moments) else None
        stop = end if following is None else following
        if stop > begin:
            segments.append(Segment(kind, to_seconds(begin), to_seconds(stop)))
    return tuple(segments)


def render_text(rows: tuple[TimelineRow, ...], width: int, max_rows: int = 40) -> list[str]:
    """Lines of at most `width` characters: one bar a request, a time axis in ms and a legend.

    Every segment gets at least one cell where the width allows; beyond `max_rows` requests the rest is
    only counted.
    """
    shown = [row for row in rows[:max_rows] if row.segments]
    if not shown:
        return ["no request to show"]
    names = min(max(len(row.label) for row in shown), max(8, width // 4))
    cells = max(10, width - names - 1)
    start = min(row.segments[0].start_s for row in shown)
    end = max(row.segments[-1].end_s for row in shown)
    span = max(end - start, 1e-12)

    def column(time_s: float) -> int:
        return round((time_s - start) / span * cells)

    lines = []
    for row in shown:
        bar = [" "] * cells
        reached = 0
        for segment in row.segments:
            first = min(max(column(segment.start_s), reached), cells - 1)
            reached = min(max(column(segment.end_s), first + 1), cells)
            bar[first:reached] = GLYPHS[segment.kind] * (reached - first)
        label = row.label if len(row.label) <= names else row.label[: names - 1] + "…"
        lines.append(f"{label:<{names}} {''.join(bar)}".rstrip())
    left, right = f"{start * 1000:,.0f} ms", f"{end * 1000:,.0f} ms"
    lines.append(f"{'':<{names}} {left}{right:>{max(1, cells - len(left))}}")
    if len(rows) > max_rows:
        lines.append(f"{len(rows) - max_rows:,} more requests are not drawn")
    legend = "  ".join(f"{glyph} {kind}" for kind, glyph in GLYPHS.items())
    lines.append(legend[:width])
    return lines
