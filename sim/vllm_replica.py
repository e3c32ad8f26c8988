"""A vLLM engine with a clock: the step scheduler's decisions, in time, with runs of decode steps taken at once.

Most steps of an engine decode the same sequences as the step before. While that holds, nothing about a single
sequence is needed: how many decode, how much context they read, how many of them fill a block in which step,
and which step is somebody's last. So those that decode are one *group*, kept as these few numbers; a step
costs the same work whether one or a thousand sequences decode, and a run of steps costs what one step does.

Where a step needs more than that (blocks run out, chunks share a budget by order, drafts are verified), the
group is written back to its members and `sim.vllm.Scheduler` plans the step request by request. Both ways
decide the same; the tests compare them to the last tick.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import isqrt

from sim.cost import CostModel, StepKind, StepWork, attention_pairs
from sim.drafting import Drafting
from sim.errors import ScenarioError
from sim.log import DECODE, KIND_NAMES, RUN
from sim.table import Table
from sim.vllm import Engine, EngineConfig, EngineRequest, Queue, Scheduler, StepPlan


@dataclass(slots=True, eq=False)
class Job(EngineRequest):
    """A request with what its life's record needs. Times are ticks; -1 until they happen."""

    index: int = 0
    """Position among all requests."""
    queued: int = -1
    scheduled: int = -1
    first_token: int = -1
    last_token: int = -1
    """Kept while it is not in the group; those in the group emitted when the latest run ended."""
    cached_tokens: int = 0
    """Prompt tokens found in the cache at its first admission."""
    prefilled_tokens: int = 0
    """Tokens computed in prompt chunks, each time they were."""
    first_run: int = -1
    """The run at whose end its first token, or the first after its latest pause, was emitted."""
    last_run: int = -1
    joined: int = -1
    """The group's step count when it joined; -1 while it is not in the group."""
    order: int = 0
    """Rises with each join, in the order of admission."""
    gaps: list[int] = field(default_factory=list)
    """Gaps that bridge its pauses."""
    stretches: list[tuple[int, int]] = field(default_factory=list)
    """First and last run of its stretches before the latest."""
    owner: object = None


class VllmReplica:
    """One engine. `plan` decides a run, `settle` lets it happen; see `sim.replica`."""

    def __init__(
        self,
        config: EngineConfig,
        cost: CostModel,
        engine: Engine = "0.33",
        *,
        fast: bool = True,
        name: str = "replica 0",
        waiting: Queue | None = None,
        drafting: Drafting | None = None,
    ) -> None:
        self.scheduler = Scheduler(config, engine, waiting)
        self.runs = Table(RUN)
        self.end: int | None = None
        """When the run under way ends; None while the replica is free."""
        self._cost = cost
        self._name = name
        self._budget = config.max_num_batched_tokens
        self._seats = config.max_num_seqs
        self._size = config.block_size
        self._fcfs = config.policy == "fcfs"
        self._drafting = drafting
        # With these, the order in which chunks share a step matters, or steps are not alike.
        self._groups = (
            fast
            and drafting is None
            and not config.long_prefill_token_threshold
            and config.enable_chunked_prefill
            and (config.prefill_schedule_interval == 1 or engine == "0.11")
        )
        self._rows = 0
        # The group.
        self._grouped = self._groups
        self._members = 0
        self._context = 0
        """Tokens that the group's next step reads."""
        self._step = 0
        """Steps the group has done."""
        self._phases = [0] * self._size
        """How many members need a block in the steps whose count is this, modulo the block size."""
        self._ends: list[tuple[int, int, Job]] = []
        """Heap: the step count after which a member is done, its order, and the member."""
        self._order = 0
        self._partial: Job | None = None
        """The one request whose prompt is half done; it stands last among those that run."""
        # The run under way.
        self._start = 0
        self._steps = 1
        self._first = 0
        self._growth = 0
        self._kind = DECODE
        self._prefill_tokens = 0
        self._decoding = 0
        self._read = 0
        self._prefills: list[tuple[Job, int]] = []
        self._exact: StepPlan | None = None
        self._last_end = 0

    # ---- what a driver reads -------------------------------------------------------------------------

    @property
    def run_count(self) -> int:
        """Runs that are over."""
        return self._rows

    @property
    def waiting(self) -> int:
        """Requests in its queue."""
        return len(self.scheduler.waiting)

    @property
    def running(self) -> int:
        """Seats taken."""
        return len(self.scheduler.running)

    @property
    def kv_usage(self) -> float:
        """Share of the KV blocks that are held, 0 to 1."""
        return self.scheduler.pool.usage

    # ---- what a driver does --------------------------------------------------------------------------

    def submit(self, job: Job, now: int) -> None:
        """Put a request into the queue; a run of several steps ends with the step under way if it could be seated.

        Raises ValueError for a prompt that the engine does not take.
        """
        longest = self.scheduler.config.max_model_len
        if job.prompt_tokens >= longest:
            raise ValueError(
                f"request {job.id} has a prompt of {job.prompt_tokens:,} tokens, which with one output token is "
                f"longer than max_model_tokens {longest:,}; shorten it or raise max_model_tokens"
            )
        open_now = self._open()
        self.scheduler.add(job)
        job.queued = now
        if open_now and self._steps > 1 and self.end is not None and now < self.end:
            self.shorten(now)

    def abort(self, job: Job, now: int) -> list[Job]:
        """End a request at once. Returns those that finished before `now`, as `settle` does."""
        finished = self.settle(now)
        if job.joined >= 0:
            self._sync(job)
            self._ends = [entry for entry in self._ends if entry[2] is not job]
            heapify(self._ends)
            self._remove(job)
            job.last_run, job.last_token = self._rows - 1, self._last_end
        if job is self._partial:
            self._partial = None
        self._prefills = [entry for entry in self._prefills if entry[0] is not job]
        if self._exact is not None and job in self._exact.sampling:
            self._exact.sampling.remove(job)
        self.scheduler.abort(job)
        return finished

    def look(self, job: Job) -> tuple[int, int, int]:
        """A request's tokens so far, when the latest came out, and at the end of which run, as of the last `settle`."""
        if job.joined < 0:
            return job.generated, job.last_token, job.last_run
        return job.generated + self._step - job.joined, self._last_end, self._rows - 1

    def plan(self, now: int, until: int | None = None) -> bool:
        """Decide the next run; False when there is nothing to do.

        `until` is when the next request is known to come: no step begins then or later that it could have
        been part of. Raises ScenarioError for a request that can never be served.
        """
        self._start = now
        self._prefills = []
        self._prefill_tokens = 0
        if self._grouped:
            planned = self._plan_group(now, until)
            if planned is not None:
                return planned
            self.write_back()
        return self._plan_exactly(now)

    def settle(self, now: int) -> list[Job]:
        """Let everything happen that is over by `now`; returns the requests that finished, in order."""
        end = self.end
        if end is None:
            return []
        if now < end:
            return self.shorten(now) if self._steps > 1 else []
        self.end = None
        self._last_end = end
        self._take_later_blocks()
        self._record()
        if self._exact is not None:
            return self._complete_exactly(self._exact, end)
        return self._complete_group(end)

    def shorten(self, now: int) -> list[Job]:
        """Keep of a run the steps that are over and the one under way. Nobody finishes by that."""
        done = steps_until(self._first, self._growth, now - self._start)
        over = self._start + duration(self._first, self._growth, done)
        if done:
            rest_first = self._first + done * self._growth
            self._steps = done
            self._take_later_blocks()
            self._record()
            self._complete_group(over)
            self._start, self._first = over, rest_first
            self._read = self._context
            self._last_end = over
            if over == now:
                self.end = None
                return []
            self.scheduler.pool.take(self._phases[self._step % self._size])
        self._steps, self._growth = 1, 0
        self.end = self._start + self._first
        return []

    # ---- the group -----------------------------------------------------------------------------------

    def _open(self) -> bool:
        """Whether a request that comes now could be in the next step, though nothing else changes."""
        scheduler = self.scheduler
        if len(scheduler.running) >= self._seats or self._members >= self._budget:
            return False
        # The head of a queue is there because it does not fit, and nobody overtakes it unless by priority.
        return not (scheduler.waiting and self._fcfs)

    def _plan_group(self, now: int, until: int | None) -> bool | None:
        """Plan with the group as it is; None when the step must be planned request by request."""
        scheduler, members, partial = self.scheduler, self._members, self._partial
        pool, waiting, running = scheduler.pool, scheduler.waiting, scheduler.running
        budget = self._budget - members
        if budget < 0:
            return None
        needed = self._phases[self._step % self._size] if members else 0
        chunk = 0
        if partial is not None:
            chunk = min(partial.prompt_tokens + partial.generated - partial.computed, budget)
            grown = -(-(partial.computed + chunk) // self._size) - partial.held
            if needed + grown > pool.free:
                return None
        elif needed > pool.free:
            return None
        if needed:
            pool.take(needed)
        prefills = self._prefills
        if chunk:
            assert partial is not None
            scheduler.grow(partial, chunk)
            prefills.append((partial, chunk))
            budget -= chunk
        while waiting and budget > 0 and len(running) < self._seats:
            job = waiting[0]
            assert isinstance(job, Job)
            tokens = scheduler.admit_head(budget)
            if not tokens:
                break
            if job.scheduled < 0:
                job.scheduled = now
                job.cached_tokens = job.computed
            prefills.append((job, tokens))
            budget -= tokens
        self._decoding = members
        if prefills:
            self._time_prefill(members)
            return True
        if not members:
            if waiting:
                raise self._unservable(waiting[0])
            return False
        self._kind = DECODE
        self._read = self._context
        first, growth, most = self._cost.decode_run(members, self._context)
        steps = self._ends[0][0] - self._step
        if most < steps:
            steps = most
        if (steps // self._size + 1) * members > pool.free:
            steps = self._steps_with_blocks(steps, pool.free)
        if until is not None and now + duration(first, growth, steps) > until and self._open():
            # The step that ends at or after the arrival is the last one without it.
            steps = steps_until(first, growth, until - now - 1) + 1
        self._first, self._growth, self._steps = first, growth, steps
        self.end = now + duration(first, growth, steps)
        return True

    def _time_prefill(self, members: int) -> None:
        """Time a step with prompt chunks, and count their tokens as computed."""
        prefill_tokens, context, pairs = 0, self._context, 0
        for job, tokens in self._prefills:
            before = job.computed
            prefill_tokens += tokens
            context += before
            pairs += attention_pairs(tokens, before)
            job.computed = before + tokens
            job.prefilled_tokens += tokens
        self._time(members, prefill_tokens, context, pairs)

    def _complete_group(self, end: int) -> list[Job]:
        """The steps of the run are over: count them, let go who is done, take in whose prompt is."""
        finished: list[Job] = []
        if self._decoding:
            steps, ends = self._steps, self._ends
            self._step += steps
            # Not those who were there when the step began: somebody may have been taken out since.
            self._context += self._members * steps
            while ends and ends[0][0] == self._step:
                job = heappop(ends)[2]
                self._sync(job)
                self._remove(job)
                job.last_token = end
                self._finish(job, self._rows - 1)
                finished.append(job)
        if self._prefills:
            self._partial = None
            for job, _ in self._prefills:
                if job.computed < job.prompt_tokens + job.generated:
                    self._partial = job
                    continue
                job.prefilling = False
                job.generated += 1
                self._emitted(job, end)
                if job.generated == job.last_output:
                    self._finish(job, self._rows - 1)
                    finished.append(job)
                else:
                    self._join(job)
        return finished

    def _finish(self, job: Job, row: int) -> None:
        scheduler = self.scheduler
        job.last_run = row
        del scheduler.running[job]
        scheduler.drop_blocks(job)
        job.status = "finished_length_capped"

    def _join(self, job: Job) -> None:
        total = job.prompt_tokens + job.generated
        self._order += 1
        job.order = self._order
        job.joined = self._step
        self._members += 1
        self._context += total
        self._phases[(self._step - total + 1) % self._size] += 1
        heappush(self._ends, (self._step + job.last_output - job.generated, job.order, job))

    def _remove(self, job: Job) -> None:
        """Take a member whose numbers are up to date out of the group's."""
        total = job.prompt_tokens + job.generated
        self._members -= 1
        self._context -= total
        self._phases[(self._step - total + 1) % self._size] -= 1

    def _sync(self, job: Job) -> None:
        """Write the group's steps since it joined back to a member."""
        job.generated += self._step - job.joined
        job.joined = -1
        job.computed = job.prompt_tokens + job.generated - 1
        # A step under way has its block already.
        scheduled = job.computed + (self.end is not None)
        job.held = -(-scheduled // self._size)
        job.full = scheduled // self._size
        if job.text is not None:
            self.scheduler.register(job)

    def _take_later_blocks(self) -> None:
        """Take what the steps of a run need after the first, whose blocks were taken when it was planned."""
        if self._steps > 1:
            needed = self._blocks_for(self._step + 1, self._steps - 1)
            if needed:
                self.scheduler.pool.take(needed)

    def _blocks_for(self, step: int, steps: int) -> int:
        """Blocks that the members need in `steps` steps from the count `step` on."""
        rounds, rest = divmod(steps, self._size)
        begin = step % self._size
        end = begin + rest
        phases = self._phases
        needed = rounds * self._members + sum(phases[begin:end])
        if end > self._size:
            needed += sum(phases[: end - self._size])
        return needed

    def _steps_with_blocks(self, steps: int, free: int) -> int:
        """Steps of at most `steps` for which `free` blocks are enough, not counting those of the first."""
        low, high = 1, steps
        while low < high:
            middle = (low + high + 1) // 2
            if self._blocks_for(self._step + 1, middle - 1) <= free:
                low = middle
            else:
                high = middle - 1
        return low

    def write_back(self) -> None:
        """Dissolve the group into its members, so that each of them knows where it stands."""
        for job in self.scheduler.running:
            assert isinstance(job, Job)
            if job.joined >= 0:
                self._sync(job)
                job.last_token = self._last_end
                job.last_run = self._rows - 1
        self._ends = []
        self._members = self._context = 0
        self._phases = [0] * self._size
        self._partial = None
        self._grouped = False

    # ---- request by request --------------------------------------------------------------------------

    def _plan_exactly(self, now: int) -> bool:
        scheduler = self.scheduler
        while True:
            first = scheduler.waiting[0] if scheduler.waiting else None
            if self._drafting is not None:
                self._drafting.propose(scheduler.running, scheduler.config.max_model_len)
            plan = scheduler.plan()
            if plan.scheduled:
                break
            if plan.preempted and scheduler.running:
                continue
            if scheduler.waiting and not scheduler.running:
                raise self._unservable(plan.preempted[-1] if plan.preempted else first or scheduler.waiting[0])
            return False
        decoding = len(plan.decoding)
        context = sum(request.total for request in plan.decoding)
        prefill_tokens = pairs = 0
        decodes = set(plan.decoding)
        for request, tokens in plan.scheduled.items():
            assert isinstance(request, Job)
            if request in decodes:
                continue
            before = request.computed - tokens
            if request.scheduled < 0:
                request.scheduled = now
                request.cached_tokens = request.hit_tokens
            prefill_tokens += tokens
            context += before
            pairs += attention_pairs(tokens, before)
            request.prefilled_tokens += tokens
        self._exact = plan
        if self._drafting is None:
            self._time(decoding, prefill_tokens, context, pairs)
        else:
            drafts = sum(request.drafts for request in plan.decoding)
            self._time(decoding, prefill_tokens, context, pairs, drafts, self._drafting.ticks if decoding else 0)
        return True

    def _time(
        self, decoding: int, prefill_tokens: int, context: int, pairs: int, drafts: int = 0, extra_ticks: int = 0
    ) -> None:
        """Make the run under way one step of this content; to verify a draft costs what a prompt token does."""
        name: StepKind = "mixed" if decoding and prefill_tokens else "prefill" if prefill_tokens else "decode"
        self._kind = KIND_NAMES.index(name)
        self._decoding, self._prefill_tokens, self._read = decoding, prefill_tokens, context
        self._first = self._cost.ticks(StepWork(name, prefill_tokens + drafts, decoding, context, pairs)) + extra_ticks
        self._growth, self._steps = 0, 1
        self.end = self._start + self._first

    def _complete_exactly(self, plan: StepPlan, end: int) -> list[Job]:
        self._exact = None
        row = self._rows - 1
        emitted = None if self._drafting is None else self._drafting.verify(plan.sampling)
        finished = [request for request in self.scheduler.complete(plan, emitted) if isinstance(request, Job)]
        for request in plan.sampling:
            assert isinstance(request, Job)
            self._emitted(request, end)
            request.last_run = row
        if self._groups:
            self._gather(row)
        return finished

    def _gather(self, row: int) -> None:
        """Make a group of those that decode, if each of them emitted just now and at most one prompt is half done."""
        partial: Job | None = None
        for request in self.scheduler.running:
            assert isinstance(request, Job)
            if partial is not None:
                return
            if request.prefilling:
                partial = request
            elif request.last_run != row:
                return
        self._grouped = True
        self._partial = partial
        for request in self.scheduler.running:
            assert isinstance(request, Job)
            if not request.prefilling:
                self._join(request)

    # ---- records -------------------------------------------------------------------------------------

    def _record(self) -> None:
        scheduler = self.scheduler
        pool = scheduler.pool
        self._rows += 1
        self.runs.add(
            self._start,
            self._steps,
            self._first,
            self._growth,
            self._kind,
            self._prefill_tokens,
            self._decoding,
            self._read,
            len(scheduler.running),
            len(scheduler.waiting),
            pool.total - pool.free,
        )

    def _emitted(self, job: Job, now: int) -> None:
        """A token of a request that was not in the group came out at the end of the latest run."""
        row = self._rows - 1
        if job.first_token < 0:
            job.first_token = now
            job.first_run = row
        elif job.last_run != row - 1 or job.last_run < 0:
            job.gaps.append(now - job.last_token)
            job.stretches.append((job.first_run, job.last_run))
            job.first_run = row
        job.last_token = now

    def _unservable(self, job: EngineRequest) -> ScenarioError:
        pool = self.scheduler.pool
        needed = -(-(job.prompt_tokens + job.last_output - 1) // self._size)
        return ScenarioError(
            f"{self._name}: request {job.id} needs {needed:,} KV blocks of {self._size} tokens for its "
            f"{job.prompt_tokens:,} prompt and {job.last_output:,} output tokens, but the cache has {pool.total:,}: "
            "alone in the engine it would be preempted and computed again for ever; "
            "raise server.kv_blocks or shorten the request"
        )


def duration(first: int, growth: int, steps: int) -> int:
    """Ticks of a run's first `steps` steps."""
    return steps * first + growth * (steps * (steps - 1) // 2)


def steps_until(first: int, growth: int, span: int) -> int:
    """The most steps of a run that take at most `span` ticks together."""
    if span < first:
        return 0
    if not growth:
        return span // first if first else 1 << 62
    # growth/2 · n² + (first - growth/2) · n <= span
    b = 2 * first - growth
    steps = (isqrt(b * b + 8 * growth * span) - b) // (2 * growth)
    # isqrt rounds down, and so does the division: the true root may be one further.
    while duration(first, growth, steps + 1) <= span:
        steps += 1
    return steps
