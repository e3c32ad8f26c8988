"""The replica on SimPy: arrivals, clients and the step loop are processes; a step's content is ours.

Everything that happens at one instant happens in a fixed order: arrivals and the end of a step first, then
clients that lose patience, then the horizon, and last the planning of the next step. So a request that
arrives just as a step ends can be in the next one, and a token that comes exactly at the deadline is in time.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy
from simpy.events import EventPriority

from sim.arrivals import Arrival, generate
from sim.cost import cost_model
from sim.records import StepRecord
from sim.scenario import Scenario
from sim.schedulers import Sequence, ServerState, StepPlan, policy_of
from sim.ticks import to_ticks

Process = Generator[simpy.Event, Any, None]

# SimPy's own events have the priorities 0 and 1; a larger number comes later at the same instant.
_PATIENCE = EventPriority(2)
_HORIZON = EventPriority(3)
_PLANNING = EventPriority(4)


class _Later(simpy.Event):
    """Fires after `delay` ticks, behind all events of a lower rank at that instant."""

    def __init__(self, env: simpy.Environment, delay: int, rank: EventPriority) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        env.schedule(self, rank, delay)


class Engine:
    """One run of one scenario. Make a new one for each run."""

    def __init__(self, scenario: Scenario) -> None:
        server = scenario.server
        self._classes = scenario.classes
        self._preprocess = [to_ticks(item.preprocess_s) for item in scenario.classes]
        self._transport = [to_ticks(item.transport_s) for item in scenario.classes]
        self._patience = [None if item.patience_s is None else to_ticks(item.patience_s) for item in scenario.classes]
        self._queue_limit = server.queue_limit
        self._state = ServerState(server.max_seqs)
        self._policy = policy_of(server)
        self._cost = cost_model(scenario.step_cost)
        self._arrivals = generate(scenario)
        self._env = simpy.Environment()
        self._wake: simpy.Event | None = None
        self.horizon = None if scenario.horizon_s is None else to_ticks(scenario.horizon_s)
        self.sequences: list[Sequence] = []
        self.steps: list[StepRecord] = []

    def run(self) -> None:
        """Run to the horizon, or until nothing is left to do."""
        env = self._env
        env.process(self._arrive())
        env.process(self._replica())
        env.run(until=None if self.horizon is None else _Later(env, self.horizon, _HORIZON))

    # ---- requests ----------------------------------------------------------------------------------

    def _arrive(self) -> Process:
        for number, arrival in enumerate(self._arrivals):
            delay = arrival.time - int(self._env.now)
            if delay:
                yield self._env.timeout(delay)
            self._submit(number, arrival)

    def _submit(self, number: int, arrival: Arrival) -> None:
        index = arrival.class_index
        seq = Sequence(
            id=number,
            class_index=index,
            number=arrival.number,
            prompt_tokens=arrival.prompt_tokens,
            output_tokens=arrival.output_tokens,
            arrival=arrival.time,
            computed=arrival.prompt_tokens if self._classes[index].prefilled else 0,
        )
        self.sequences.append(seq)
        patience = self._patience[index]
        if patience is not None:
            self._env.process(self._lose_patience(seq, patience))
        if self._preprocess[index]:
            self._env.process(self._preprocess_then_join(seq))
        else:
            self._join(seq)

    def _preprocess_then_join(self, seq: Sequence) -> Process:
        yield self._env.timeout(self._preprocess[seq.class_index])
        if seq.cancelled is None:
            self._join(seq)

    def _join(self, seq: Sequence) -> None:
        state = self._state
        if self._queue_limit is not None:
            # A request still passes through the queue when a seat is free; only those beyond it wait.
            queued = len(state.waiting) - self._policy.open_seats(state)
            if queued >= self._queue_limit:
                seq.rejected = int(self._env.now)
                return
        seq.queued = int(self._env.now)
        state.waiting[seq.id] = seq
        if self._wake is not None and not self._wake.triggered:
            self._wake.succeed()

    def _lose_patience(self, seq: Sequence, patience: int) -> Process:
        yield _Later(self._env, patience, _PATIENCE)
        now = int(self._env.now)
        seen = seq.first_token is not None and seq.first_token + self._transport[seq.class_index] <= now
        if seen or seq.rejected is not None:
            return
        seq.cancelled = now
        # The cancellation reaches the scheduler at once: the seat is free for the very next step.
        self._state.leave(seq)
        seq.wasted_output = seq.generated
        seq.generated = 0
        seq.first_token = seq.last_token = None
        seq.gaps.clear()

    # ---- the replica -------------------------------------------------------------------------------

    def _replica(self) -> Process:
        env = self._env
        while True:
            yield _Later(env, 0, _PLANNING)
            start = int(env.now)
            plan = self._policy.plan(self._state, start)
            if plan is None:
                self._wake = env.event()
                yield self._wake
                self._wake = None
                continue
            work = plan.work()
            duration = self._cost.ticks(work)
            yield env.timeout(duration)
            self.steps.append(StepRecord(start, duration, work.kind, work.prefill_tokens, work.decode_seqs))
            self._apply(plan, int(env.now))

    def _apply(self, plan: StepPlan, now: int) -> None:
        for seq, tokens in plan.prefill:
            seq.computed += tokens
            if not seq.prompt_left:
                self._emit(seq, now)
        for seq in plan.decode:
            self._emit(seq, now)

    def _emit(self, seq: Sequence, now: int) -> None:
        if seq.cancelled is not None:
            # The step was under way when the client left: the work is done and nobody receives it.
            seq.wasted_output += 1
            return
        if seq.last_token is None:
            seq.first_token = now
        else:
            seq.gaps.append(now - seq.last_token)
        seq.last_token = now
        seq.generated += 1
        if seq.generated == seq.output_tokens:
            self._state.leave(seq)
