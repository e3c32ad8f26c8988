"""Sending a plan: open requests when they are due, closed loops as their users are ready."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from tutor.measure.counters import difference, read_metrics
from tutor.measure.plan import LoadPlan, Patience, Planned, UserGroup
from tutor.measure.prompts import Prompt, Prompts
from tutor.measure.records import Seen
from tutor.measure.send import Target, send

LOST_AFTER = 5
"""So many requests in a row that could not be sent, or broke off: the server is gone, and the run ends."""

Work = tuple[Planned, Seen, Prompt]
Progress = Callable[[int, int, float], None]
"""Called with requests ended, requests planned, and seconds since the start."""


@dataclass(slots=True)
class Measured:
    """A run: every planned request with what was seen of it."""

    requests: list[Seen]
    duration_s: float
    """From the start to the last token."""
    counters: dict[str, float] = field(default_factory=dict)
    """By how much the server's own counters rose."""
    exact_prompts: bool = False
    stopped: str = ""
    """Why it ended early; what was measured until then is kept."""

    @property
    def partial(self) -> bool:
        """Whether not all was sent."""
        return bool(self.stopped)

    @property
    def late_s(self) -> float:
        """By how much the generator itself was late, at worst: that much of a TTFT may be its own."""
        return max((each.late_s for each in self.requests), default=0.0)


async def run_load(
    plan: LoadPlan,
    target: Target,
    prompts: Prompts,
    client: httpx.AsyncClient,
    *,
    stop: asyncio.Event | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Send the plan and wait for every answer; faults of single requests are their status.

    `stop` ends it early: nothing more is sent, what is under way is cut and marked cancelled.
    """
    before = await read_metrics(client, target.base_url)
    run = _Run(plan, target, prompts, client, stop or asyncio.Event(), progress)
    measured = await run.go()
    if measured.stopped != _GONE:
        measured.counters = difference(before, await read_metrics(client, target.base_url))
    return measured


_GONE = f"the server was gone: {LOST_AFTER} requests in a row failed"


class _Run:
    def __init__(
        self,
        plan: LoadPlan,
        target: Target,
        prompts: Prompts,
        client: httpx.AsyncClient,
        stop: asyncio.Event,
        progress: Progress | None,
    ) -> None:
        self.plan, self.target, self.prompts, self.client = plan, target, prompts, client
        self.stop, self.progress = stop, progress
        self.seen: list[Seen] = []
        self.ended = self.failures = 0
        self.gone = False
        self.began = time.perf_counter()

    def now(self) -> float:
        return time.perf_counter() - self.began

    async def go(self) -> Measured:
        # Prompts are made before the clock starts: drawing a long one must not delay another.
        work = [(each, self._blank(each), self._prompt(each)) for each in self.plan.open]
        groups = [(group, [(each, self._blank(each), self._prompt(each)) for each in group.requests])
                  for group in self.plan.closed]  # fmt: skip
        self.began = time.perf_counter()
        tasks = [asyncio.create_task(self._open(work))]
        tasks += [asyncio.create_task(self._user(group, each)) for group, each in _shared(groups)]
        stopping = asyncio.create_task(self.stop.wait())
        everything: asyncio.Future[list[None]] = asyncio.gather(*tasks)
        waited: list[asyncio.Future[Any]] = [everything, stopping]
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        stopped = _GONE if self.gone else ("stopped by hand" if not everything.done() else "")
        if not everything.done():
            everything.cancel()
        await asyncio.gather(everything, return_exceptions=True)
        stopping.cancel()
        lasts = [each.last_s for each in self.seen if each.last_s is not None]
        return Measured(
            sorted(self.seen, key=lambda each: (each.sent_s is None, each.sent_s or each.due_s)),
            max(lasts, default=self.now()),
            exact_prompts=self.prompts.exact,
            stopped=stopped,
        )

    def _blank(self, planned: Planned) -> Seen:
        seen = Seen(planned.class_name, planned.number, planned.due_s, planned.prompt_tokens, planned.output_tokens)
        self.seen.append(seen)
        return seen

    def _prompt(self, planned: Planned) -> Prompt:
        return self.prompts.make(f"{planned.class_name}/{planned.number}", planned.prompt_tokens, planned.prefix)

    async def _open(self, work: list[Work]) -> None:
        sending: set[asyncio.Task[None]] = set()
        try:
            for planned, seen, prompt in work:
                delay = planned.due_s - self.now()
                if delay > 0:
                    await asyncio.sleep(delay)
                if self.gone:
                    break
                task = asyncio.create_task(self._send(seen, prompt))
                sending.add(task)
                task.add_done_callback(sending.discard)
            await asyncio.gather(*sending)
        finally:
            for task in sending:
                task.cancel()

    async def _user(self, group: UserGroup, work: _Shared) -> None:
        await asyncio.sleep(group.start_s)
        for planned, seen, prompt in work:
            await asyncio.sleep(planned.due_s)
            if self.gone:
                return
            seen.due_s = self.now()
            await self._send(seen, prompt)

    async def _send(self, seen: Seen, prompt: Prompt) -> None:
        patience = self.plan.patience.get(seen.class_name, Patience())
        try:
            await send(self.client, self.target, prompt, seen, patience, self.now)
        except asyncio.CancelledError:
            seen.status, seen.error = "cancelled", "the measurement was stopped"
            raise
        self.failures = self.failures + 1 if seen.status in ("failed", "stalled") else 0
        if self.failures >= LOST_AFTER:
            self.gone = True
            self.stop.set()
        self.ended += 1
        if self.progress is not None:
            self.progress(self.ended, self.plan.count, self.now())


class _Shared:
    """The requests of a closed loop, taken by whichever user is ready next."""

    def __init__(self, work: list[Work]) -> None:
        self._work = iter(work)

    def __iter__(self) -> _Shared:
        return self

    def __next__(self) -> Work:
        return next(self._work)


def _shared(
    groups: list[tuple[UserGroup, list[Work]]],
) -> list[tuple[UserGroup, _Shared]]:
    """One entry a user; those of a group take from the same requests."""
    users: list[tuple[UserGroup, _Shared]] = []
    for group, work in groups:
        shared = _Shared(work)
        users += [(group, shared)] * group.users
    return users
