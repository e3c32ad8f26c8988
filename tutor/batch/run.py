"""Grading a batch: as many answers at once as the servers take, none lost when one of them goes."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from question_bank import Bank, BankError, build_question
from tutor.batch.files import BatchAnswer, GradedAnswer, Results
from tutor.errors import TutorError
from tutor.grader import Grader
from tutor.llm.pool import Pool

MAX_TRIES = 3
"""An answer that several servers could not grade is kept as it came out."""


@dataclass(slots=True)
class BatchProgress:
    """Where a batch stands."""

    total: int
    done: int = 0
    kept: int = 0
    """Of those done, graded in an earlier sitting."""
    by_server: dict[str, int] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    """Servers that went away."""
    seconds: float = 0.0

    @property
    def left_s(self) -> float | None:
        """What the rest will take at this pace; None before there is one."""
        now = self.done - self.kept
        return self.seconds / now * (self.total - self.done) if now > 0 else None


Tell = Callable[[BatchProgress], None]


class AllServersGone(TutorError):
    """No server is left; what was graded is kept."""

    exit_code = 3


async def grade_batch(
    answers: Sequence[BatchAnswer],
    bank: Bank,
    results: Results,
    graders: Mapping[str, Grader],
    pool: Pool | None,
    *,
    per_server: int = 1,
    tell: Tell | None = None,
) -> BatchProgress:
    """Grade what the results do not have yet. Cancelling loses what is under way, nothing else.

    Args:
        answers: of the input.
        bank: the questions.
        results: where each grade goes at once.
        graders: by the address of the server they ask; with no pool the only one, which asks none or one.
        pool: the servers; None: a single grader.
        per_server: answers under way at one server.
        tell: called after each answer.

    Raises:
        AllServersGone: none of the servers answers any more.
        TutorError: a grade cannot be written, or an item is not in the bank.
    """
    work = _Batch(answers, bank, results, graders, pool, tell or (lambda _: None))
    count = per_server * (len(pool.endpoints) if pool is not None else 1)
    workers = [asyncio.create_task(work.drain()) for _ in range(count)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    if work.todo:
        left = len(work.todo)
        raise AllServersGone(
            f"No server answers any more; {left:,} answers are not graded.",
            hint="Start one, and run the same command to go on.",
        )
    return work.progress


class _Batch:
    def __init__(
        self, answers: Sequence[BatchAnswer], bank: Bank, results: Results, graders: Mapping[str, Grader],
        pool: Pool | None, tell: Tell,
    ) -> None:  # fmt: skip
        unknown = next((answer for answer in answers if not _known(bank, answer.item)), None)
        if unknown is not None:
            bank.item(unknown.item)  # says which and what is near
        self.bank, self.results, self.graders, self.pool, self.tell = bank, results, graders, pool, tell
        waiting = [answer for answer in answers if not results.has(answer)]
        # Answers to one item one after another: a server that has just seen its question has it in its cache.
        order = {item: n for n, item in enumerate(dict.fromkeys((each.item, each.seed) for each in waiting))}
        self.todo = deque(
            sorted(((answer, 1) for answer in waiting), key=lambda each: order[each[0].item, each[0].seed])
        )
        self.began = time.monotonic()
        kept = len(answers) - len(waiting)
        self.progress = BatchProgress(len(answers), kept, kept)

    async def drain(self) -> None:
        while self.todo:
            answer, attempt = self.todo.popleft()
            server, grader = "", next(iter(self.graders.values()))
            if self.pool is not None:
                endpoint = await self.pool.choose()
                if endpoint is None:
                    self.todo.appendleft((answer, attempt))
                    return
                server, grader = endpoint.base_url, self.graders[endpoint.base_url]
            try:
                graded = await self._graded(answer, grader, server)
            except asyncio.CancelledError:
                self.todo.appendleft((answer, attempt))
                raise
            failed = graded.grade is not None and graded.grade.not_graded_count > 0
            if failed and self.pool is not None and endpoint is not None:
                gone = not await self.pool.check(endpoint)
                if gone or attempt < MAX_TRIES:
                    # A server that went away is no attempt of the answer's.
                    self.todo.append((answer, attempt if gone else attempt + 1))
                    self.progress.lost = tuple(each.base_url for each in self.pool.lost)
                    continue
            self.results.put(graded)
            self.progress.done += 1
            self.progress.by_server[server] = self.progress.by_server.get(server, 0) + 1
            self.progress.seconds = time.monotonic() - self.began
            self.tell(self.progress)

    async def _graded(self, answer: BatchAnswer, grader: Grader, server: str) -> GradedAnswer:
        grade, problem = None, ""
        try:
            grade = await grader.grade(build_question(self.bank.item(answer.item), answer.seed), answer.answer)
        except TutorError as error:
            problem = str(error)
        return GradedAnswer(
            id=answer.id,
            item=answer.item,
            seed=answer.seed,
            candidate=answer.candidate,
            content_hash=answer.content_hash,
            server=server,
            grade=grade,
            problem=problem,
        )


def _known(bank: Bank, item_id: str) -> bool:
    try:
        bank.item(item_id)
    except BankError:
        return False
    return True
