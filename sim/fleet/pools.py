"""Which nodes do what, which take requests, and how they come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.arrivals import stream
from sim.fleet.clock import Rank
from sim.fleet.node import Node, State
from sim.fleet.routing import Router
from sim.replica import Sequence
from sim.ticks import to_ticks

if TYPE_CHECKING:
    from sim.fleet.driver import Driver
    from sim.fleet.lives import Life


class Pool:
    """Nodes that do the same work, their router, and requests for which none was ready."""

    def __init__(self, driver: Driver, nodes: list[Node], use: str) -> None:
        scenario = driver.scenario
        self.nodes = nodes
        self.router = Router(scenario.fleet.routing, nodes, stream(scenario.seed, "", use), driver.machines.kv_usage)
        self.held: dict[Sequence, Life] = {}

    def release(self) -> list[tuple[Sequence, Life]]:
        """Let go what was held and is still wanted, in the order of coming."""
        held, self.held = self.held, {}
        return [(seq, life) for seq, life in held.items() if life.seq is seq]


class Pools:
    """The pool that gets the requests; with split pools it only reads prompts, and another one decodes."""

    def __init__(self, driver: Driver) -> None:
        fleet = driver.scenario.fleet
        nodes = driver.machines.nodes
        split = fleet.disaggregated
        readers = split.prefill_replicas if split else len(nodes)
        self._driver = driver
        self._cold_start = to_ticks(fleet.cold_start_s)
        self._scales = fleet.autoscaling is not None
        self.main = Pool(driver, nodes[:readers], "routing")
        self.decoders = Pool(driver, nodes[readers:], "routing/decode") if split else self.main
        self._all = [self.main, self.decoders] if split else [self.main]

    def waiting(self) -> int:
        """Requests in all queues beyond the open seats, and those held because no replica is ready."""
        held = sum(life.seq is seq for pool in self._all for seq, life in pool.held.items())
        nodes = self._driver.machines.nodes
        return held + sum(node.queued for node in nodes if node.state in (State.READY, State.DRAINING))

    def start(self, node: Node, delay: int) -> None:
        """Start a replica: ready after `delay` and the cold start."""
        node.starts += 1
        node.enter(State.STARTING)
        start = node.starts
        self._driver.clock.after(delay + self._cold_start, Rank.WORLD, lambda: self._started(node, start))

    def _started(self, node: Node, start: int) -> None:
        if node.starts == start and node.state is State.STARTING:
            node.renew()
            self.make_ready(node)
            self._driver.machines.round_off()

    def make_ready(self, node: Node) -> None:
        """A node takes requests from now on, first those that were held."""
        node.enter(State.READY)
        self.refresh()
        for pool in self._all:
            if pool.router.ready:
                for seq, life in pool.release():
                    self._driver.place_in(pool, life, seq)
        self._driver.send_read()

    def drain(self, node: Node) -> None:
        """A node takes nothing new and goes when it is empty."""
        node.enter(State.DRAINING)
        self.refresh()
        self._driver.machines.mark(node)

    def retire(self, node: Node) -> None:
        """A node's replica is switched off."""
        node.enter(State.OFF)
        node.renew()
        self.refresh()

    def has_hope(self, pool: Pool) -> bool:
        """Whether a node of the pool takes requests, now or later."""
        hopeful = (State.READY, State.STARTING, State.LOST)
        return self._scales or any(node.state in hopeful for node in pool.nodes)

    def give_up_hope(self) -> None:
        """Fail what is held for pools in which no node will ever be ready."""
        for pool in self._all:
            if not self.has_hope(pool):
                for _, life in pool.release():
                    self._driver.fail(life)

    def refresh(self) -> None:
        """Nodes came or went: tell the routers."""
        for pool in self._all:
            pool.router.refresh_ready()
