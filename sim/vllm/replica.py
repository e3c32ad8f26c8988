"""A vLLM engine with a clock: the step scheduler's decisions, in time, with runs of decode steps taken at once.

Most steps of an engine decode the same sequences as the step before. While that holds, nothing about a single
sequence is needed, and a `Group` stands for all that decode. Where a step needs more (blocks run out, chunks
share a budget by order, drafts are verified), the group is written back to its members and `Scheduler` plans
the step request by request. Both ways decide the same; the tests compare them to the last tick.
"""

from __future__ import annotations

from sim.cost import CostModel, StepKind, StepWork, attention_pairs
from sim.errors import ScenarioError
from sim.log import DECODE, KIND_NAMES, RUN
from sim.table import Table
from sim.vllm.drafting import Drafting
from sim.vllm.group import Group, duration, steps_until
from sim.vllm.job import Job
from sim.vllm.plan import Queue, StepPlan
from sim.vllm.request import Engine, EngineConfig, EngineRequest
from sim.vllm.scheduler import Scheduler


class Replica:
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
        self._grouped = self._groups
        """Whether those that decode are in the group; else their jobs tell."""
        self._group = Group(self._size)
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
            self._group.remove(job)
            self._blocks_of(job)
            job.last_run, job.last_token = self._rows - 1, self._last_end
        if job is self._partial:
            self._partial = None
        for other, tokens in self._prefills:
            if other is job:
                # The step under way computes it to the end.
                job.prefilled_tokens += tokens
        self._prefills = [entry for entry in self._prefills if entry[0] is not job]
        if self._exact is not None and job in self._exact.sampling:
            self._exact.sampling.remove(job)
        self.scheduler.abort(job)
        return finished

    def look(self, job: Job) -> tuple[int, int, int]:
        """A request's tokens so far, when the latest came out, and at the end of which run, as of the last `settle`."""
        if job.joined < 0:
            return job.generated, job.last_token, job.last_run
        return job.generated + self._group.step - job.joined, self._last_end, self._rows - 1

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
            self._read = self._group.context
            self._last_end = over
            if over == now:
                self.end = None
                return []
            self.scheduler.pool.take(self._group.needed_now())
        self._steps, self._growth = 1, 0
        self.end = self._start + self._first
        return []

    # ---- the group -----------------------------------------------------------------------------------

    def _open(self) -> bool:
        """Whether a request that comes now could be in the next step, though nothing else changes."""
        scheduler = self.scheduler
        if len(scheduler.running) >= self._seats or self._group.members >= self._budget:
            return False
        # The head of a queue is there because it does not fit, and nobody overtakes it unless by priority.
        return not (scheduler.waiting and self._fcfs)

    def _plan_group(self, now: int, until: int | None) -> bool | None:
        """Plan with the group as it is; None when the step must be planned request by request."""
        scheduler, group, partial = self.scheduler, self._group, self._partial
        pool, waiting, running = scheduler.pool, scheduler.waiting, scheduler.running
        members = group.members
        budget = self._budget - members
        if budget < 0:
            return None
        needed = group.needed_now() if members else 0
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
        self._read = group.context
        first, growth, most = self._cost.decode_run(members, group.context)
        steps = group.steps_left()
        if most < steps:
            steps = most
        if (steps // self._size + 1) * members > pool.free:
            steps = group.steps_with_blocks(steps, pool.free)
        if until is not None and now + duration(first, growth, steps) > until and self._open():
            # The step that ends at or after the arrival is the last one without it.
            steps = steps_until(first, growth, until - now - 1) + 1
        self._first, self._growth, self._steps = first, growth, steps
        self.end = now + duration(first, growth, steps)
        return True

    def _time_prefill(self, members: int) -> None:
        """Time a step with prompt chunks, and count their tokens as computed."""
        prefill_tokens, context, pairs = 0, self._group.context, 0
        for job, tokens in self._prefills:
            before = job.computed
            prefill_tokens += tokens
            context += before
            pairs += attention_pairs(tokens, before)
            job.computed = before + tokens
        self._time(members, prefill_tokens, context, pairs)

    def _complete_group(self, end: int) -> list[Job]:
        """The steps of the run are over: count them, let go who is done, take in whose prompt is."""
        finished: list[Job] = []
        if self._decoding:
            for job in self._group.advance(self._steps):
                self._blocks_of(job)
                job.last_token = end
                self._finish(job, self._rows - 1)
                finished.append(job)
        if self._prefills:
            self._partial = None
            for job, tokens in self._prefills:
                job.prefilled_tokens += tokens
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
                    self._group.join(job)
        return finished

    def _finish(self, job: Job, row: int) -> None:
        scheduler = self.scheduler
        job.last_run = row
        del scheduler.running[job]
        scheduler.drop_blocks(job)
        job.status = "finished_length_capped"

    def _blocks_of(self, job: Job) -> None:
        """Write to a job that has left the group what it holds."""
        # A step under way has its block already.
        scheduled = job.computed + (self.end is not None)
        job.held = -(-scheduled // self._size)
        job.full = scheduled // self._size
        if job.text is not None:
            self.scheduler.register(job)

    def _take_later_blocks(self) -> None:
        """Take what the steps of a run need after the first, whose blocks were taken when it was planned."""
        if self._steps > 1:
            needed = self._group.needed_later(self._steps - 1)
            if needed:
                self.scheduler.pool.take(needed)

    def write_back(self) -> None:
        """Dissolve the group into its members, so that each of them knows where it stands."""
        members = [entry[2] for entry in self._group.ends]
        self._group.dissolve()
        for job in members:
            self._blocks_of(job)
            job.last_token = self._last_end
            job.last_run = self._rows - 1
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
            self._prefills.append((request, tokens))
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
        for job, tokens in self._prefills:
            job.prefilled_tokens += tokens
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
                self._group.join(request)

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
