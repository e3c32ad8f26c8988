"""Clients: how long they wait, how they leave, when they come back, and users who think between requests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from sim.arrivals import Body, bodies, think_times
from sim.fleet.client import Client, Trouble
from sim.fleet.clock import Rank
from sim.fleet.lives import NOTHING, Life
from sim.log import CANCELLED
from sim.table import NONE
from sim.ticks import to_ticks
from sim.traffic import ClosedLoop

if TYPE_CHECKING:
    from sim.fleet.driver import Driver
    from sim.traffic import TrafficClass


class _Manners:
    """One class's clients, times in ticks."""

    def __init__(self, item: TrafficClass) -> None:
        client: Client = item.client
        self.name = item.name
        self.transport = to_ticks(item.transport_s)
        self.patience = None if item.patience_s is None else to_ticks(item.patience_s)
        self.timeout = None if client.timeout_s is None else to_ticks(client.timeout_s)
        self.cancel_delay = to_ticks(client.cancel_delay_s) if client.cancel_reaches_server else None
        self.retries = client.retries


class Clients:
    """Watches the attempts of all clients."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._manners = [_Manners(item) for item in driver.scenario.classes]

    def watch(self, life: Life) -> None:
        """An attempt was sent: set its deadlines."""
        manners = self._manners[life.class_index]
        sent, clock = life.sent, self._driver.clock
        if manners.patience is not None:
            clock.after(manners.patience, Rank.CLIENT, lambda: self._impatient(life, sent))
        if manners.timeout is not None:
            clock.after(manners.timeout, Rank.CLIENT, lambda: self._timed_out(life, sent))

    def in_time(self, life: Life, first_seen: int, all_seen: int) -> bool:
        """Whether the client is still there when the answer that has just been finished reaches it."""
        manners = self._manners[life.class_index]
        if manners.patience is not None:
            # If that moment is over, it had seen a first token then, of a replica that was lost since.
            until = life.sent + manners.patience
            if self._driver.clock.now <= until < first_seen:
                return False
        return manners.timeout is None or all_seen <= life.sent + manners.timeout

    def _impatient(self, life: Life, sent: int) -> None:
        if life.waits and life.sent == sent:
            # A replica may be many steps further than what was last read of it.
            if self._driver.seen_now(life).first_token == NONE:
                self._leave(life)
            else:
                self._driver.machines.round_off()

    def _timed_out(self, life: Life, sent: int) -> None:
        if life.waits and life.sent == sent:
            self._leave(life)

    def _leave(self, life: Life) -> None:
        driver = self._driver
        driver.see(life)
        node, seq = driver.node_of(life), life.seq
        life.seq = None
        if node is not None and seq is not None:
            delay = self._manners[life.class_index].cancel_delay
            if delay == 0:
                driver.abort(node, seq)
            elif delay is not None:
                driver.clock.after(delay, Rank.CLIENT, lambda: driver.abort_late(node, seq))
        if not self.tries_again(life, "timeout"):
            driver.end(life, CANCELLED)
        driver.machines.round_off()

    def tries_again(self, life: Life, trouble: Trouble) -> bool:
        """Whether the client sends it once more; then it will, after its back-off."""
        manners = self._manners[life.class_index]
        retries = manners.retries
        if life.tries > retries.max or trouble not in retries.after:
            return False
        wait = to_ticks(retries.backoff_s) * Fraction(repr(retries.multiplier)) ** (life.tries - 1)
        if retries.jitter:
            # From the request's own stream, so that it does not depend on what happens to others.
            seed = f"{self._driver.scenario.seed}/{manners.name}/retry/{life.number}/{life.tries}"
            wait *= 1 - Fraction(repr(retries.jitter)) * Fraction(random.Random(seed).random())
        life.sent = NONE
        self._driver.clock.after(round(wait), Rank.ARRIVAL, lambda: self._resend(life))
        return True

    def _resend(self, life: Life) -> None:
        life.tries += 1
        life.attempts += 1
        life.sent = self._driver.clock.now
        life.served = None
        life.seen = NOTHING
        self._driver.send(life)
        self._driver.machines.round_off()


class _Loop:
    """The users of one class."""

    def __init__(self, item: TrafficClass, arrivals: ClosedLoop, seed: int) -> None:
        self.arrivals = arrivals
        self.priority = item.priority
        self.bodies: Iterator[Body] = bodies(item, seed)
        self.thinks = think_times(item, seed)
        self.planned = self.sent = 0


class ClosedLoops:
    """Users who send the next request when the last one is over and they have thought."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        scenario = driver.scenario
        self._loops = {
            index: _Loop(item, item.arrivals, scenario.seed)
            for index, item in enumerate(scenario.classes)
            if isinstance(item.arrivals, ClosedLoop)
        }

    def begin(self) -> None:
        """Every user starts with a think time."""
        for index, loop in self._loops.items():
            for _ in range(loop.arrivals.users):
                self._plan(index, to_ticks(loop.arrivals.start_s))

    def ended(self, life: Life) -> None:
        """A request is over, however it ended: its user thinks about the next one."""
        if life.class_index in self._loops:
            self._plan(life.class_index, life.ended)

    def _plan(self, index: int, free: int) -> None:
        loop = self._loops[index]
        if loop.planned < loop.arrivals.count:
            loop.planned += 1
            clock = self._driver.clock
            clock.after(free + next(loop.thinks) - clock.now, Rank.ARRIVAL, lambda: self._send(index))

    def _send(self, index: int) -> None:
        loop = self._loops[index]
        loop.sent += 1
        body = next(loop.bodies)
        driver = self._driver
        driver.submit(
            driver.clock.now,
            index,
            loop.sent,
            body.prompt_tokens,
            body.output_tokens,
            body.prefix,
            loop.priority,
        )
        driver.machines.round_off()
