"""Simulated time on SimPy: calls at a later tick, in a fixed order among those at the same tick.

What happens at one instant happens in the order of `Rank`: a request that arrives just as a step ends can be
in the next one, a token that comes exactly at the deadline is in time, and steps are planned last of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simpy
from simpy.core import StopSimulation
from simpy.events import EventPriority

Callbacks = list[Callable[[Any], None]]


class Rank:
    """Order of calls at one instant; SimPy processes the smaller number first."""

    RUN_END = EventPriority(1)
    WORLD = EventPriority(2)
    """Faults, recoveries, scaling, transfers."""
    ARRIVAL = EventPriority(3)
    CLIENT = EventPriority(4)
    HORIZON = EventPriority(5)
    PLANNING = EventPriority(6)


class _Call(simpy.Event):
    """An event that is due from the start: no process waits for it, its callbacks are all it does."""

    def __init__(self, env: simpy.Environment, delay: int, rank: EventPriority, callbacks: Callbacks) -> None:
        # Like simpy.Timeout, which knows no ranks, it sets its fields itself: this runs several times a request.
        self.env = env
        self.callbacks = callbacks
        self._ok = True
        self._value = None
        env.schedule(self, rank, delay)


class Clock:
    """The SimPy environment, with whole ticks as its time."""

    def __init__(self) -> None:
        self._env = simpy.Environment()

    @property
    def now(self) -> int:
        """The present instant, ticks."""
        return int(self._env.now)

    @property
    def last_of_instant(self) -> bool:
        """Whether nothing else is left to happen at this instant."""
        return self._env.peek() > self._env.now

    def after(self, delay: int, rank: EventPriority, action: Callable[[], None]) -> None:
        """Call `action` in `delay` ticks."""
        _Call(self._env, delay, rank, [lambda _: action()])

    def schedule(self, delay: int, rank: EventPriority, callbacks: Callbacks) -> None:
        """Call each of `callbacks` with the event in `delay` ticks. The list is only read, so it may be shared."""
        _Call(self._env, delay, rank, callbacks)

    def run(self) -> None:
        """Let everything happen until nothing is left, or `halt` is called."""
        self._env.run()

    @staticmethod
    def halt() -> None:
        """End `run`; to be called from within a call."""
        raise StopSimulation(None)
