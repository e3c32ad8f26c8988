"""A trace that chrome://tracing and Perfetto open: replicas, seats, requests and steps on one clock.

The format is Chrome's Trace Event Format. Each replica is a process; its steps are one thread, every seat is
another, and the time in the queue is drawn above them as one asynchronous span a request. Queue, seats and
KV usage are counters.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, TextIO

from sim.log import IN_FLIGHT, KIND_NAMES, STATUS_NAMES
from sim.table import NONE

if TYPE_CHECKING:
    from sim.result import Result

Event = dict[str, Any]

MOST_STEPS = 200_000
"""With more steps than this, a run of decode steps is one slice."""
_FRONT_END = 0
_STEPS = 1
_FIRST_SEAT = 2
_TICKS_PER_US = 10**6


def write_trace(result: Result, file: TextIO) -> None:
    """Write the whole trace, one event a line."""
    about = {"scenario": result.scenario.name, "seed": result.scenario.seed, "partial": result.partial}
    file.write('{"displayTimeUnit": "ms", "otherData": ' + json.dumps(about) + ', "traceEvents": [\n')
    for number, event in enumerate(events(result)):
        file.write((",\n" if number else "") + json.dumps(event, ensure_ascii=False))
    file.write("\n]}\n")


def events(result: Result) -> Iterator[Event]:
    """The events of the trace; times are microseconds."""
    yield _name("process_name", _FRONT_END, 0, "front end")
    whole_runs = result.step_count > MOST_STEPS
    for replica in range(len(result.log.runs)):
        yield _name("process_name", replica + 1, 0, f"replica {replica}")
        yield _name("thread_name", replica + 1, _STEPS, "steps")
        yield from _steps(result, replica, whole_runs)
        yield from _counters(result, replica)
    yield from _requests(result)


def _name(kind: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _us(ticks: int) -> float:
    return ticks / _TICKS_PER_US


def _slice(process: int, thread: int, name: str, start: int, end: int, category: str, **args: object) -> Event:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": process,
        "tid": thread,
        "ts": _us(start),
        "dur": _us(end - start),
        "args": args,
    }


def _steps(result: Result, replica: int, whole_runs: bool) -> Iterator[Event]:
    runs = result.log.runs[replica]
    names = ("start", "steps", "first", "growth", "kind", "prefill_tokens", "decode_seqs", "context_tokens")
    for row in zip(*(runs[name].tolist() for name in names), strict=True):
        start, steps, first, growth, kind, prefill, decode, context = row
        load = {"prefill_tokens": prefill, "decode_seqs": decode, "context_tokens": context}
        if whole_runs and steps > 1:
            end = start + steps * first + growth * (steps * (steps - 1) // 2)
            yield _slice(replica + 1, _STEPS, f"{steps} × {KIND_NAMES[kind]}", start, end, "step", **load, steps=steps)
            continue
        for number in range(steps):
            end = start + first + growth * number
            yield _slice(replica + 1, _STEPS, KIND_NAMES[kind], start, end, "step", **load)
            # Every decode adds a token to what the next step reads.
            load["context_tokens"] += decode
            start = end


def _counters(result: Result, replica: int) -> Iterator[Event]:
    series = result.series[replica]
    columns: list[tuple[str, Literal["waiting", "running", "kv_blocks"], float]] = [
        ("queue", "waiting", 1),
        ("running", "running", 1),
    ]
    if series.capacity_blocks:
        columns.append(("KV usage %", "kv_blocks", 100 / series.capacity_blocks))
    for name, column, scale in columns:
        before = None
        times, values = series.points(column)
        for time, value in zip(times.tolist(), values.tolist(), strict=True):
            if value != before:
                before = value
                args = {name: round(value * scale, 3)}
                yield {"ph": "C", "name": name, "pid": replica + 1, "ts": _us(time), "args": args}


def _requests(result: Result) -> Iterator[Event]:
    lives = result.columns
    names = ("status", "replica", "arrival", "queued", "scheduled", "first_token", "ended", "transport", "class_index")
    tokens = ("number", "prompt_tokens", "output_tokens", "cached_tokens", "preemptions")
    seats: dict[int, _Seats] = {}
    # In the order in which they were seated, so that the first free seat is the right one.
    order = lives["scheduled"].argsort(kind="stable").tolist()
    columns = {name: lives[name].tolist() for name in (*names, *tokens)}
    for row in order:
        life = {name: column[row] for name, column in columns.items()}
        item = result.scenario.classes[life["class_index"]]
        name = f"{item.name} {life['number']}"
        args = {key: life[key] for key in tokens[1:]} | {"status": STATUS_NAMES[life["status"]], "id": row}
        process = _FRONT_END if life["replica"] == NONE else life["replica"] + 1
        end = result.log.end if life["ended"] == NONE else life["ended"]
        queued = life["arrival"] if life["queued"] == NONE else life["queued"]
        if life["scheduled"] == NONE:
            yield from _waited(process, row, name, queued, end, args)
            if life["status"] != IN_FLIGHT:
                yield _instant(process, f"{name} {args['status']}", end, args)
            continue
        yield from _waited(process, row, name, queued, life["scheduled"], args)
        # The seat is free when the server has emitted the last token, before the client sees it.
        left = max(end - (life["transport"] if life["first_token"] != NONE else 0), life["scheduled"])
        taken = seats.setdefault(process, _Seats())
        thread, new = taken.take(life["scheduled"], left)
        if new:
            yield _name("thread_name", process, thread, f"seat {thread - _FIRST_SEAT + 1}")
        yield _slice(process, thread, name, life["scheduled"], left, "request", **args)
        first = left if life["first_token"] == NONE else life["first_token"] - life["transport"]
        yield _slice(process, thread, "prefill", life["scheduled"], first, "stage")
        if first < left:
            yield _slice(process, thread, "decode", first, left, "stage")


def _waited(process: int, row: int, name: str, start: int, end: int, args: dict[str, object]) -> Iterator[Event]:
    common = {"name": f"{name} waits", "cat": "queue", "id": row, "pid": process, "tid": 0}
    yield {**common, "ph": "b", "ts": _us(start), "args": args}
    yield {**common, "ph": "e", "ts": _us(end)}


def _instant(process: int, name: str, time: int, args: dict[str, object]) -> Event:
    return {
        "ph": "i",
        "s": "p",
        "name": name,
        "cat": "request",
        "pid": process,
        "tid": 0,
        "ts": _us(time),
        "args": args,
    }


class _Seats:
    """The lowest free seat for each request, as if seats had numbers."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._busy: list[tuple[int, int]] = []
        self._count = 0

    def take(self, start: int, end: int) -> tuple[int, bool]:
        """The thread to draw on, and whether it is new."""
        while self._busy and self._busy[0][0] <= start:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        new = not self._free
        if new:
            self._count += 1
        thread = self._count + _FIRST_SEAT - 1 if new else heapq.heappop(self._free)
        heapq.heappush(self._busy, (end, thread))
        return thread, new
