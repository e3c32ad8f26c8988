"""The fleet on SimPy: what happens outside the engines, and when their runs begin and end.

SimPy carries arrivals, clients, faults, scaling, transfers and one event at the end of each replica's run.
What a step holds is the replica's affair; nothing here looks at single steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sim.arrivals import Prefix, generate, stream
from sim.fleet.admission import Gate
from sim.fleet.clients import Clients, ClosedLoops
from sim.fleet.clock import Clock, Rank
from sim.fleet.disaggregated import Split
from sim.fleet.faults import schedule_faults
from sim.fleet.lives import NOTHING, Book, Life, Seen, seen_by
from sim.fleet.node import Node, State
from sim.fleet.routing import Router
from sim.fleet.scaling import Autoscaler
from sim.log import COMPLETED, FAILED, REJECTED, Log
from sim.replica import Sequence
from sim.scenario import Scenario
from sim.ticks import to_seconds, to_ticks
from sim.traffic import request_count

Progress = Callable[[int, int, float], None]
"""Told the requests that are over, how many there will be, and the simulated second."""
Row = tuple[int, int, int, int, int, Prefix, int]

_LOOK_EVERY = 1024
"""Ends of runs between two looks at whether the user wants to stop."""


def run_fleet(scenario: Scenario, progress: Progress | None = None, stop: Callable[[], bool] | None = None) -> Log:
    """Simulate a scenario to its end, to its horizon, or until `stop` returns true (then marked partial)."""
    return Driver(scenario, progress, stop).run()


class _Class(NamedTuple):
    """What the driver needs of a traffic class, times in ticks."""

    preprocess: int
    transport: int
    prefilled: bool


class Pool:
    """Nodes that do the same work, their router, and requests for which none was ready."""

    def __init__(self, nodes: list[Node], router: Router) -> None:
        self.nodes = nodes
        self.router = router
        self.held: dict[Sequence, Life] = {}


class Driver:
    """One run of one scenario. Make a new one for each run."""

    def __init__(self, scenario: Scenario, progress: Progress | None, stop: Callable[[], bool] | None) -> None:
        fleet = scenario.fleet
        self.scenario = scenario
        self.clock = Clock()
        self.book = Book([to_ticks(item.transport_s) for item in scenario.classes])
        count = len(fleet.replicas)
        self.nodes = [
            Node(scenario, index, State.READY if index < count else State.OFF, self._run_over, self.clock)
            for index in range(fleet.most)
        ]
        self._classes = [
            _Class(to_ticks(item.preprocess_s), to_ticks(item.transport_s), item.prefilled) for item in scenario.classes
        ]
        split = fleet.disaggregated
        readers = split.prefill_replicas if split else fleet.most
        self._pool = self._make_pool(self.nodes[:readers], "routing")
        self._decoders = self._make_pool(self.nodes[readers:], "routing/decode") if split else self._pool
        self._pools = [self._pool, self._decoders] if split else [self._pool]
        self._split = Split(self, split, self._decoders) if split else None
        self._clients = Clients(self)
        self._loops = ClosedLoops(self)
        self._gate = Gate(self, fleet.admission)
        self._scaler = Autoscaler(self, fleet.autoscaling, self._pool) if fleet.autoscaling else None
        self._cold_start = to_ticks(fleet.cold_start_s)
        self._horizon = None if scenario.horizon_s is None else to_ticks(scenario.horizon_s)
        self._total = sum(request_count(item) for item in scenario.classes)
        self._ids = 0
        self._server_ids = self._total
        self._open: dict[Life, None] = {}
        """Lives whose row is not written."""
        self._arriving = self.clock.prepared(self._arrive)
        self._rows: Iterator[Row] = iter(())
        self._row: Row | None = None
        self._dirty: list[Node] = []
        self._planning = False
        self._progress, self._stop = progress, stop
        self._ends_until_look = _LOOK_EVERY
        self._last = 0
        self._partial = False

    def _make_pool(self, nodes: list[Node], use: str) -> Pool:
        routing = self.scenario.fleet.routing
        return Pool(nodes, Router(routing, nodes, stream(self.scenario.seed, "", use), self.kv_usage))

    # ---- the whole ---------------------------------------------------------------------------------

    def run(self) -> Log:
        """Let everything happen, and gather what it left behind."""
        requests = generate(self.scenario)
        self._rows = zip(*requests.columns, strict=True)
        self._await_next()
        self._loops.begin()
        schedule_faults(self)
        if self._scaler:
            self._scaler.begin()
        if self._horizon is not None:
            self.clock.after(self._horizon, Rank.HORIZON, self.clock.halt)
        self.clock.run()
        return self._finish()

    def waiting(self) -> int:
        """Requests in all queues beyond the open seats, and those held because no replica is ready."""
        held = sum(len(pool.held) for pool in self._pools)
        return held + sum(node.queued for node in self.nodes if node.state in (State.READY, State.DRAINING))

    @property
    def busy(self) -> bool:
        """Whether requests are still to come or to be ended."""
        return bool(self._open) or self._ids < self._total

    def _finish(self) -> Log:
        end = self._horizon
        if self._partial or end is None:
            end = self.clock.now if self._partial else max(self._last, self.book.end)
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
        return Log(self.scenario, book.lives, runs, book.stretches, book.gaps, end, self._partial)

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
        self.round_off()

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
        self._clients.watch(life)
        preprocess = self._classes[life.class_index].preprocess
        if preprocess:
            sent = life.sent
            self.clock.after(preprocess, Rank.ARRIVAL, lambda: self._preprocessed(life, sent))
        else:
            self._enter(life)

    def _preprocessed(self, life: Life, sent: int) -> None:
        if life.waits and life.sent == sent:
            self._enter(life)
            self.round_off()

    def _enter(self, life: Life) -> None:
        if self._gate.admits():
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
        pool = self._pool
        if self._split is not None:
            if self._classes[life.class_index].prefilled:
                pool = self._decoders
            else:
                seq = self._split.reading(seq)
        life.seq = seq
        node = pool.router.choose(life.prefix, self.clock.now)
        if node is None:
            if self.has_hope(pool):
                pool.held[seq] = life
            else:
                self.fail(life)
        elif self._gate.fits(node):
            self.put(node, life, seq)
        else:
            self.refuse(life)

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
        self._gate.watch(life, seq)
        self.touch(node)

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
        transport = self._classes[life.class_index].transport
        assert seq.first_token is not None
        assert seq.last_token is not None
        ended = seq.last_token + transport
        if not self._clients.in_time(life, seq.first_token + transport, ended):
            return  # the client will have left by the time it sees it
        if self._horizon is None or ended <= self._horizon:
            self.end(life, COMPLETED, ended)

    # ---- replicas ----------------------------------------------------------------------------------

    def _run_over(self, node: Node, _: object) -> None:
        now = self.clock.now
        replica = node.replica
        if replica.end != now:
            return  # this run was cut short or is gone
        node.due = None
        finished = replica.settle(now)
        for seq in finished:
            life = node.inside.pop(seq)
            life.count(seq)
            if life.seq is not seq:
                if not life.waits and not life.inside:
                    self._write(life)
            elif self._split is None or not self._split.takes(life, seq):
                self._answered(life, seq)
        if finished:
            self._gate.note_completions(node, len(finished))
        if node.leaving:
            self._release(node)
        self._last = now
        self._ends_until_look -= 1
        if not self._ends_until_look:
            self._look()
        if not self._dirty and self.clock.last_of_instant:
            self._plan_node(node)
        else:
            self._mark(node)
            self.round_off()

    def _look(self) -> None:
        self._ends_until_look = _LOOK_EVERY
        if self._progress:
            self._progress(self._ids - len(self._open), self._total, to_seconds(self.clock.now))
        if self._stop and self._stop():
            self._partial = True
            self.clock.halt()

    def _release(self, node: Node) -> None:
        leaving, node.leaving = node.leaving, []
        for seq, life in leaving:
            self.counted(life, seq)

    def touch(self, node: Node) -> None:
        """Something happened to a replica: its run may end earlier now, or one may begin."""
        end = node.replica.end
        if end is None:
            self._mark(node)
        elif end != node.due:
            node.due = end
            self.clock.schedule(end, Rank.RUN_END, node.over)

    def _mark(self, node: Node) -> None:
        if not node.dirty:
            node.dirty = True
            self._dirty.append(node)

    def round_off(self) -> None:
        """To be called last in everything that happens: plans at once if the instant is over, else later in it."""
        if self._dirty and not self._planning:
            if self.clock.last_of_instant:
                self._plan()
            else:
                self._planning = True
                self.clock.after(0, Rank.PLANNING, self._plan)

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
        if replica.plan(self.clock.now):
            end = replica.end
            assert end is not None
            node.due = end
            self.clock.schedule(end, Rank.RUN_END, node.over)
        elif node.state is State.DRAINING and not node.inside:
            self.retire(node)

    def catch_up(self, node: Node) -> None:
        """Let a replica's past be settled, so that its sequences and its cache stand as they are now."""
        node.replica.settle(self.clock.now)
        self.touch(node)

    def kv_usage(self, node: Node) -> float:
        """Share of a replica's KV blocks held now."""
        self.catch_up(node)
        return node.replica.kv_usage

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
        self.touch(node)

    def abort_late(self, node: Node, seq: Sequence) -> None:
        """A cancellation reaches the server after a while; the sequence may be over by then."""
        self.abort(node, seq)
        self.round_off()

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
            self.catch_up(node)
            node.replica.look(seq)
        runs = [node.runs for node in self.nodes]
        transport = self._classes[life.class_index].transport
        return seen_by(seq, transport, self.clock.now, life.replica, runs)

    # ---- nodes come and go -------------------------------------------------------------------------

    def start(self, node: Node, delay: int) -> None:
        """Start a replica: ready after `delay` and the cold start."""
        node.starts += 1
        node.state = State.STARTING
        start = node.starts
        self.clock.after(delay + self._cold_start, Rank.WORLD, lambda: self._started(node, start))

    def _started(self, node: Node, start: int) -> None:
        if node.starts == start and node.state is State.STARTING:
            node.renew()
            self.make_ready(node)
            self.round_off()

    def make_ready(self, node: Node) -> None:
        """A node takes requests from now on, first those that were held."""
        node.state = State.READY
        self.refresh_routers()
        for pool in self._pools:
            if pool.router.ready:
                held, pool.held = pool.held, {}
                for seq, life in held.items():
                    if life.seq is seq:
                        self._place_held(pool, life, seq)
        if self._split:
            self._split.send_waiting()

    def _place_held(self, pool: Pool, life: Life, seq: Sequence) -> None:
        node = pool.router.choose(life.prefix, self.clock.now)
        assert node is not None
        if self._gate.fits(node):
            self.put(node, life, seq)
        else:
            self.refuse(life)

    def drain(self, node: Node) -> None:
        """A node takes nothing new and goes when it is empty."""
        node.state = State.DRAINING
        self.refresh_routers()
        self._mark(node)

    def retire(self, node: Node) -> None:
        """A node's replica is switched off."""
        node.state = State.OFF
        node.renew()
        self.refresh_routers()

    def has_hope(self, pool: Pool) -> bool:
        """Whether a node of the pool takes requests, now or later."""
        hopeful = (State.READY, State.STARTING, State.LOST)
        return self._scaler is not None or any(node.state in hopeful for node in pool.nodes)

    def give_up_hope(self) -> None:
        """Fail what is held for pools in which no node will ever be ready."""
        for pool in self._pools:
            if not self.has_hope(pool):
                held, pool.held = pool.held, {}
                for seq, life in held.items():
                    if life.seq is seq:
                        self.fail(life)

    def refresh_routers(self) -> None:
        """Nodes came or went."""
        for pool in self._pools:
            pool.router.refresh_ready()
