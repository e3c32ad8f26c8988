"""Which replica a request goes to."""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence

from sim.arrivals import Prefix
from sim.fleet.node import Node, State
from sim.fleet.spec import Routing
from sim.ticks import to_ticks

_REMEMBERED = 100_000
"""Prefixes whose replica the router remembers; the one not asked for longest is forgotten first."""


class Router:
    """Chooses among the ready nodes of one pool.

    Of equally loaded nodes it takes the one it chose longest ago, so that none stays without requests.
    """

    def __init__(
        self, routing: Routing, nodes: Iterable[Node], rng: random.Random, usage: Callable[[Node], float]
    ) -> None:
        self._kind = routing.kind
        self._imbalance = routing.imbalance
        self._every = to_ticks(routing.signals_every_s)
        self._looked: int | None = None
        self._rng = rng
        self._usage = usage
        self._nodes = list(nodes)
        self._ring = deque(self._nodes)
        self._choices = 0
        self._home: OrderedDict[Prefix, Node] = OrderedDict()
        self.ready: list[Node] = []
        self.refresh_ready()

    def refresh_ready(self) -> None:
        """Take note that nodes came or went."""
        self.ready = [node for node in self._nodes if node.state is State.READY]
        self._looked = None

    def choose(self, prefix: Prefix, now: int) -> Node | None:
        """The node for a request with this prefix; None when none is ready."""
        if not self.ready:
            return None
        node = self._choose(prefix, now)
        self._choices += 1
        node.chosen = self._choices
        return node

    def _choose(self, prefix: Prefix, now: int) -> Node:
        ready, kind = self.ready, self._kind
        if len(ready) == 1:
            return ready[0]
        if kind == "round_robin":
            return self._next_in_turn()
        if kind == "random":
            return ready[self._rng.randrange(len(ready))]
        self._look(now)
        if kind == "power_of_two":
            return self._least(self._rng.sample(ready, 2))
        if kind == "prefix_affinity":
            return self._at_home(prefix)
        return self._least(ready)

    def _next_in_turn(self) -> Node:
        ring = self._ring
        while True:
            node = ring.popleft()
            ring.append(node)
            if node.state is State.READY:
                return node

    def _look(self, now: int) -> None:
        """Bring the figures of the nodes up to date, unless they are recent enough."""
        if self._every and self._looked is not None and now - self._looked < self._every:
            return
        self._looked = now
        measure = self._usage if self._kind == "least_kv" else _outstanding
        for node in self.ready:
            node.load_seen = measure(node)

    def _least(self, nodes: Sequence[Node]) -> Node:
        best = nodes[0]
        for node in nodes:
            if (node.load_seen, node.chosen) < (best.load_seen, best.chosen):
                best = node
        return best

    def _at_home(self, prefix: Prefix) -> Node:
        """Where the longest known part of the prefix was sent last, unless too many others are there."""
        least = self._least(self.ready)
        home = least
        for length in range(len(prefix), 0, -1):
            known = self._home.get(prefix[:length])
            if known is not None and known.state is State.READY:
                if known.load_seen <= least.load_seen + self._imbalance:
                    home = known
                break
        for length in range(1, len(prefix) + 1):
            self._home[prefix[:length]] = home
            self._home.move_to_end(prefix[:length])
        while len(self._home) > _REMEMBERED:
            self._home.popitem(last=False)
        return home


def _outstanding(node: Node) -> float:
    return len(node.inside)
