"""Runs a grader over labelled answers: resumable, with progress, several answers at once where a server can."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rubrics import load_rubric
from tutor.errors import TutorError
from tutor.evaluation.cases import Case
from tutor.evaluation.measures import (
    Asked,
    ScratchCache,
    grading_code_hash,
    record_of,
    score_examples,
)
from tutor.evaluation.record import AnswerRecord, CriterionRecord, GraderIdentity
from tutor.evaluation.state import StateFile
from tutor.grading import GRADER_VERSION, AnchorCache, grade_answer
from tutor.grading.combine import Combiner
from tutor.grading.judge import PROMPT_HASH
from tutor.grading.likeness import SentenceEncoder
from tutor.grading.models import CRITERIA
from tutor.llm.choose import OpenModel

FAILURES_IN_A_ROW = 3
"""So many answers whose model gave nothing, and the evaluation stops: the rest would fail likewise."""


@dataclass(frozen=True)
class Progress:
    """Where an evaluation stands."""

    done: int
    total: int
    kept: int
    """Of those done, how many were graded in an earlier sitting."""
    elapsed_s: float

    @property
    def left_s(self) -> float | None:
        """Seconds that the rest will take at this pace; None before there is one."""
        now = self.done - self.kept
        return None if now <= 0 else self.elapsed_s / now * (self.total - self.done)


Tell = Callable[[Progress], None]


@dataclass
class Outcome:
    """All records of an evaluation, and what scoring the items' examples took."""

    grader: GraderIdentity
    records: list[AnswerRecord]
    example_seconds: list[float] = field(default_factory=list)
    """Seconds for the examples of each item that was scored in this sitting."""
    kept: int = 0


class ModelFailed(TutorError):
    """The model stopped answering; what was graded is kept."""

    exit_code = 3


def identity(model: OpenModel | None, encoder: bool = False, combiner: Combiner | None = None) -> GraderIdentity:
    """What the grades of this sitting depend on; `combiner` where others than the model's own coefficients are used."""
    return GraderIdentity(
        model=model.info.endpoint.model if model else None,
        source=model.info.source if model else "code and evidence alone",
        counts=model is None or model.info.grades,
        provider=model.info.endpoint.provider if model else "none",
        grader_version=GRADER_VERSION,
        prompt_hash=PROMPT_HASH if model else "",
        rubric_hash=load_rubric().rubric_hash,
        code_hash=grading_code_hash(),
        encoder=encoder,
        coefficients=hashlib.sha256(combiner.model_dump_json().encode()).hexdigest()[:16] if combiner else "",
    )


async def evaluate(
    cases: Sequence[Case],
    grader: GraderIdentity,
    asked: Asked | None,
    state: StateFile,
    *,
    runs: int = 1,
    parallel: int = 1,
    tell: Tell | None = None,
    encoder: SentenceEncoder | None = None,
    combiner: Combiner | None = None,
) -> Outcome:
    """Grades every answer `runs` times; what the state has is not graded again.

    May be cancelled at any await: at most `parallel` answers in work are lost.

    Raises:
        ModelFailed: several answers in a row could not be graded by the model.
        EvaluationError: the state cannot be written.
    """
    todo = [(case, run) for run in range(runs) for case in cases]
    work = _Work(grader, asked, state, tell or (lambda _: None), todo, encoder, combiner)
    workers = [asyncio.ensure_future(work.drain()) for _ in range(parallel if asked else 1)]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in (*workers, *work.scoring.values()):
            task.cancel()
        await asyncio.gather(*workers, *work.scoring.values(), return_exceptions=True)
    return work.outcome()


class _Work:
    def __init__(
        self,
        grader: GraderIdentity,
        asked: Asked | None,
        state: StateFile,
        tell: Tell,
        todo: list[tuple[Case, int]],
        encoder: SentenceEncoder | None = None,
        combiner: Combiner | None = None,
    ) -> None:
        self.encoder, self.combiner = encoder, combiner
        self.grader, self.asked, self.state, self.tell = grader, asked, state, tell
        self.todo, self.next = todo, 0
        self.records: dict[int, AnswerRecord] = {}
        self.kept = self.failures = 0
        self.started = time.monotonic()
        self.example_seconds: list[float] = []
        self.anchors: dict[int, AnchorCache] = {}
        self.scoring: dict[tuple[str, int], asyncio.Task[None]] = {}

    async def drain(self) -> None:
        while self.next < len(self.todo):
            index, self.next = self.next, self.next + 1
            case, run = self.todo[index]
            known = self.state.get(case.content_hash, run)
            if known is not None and not known.failed:
                # The same answer under another id is the same work.
                self.records[index] = known.model_copy(update={"case_id": case.id})
                self.kept += 1
            else:
                record = await self._grade(case, run)
                self.records[index] = record
                if not self._model_failed(record):
                    self.state.put(record)
                await asyncio.sleep(0)  # code alone never waits, and Ctrl+C has to be noticed
            self.tell(Progress(len(self.records), len(self.todo), self.kept, time.monotonic() - self.started))

    def _model_failed(self, record: AnswerRecord) -> bool:
        failed = self.asked is not None and record.failed
        self.failures = self.failures + 1 if failed else 0
        if self.failures >= FAILURES_IN_A_ROW:
            reason = next(c.reason for c in record.criteria.values() if c.verdict == "not_graded")
            raise ModelFailed(
                f"{self.failures} answers in a row could not be graded: {reason}.",
                hint="What was graded is kept; run the same command again when the model answers.",
            )
        return failed

    async def _grade(self, case: Case, run: int) -> AnswerRecord:
        asked, kept = self.asked, AnchorCache()
        if asked is not None:
            # Each run scores the examples anew: they are part of what may flip.
            anchors = self.anchors.setdefault(run, AnchorCache())
            asked = Asked(asked.endpoint, asked.capabilities, asked.deadlines, anchors, asked.trusted)
            await self._examples(asked, case, run)
            kept = ScratchCache(anchors)
        try:
            grade = await grade_answer(
                case.question,
                case.answer,
                endpoint=asked.endpoint if asked else None,
                capabilities=asked.capabilities if asked else None,
                anchors=kept,
                anchor_question=case.anchor,
                deadlines=asked.deadlines if asked else None,
                # An evaluation shows what a model is worth, also where the program would not let it count.
                trusted=True,
                model_source=self.grader.source,
                criteria=[c for n, c in enumerate(CRITERIA) if self._wanted(case, n)],
                combiner=self.combiner,
                encoder=self.encoder,
            )
        except TutorError as error:
            return self._refused(case, run, error.message)
        criteria = {c: record_of(grade.criteria[n]) for n, c in enumerate(CRITERIA) if self._wanted(case, n)}
        used = grade.provenance
        return AnswerRecord(
            case_id=case.id,
            content_hash=case.content_hash,
            run=run,
            criteria=criteria,
            seconds=used.seconds,
            prompt_tokens=used.prompt_tokens,
            cached_tokens=used.cached_tokens,
            completion_tokens=used.completion_tokens,
        )

    def _wanted(self, case: Case, n: int) -> bool:
        """Labelled criteria; where nothing is labelled, those that the question has a reference for."""
        criterion = CRITERIA[n]
        if case.labels:
            return criterion in case.labels
        return bool(case.question.criteria[criterion].statement) or (n == 0 and bool(case.question.expected))

    def _refused(self, case: Case, run: int, why: str) -> AnswerRecord:
        refused = CriterionRecord(verdict="not_graded", decided_by="code", reason=why)
        return AnswerRecord(
            case_id=case.id,
            content_hash=case.content_hash,
            run=run,
            criteria={c: refused for n, c in enumerate(CRITERIA) if self._wanted(case, n)},
            seconds=0.0,
        )

    async def _examples(self, asked: Asked, case: Case, run: int) -> None:
        """One task an item and run; answers of the item that come meanwhile wait for it."""
        key = (case.anchor.model_dump_json(), run)
        if key not in self.scoring:
            self.scoring[key] = asyncio.ensure_future(self._timed(asked, case))
        await asyncio.shield(self.scoring[key])

    async def _timed(self, asked: Asked, case: Case) -> None:
        started = time.monotonic()
        await score_examples(asked, case.anchor)
        self.example_seconds.append(time.monotonic() - started)

    def outcome(self) -> Outcome:
        """The records in the order of the work."""
        records = [self.records[n] for n in sorted(self.records)]
        return Outcome(self.grader, records, self.example_seconds, self.kept)
