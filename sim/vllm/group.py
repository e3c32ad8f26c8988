"""The sequences that decode, as the few numbers that a step needs of them."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import isqrt
from typing import Any

from sim.vllm.job import Job


class Group:
    """Sequences each of which emits one token in every step.

    So a step costs the same work whether one or a thousand of them decode, and so does a run of steps. Nothing
    is written to a member before it leaves.
    """

    def __init__(self, block_tokens: int) -> None:
        self.members = 0
        self.context = 0
        """Tokens that the next step reads."""
        self.step = 0
        """Steps the group has done."""
        self.phases = [0] * block_tokens
        """How many members need a block in the steps whose count is this, modulo the block size."""
        self.ends: list[Any] = []
        """Heap: the step count after which a member is done, its order, and the member (see also `sim.vllm.glide`)."""
        self.order = 0
        self._size = block_tokens

    def join(self, job: Job) -> None:
        """Take in a sequence that has just emitted."""
        total = job.prompt_tokens + job.generated
        self.order += 1
        job.order = self.order
        job.joined = self.step
        self.members += 1
        self.context += total
        self.phases[(self.step - total + 1) % self._size] += 1
        heappush(self.ends, (self.step + job.last_output - job.generated, job.order, job))

    def advance(self, steps: int) -> list[Job]:
        """Do steps, at most up to the first end; returns those who are done, in order, out of the group."""
        self.step += steps
        self.context += self.members * steps
        done = []
        ends = self.ends
        while ends and ends[0][0] == self.step:
            job = heappop(ends)[2]
            self._settle(job)
            done.append(job)
        return done

    def remove(self, job: Job) -> None:
        """Take a member out before its end."""
        self.ends = [entry for entry in self.ends if entry[2] is not job]
        heapify(self.ends)
        self._settle(job)

    def dissolve(self) -> None:
        """Let every member go."""
        for entry in self.ends:
            self._settle(entry[2])
        self.ends = []

    def _settle(self, job: Job) -> None:
        """Write back to a member what the group did since it joined."""
        job.generated += self.step - job.joined
        job.joined = -1
        # The latest token's own KV is not computed yet.
        job.computed = job.prompt_tokens + job.generated - 1
        self.members -= 1
        self.context -= job.computed + 1
        self.phases[(self.step - job.computed) % self._size] -= 1

    def steps_left(self) -> int:
        """Steps to the first end; there must be a member."""
        left: int = self.ends[0][0] - self.step
        return left

    def needed_now(self) -> int:
        """Blocks that the next step needs."""
        return self.phases[self.step % self._size]

    def needed_later(self, steps: int) -> int:
        """Blocks that `steps` steps after the next one need together."""
        rounds, rest = divmod(steps, self._size)
        begin = (self.step + 1) % self._size
        end = begin + rest
        phases = self.phases
        needed = rounds * self.members + sum(phases[begin:end])
        if end > self._size:
            needed += sum(phases[: end - self._size])
        return needed

    def steps_with_blocks(self, steps: int, free: int) -> int:
        """Steps of at most `steps` for which `free` blocks are enough, not counting those of the first."""
        low, high = 1, steps
        while low < high:
            middle = (low + high + 1) // 2
            if self.needed_later(middle - 1) <= free:
                low = middle
            else:
                high = middle - 1
        return low


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
