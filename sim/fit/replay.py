"""A measured run's requests through the simulated engine, with what every step did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.cost import CostModel, StepWork
from sim.fit.forms import Works
from sim.fit.least_squares import Array
from sim.fit.runs import MeasuredRun
from sim.kv import TokenStream
from sim.ticks import TICKS_PER_S
from sim.vllm import Engine, EngineConfig
from sim.vllm.job import Job
from sim.vllm.replica import Replica as VllmReplica


@dataclass(frozen=True, slots=True)
class Replay:
    """What came out. Times in seconds from the first arrival; requests as in the measured run."""

    first_token_s: Array
    last_token_s: Array
    first_step: NDArray[np.int64]
    """The step at whose end the first token came out, from 0."""
    last_step: NDArray[np.int64]
    next_step: NDArray[np.int64]
    """The first step that began when or after the request came."""
    admitted_step: NDArray[np.int64]
    """The step in which it was first worked on."""
    works: Works
    end_s: Array
    """When each step ended."""
    preemptions: int

    @property
    def steps(self) -> int:
        return len(self.end_s)


class _Noting:
    """A cost model that keeps the attention pairs of each step with prompts, which the log of runs lacks."""

    def __init__(self, model: CostModel) -> None:
        self._model = model
        self.pairs: list[int] = []

    def ticks(self, work: StepWork) -> int:
        if work.prefill_tokens:
            self.pairs.append(work.prefill_pairs)
        return self._model.ticks(work)

    def decode_run(self, seqs: int, context: int) -> tuple[int, int, int]:
        return self._model.decode_run(seqs, context)


def replay(run: MeasuredRun, config: EngineConfig, cost: CostModel, engine: Engine = "0.33") -> Replay:
    """Run the requests to the end. Raises ScenarioError for one that can never be served."""
    noting = _Noting(cost)
    replica = VllmReplica(config, noting, engine)
    jobs = _jobs(run, config)
    arrivals = run.arrival_ticks
    now = coming = 0
    total = len(jobs)
    while True:
        while coming < total and arrivals[coming] <= now:
            replica.submit(jobs[coming], arrivals[coming])
            coming += 1
        following = arrivals[coming] if coming < total else None
        if replica.plan(now, following):
            assert replica.end is not None
            now = replica.end
            replica.settle(now)
        elif following is not None:
            now = following
        else:
            break
    return _collected(replica, jobs, noting.pairs)


def _jobs(run: MeasuredRun, config: EngineConfig) -> list[Job]:
    jobs = []
    for index, (prompt, output, prefix) in enumerate(
        zip(run.prompt_tokens, run.output_tokens, run.prefixes, strict=True)
    ):
        job = Job(index, prompt, output, index=index, arrival=float(index))
        if prefix and config.enable_prefix_caching:
            shared = sum(tokens for _, tokens in prefix)
            job.text = TokenStream([*prefix, (f"prompt_of:{index}", prompt - shared)], config.block_size)
            job.shared_tokens = shared
        jobs.append(job)
    return jobs


def _collected(replica: VllmReplica, jobs: list[Job], pairs: list[int]) -> Replay:
    runs = replica.runs
    steps = runs["steps"]
    # Step k of a run, from 0: it takes k growths more than the first, and reads k tokens more of each sequence.
    k = np.arange(steps.sum()) - np.repeat(np.cumsum(steps) - steps, steps)
    start, first, growth, prefill, seqs, context = (
        np.repeat(runs[name], steps)
        for name in ("start", "first", "growth", "prefill_tokens", "decode_seqs", "context_tokens")
    )
    start = start + k * first + growth * (k * (k - 1) // 2)
    end = start + first + k * growth
    all_pairs = np.zeros(len(k), dtype=np.int64)
    all_pairs[prefill > 0] = pairs
    columns = (prefill, seqs, context + k * seqs, all_pairs)
    firsts = np.array([job.first_token for job in jobs], dtype=np.int64)
    lasts = np.array([job.last_token for job in jobs], dtype=np.int64)
    return Replay(
        firsts / TICKS_PER_S,
        lasts / TICKS_PER_S,
        np.searchsorted(end, firsts),
        np.searchsorted(end, lasts),
        np.searchsorted(start, np.array([job.queued for job in jobs], dtype=np.int64)),
        np.searchsorted(start, np.array([job.scheduled for job in jobs], dtype=np.int64)),
        Works(*(column.astype(np.float64) for column in columns)),
        end / TICKS_PER_S,
        sum(job.preemptions for job in jobs),
    )
