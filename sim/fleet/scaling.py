"""The autoscaler: looks at one figure now and then, and starts or drains replicas."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from sim.fleet.clock import Rank
from sim.fleet.lives import Life
from sim.fleet.node import Node, State
from sim.fleet.spec import Autoscaling
from sim.log import COMPLETED
from sim.ticks import to_ticks
from sim.traffic import Slo

if TYPE_CHECKING:
    from sim.fleet.driver import Driver


class _Limits:
    """One class's limits in ticks; None where there is none."""

    def __init__(self, slo: Slo, transport: int) -> None:
        self.transport = transport
        self.ttft, self.tpot, self.e2e = (
            None if limit is None else to_ticks(limit) for limit in (slo.ttft_s, slo.tpot_s, slo.e2e_s)
        )
        self.any = (self.ttft, self.tpot, self.e2e) != (None, None, None)

    def kept_by(self, life: Life) -> bool:
        """Whether a request that is over kept its limits for first token, time per token and whole answer."""
        seq = life.served
        if life.status != COMPLETED or seq is None or seq.first_token is None or seq.last_token is None:
            return False
        spent = seq.last_token - seq.first_token
        return (
            (self.ttft is None or seq.first_token + self.transport - life.arrival <= self.ttft)
            and (self.tpot is None or spent <= self.tpot * (life.output_tokens - 1))
            and (self.e2e is None or life.ended - life.arrival <= self.e2e)
        )


class Autoscaler:
    """Keeps the number of replicas of one pool near what its figure asks for."""

    def __init__(self, driver: Driver, spec: Autoscaling) -> None:
        self._driver = driver
        self._spec = spec
        self._pool = driver.pools.main
        self._target = Fraction(repr(spec.target))
        self._every = to_ticks(spec.evaluate_every_s)
        self._limits = [_Limits(item.slo, to_ticks(item.transport_s)) for item in driver.scenario.classes]
        self._ended = self._kept = 0
        self._blocked_until = 0
        self._fewer_since: int | None = None

    def begin(self) -> None:
        """Look for the first time after one interval."""
        self._driver.clock.after(self._every, Rank.WORLD, self._look)

    def note(self, life: Life) -> None:
        """A request is over."""
        limits = self._limits[life.class_index]
        if limits.any:
            self._ended += 1
            self._kept += limits.kept_by(life)

    def _look(self) -> None:
        if not self._driver.busy:
            return
        self.begin()
        present = [node for node in self._pool.nodes if node.state in (State.READY, State.STARTING)]
        wanted = max(self._spec.min, min(self._spec.max, self._wanted(present)))
        self._ended = self._kept = 0
        now = self._driver.clock.now
        if wanted >= len(present):
            self._fewer_since = None
        elif self._fewer_since is None:
            self._fewer_since = now
        if now >= self._blocked_until:
            self._follow(wanted, present, now)
        self._driver.machines.round_off()

    def _follow(self, wanted: int, present: list[Node], now: int) -> None:
        if wanted > len(present):
            self._grow(wanted - len(present))
        elif wanted < len(present):
            since = now if self._fewer_since is None else self._fewer_since
            if now - since < to_ticks(self._spec.scale_in_wait_s):
                return
            self._shrink(len(present) - wanted, present)
        else:
            return
        self._blocked_until = now + to_ticks(self._spec.cooldown_s)

    def _wanted(self, present: list[Node]) -> int:
        ready = [node for node in present if node.state is State.READY]
        kind = self._spec.signal
        if kind == "queue":
            return ceil(self._driver.pools.waiting() / self._target)
        if kind == "kv":
            return ceil(sum(Fraction(self._driver.machines.kv_usage(node)) for node in ready) / self._target)
        if self._kept < self._target * self._ended:
            return len(present) + 1
        inside = sum(len(node.inside) for node in ready)
        seats = sum(node.server.max_seqs for node in ready[:-1])
        return len(present) - (self._kept == self._ended and inside <= seats)

    def _grow(self, count: int) -> None:
        driver = self._driver
        draining = [node for node in self._pool.nodes if node.state is State.DRAINING]
        for node in draining[:count]:
            driver.pools.make_ready(node)
        off = [node for node in self._pool.nodes if node.state is State.OFF]
        for node in off[: max(0, count - len(draining))]:
            driver.pools.start(node, to_ticks(self._spec.delay_s))

    def _shrink(self, count: int, present: list[Node]) -> None:
        """Those that are not ready yet go first, then the newest."""
        starting = [node for node in present if node.state is State.STARTING]
        ready = [node for node in present if node.state is State.READY]
        for node in (starting + ready[::-1])[:count]:
            if node.state is State.STARTING:
                self._driver.pools.retire(node)
            else:
                self._driver.pools.drain(node)
