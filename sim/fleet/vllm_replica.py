"""The vLLM engine as a replica of a fleet: its jobs stand for the fleet's sequences."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Many
from typing import NamedTuple

from sim.cost import CostModel
from sim.errors import ScenarioError
from sim.kv import TokenStream
from sim.lane import drafting_of, engine_config
from sim.replica import Sequence
from sim.server import Server
from sim.table import Table
from sim.vllm.job import Job
from sim.vllm.replica import Replica as VllmReplica


class _Before(NamedTuple):
    """What a sequence brings along from another replica."""

    computed: int
    spoke: bool
    """Whether its first token is out."""
    gaps: list[int]
    stretches: list[tuple[int, int, int]]


class FleetVllm:
    """One engine. See `sim.vllm.replica` for how it plans, `sim.replica` for what a fleet asks of it."""

    def __init__(
        self, server: Server, cost: CostModel, runs: Table, index: int, seed: int, *, fast: bool = True
    ) -> None:
        self._engine = VllmReplica(
            engine_config(server),
            cost,
            server.engine_version,
            fast=fast,
            name=f"replica {index}",
            drafting=drafting_of(server, seed, index),
        )
        # A replica that takes a lost one's place goes on in its table, so its own count of runs is behind.
        self._engine.runs = runs
        self._runs_before = len(runs)
        self.end: int | None = None
        """The engine's own, kept here because it is read several times a run."""
        self._index = index
        self._block_tokens = server.block_tokens if server.prefix_cache else 0
        self._jobs: dict[Sequence, Job] = {}
        self._before: dict[Sequence, _Before] = {}
        """Of those that were on another replica first."""

    @property
    def waiting(self) -> int:
        return self._engine.waiting

    @property
    def running(self) -> int:
        return self._engine.running

    @property
    def kv_usage(self) -> float:
        return self._engine.kv_usage

    def submit(self, seq: Sequence, now: int) -> None:
        """As `Replica.submit`. Raises ScenarioError for a prompt that the engine never takes."""
        job = Job(seq.id, seq.prompt_tokens, seq.output_tokens, priority=seq.priority, arrival=seq.arrival, owner=seq)
        if seq.prefix and self._block_tokens:
            shared = sum(tokens for _, tokens in seq.prefix)
            text = [*seq.prefix, (f"prompt_of:{seq.id}", seq.prompt_tokens - shared)]
            job.text = TokenStream(text, self._block_tokens)
            job.shared_tokens = shared
        if seq.computed or seq.generated:
            self._bring(seq, job)
        self._jobs[seq] = job
        try:
            self._engine.submit(job, now)
        except ValueError as problem:
            raise ScenarioError(str(problem)) from None
        self.end = self._engine.end

    def _bring(self, seq: Sequence, job: Job) -> None:
        """Let a job go on where another replica, or nobody, has brought its sequence."""
        # If all is computed, the last token is again, to have something to sample from.
        job.computed = min(seq.computed, seq.prompt_tokens + seq.generated - 1)
        job.generated = seq.generated
        if seq.first_token is not None and seq.last_token is not None:
            job.first_token, job.last_token = seq.first_token, seq.last_token
        if seq.scheduled is not None:
            job.scheduled = seq.scheduled
        self._before[seq] = _Before(job.computed, seq.first_token is not None, list(seq.gaps), list(seq.stretches))

    def abort(self, seq: Sequence, now: int) -> None:
        job = self._jobs[seq]
        finished = self._engine.abort(job, now)
        assert not finished, "whoever drives a replica settles what is over before it aborts"
        self._copy(job, seq, job.generated, job.last_token, job.last_run)
        seq.computed = job.computed
        self._forget(seq)
        self.end = self._engine.end

    def plan(self, now: int) -> bool:
        planned = self._engine.plan(now)
        self.end = self._engine.end
        return planned

    def settle(self, now: int) -> Many[Sequence]:
        finished = self._engine.settle(now)
        self.end = self._engine.end
        return self._finished(finished) if finished else ()

    def look(self, seq: Sequence) -> None:
        """Bring a sequence up to date with what was settled."""
        job = self._jobs[seq]
        self._copy(job, seq, *self._engine.look(job))

    def _finished(self, jobs: Iterable[Job]) -> list[Sequence]:
        finished: list[Sequence] = []
        for job in jobs:
            seq = job.owner
            assert isinstance(seq, Sequence)
            self._copy(job, seq, job.generated, job.last_token, job.last_run)
            self._forget(seq)
            finished.append(seq)
        return finished

    def _forget(self, seq: Sequence) -> None:
        del self._jobs[seq]
        self._before.pop(seq, None)

    def _copy(self, job: Job, seq: Sequence, generated: int, last_token: int, last_run: int) -> None:
        """Tell a sequence what its job has come to."""
        if job.scheduled < 0:
            return
        before = self._before.get(seq)
        brought = 0 if before is None else before.computed
        seq.generated = generated
        seq.preemptions = job.preemptions
        seq.scheduled = job.scheduled
        seq.cached = max(0, job.cached_tokens - brought)
        seq.computed_prompt = job.prefilled_tokens
        if job.preemptions:
            seq.recomputed = max(0, job.prefilled_tokens - (seq.prompt_tokens - brought - seq.cached))
        if job.first_token >= 0:
            seq.first_token, seq.last_token = job.first_token, last_token
            self._copy_runs(job, seq, last_run, before)

    def _copy_runs(self, job: Job, seq: Sequence, last_run: int, before: _Before | None) -> None:
        offset, index = self._runs_before, self._index
        if not job.stretches and before is None:
            seq.first_run, seq.last_run = job.first_run + offset, last_run + offset
            return
        spans = [(index, first + offset, last + offset) for first, last in job.stretches if first >= 0]
        if job.first_run >= 0:
            spans.append((index, job.first_run + offset, last_run + offset))
        gaps = job.gaps
        if before is not None and before.spoke:
            # Its first token came out elsewhere, so no stretch here is its first.
            seq.stretches, seq.gaps = before.stretches + spans, before.gaps + gaps
            return
        _, seq.first_run, seq.last_run = spans[0]
        seq.stretches, seq.gaps = spans[1:], list(gaps)
