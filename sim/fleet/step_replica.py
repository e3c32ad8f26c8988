"""A replica that runs one of the step policies: every step is planned, so a run is one step."""

from __future__ import annotations

from collections.abc import Sequence as Many

from sim.cost import CostModel, StepWork
from sim.fleet.policies import ServerState, StepPlan, policy_of
from sim.log import KIND_NAMES
from sim.replica import Sequence
from sim.server import Server
from sim.table import Table

_KIND = {name: index for index, name in enumerate(KIND_NAMES)}


class StepReplica:
    """One server without KV blocks. Gaps between tokens are kept singly."""

    def __init__(self, server: Server, cost: CostModel, runs: Table) -> None:
        self._policy = policy_of(server)
        self._state = ServerState(server.max_seqs)
        self._cost = cost
        self._runs = runs
        self._start = 0
        self._plan = StepPlan("decode", [], [])
        self._work: StepWork | None = None
        self._seats = self._queued = 0
        self.end: int | None = None

    @property
    def waiting(self) -> int:
        return len(self._state.waiting)

    @property
    def running(self) -> int:
        return len(self._state.running)

    @property
    def kv_usage(self) -> float:
        return 0.0

    def submit(self, seq: Sequence, now: int) -> None:
        self._state.waiting[seq.id] = seq

    def abort(self, seq: Sequence, now: int) -> None:
        # It stays in the plan under way: that work is done, and nobody receives what comes of it.
        self._state.leave(seq)

    def look(self, seq: Sequence) -> None:
        """Nothing to do: sequences are always as of the last `settle`."""

    def plan(self, now: int) -> bool:
        state = self._state
        plan = self._policy.plan(state, now)
        if plan is None:
            return False
        self._plan = plan
        self._work = work = plan.work()
        self._start = now
        self._seats, self._queued = len(state.running), len(state.waiting)
        self.end = now + self._cost.ticks(work)
        return True

    def settle(self, now: int) -> Many[Sequence]:
        work = self._work
        if work is None or self.end is None or self.end > now:
            return ()
        took = self.end - self._start
        self._runs.add(
            self._start,
            1,
            took,
            0,
            _KIND[work.kind],
            work.prefill_tokens,
            work.decode_seqs,
            work.context_tokens,
            self._seats,
            self._queued,
            0,
        )
        end, self.end, self._work = self.end, None, None
        finished: list[Sequence] = []
        state = self._state
        for seq, tokens in self._plan.prefill:
            seq.computed += tokens
            seq.computed_prompt += tokens
            if seq.computed == seq.prompt_tokens + seq.generated:
                state.prompting.pop(seq.id, None)
                self._emit(seq, end, finished)
        for seq in self._plan.decode:
            seq.computed += 1
            self._emit(seq, end, finished)
        return finished

    def _emit(self, seq: Sequence, now: int, finished: list[Sequence]) -> None:
        seq.generated += 1
        if seq.id not in self._state.running:
            return  # aborted in this step
        if seq.last_token is None:
            seq.first_token = now
        else:
            seq.gaps.append(now - seq.last_token)
        seq.last_token = now
        if seq.generated == seq.output_tokens:
            self._state.leave(seq)
            finished.append(seq)
