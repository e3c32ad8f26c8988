"""From the cells of a file to the columns of a trace: numbers, broken rows, order, and coarse clocks."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Literal

from sim.errors import ScenarioError
from sim.fields import MAX_LENGTH_TOKENS, MAX_REQUESTS
from sim.ticks import TICKS_PER_S
from sim.traces.prefixes import Prefix, shared_prefixes, without_private_parts
from sim.traces.trace import LATEST_TICKS, Trace

OnError = Literal["refuse", "skip"]
Unit = Literal["s", "ms", "us", "ns", "clock"]
"""How a time is written; `clock` is a date and a time of day."""

_TICKS: dict[str, int] = {"s": TICKS_PER_S, "ms": TICKS_PER_S // 10**3, "us": TICKS_PER_S // 10**6, "ns": 1000}
_CLOCK = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,12})? ?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_NAMED_BROKEN = 3
_MOST_TICKS = 10**24
"""Bounds what is computed with before the span is checked: more than 30,000 years."""


class BrokenRow(Exception):
    """A row that cannot be used; the text says why."""


def shown(value: object) -> str:
    """A cell as it appears in a message: short, on one line."""
    text = repr(str(value) if isinstance(value, Decimal) else value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def decimal(value: object, name: str) -> Decimal:
    """A finite number. Raises BrokenRow."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
            raise InvalidOperation
        number = Decimal(value.strip() if isinstance(value, str) else value)
    except (InvalidOperation, ValueError):
        raise BrokenRow(f"{name} must be a number, not {shown(value)}") from None
    if not number.is_finite() or number.adjusted() > 24:
        raise BrokenRow(f"{name} must be a number within reason, not {shown(value)}")
    return number


def tokens(value: object, name: str) -> int:
    """A count of tokens, at least 1. Raises BrokenRow."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        count = int(value)
    elif type(value) is int:
        count = value
    else:
        number = decimal(value, name)
        if number != number.to_integral_value():
            raise BrokenRow(f"{name} must be a whole number, not {shown(value)}")
        count = int(number)
    if not 1 <= count <= MAX_LENGTH_TOKENS:
        raise BrokenRow(f"{name} must be from 1 to {MAX_LENGTH_TOKENS:,}, not {shown(value)}")
    return count


def ticks(value: object, unit: Unit, name: str) -> int:
    """A moment in ticks, from whatever origin the file has. Raises BrokenRow."""
    if unit == "clock":
        return _clock(value, name)
    time = round(decimal(value, name) * _TICKS[unit])
    if abs(time) > _MOST_TICKS:
        raise BrokenRow(f"{name} must be a time within reason, not {shown(value)}")
    return time


def _clock(value: object, name: str) -> int:
    match = _CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise BrokenRow(f"{name} must be a date and time such as 2023-11-16 18:15:46.68, not {shown(value)}")
    day, time, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{time}{(zone or 'Z').replace('Z', '+00:00')}")
    except ValueError:
        raise BrokenRow(f"{name} is no date and time: {shown(value)}") from None
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    whole = since.days * 86_400 + since.seconds
    return whole * TICKS_PER_S + (int(fraction[1:].ljust(12, "0")) if fraction else 0)


def block_numbers(value: object, name: str, most: int) -> list[int]:
    """Ids of prompt blocks. Raises BrokenRow."""
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise BrokenRow(f"{name} must be a list of whole numbers, not {shown(value)}")
    if len(value) > most:
        raise BrokenRow(f"{name} names {len(value):,} blocks, but the prompt has {most:,}")
    return value


def prefix_parts(value: object, name: str, prompt_tokens: int) -> Prefix:
    """A prefix written as a list of [label, tokens]. Raises BrokenRow."""
    if not isinstance(value, list):
        raise BrokenRow(f"{name} must be a list of [label, tokens], not {shown(value)}")
    parts = []
    for part in value:
        if not isinstance(part, list) or len(part) != 2 or not isinstance(part[0], str) or len(part[0]) > 200:
            raise BrokenRow(f"{name} must be a list of [label, tokens], not {shown(value)}")
        parts.append((part[0], tokens(part[1], name)))
    total = sum(length for _, length in parts)
    if total > prompt_tokens:
        raise BrokenRow(f"{name} has {total:,} tokens, more than the prompt's {prompt_tokens:,}")
    return tuple(parts)


class Rows:
    """Collects the rows of one file. `place` is what a row is called in messages: line or entry."""

    def __init__(self, source: str, on_error: OnError, limit: int | None) -> None:
        self.source = source
        self.notes: list[str] = []
        self._on_error = on_error
        self._limit = limit
        self.place = "line"
        self._broken: list[str] = []
        self._broken_count = 0
        self._times: list[int] = []
        self._prompts: list[int] = []
        self._outputs: list[int] = []
        self._blocks: list[Sequence[int]] = []
        self._prefixes: list[Prefix] = []

    @property
    def full(self) -> bool:
        """Whether as many rows are there as were asked for."""
        return self._limit is not None and len(self._times) >= self._limit

    def add(
        self,
        time: int,
        prompt_tokens: int,
        output_tokens: int,
        *,
        blocks: Sequence[int] | None = None,
        prefix: Prefix = (),
    ) -> None:
        """Keep a row. Raises ScenarioError when there are too many."""
        if len(self._times) >= MAX_REQUESTS:
            raise ScenarioError(f"{self.source}: more than {MAX_REQUESTS:,} requests; set a limit")
        self._times.append(time)
        self._prompts.append(prompt_tokens)
        self._outputs.append(output_tokens)
        if blocks is not None:
            self._blocks.append(blocks)
        self._prefixes.append(prefix)

    def broken(self, number: int, reason: str) -> None:
        """Leave a row out and count it, or raise ScenarioError, as the caller of the reader chose."""
        where = f"{self.place} {number:,}"
        if self._on_error == "refuse":
            raise ScenarioError(
                f"{self.source}, {where}: {reason}; repair the file, or leave broken rows out "
                "(on_error: skip, on the command line --skip-broken)"
            )
        self._broken_count += 1
        if len(self._broken) < _NAMED_BROKEN:
            self._broken.append(f"{where} ({reason})")

    def trace(self, block_tokens: int, coarse_clock: bool) -> Trace:
        """All rows as a trace: in order, from 0, with shared prefixes. Raises ScenarioError if there are none."""
        if not self._times:
            left_out = f": all {self._broken_count:,} rows are broken, {self._broken[0]}" if self._broken else ""
            raise ScenarioError(f"{self.source}: holds no request that can be used{left_out}; check the format")
        if self._broken:
            more = ", …" if self._broken_count > len(self._broken) else ""
            total = self._broken_count + len(self._times)
            self.notes.append(
                f"{self._broken_count:,} of {total:,} rows left out as broken: {', '.join(self._broken)}{more}"
            )
        if coarse_clock:
            self._spread()
        earliest = min(self._times)
        if max(self._times) - earliest > LATEST_TICKS:
            raise ScenarioError(
                f"{self.source}: the requests span more than {LATEST_TICKS // TICKS_PER_S:,} s; "
                "check the unit of time, or set a limit"
            )
        order: Sequence[int] = range(len(self._times))
        falls = sum(later < earlier for earlier, later in pairwise(self._times))
        if falls:
            order = sorted(order, key=self._times.__getitem__)
            self.notes.append(f"rows sorted by time: {falls:,} came earlier than the row before")
        times, prompts = self._times, [self._prompts[i] for i in order]
        if self._blocks:
            blocks = [self._blocks[i] for i in order]
            prefixes: Sequence[Prefix] = shared_prefixes(blocks, prompts, block_tokens, self.source)
        else:
            prefixes = without_private_parts([self._prefixes[i] for i in order])
        return Trace(
            times=tuple(times[i] - earliest for i in order),
            prompt_tokens=tuple(prompts),
            output_tokens=tuple(self._outputs[i] for i in order),
            prefixes=prefixes,
            notes=tuple(self.notes),
            source=self.source,
        )

    def _spread(self) -> None:
        """Move requests that a coarse clock has put on one instant to random places inside its step.

        Given their number in a step, arrivals of a Poisson process are independent and uniform in it.
        """
        quantum = clock_step(self._times)
        if quantum is None:
            return
        first = min(self._times)
        steps: dict[int, list[int]] = {}
        for row, time in enumerate(self._times):
            steps.setdefault((time - first + quantum // 2) // quantum, []).append(row)
        for step, rows in steps.items():
            rng = random.Random(f"spread/{step}")
            for row, place in zip(rows, sorted(rng.randrange(quantum) for _ in rows), strict=True):
                self._times[row] = first + step * quantum + place
        self.notes.append(
            f"the recorded clock moves in steps of {quantum / TICKS_PER_S:g} s ({len(steps):,} different times for "
            f"{len(self._times):,} requests): each request was moved to a random place inside its step, "
            "the same on every reading"
        )


def clock_step(times: Sequence[int]) -> int | None:
    """The step of a coarse clock, in ticks; None for a clock that is fine enough.

    Coarse: many requests share their instants, and the instants lie, to a millisecond, on multiples of a step
    from 1 s to 10 s.
    """
    different = sorted(set(times))
    if len(different) < 5 or len(times) < 1.2 * len(different):
        return None
    gaps = sorted(later - earlier for earlier, later in pairwise(different))
    slack = TICKS_PER_S // 500  # a millisecond here and one at the first of them
    usual = round(gaps[len(gaps) // 2] / (10 * slack)) * 10 * slack
    # The usual gap when most steps are busy; a second when they are few, if any two follow each other.
    for step in (usual, TICKS_PER_S):
        if not TICKS_PER_S <= step <= 10 * TICKS_PER_S or gaps[0] > step + slack:
            continue
        off = sum(min(rest, step - rest) > slack for rest in ((time - different[0]) % step for time in different))
        if off <= len(different) // 100:
            return step
    return None
