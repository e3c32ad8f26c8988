"""The replicas' clockwork: when their runs begin and end, and what is brought up to date in between."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many

from sim.fleet.clock import Clock, Rank
from sim.fleet.node import Node, State
from sim.log import STATE
from sim.replica import Sequence
from sim.scenario import Scenario
from sim.table import Table

Finished = Callable[[Node, Many[Sequence]], None]


class Machines:
    """All nodes of a fleet. `over` is told what finished whenever a run is over."""

    def __init__(self, scenario: Scenario, clock: Clock, over: Finished, emptied: Callable[[Node], None]) -> None:
        self.states = Table(STATE)
        """Which replica was in which state since when."""
        self.nodes = [Node(scenario, index, self._run_over, clock, self.states) for index in range(scenario.fleet.most)]
        self.last_end = 0
        """When the latest run was over."""
        self._clock = clock
        self._over = over
        self._emptied = emptied
        self._dirty: list[Node] = []
        self._planning = False

    def _run_over(self, node: Node, _: object) -> None:
        clock = self._clock
        now = clock.now
        replica = node.replica
        if replica.end != now:
            return  # this run was cut short or is gone
        node.due = None
        self.last_end = now
        finished = replica.settle(now)
        if finished or node.leaving:
            self._over(node, finished)
        if not self._dirty and clock.last_of_instant:
            self._plan_node(node)
        else:
            self.mark(node)
            self.round_off()

    def touch(self, node: Node) -> None:
        """Something happened to a replica: its run may end earlier now, or one may begin."""
        end = node.replica.end
        if end is None:
            self.mark(node)
        elif end != node.due:
            node.due = end
            self._clock.schedule(end, Rank.RUN_END, node.over)

    def mark(self, node: Node) -> None:
        """Plan the replica's next run before time goes on, if it is free."""
        if not node.dirty:
            node.dirty = True
            self._dirty.append(node)

    def round_off(self) -> None:
        """To be called last in everything that happens: plans at once if the instant is over, else later in it."""
        if self._dirty and not self._planning:
            if self._clock.last_of_instant:
                self._plan()
            else:
                self._planning = True
                self._clock.after(0, Rank.PLANNING, self._plan)

    def _plan(self) -> None:
        self._planning = False
        dirty, self._dirty = self._dirty, []
        for node in dirty:
            node.dirty = False
            self._plan_node(node)

    def _plan_node(self, node: Node) -> None:
        replica = node.replica
        if replica.end is not None:
            return
        if replica.plan(self._clock.now):
            end = replica.end
            assert end is not None
            node.due = end
            self._clock.schedule(end, Rank.RUN_END, node.over)
        elif node.state is State.DRAINING and not node.inside:
            self._emptied(node)

    def catch_up(self, node: Node) -> None:
        """Let a replica's past be settled, so that its sequences and its cache stand as they are now."""
        # A run that is over at this very instant is settled by its own call, which has yet to come.
        if node.replica.end != self._clock.now:
            node.replica.settle(self._clock.now)
            self.touch(node)

    def kv_usage(self, node: Node) -> float:
        """Share of a replica's KV blocks held now."""
        self.catch_up(node)
        return node.replica.kv_usage
