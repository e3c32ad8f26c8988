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


class Rank:
    """Order of calls at one instant; SimPy processes the smaller number first."""

    RUN_END = EventPriority(1)
    WORLD = EventPriority(2)
    """Faults, recoveries, scaling, transfers."""
    ARRIVAL = EventPriority(3)
    CLIENT = EventPriority(4)
    HORIZON = EventPriority(5)
    PLANNING = EventPriority(6)


Callbacks = list[Callable[[Any], None]]


class _Call(simpy.Event):
    """An event that is due from the start: no process waits for it, its callbacks are all it does.

    Its clock uses it again once it has happened.
    """

    at: int

    def __init__(self, env: simpy.Environment) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None


class Clock:
    """The SimPy environment, with whole ticks as its time."""

    def __init__(self) -> None:
        self._env = simpy.Environment()
        self._peek = self._env.peek
        self._happened: list[_Call] = []
        self.now = 0
        """The present instant, ticks. Kept beside SimPy's own, which is asked for too often to go through it."""

    def _tick(self, call: _Call) -> None:
        self.now = call.at
        self._happened.append(call)

    @property
    def last_of_instant(self) -> bool:
        """Whether nothing else is left to happen at this instant."""
        return self._peek() > self.now

    def prepared(self, action: Callable[[object], None]) -> Callbacks:
        """`action` in the form that `schedule` takes, any number of times; it is called with something to ignore."""
        return [self._tick, action]

    def schedule(self, at: int, rank: EventPriority, prepared: Callbacks) -> None:
        """Do what `prepared` holds at the tick `at`."""
        call = self._happened.pop() if self._happened else _Call(self._env)
        call.callbacks = prepared
        call.at = at
        self._env.schedule(call, rank, at - self.now)

    def after(self, delay: int, rank: EventPriority, action: Callable[[], None]) -> None:
        """Call `action` in `delay` ticks."""
        self.schedule(self.now + delay, rank, [self._tick, lambda _: action()])

    def run(self) -> None:
        """Let everything happen until nothing is left, or `halt` is called."""
        self._env.run()

    @staticmethod
    def halt() -> None:
        """End `run`; to be called from within a call."""
        raise StopSimulation(None)
