"""The fleet on SimPy: what happens outside the engines, and when their runs begin and end.

SimPy carries arrivals, clients, faults, scaling, transfers and one event at the end of each replica's run.
What a step holds is the replica's affair; nothing here looks at single steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many
from typing import NamedTuple

from sim.arrivals import Prefix, generate
from sim.fleet.admission import Gate
from sim.fleet.clients import Clients, ClosedLoops
from sim.fleet.clock import Clock, Rank
from sim.fleet.disaggregated import Split
from sim.fleet.faults import schedule_faults
from sim.fleet.lives import NOTHING, Book, Life, Seen, seen_by
from sim.fleet.machines import Machines
from sim.fleet.node import Node
from sim.fleet.pools import Pool, Pools
from sim.fleet.scaling import Autoscaler
from sim.fleet.spec import Admission
from sim.log import COMPLETED, FAILED, REJECTED, Log
from sim.replica import Sequence
from sim.scenario import Scenario
from sim.ticks import to_seconds, to_ticks
from sim.traffic import ClosedLoop, TrafficClass, request_count

Progress = Callable[[int, int, float], None]
"""Told the requests that are over, how many there will be, and the simulated second."""
Row = tuple[int, int, int, int, int, Prefix, int]

_LOOK_EVERY = 256
"""Ends of requests between two looks at whether the user wants to stop."""


def run_fleet(scenario: Scenario, progress: Progress | None = None, stop: Callable[[], bool] | None = None) -> Log:
    """Simulate a scenario to its end, to its horizon, or until `stop` returns true (then marked partial)."""
    return Driver(scenario, progress, stop).run()


class _Class(NamedTuple):
    """What the driver needs of a traffic class, times in ticks."""

    preprocess: int
    transport: int
    prefilled: bool
    impatient: bool


def _loops(item: TrafficClass) -> bool:
    return isinstance(item.arrivals, ClosedLoop)


class Driver:
    """One run of one scenario. Make a new one for each run."""

    def __init__(self, scenario: Scenario, progress: Progress | None, stop: Callable[[], bool] | None) -> None:
        fleet = scenario.fleet
        self.scenario = scenario
        self.clock = Clock()
        self.book = Book([to_ticks(item.transport_s) for item in scenario.classes])
        self.machines = Machines(scenario, self.clock, self._run_over, self._emptied)
        self.nodes = self.machines.nodes
        self.pools = Pools(self)
        self._classes = [
            _Class(
                to_ticks(item.preprocess_s),
                to_ticks(item.transport_s),
                item.prefilled,
                item.patience_s is not None or item.client.timeout_s is not None,
            )
            for item in scenario.classes
        ]
        split = fleet.disaggregated
        self._split = Split(self, split) if split else None
        self._clients = Clients(self)
        self._loops = ClosedLoops(self) if any(_loops(item) for item in scenario.classes) else None
        limited = any(node.server.queue_limit is not None for node in self.nodes)
        self._gate = Gate(self, fleet.admission) if limited or fleet.admission != Admission() else None
        self._scaler = Autoscaler(self, fleet.autoscaling) if fleet.autoscaling else None
        self._horizon = None if scenario.horizon_s is None else to_ticks(scenario.horizon_s)
        self._total = sum(request_count(item) for item in scenario.classes)
        self._ids = 0
        self._server_ids = self._total
        self._open: dict[Life, None] = {}
        """Lives whose row is not written."""
        self._arriving = self.clock.prepared(self._arrive)
        self._rows: Iterator[Row] = iter(())
        self._row: Row | None = None
        self._progress, self._stop = progress, stop
        self._answers_until_look = _LOOK_EVERY
        self._partial = False

    # ---- the whole ---------------------------------------------------------------------------------

    def run(self) -> Log:
        """Let everything happen, and gather what it left behind."""
        requests = generate(self.scenario)
        self._rows = zip(*requests.columns, strict=True)
        self._await_next()
        if self._loops:
            self._loops.begin()
        schedule_faults(self)
        if self._scaler:
            self._scaler.begin()
        if self._horizon is not None:
            self.clock.after(self._horizon, Rank.HORIZON, self.clock.halt)
        self.clock.run()
        return self._finish()

    @property
    def busy(self) -> bool:
        """Whether requests are still to come or to be ended."""
        return bool(self._open) or self._ids < self._total

    def _finish(self) -> Log:
        end = self._horizon
        if self._partial or end is None:
            end = self.clock.now if self._partial else max(self.machines.last_end, self.book.end)
        for node in self.nodes:
            node.replica.settle(end)
            for seq in node.inside:
                node.replica.abort(seq, end)
            for seq, life in [*node.inside.items(), *node.leaving]:
                life.count(seq)
        runs = tuple(node.runs for node in self.nodes)
        for life in self._open:
            if life.waits and life.seq is not None:
                transport = self._classes[life.class_index].transport
                life.seen = seen_by(life.seq, transport, end, life.replica, runs)
            self.book.write(life)
        self.book.sort()
        book = self.book
        return Log(self.scenario, book.lives, runs, book.stretches, book.gaps, end, self._partial, self.machines.states)

    # ---- requests come -----------------------------------------------------------------------------

    def _await_next(self) -> None:
        self._row = next(self._rows, None)
        if self._row is not None:
            self.clock.schedule(self._row[0], Rank.ARRIVAL, self._arriving)

    def _arrive(self, _: object) -> None:
        now = self.clock.now
        row = self._row
        while row is not None and row[0] == now:
            self.submit(*row)
            row = next(self._rows, None)
        self._row = row
        if row is not None:
            self.clock.schedule(row[0], Rank.ARRIVAL, self._arriving)
        self.machines.round_off()

    def submit(
        self,
        now: int,
        class_index: int,
        number: int,
        prompt_tokens: int,
        output_tokens: int,
        prefix: Prefix,
        priority: int,
    ) -> None:
        """A client sends a request for the first time."""
        life = Life(self._ids, class_index, number, prompt_tokens, output_tokens, prefix, priority, now, now)
        self._ids += 1
        self._open[life] = None
        self.send(life)

    def send(self, life: Life) -> None:
        """The present attempt of a life reaches the front end."""
        settings = self._classes[life.class_index]
        if settings.impatient:
            self._clients.watch(life)
        if settings.preprocess:
            sent = life.sent
            self.clock.after(settings.preprocess, Rank.ARRIVAL, lambda: self._preprocessed(life, sent))
        else:
            self._enter(life)

    def _preprocessed(self, life: Life, sent: int) -> None:
        if life.waits and life.sent == sent:
            self._enter(life)
            self.machines.round_off()

    def _enter(self, life: Life) -> None:
        if self._gate is None or self._gate.admits():
            self.place(life, self.fresh(life))
        else:
            self.refuse(life)

    def fresh(self, life: Life) -> Sequence:
        """A sequence for a new attempt."""
        # A given-up attempt may still be on a server, so further ones have numbers of their own there.
        number = life.id
        if life.attempts > 1:
            number = self._server_ids
            self._server_ids += 1
        prefilled = self._classes[life.class_index].prefilled
        return Sequence(
            number,
            life.class_index,
            life.number,
            life.prompt_tokens,
            life.output_tokens,
            life.arrival,
            life.prefix,
            life.priority,
            life.prompt_tokens if prefilled else 0,
        )

    def place(self, life: Life, seq: Sequence) -> None:
        """Find a replica for a sequence, or let it wait for one to come up."""
        if self._split is None:
            self.place_in(self.pools.main, life, seq)
        elif self._classes[life.class_index].prefilled:
            self.place_in(self.pools.decoders, life, seq)
        else:
            self.place_in(self.pools.main, life, self._split.reading(seq))

    def place_in(self, pool: Pool, life: Life, seq: Sequence) -> None:
        """As `place`, among the nodes of one pool."""
        life.seq = seq
        node = pool.router.choose(life.prefix, self.clock.now)
        if node is None:
            if self.pools.has_hope(pool):
                pool.held[seq] = life
            else:
                self.fail(life)
        elif self._gate is None or self._gate.fits(node):
            self.put(node, life, seq)
        else:
            self.refuse(life)

    def send_read(self) -> None:
        """A node is ready again: with split pools, what was read may wait for it."""
        if self._split:
            self._split.send_waiting()

    def put(self, node: Node, life: Life, seq: Sequence) -> None:
        """A sequence joins the queue of a replica."""
        now = self.clock.now
        if seq.queued is None:
            seq.queued = now
        life.seq = life.served = seq
        life.seen = NOTHING
        life.replica = node.index
        life.inside += 1
        # Tokens that it brings along were counted where they were generated.
        life.produced -= seq.generated
        node.inside[seq] = life
        node.replica.submit(seq, now)
        if self._gate is not None:
            self._gate.watch(life, seq)
        self.machines.touch(node)

    # ---- requests end ------------------------------------------------------------------------------

    def refuse(self, life: Life) -> None:
        """The attempt is turned away."""
        life.seq = None
        if not self._clients.tries_again(life, "rejected"):
            self.end(life, REJECTED if life.attempts == 1 else FAILED)

    def fail(self, life: Life) -> None:
        """The attempt is lost with its replica, or there is none for it."""
        life.seq = None
        if not self._clients.tries_again(life, "failed"):
            self.end(life, FAILED)

    def end(self, life: Life, status: int, at: int | None = None) -> None:
        """A life ends; its row is written when nothing of it is on a server."""
        life.status = status
        life.ended = self.clock.now if at is None else at
        if not life.inside:
            self._write(life)
        if self._scaler:
            self._scaler.note(life)
        if self._loops:
            self._loops.ended(life)

    def _write(self, life: Life) -> None:
        self.book.write(life)
        del self._open[life]

    def counted(self, life: Life, seq: Sequence) -> None:
        """A sequence has left its server for good."""
        life.count(seq)
        if not life.waits and not life.inside:
            self._write(life)

    def _answered(self, life: Life, seq: Sequence) -> None:
        settings = self._classes[life.class_index]
        assert seq.first_token is not None
        assert seq.last_token is not None
        ended = seq.last_token + settings.transport
        if settings.impatient and not self._clients.in_time(life, seq.first_token + settings.transport, ended):
            return  # the client will have left by the time it sees it
        if self._horizon is None or ended <= self._horizon:
            self.end(life, COMPLETED, ended)

    # ---- replicas ----------------------------------------------------------------------------------

    def _run_over(self, node: Node, finished: Many[Sequence]) -> None:
        for seq in finished:
            life = node.inside.pop(seq)
            life.count(seq)
            if life.seq is not seq:
                if not life.waits and not life.inside:
                    self._write(life)
            elif self._split is None or not self._split.takes(life, seq):
                self._answered(life, seq)
        if finished and self._gate is not None:
            self._gate.note_completions(node, len(finished))
        if node.leaving:
            leaving, node.leaving = node.leaving, []
            for seq, life in leaving:
                self.counted(life, seq)
        self._answers_until_look -= 1
        if not self._answers_until_look:
            self._look()

    def _emptied(self, node: Node) -> None:
        self.pools.retire(node)

    def _look(self) -> None:
        self._answers_until_look = _LOOK_EVERY
        if self._progress:
            self._progress(self._ids - len(self._open), self._total, to_seconds(self.clock.now))
        if self._stop and self._stop():
            self._partial = True
            self.clock.halt()

    def abort(self, node: Node, seq: Sequence) -> None:
        """Take a sequence off its replica; what it has cost is known when the run under way is over."""
        life = node.inside.pop(seq, None)
        if life is None:
            return
        if self._split:
            self._split.forget(seq)
        node.replica.abort(seq, self.clock.now)
        if node.replica.end is None:
            self.counted(life, seq)
        else:
            node.leaving.append((seq, life))
        self.machines.touch(node)

    def abort_late(self, node: Node, seq: Sequence) -> None:
        """A cancellation reaches the server after a while; the sequence may be over by then."""
        self.abort(node, seq)
        self.machines.round_off()

    def node_of(self, life: Life) -> Node | None:
        """Where the present attempt is; None while it is on no server."""
        if life.seq is None or life.replica < 0:
            return None
        node = self.nodes[life.replica]
        return node if life.seq in node.inside else None

    def see(self, life: Life) -> None:
        """Keep what the client has of the present attempt now."""
        life.seen = self.seen_now(life)

    def seen_now(self, life: Life) -> Seen:
        """What the client has of the present attempt now."""
        seq = life.seq
        if seq is None:
            return NOTHING
        node = self.node_of(life)
        if node is not None:
            self.machines.catch_up(node)
            node.replica.look(seq)
        runs = [node.runs for node in self.nodes]
        transport = self._classes[life.class_index].transport
        return seen_by(seq, transport, self.clock.now, life.replica, runs)
