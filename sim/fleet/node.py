"""A place in the fleet where a replica stands, is started, drained or lost."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from functools import partial

from sim import log
from sim.cost import CostModel, cost_model
from sim.fleet.clock import Clock
from sim.fleet.lives import Life
from sim.fleet.pace import Paced
from sim.fleet.step_replica import StepReplica
from sim.log import RUN
from sim.replica import Replica, Sequence
from sim.scenario import Scenario
from sim.server import Server
from sim.table import Table


class State(Enum):
    """What a place in the fleet is good for."""

    OFF = log.OFF
    STARTING = log.STARTING
    READY = log.READY
    DRAINING = log.DRAINING
    """Finishes what it has and takes nothing new."""
    LOST = log.LOST
    """Its machine comes back."""


class Node:
    """One place: its replica while there is one, and which requests are on it."""

    def __init__(
        self,
        scenario: Scenario,
        index: int,
        run_over: Callable[[Node, object], None],
        clock: Clock,
        states: Table,
    ) -> None:
        spec = scenario.fleet.replica(index)
        self.index = index
        self.server = spec.server or scenario.server
        self._clock, self._states = clock, states
        self.state = State.OFF
        if index < len(scenario.fleet.replicas):
            self.enter(State.READY)
        self.runs = Table(RUN)
        self._scenario = scenario
        self._own_pace = Fraction(repr(spec.step_time_factor))
        self._changes_pace = any(fault.kind == "slow" and fault.replica == index for fault in scenario.fleet.faults)
        self._slow = Fraction(1)
        self._pace: Paced | None = None
        self.replica: Replica = self._new_replica()
        self.inside: dict[Sequence, Life] = {}
        """Everything on the replica, in the order of coming, also what nobody waits for any more."""
        self.leaving: list[tuple[Sequence, Life]] = []
        """Aborted in the run under way, at whose end it is known what they have cost."""
        self.due: int | None = None
        """The end of the run under way for which a call is scheduled."""
        self.over = clock.prepared(partial(run_over, self))
        """What is called at the end of a run."""
        self.dirty = False
        """Whether a run may have to be planned at this instant."""
        self.starts = 0
        """How often it was told to start; a start that was overtaken by a loss is recognised by it."""
        # What the router knows of it.
        self.chosen = -1
        self.load_seen = 0.0
        # Recent completions, for the estimate of waits.
        self.completions: list[int] = []

    @property
    def open_seats(self) -> int:
        """Seats a new request could take at the next step; those waiting beyond them count as queued."""
        running = self.replica.running
        if self.server.policy == "static":
            return 0 if running else self.server.batch_size or self.server.max_seqs
        return self.server.max_seqs - running

    @property
    def queued(self) -> int:
        """Requests that wait beyond the open seats."""
        return max(0, self.replica.waiting - self.open_seats)

    def enter(self, state: State) -> None:
        """Be in another state from now on."""
        self.state = state
        self._states.add(self.index, state.value, self._clock.now)

    def renew(self) -> None:
        """Put a fresh replica with an empty cache in the place of a lost or retired one."""
        self.replica = self._new_replica()
        self.due = None
        self.completions.clear()

    def change_pace(self, factor: Fraction) -> None:
        """Steps planned from now on take `factor` times as long as they did."""
        self._slow *= factor
        if self._pace is not None:
            self._pace.factor = self._own_pace * self._slow

    def _new_replica(self) -> Replica:
        cost: CostModel = cost_model(self._scenario.step_cost)
        if self._changes_pace or self._own_pace != 1:
            cost = self._pace = Paced(cost, self._own_pace * self._slow)
        return make_replica(self.server, cost, self.runs, self.index, self._scenario.seed)


def make_replica(server: Server, cost: CostModel, runs: Table, index: int, seed: int) -> Replica:
    """The replica that a server's policy asks for: the one place that chooses. Its steps go into `runs`."""
    if server.policy == "vllm":
        from sim.fleet.vllm_replica import FleetVllm

        return FleetVllm(server, cost, runs, index, seed)
    return StepReplica(server, cost, runs)
