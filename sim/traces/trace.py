"""A recorded trace: who asked when, for how much, and what prompts have in common."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import isfinite

from sim.errors import ScenarioError
from sim.ticks import TICKS_PER_S, to_ticks
from sim.traces.prefixes import Prefix, without_private_parts

LATEST_TICKS = 9 * 10**18
"""Columns hold 64-bit whole numbers of ticks; this leaves room for what happens after the last arrival."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Requests in order of arrival, a column for each of their properties.

    Raises ValueError when the columns do not belong together; the readers see to it that they do.
    """

    times: Sequence[int]
    """Ticks from the first request on, ascending."""
    prompt_tokens: Sequence[int]
    output_tokens: Sequence[int]
    prefixes: Sequence[Prefix]
    """What other requests of the trace share; () where that is nothing."""
    notes: tuple[str, ...] = ()
    """What the reader did to the recorded values: rows left out, times spread, and the like."""
    source: str = ""

    def __post_init__(self) -> None:
        if not len(self.times) == len(self.prompt_tokens) == len(self.output_tokens) == len(self.prefixes):
            raise ValueError("the columns of a trace differ in length")
        if not self.times or self.times[0] != 0:
            raise ValueError("a trace starts with a request at 0")
        if any(later < earlier for earlier, later in pairwise(self.times)):
            raise ValueError("the times of a trace must not fall")

    def __len__(self) -> int:
        return len(self.times)

    @property
    def duration_s(self) -> float:
        """First to last arrival."""
        return self.times[-1] / TICKS_PER_S

    def faster(self, speed: float) -> Trace:
        """The same requests with all gaps divided by `speed`. Raises ScenarioError unless speed is above 0."""
        if not 0 < speed < float("inf"):
            raise ScenarioError(f"{self.source}: the speed must be above 0, not {speed}")
        factor = Fraction(repr(float(speed)))
        above, below = factor.denominator, factor.numerator
        times = tuple(time * above // below for time in self.times)
        if times[-1] > LATEST_TICKS:
            raise ScenarioError(f"{self.source}: at speed {speed:g} the trace outlasts the clock; raise the speed")
        return replace(self, times=times, notes=(*self.notes, f"replayed at {speed:g} times its speed"))

    def first(self, count: int) -> Trace:
        """The first `count` requests, or all when there are fewer."""
        return self._cut(0, max(1, count))

    def between(self, start_s: float, end_s: float) -> Trace:
        """The requests from `start_s` on and before `end_s`, with times from the first of them on.

        Raises ScenarioError when there are none.
        """
        if not (isfinite(start_s) and isfinite(end_s)):
            raise ScenarioError(f"{self.source}: a part runs from one second to another, not {start_s} to {end_s}")
        first, last = (bisect_left(self.times, to_ticks(limit_s)) for limit_s in (start_s, end_s))
        if first >= last:
            raise ScenarioError(
                f"{self.source}: no request arrives from {start_s:g} s to {end_s:g} s; "
                f"the trace is {self.duration_s:,.0f} s long"
            )
        return self._cut(first, last)

    def _cut(self, first: int, last: int) -> Trace:
        return replace(
            self,
            times=tuple(time - self.times[first] for time in self.times[first:last]),
            prompt_tokens=self.prompt_tokens[first:last],
            output_tokens=self.output_tokens[first:last],
            prefixes=without_private_parts(self.prefixes[first:last]),
        )
