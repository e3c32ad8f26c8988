"""The straight way through a scenario: one vLLM engine, open arrivals, nobody who changes their mind.

Nothing outside the engine depends on what it does, so its runs need no event queue: the next arrival is known
when a run is planned. Anything else goes through `sim.fleet`, with the same engine.
"""

from __future__ import annotations

from collections.abc import Callable

from sim.arrivals import Requests
from sim.cost import cost_model
from sim.kv import TokenStream
from sim.log import COMPLETED, GAP, IN_FLIGHT, LIFE, STRETCH, Log
from sim.scenario import Scenario
from sim.server import Server
from sim.table import NONE, Table
from sim.ticks import to_seconds, to_ticks
from sim.vllm import EngineConfig
from sim.vllm_replica import Job, VllmReplica

NO_LIMIT_BLOCKS = 1 << 40

Progress = Callable[[int, int, float], None]
"""Called now and then with requests done, requests in all, and the simulated second."""
Stop = Callable[[], bool]
"""Asked now and then; true ends the simulation where it is."""

_LOOK_UP_EVERY = 1 << 12


def engine_config(server: Server) -> EngineConfig:
    """The engine's settings as vLLM calls them."""
    return EngineConfig(
        max_num_batched_tokens=server.token_budget,
        max_num_seqs=server.max_seqs,
        block_size=server.block_tokens,
        usable_kv_blocks=server.kv_blocks or NO_LIMIT_BLOCKS,
        enable_chunked_prefill=server.chunked_prefill,
        long_prefill_token_threshold=server.long_prefill_tokens,
        long_prefill_token_threshold_adaptive=server.long_prefill_adaptive,
        enable_prefix_caching=server.prefix_cache,
        policy=server.order,
        max_model_len=server.max_model_tokens,
        watermark=server.watermark,
        reserve_full_prompt_at_admission=server.reserve_full_prompt,
        prefill_schedule_interval=server.prefill_every_steps,
    )


def fits_lane(scenario: Scenario) -> bool:
    """Whether `run_alone` can run it."""
    plain = all(item.patience_s is None and not item.prefilled for item in scenario.classes)
    return (
        scenario.server.policy == "vllm"
        and scenario.server.queue_limit is None
        and scenario.horizon_s is None
        and plain
    )


class Lane:
    """One run of one scenario through one engine."""

    def __init__(self, scenario: Scenario, requests: Requests, *, fast: bool = True) -> None:
        server = scenario.server
        self._scenario = scenario
        self._requests = requests
        self._size = server.block_tokens if server.prefix_cache else 0
        cost = cost_model(scenario.step_cost)
        self._replica = VllmReplica(engine_config(server), cost, server.engine_version, fast=fast)
        self._transport = [to_ticks(item.transport_s) for item in scenario.classes]
        self._lives = Table(LIFE)
        self._stretches = Table(STRETCH)
        self._gaps = Table(GAP)

    def run(self, progress: Progress | None = None, stop: Stop | None = None) -> Log:
        """Run until nothing is left to do, or until `stop` says so. Raises ScenarioError as `plan` does."""
        replica = self._replica
        joins, order = self._joins()
        total, coming, now, turn = len(joins), 0, 0, 0
        jobs: dict[int, Job] = {}
        plan, settle, submit = replica.plan, replica.settle, replica.submit
        following = joins[0] if joins else None
        while True:
            while following is not None and following <= now:
                index = coming if order is None else order[coming]
                job = self._job(index)
                jobs[index] = job
                submit(job, following)
                coming += 1
                following = joins[coming] if coming < total else None
            if plan(now, following):
                assert replica.end is not None
                now = replica.end
                for job in settle(now):
                    self._write(job, COMPLETED)
                    del jobs[job.index]
            elif following is not None:
                now = following
            else:
                break
            turn += 1
            if not turn % _LOOK_UP_EVERY:
                if progress is not None:
                    progress(len(self._lives), total, to_seconds(now))
                if stop is not None and stop():
                    break
        partial = len(self._lives) < total
        replica.write_back()
        for job in jobs.values():
            self._write(job, IN_FLIGHT)
        self._lives.sort("id")
        return Log(self._scenario, self._lives, (replica.runs,), self._stretches, self._gaps, now, partial)

    def _joins(self) -> tuple[list[int], list[int] | None]:
        """When requests join the queue, ascending, and which they are (None: in their own order)."""
        requests = self._requests
        delays = [to_ticks(item.preprocess_s) for item in self._scenario.classes]
        if not any(delays):
            return list(requests.times), None
        joins = [time + delays[index] for time, index in zip(requests.times, requests.class_indexes, strict=True)]
        order = sorted(range(len(joins)), key=joins.__getitem__)
        return [joins[index] for index in order], order

    def _job(self, index: int) -> Job:
        requests = self._requests
        prompt = requests.prompt_tokens[index]
        job = Job(index, prompt, requests.output_tokens[index], index=index)
        prefix = requests.prefixes[index]
        if prefix and self._size:
            shared = sum(tokens for _, tokens in prefix)
            job.text = TokenStream([*prefix, (f"prompt_of:{index}", prompt - shared)], self._size)
            job.shared_tokens = shared
        job.priority = requests.priorities[index]
        job.arrival = index
        return job

    def _write(self, job: Job, status: int) -> None:
        """The record of a life that is over, or cut off."""
        requests, index = self._requests, job.index
        class_index = requests.class_indexes[index]
        transport = self._transport[class_index]
        first_run, last_run = job.first_run, job.last_run
        if job.stretches:
            (first_run, last_run), *later = [*job.stretches, (job.first_run, job.last_run)]
            for begin, end in later:
                self._stretches.add(index, 0, begin, end)
            for gap in job.gaps:
                self._gaps.add(index, gap)
        seen = job.first_token >= 0
        last = job.last_token + transport if seen else NONE
        fresh = job.prompt_tokens - job.cached_tokens
        self._lives.add(
            index,
            class_index,
            requests.numbers[index],
            status,
            0,
            1,
            job.preemptions,
            job.prompt_tokens,
            job.max_tokens,
            job.generated,
            job.cached_tokens,
            job.prefilled_tokens,
            job.prefilled_tokens - fresh if job.preemptions and job.prefilled_tokens > fresh else 0,
            0,
            requests.times[index],
            job.queued,
            job.scheduled,
            job.first_token + transport if seen else NONE,
            last,
            last if status == COMPLETED else NONE,
            transport,
            first_run,
            last_run,
        )
