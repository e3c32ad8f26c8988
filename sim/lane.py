"""The straight way through a scenario: one vLLM engine, open arrivals, nobody who changes their mind.

Nothing outside the engine depends on what it does, so it needs no event queue: the next arrival is known when a
run is planned, and the queue is the stretch of the arrivals that have come and not been seated. Anything else
goes through `sim.fleet`, with the same engine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from sim.arrivals import Prefix, Requests
from sim.cost import cost_model
from sim.errors import ScenarioError
from sim.kv import TokenStream
from sim.log import COMPLETED, GAP, IN_FLIGHT, LIFE, STRETCH, Log
from sim.scenario import Scenario
from sim.server import Server
from sim.table import NONE, Column, Table
from sim.ticks import to_seconds, to_ticks
from sim.vllm import EngineConfig, EngineRequest
from sim.vllm.drafting import Drafting
from sim.vllm.glide import DONE, LOOK_UP_EVERY, Gliding
from sim.vllm.job import Job

NO_LIMIT_BLOCKS = 1 << 40

Progress = Callable[[int, int, float], None]
"""Called now and then with requests done, requests in all, and the simulated second."""
Stop = Callable[[], bool]
"""Asked now and then; true ends the simulation where it is."""

_PREFIXES_KEPT = 256
"""Shared beginnings whose keys are remembered."""
_WORTH_GLIDING, _REST = 8, 32
"""After a glide of fewer runs than the one, as many turns as the other go the general way."""


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


def drafting_of(server: Server, seed: int, replica: int) -> Drafting | None:
    """Speculative decoding of one replica, where the server has it."""
    return None if server.speculation is None else Drafting(server.speculation, f"{seed}/replica {replica}")


def fits_lane(scenario: Scenario) -> bool:
    """Whether `Lane` can run it."""
    server = scenario.server
    if server.policy != "vllm" or server.queue_limit is not None or scenario.horizon_s is not None:
        return False
    return all(item.patience_s is None and not item.prefilled for item in scenario.classes)


class Backlog:
    """The queue of a lane: jobs that were made and stand in front, then arrivals that have come, not yet made.

    So a queue of a million requests is two numbers.
    """

    def __init__(
        self, requests: Requests, joins: list[int], order: list[int] | None, server: Server, longest: int
    ) -> None:
        self.requests = requests
        self.joins = joins
        """When requests join, ticks, ascending."""
        self.order = order
        """Which request joins as which; None when in their own order."""
        self.head = 0
        """The first that is not made."""
        self.coming = 0
        """The first that has not come yet."""
        self.front: deque[EngineRequest] = deque()
        self.prompts = requests.prompt_tokens if order is None else [requests.prompt_tokens[i] for i in order]
        outputs = requests.output_tokens if order is None else [requests.output_tokens[i] for i in order]
        if len(outputs) and max(self.prompts) + max(outputs) > longest:
            outputs = [min(output, longest - prompt) for prompt, output in zip(self.prompts, outputs, strict=True)]
        self.outputs = outputs
        """What each will have emitted at its end."""
        self._block_tokens = server.block_tokens if server.prefix_cache else 0
        self._prefix_texts: dict[Prefix, TokenStream] = {}
        prefixes = requests.prefixes if self._block_tokens else ()
        shared = {index for index, prefix in enumerate(prefixes) if prefix}
        self._shared = [place for place in range(len(joins)) if self._index(place) in shared] if shared else []

    def _index(self, place: int) -> int:
        return place if self.order is None else self.order[place]

    def next_shared(self) -> int:
        """The first of those not made that shares its beginning with others; beyond all when there is none."""
        position = bisect_left(self._shared, self.head)
        return self._shared[position] if position < len(self._shared) else len(self.joins) + 1

    def receive(self, now: int) -> int | None:
        """Let those join whose time has come, and return when the next one will."""
        joins, coming, total = self.joins, self.coming, len(self.joins)
        while coming < total and joins[coming] <= now:
            coming += 1
        self.coming = coming
        return joins[coming] if coming < total else None

    def make(self, place: int) -> Job:
        """The request that joins as number `place`."""
        requests = self.requests
        index = self._index(place)
        prompt = requests.prompt_tokens[index]
        job = Job(index, prompt, requests.output_tokens[index], priority=requests.priorities[index], index=index)
        job.arrival = index
        job.queued = self.joins[place]
        job.last_output = self.outputs[place]
        prefix = requests.prefixes[index]
        if prefix and self._block_tokens:
            job.text = self._text(prefix)
            job.shared_tokens = job.text.tokens
            job.text.append(f"prompt_of:{index}", 0, prompt - job.text.tokens)
        return job

    def _text(self, prefix: Prefix) -> TokenStream:
        """The beginning that a prompt shares, with its keys where many have it."""
        text = self._prefix_texts.get(prefix)
        if text is None:
            text = TokenStream(prefix, self._block_tokens)
            text.keys(text.tokens // self._block_tokens)
            if len(self._prefix_texts) >= _PREFIXES_KEPT:
                self._prefix_texts.clear()
            self._prefix_texts[prefix] = text
        return text.branch()

    def unmake(self) -> None:
        """Forget the head's job if nothing has happened to it."""
        if len(self.front) == 1 and not self.front[0].preemptions:
            self.front.clear()
            self.head -= 1

    # ---- as the scheduler sees it --------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.front) + self.coming - self.head

    def __iter__(self) -> Iterator[EngineRequest]:
        yield from self.front
        yield from map(self.make, range(self.head, self.coming))

    def __getitem__(self, index: Literal[0]) -> EngineRequest:
        if not self.front:
            self.front.append(self.make(self.head))
            self.head += 1
        return self.front[index]

    def popleft(self) -> EngineRequest:
        return self.front.popleft()

    def append(self, request: EngineRequest) -> None:
        self.front.append(request)

    def appendleft(self, request: EngineRequest) -> None:
        self.front.appendleft(request)

    def remove(self, request: EngineRequest) -> None:
        self.front.remove(request)


class _Look:
    """Tells the outside how far it is, and asks whether to stop."""

    def __init__(self, lane: Lane, progress: Progress | None, stop: Stop | None) -> None:
        self._lane, self._progress, self._stop = lane, progress, stop
        self.stopped = False

    def __call__(self, now: int) -> bool:
        if self._progress is not None:
            self._progress(*self._lane.over, to_seconds(now))
        self.stopped = self._stop is not None and self._stop()
        return self.stopped


class Lane:
    """One run of one scenario through one engine.

    `fast=False` takes every step by itself. Raises ScenarioError for a prompt that no engine takes.
    """

    def __init__(self, scenario: Scenario, requests: Requests, *, fast: bool = True) -> None:
        server = scenario.server
        config = engine_config(server)
        self._scenario = scenario
        self._requests = requests
        joins, order = self._joins()
        self._backlog = Backlog(requests, joins, order, server, config.max_model_len)
        self._refuse_long(config.max_model_len)
        # With priorities the queue is not the order of arrival.
        self._glides = fast and server.order == "fcfs"
        self._replica = Gliding(
            config,
            cost_model(scenario.step_cost),
            server.engine_version,
            fast=fast,
            waiting=self._backlog if server.order == "fcfs" else None,
            drafting=drafting_of(server, scenario.seed, 0),
        )
        self._transport = [to_ticks(item.transport_s) for item in scenario.classes]
        self._done = Table(DONE)
        self._lives = Table(LIFE)
        self._stretches = Table(STRETCH)
        self._gaps = Table(GAP)

    def run(self, progress: Progress | None = None, stop: Stop | None = None) -> Log:
        """Run until nothing is left to do, or until `stop` says so.

        Raises ScenarioError for a request that can never be served.
        """
        replica, backlog = self._replica, self._backlog
        finished: list[Job] = []
        now = rest = turn = 0
        look = None if progress is None and stop is None else _Look(self, progress, stop)
        while look is None or not look.stopped:
            following = self._receive(now)
            if rest:
                rest -= 1
            elif self._glides and replica.can_glide(backlog):
                runs = replica.run_count
                now = replica.glide(now, backlog, self._done, finished, look)
                if replica.run_count - runs < _WORTH_GLIDING:
                    rest = _REST
                following = self._receive(now)
            turn += 1
            if look is not None and (look.stopped or (not turn % LOOK_UP_EVERY and look(now))):
                break
            if replica.plan(now, following):
                assert replica.end is not None
                now = replica.end
                finished += replica.settle(now)
            elif following is not None:
                now = following
            else:
                break
            self._write_all(finished)
        self._write_all(finished)
        replica.write_back()
        for job in [*replica.scheduler.running, *replica.scheduler.waiting]:
            assert isinstance(job, Job)
            self._write(job, IN_FLIGHT)
        lives = self._glided()
        if len(self._lives):
            lives.extend(self._lives)
            lives.sort("id")
        return Log(
            self._scenario, lives, (replica.runs,), self._stretches, self._gaps, now, look is not None and look.stopped
        )

    @property
    def over(self) -> tuple[int, int]:
        """Requests that are done, and all of them."""
        return len(self._done) + len(self._lives), len(self._requests)

    def _receive(self, now: int) -> int | None:
        """Let requests join whose time has come, and return when the next one will."""
        backlog = self._backlog
        come = backlog.coming
        following = backlog.receive(now)
        if self._scenario.server.order == "priority":
            for place in range(come, backlog.coming):
                self._replica.submit(job := backlog.make(place), job.queued)
        return following

    def _joins(self) -> tuple[list[int], list[int] | None]:
        """When requests join the queue, ascending, and which they are (None: in their own order)."""
        requests = self._requests
        delays = [to_ticks(item.preprocess_s) for item in self._scenario.classes]
        if not any(delays):
            return list(requests.times), None
        joins = [time + delays[index] for time, index in zip(requests.times, requests.class_indexes, strict=True)]
        order = sorted(range(len(joins)), key=joins.__getitem__)
        return [joins[index] for index in order], order

    def _refuse_long(self, longest: int) -> None:
        prompts = self._requests.prompt_tokens
        if len(prompts) and max(prompts) >= longest:
            index = next(index for index, prompt in enumerate(prompts) if prompt >= longest)
            name = self._scenario.classes[self._requests.class_indexes[index]].name
            raise ScenarioError(
                f"request {self._requests.numbers[index]} of class {name} has a prompt of {prompts[index]:,} tokens, "
                f"which with one output token is longer than server.max_model_tokens {longest:,}; "
                "shorten the prompts or raise max_model_tokens"
            )

    # ---- records -------------------------------------------------------------------------------------

    def _write_all(self, finished: list[Job]) -> None:
        for job in finished:
            self._write(job, COMPLETED)
        finished.clear()

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
            max(0, job.prefilled_tokens - fresh) if job.preemptions else 0,
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

    def _glided(self) -> Table:
        """The lives of requests that went through without a job, by id."""
        return Table.of(LIFE, len(self._done), self._glided_columns())

    def _glided_columns(self) -> Iterator[Column]:
        """The columns `LIFE`, each made when it is asked for."""
        import numpy as np

        requests, backlog, done = self._requests, self._backlog, self._done
        place = done["place"]
        index = place if backlog.order is None else np.asarray(backlog.order, dtype=np.int64)[place]
        by_id = np.argsort(index)
        place, index = place[by_id], index[by_id]

        def of(column: Sequence[int], rows: Column) -> Column:
            return np.asarray(column, dtype=np.int64)[rows]

        classes, zero = of(requests.class_indexes, index), np.zeros_like(place)
        transport = np.asarray(self._transport, dtype=np.int64)[classes]
        last = done["last_token"][by_id] + transport
        prompts = of(requests.prompt_tokens, index)
        yield index
        yield classes
        yield of(requests.numbers, index)
        yield zero + COMPLETED
        yield zero  # replica
        yield zero + 1  # attempts
        yield zero  # preemptions
        yield prompts
        yield of(requests.output_tokens, index)  # wanted
        yield of(backlog.outputs, place)
        yield zero  # cached
        yield prompts  # computed
        yield zero  # recomputed
        yield zero  # wasted
        yield of(requests.times, index)
        yield of(backlog.joins, place)
        yield done["scheduled"][by_id]
        yield done["first_token"][by_id] + transport
        yield last
        yield last  # ended
        yield transport
        yield done["first_run"][by_id]
        yield done["last_run"][by_id]
