"""The common case at full speed: requests that share nothing, in the order of their arrival, with blocks to spare.

Then a request needs no object of its own between its seat and its last token. It is a row of numbers in the heap
of ends, and what the engine decides is arithmetic on the group's sums. `Gliding.glide` is one loop over steps
and runs, written with local names because it is run millions of times; it decides what `Replica.plan` and
`settle` decide, and hands over to them, with a job for every seat, as soon as a step needs more than it knows.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING

from sim.cost import StepWork
from sim.log import DECODE, MIXED, PREFILL
from sim.vllm.group import steps_until
from sim.vllm.job import Job
from sim.vllm.replica import Replica

if TYPE_CHECKING:
    from sim.lane import Backlog
    from sim.table import Table

LOOK_UP_EVERY = 1 << 12
"""Turns between two questions whether to stop."""

DONE = ("place", "scheduled", "first_token", "last_token", "first_run", "last_run")
"""What is left to know of a request that glided through."""


class Gliding(Replica):
    """An engine that takes requests straight from a backlog while it can."""

    # Members in the heap of ends are (end, order, job) or, without a job,
    # (end, order, None, place, total tokens, scheduled, first token, first run).

    def can_glide(self, backlog: Backlog) -> bool:
        """Whether the state is one that `glide` can go on from, at an instant when the engine is free."""
        if not self._grouped or self._partial is not None:
            return False
        backlog.unmake()
        return not backlog.front and backlog.next_shared() > backlog.coming

    def glide(
        self, now: int, backlog: Backlog, done: Table, finished: list[Job], stop: Callable[[int], bool] | None
    ) -> int:
        """Go on from `now` as long as the steps are simple; returns the instant reached.

        `stop` is asked now and then, with the instant, whether to end here. Requests without a job that finish
        become rows `DONE` of `done`; jobs are appended to `finished`. On return every seat has a job, and the
        next step is to be planned at that instant.
        """
        scheduler = self.scheduler
        pool, seats, size = scheduler.pool, self._seats, self._size
        cached = scheduler.config.enable_prefix_caching
        headroom, whole = scheduler.headroom, scheduler.full_prompt
        ticks, decode_run = self._cost.ticks, self._cost.decode_run
        add_run, add_done = self.runs.add, done.add
        group = self._group
        ends, phases = group.ends, group.phases
        members, context, step, order, rows = group.members, group.context, group.step, group.order, self._rows
        joins, total, outputs = backlog.joins, len(backlog.joins), backlog.outputs
        prompts, first_shared = backlog.prompts, backlog.next_shared()
        head, coming, most_tokens = backlog.head, backlog.coming, self._budget
        blocks = pool.total
        # The prompt that is half done: its place, tokens, tokens done, blocks, and when it was scheduled.
        half, half_prompt, half_done, half_held, half_since = -1, 0, 0, 0, 0
        for turn in count(1):
            if not turn % LOOK_UP_EVERY and stop is not None and stop(now):
                break
            while coming < total and joins[coming] <= now:
                coming += 1
            if coming > first_shared or members > most_tokens:
                break
            budget = most_tokens - members
            needed = phases[step % size]
            room = pool.free - needed
            if room < 0:
                break
            tokens = pairs = 0
            read = context
            joining: list[tuple[int, int, int]] = []
            if half >= 0:
                chunk = half_prompt - half_done
                if chunk > budget:
                    chunk = budget
                held = -(-(half_done + chunk) // size)
                if held - half_held > room:
                    break
                needed += held - half_held
                room -= held - half_held
                tokens = chunk
                read += half_done
                pairs = chunk * half_done + chunk * (chunk + 1) // 2
                half_done += chunk
                half_held = held
                budget -= chunk
                if half_done == half_prompt:
                    joining.append((half, half_prompt, half_since))
                    half = -1
            taken = members + len(joining) + (half >= 0)
            while head < coming and budget > 0 and taken < seats:
                prompt = prompts[head]
                chunk = prompt if prompt <= budget else budget
                if -(-(prompt if whole else chunk) // size) + (headroom if taken else 0) > room:
                    break
                held = -(-chunk // size)
                needed += held
                room -= held
                tokens += chunk
                pairs += chunk * (chunk + 1) // 2
                budget -= chunk
                taken += 1
                if chunk == prompt:
                    joining.append((head, prompt, now))
                else:
                    half, half_prompt, half_done, half_held, half_since = head, prompt, chunk, held, now
                head += 1
            if tokens:
                if members:
                    kind = MIXED
                    span = ticks(StepWork("mixed", tokens, members, read, pairs))
                else:
                    kind = PREFILL
                    span = ticks(StepWork("prefill", tokens, 0, read, pairs))
                steps, first, growth = 1, span, 0
            elif members:
                kind = DECODE
                first, growth, steps = decode_run(members, context)
                rest = ends[0][0] - step
                if rest < steps:
                    steps = rest
                if steps > 1:
                    span = steps * first + growth * (steps * (steps - 1) // 2)
                    if head == coming and coming < total and taken < seats and budget and now + span > joins[coming]:
                        # The step that ends at or after the arrival is the last one without it.
                        steps = steps_until(first, growth, joins[coming] - now - 1) + 1
                    # Blocks for the steps after the first: see `Group.needed_later`.
                    rounds, rest = divmod(steps - 1, size)
                    begin = (step + 1) % size
                    later = rounds * members + sum(phases[begin : begin + rest])
                    if begin + rest > size:
                        later += sum(phases[: begin + rest - size])
                    if later > room:
                        group.members, group.step = members, step
                        steps = group.steps_with_blocks(steps, room)
                        later = group.needed_later(steps - 1)
                    needed += later
                span = steps * first + growth * (steps * (steps - 1) // 2)
            elif head < coming or coming == total:
                # Nothing runs: either the head can never be served, or all is done.
                break
            else:
                now = joins[coming]
                continue
            if needed:
                pool.take(needed)
            add_run(now, steps, first, growth, kind, tokens, members, read, taken, coming - head, blocks - pool.free)
            now += span
            if members:
                step += steps
                context += members * steps
                while ends and ends[0][0] == step:
                    entry = heappop(ends)
                    members -= 1
                    job = entry[2]
                    if job is None:
                        _, _, _, place, length, since, seen, row = entry
                        # The last token's own KV is never computed.
                        length -= 1
                        full = length // size
                        held = -(-length // size)
                        pool.release(held - full, full) if cached else pool.release(held)
                        add_done(place, since, seen, now, row, rows)
                    else:
                        length = job.prompt_tokens + job.last_output - 1
                        self._leave(job, now, rows)
                        finished.append(job)
                    context -= length + 1
                    phases[(step - length) % size] -= 1
            for place, prompt, since in joining:
                output = outputs[place]
                if output == 1:
                    held, full = -(-prompt // size), prompt // size
                    pool.release(held - full, full) if cached else pool.release(held)
                    add_done(place, since, now, now, rows, rows)
                    continue
                order += 1
                members += 1
                context += prompt + 1
                phases[(step - prompt) % size] += 1
                heappush(ends, (step + output - 1, order, None, place, prompt + output, since, now, rows))
            rows += 1
        group.members, group.context, group.step, group.order = members, context, step, order
        self._rows = rows
        self._last_end = now
        backlog.head, backlog.coming = head, coming
        self._seat_all(backlog, half, half_done, half_held, half_since)
        return now

    def _leave(self, job: Job, now: int, row: int) -> None:
        """A job in the group has emitted its last token."""
        job.generated = job.last_output
        job.computed = job.prompt_tokens + job.last_output - 1
        job.held = -(-job.computed // self._size)
        job.full = job.computed // self._size
        job.joined = -1
        job.last_token = now
        if job.text is not None:
            self.scheduler.register(job)
        self._finish(job, row)

    def _seat_all(self, backlog: Backlog, half: int, half_done: int, half_held: int, half_since: int) -> None:
        """Make a job for every seat that has none, in the order of admission."""
        running = self.scheduler.running
        if half < 0 and all(entry[2] is not None for entry in self._group.ends):
            return
        running.clear()
        seated = []
        for entry in sorted(self._group.ends, key=itemgetter(1)):
            job = entry[2]
            if job is None:
                end, order, _, place, _, since, seen, row = entry
                job = self._seat(backlog, place, since)
                job.prefilling = False
                job.prefilled_tokens = job.prompt_tokens
                job.generated = 1
                job.first_token, job.first_run = seen, row
                job.joined, job.order = end - job.last_output + 1, order
                entry = (end, order, job)
            running[job] = None
            seated.append(entry)
        heapify(seated)
        self._group.ends = seated
        if half >= 0:
            job = self._partial = self._seat(backlog, half, half_since)
            job.computed = job.prefilled_tokens = half_done
            job.held, job.full = half_held, half_done // self._size
            running[job] = None

    @staticmethod
    def _seat(backlog: Backlog, place: int, since: int) -> Job:
        job = backlog.make(place)
        job.status = "running"
        job.scheduled = since
        return job
