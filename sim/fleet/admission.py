"""What is turned away: by the front end, by a replica's full queue, by a deadline."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sim.fleet.clock import Rank
from sim.fleet.node import Node
from sim.fleet.spec import Admission
from sim.replica import Sequence
from sim.ticks import TICKS_PER_S, to_ticks

if TYPE_CHECKING:
    from sim.fleet.driver import Driver
    from sim.fleet.lives import Life

_RECENT = 16
"""Completions over which a replica's recent rate is taken."""


class Gate:
    """Admission control of a fleet."""

    def __init__(self, driver: Driver, admission: Admission) -> None:
        self._driver = driver
        self._queue_limit = admission.queue_limit
        deadline = None if admission.deadline_s is None else to_ticks(admission.deadline_s)
        self._estimated = deadline if admission.shed == "estimated" else None
        self._elapsed = deadline if admission.shed == "elapsed" else None
        # The token bucket as its virtual schedule: the next request is due at `_due`, and may come this early.
        rate = admission.rate_per_s
        self._period = None if rate is None else round(TICKS_PER_S / Fraction(repr(rate)))
        self._early = (self._period or 0) * (admission.burst - 1)
        self._due = 0

    def admits(self) -> bool:
        """Whether the front end lets a request in."""
        if self._queue_limit is not None and self._driver.pools.waiting() >= self._queue_limit:
            return False
        if self._period is None:
            return True
        now = self._driver.clock.now
        if self._due - self._early > now:
            return False
        self._due = max(self._due, now) + self._period
        return True

    def fits(self, node: Node) -> bool:
        """Whether a replica's queue has room, and moves fast enough for the deadline."""
        limit = node.server.queue_limit
        if limit is not None and node.replica.waiting - node.open_seats >= limit:
            return False
        if self._estimated is None or len(node.completions) < 2:
            return True
        done = node.completions
        return node.queued * (done[-1] - done[0]) <= self._estimated * (len(done) - 1)

    def note_completions(self, node: Node, count: int) -> None:
        """Some requests were completed on a replica now."""
        if self._estimated is not None:
            node.completions += [self._driver.clock.now] * count
            del node.completions[:-_RECENT]

    def watch(self, life: Life, seq: Sequence) -> None:
        """Throw a sequence out of its queue when it has waited too long there."""
        if self._elapsed is not None:
            self._driver.clock.after(self._elapsed, Rank.CLIENT, lambda: self._too_long(life, seq))

    def _too_long(self, life: Life, seq: Sequence) -> None:
        driver = self._driver
        node = driver.node_of(life)
        if node is None or life.seq is not seq:
            return
        node.replica.look(seq)
        if seq.scheduled is None:
            driver.abort(node, seq)
            driver.refuse(life)
            driver.machines.round_off()
