"""An answer in, a grade out: gate, result by code, then evidence and one verdict a criterion from the model."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from question_bank.question import Question
from rubrics import CriterionId, Rubric, load_rubric
from tutor.grading.combine import Combiner, calibration_name, combiner_for
from tutor.grading.evidence import Evidence, find_all, quote_stands
from tutor.grading.judge import PROMPT_HASH, AnchorCache, JudgeError, Judgement, judge
from tutor.grading.likeness import SentenceEncoder
from tutor.grading.models import CRITERIA, CriterionGrade, Grade, Provenance, Quote, Verdict
from tutor.grading.result import grade_result
from tutor.grading.text import check_length, content_words, gate
from tutor.llm.types import Capabilities, Deadlines, Endpoint

Progress = Callable[[CriterionGrade | str], None]


def answer_hash(answer: str) -> str:
    """SHA-256 (hex) of the answer as submitted."""
    return hashlib.sha256(answer.encode("utf-8", "replace")).hexdigest()


def _rubric_texts(rubric: Rubric) -> tuple[str, ...]:
    return tuple(t for c in rubric.criteria for t in (c.question, c.earns, *c.not_enough))


def _subject(question: Question) -> tuple[str, ...]:
    texts = [question.prompt, question.reference, *(e.label for e in question.expected)]
    texts += [s for e in question.expected for s in e.synonyms]
    for guide in question.criteria.values():
        texts += [guide.statement, *guide.key_points, guide.met_example]
    return tuple(texts)


def compose(question: Question, which: str) -> str:
    """One whole answer from the item's examples: all that earn their point ("met"), or all that nearly do."""
    parts = [g.met_example if which == "met" else g.nearly_example for g in question.criteria.values()]
    return "\n".join(" ".join(p.split()) for p in parts)


class _Judge:
    """The model's side of one grade: calls, anchors and what they cost."""

    def __init__(
        self,
        endpoint: Endpoint,
        capabilities: Capabilities,
        deadlines: Deadlines,
        anchors: AnchorCache,
        base: Question,
    ) -> None:
        self.endpoint, self.capabilities, self.deadlines = endpoint, capabilities, deadlines
        self.anchors, self.base = anchors, base
        self.prompt_tokens = self.completion_tokens = self.cached_tokens = 0

    async def _ask(self, question: Question, answer: str, criterion: CriterionId) -> float:
        found: Judgement = await judge(
            self.endpoint, self.capabilities, question, answer, criterion, self.deadlines, self.anchors
        )
        self.prompt_tokens += found.prompt_tokens
        self.completion_tokens += found.completion_tokens
        self.cached_tokens += found.cached_tokens
        return found.logit

    async def prepare(self, wanted: tuple[CriterionId, ...]) -> dict[CriterionId, float]:
        """The middle between the item's example answers, per criterion; one answer's calls follow each other."""
        sums = dict.fromkeys(wanted, 0.0)
        for which in ("met", "nearly"):
            for criterion in wanted:
                sums[criterion] += await self._ask(self.base, compose(self.base, which), criterion)
        return {c: s / 2 for c, s in sums.items()}

    async def logit(self, question: Question, answer: str, criterion: CriterionId) -> float:
        return await self._ask(question, answer, criterion)


def _decide(
    combiner: Combiner,
    evidence: Evidence,
    answer: str,
    anchored: float | None,
    trusted: bool = True,
    model: str = "",
) -> CriterionGrade:
    """One criterion from its evidence and, where a model was asked, its anchored logit."""
    criterion, quote = evidence.criterion, evidence.quote
    made_of: dict[str, Any] = {"features": {n: round(v, 4) for n, v in evidence.features.items()}, "anchored": anchored}
    if quote is None or not quote_stands(quote, answer):
        return CriterionGrade(
            criterion=criterion, verdict="not_met", decided_by="evidence", p_met=0.0, alone=0.0,
            reason=f"The answer {evidence.note}.",
        )  # fmt: skip
    alone = combiner.probability(criterion, evidence.features, 0.0)
    p_met = alone if anchored is None else combiner.probability(criterion, evidence.features, anchored)
    made_of["alone"] = round(alone, 4)
    if not trusted:
        return CriterionGrade(
            criterion=criterion, verdict="unsure", quote=quote, **made_of,
            reason=f"{model} is too small to grade; the answer {evidence.note}.",
        )  # fmt: skip
    verdict = combiner.verdict(p_met)
    if verdict == "met" and evidence.sound is not None and (anchored is None or anchored <= 0):
        only = combiner.probability(criterion, evidence.sound, anchored or 0.0)
    else:
        only = 1.0
    if verdict == "met" and combiner.verdict(only) != "met":
        # The right words in sentences that do not hang together: nothing is given for them, unless the model, too,
        # hears the point made.
        return CriterionGrade(
            criterion=criterion, verdict="unsure", quote=quote, p_met=round(p_met, 4), **made_of,
            decided_by="evidence" if anchored is None else "model",
            reason=f"The answer {evidence.note}, but in sentences that do not hang together or are not its own.",
        )  # fmt: skip
    reason = f"The answer {evidence.note}{'; not enough for this point' if verdict == 'not_met' else ''}."
    if verdict != "met" and alone > 0.5 + combiner.margin and anchored is not None:
        reason = f"The answer {evidence.note}, but the model doubts that it makes the point asked for."
    elif verdict == "unsure":
        reason = f"The answer {evidence.note}; that is too close to call."
    return CriterionGrade(
        criterion=criterion, verdict=verdict, decided_by="evidence" if anchored is None else "model",
        p_met=round(p_met, 4), quote=quote if verdict != "not_met" else None, reason=reason, **made_of,
    )  # fmt: skip


async def grade_answer(
    question: Question,
    answer: str,
    *,
    endpoint: Endpoint | None,
    capabilities: Capabilities | None = None,
    on_progress: Progress | None = None,
    anchors: AnchorCache | None = None,
    anchor_question: Question | None = None,
    deadlines: Deadlines | None = None,
    trusted: bool = True,
    model_source: str = "",
    rubric: Rubric | None = None,
    criteria: Sequence[CriterionId] | None = None,
    combiner: Combiner | None = None,
    encoder: SentenceEncoder | None = None,
) -> Grade:
    """Grades one answer.

    Trouble with the model becomes "not_graded" with its reason, never an error and never a zero. `anchors`
    keeps logits between calls; `anchor_question` is the item at the seed whose examples anchor it (the
    question itself when not given). `trusted` is False for a model whose verdicts must not count. `criteria` are those
    wanted, the others are "not_graded"; `combiner` holds the coefficients (those for this model when not given);
    `encoder` adds its measure to the evidence. Without a model the evidence alone decides. Raises TutorError only for
    an answer longer than 20 KiB; may be cancelled at any await.
    """
    started = time.monotonic()
    check_length(answer)
    tell: Progress = on_progress or (lambda _: None)
    rubric = rubric or load_rubric()
    capabilities = capabilities or Capabilities()
    cache = anchors if anchors is not None else AnchorCache()
    asking: _Judge | None = None
    if endpoint is not None:
        base = anchor_question or question
        asking = _Judge(endpoint, capabilities, deadlines or Deadlines(), cache, base)
    grades: dict[CriterionId, CriterionGrade] = {}

    def settle(grade: CriterionGrade) -> None:
        grades[grade.criterion] = grade
        tell(grade)

    asked = tuple(c for c in CRITERIA if criteria is None or c in criteria)
    for criterion in CRITERIA:
        if criterion not in asked:
            grades[criterion] = CriterionGrade(criterion=criterion, verdict="not_graded", reason="not asked for")
    model = endpoint.model if endpoint else None
    combiner = combiner or combiner_for(model, encoder is not None)
    barrier = gate(answer, question.prompt, _rubric_texts(rubric), _subject(question))
    if not barrier.open:
        for criterion in asked:
            settle(
                CriterionGrade(
                    criterion=criterion,
                    verdict="not_met",
                    decided_by="code",
                    p_met=0.0,
                    reason=barrier.reason,
                )
            )
    else:
        if question.expected and "result" in asked:
            settle(grade_result(question, answer))
        words = frozenset(w for t in _rubric_texts(rubric) for w in content_words(t))
        found = find_all(question, answer, tuple(c for c in asked if c not in grades), words, encoder)
        await _grade_rest(question, answer, found, asking, combiner, trusted, barrier.foreign, settle, tell)
        cache.save()
    provenance = Provenance(
        model=endpoint.model if endpoint else None,
        model_source=(model_source or endpoint.name) if endpoint else "none",
        prompt_hash=PROMPT_HASH if endpoint else "",
        rubric_hash=rubric.rubric_hash,
        item_id=question.item_id,
        item_version=question.item_version,
        seed=question.seed,
        answer_hash=answer_hash(answer),
        seconds=round(time.monotonic() - started, 3),
        prompt_tokens=asking.prompt_tokens if asking else 0,
        completion_tokens=asking.completion_tokens if asking else 0,
        cached_tokens=asking.cached_tokens if asking else 0,
        calibration=calibration_name(model, encoder is not None),
        agreement=combiner.kappa,
    )
    return Grade(criteria=tuple(grades[c] for c in CRITERIA), provenance=provenance)


async def _grade_rest(
    question: Question,
    answer: str,
    found: dict[CriterionId, Evidence],
    asking: _Judge | None,
    combiner: Combiner,
    trusted: bool,
    foreign: bool,
    settle: Callable[[CriterionGrade], None],
    tell: Progress,
) -> None:
    """The criteria that code alone does not decide."""
    open_ = []
    for criterion, evidence in found.items():
        if foreign and asking is None:
            settle(
                CriterionGrade(
                    criterion=criterion,
                    verdict="unsure",
                    decided_by="code",
                    reason="The answer is not in English; without a model only its numbers are read.",
                )
            )
        elif asking is None or (evidence.quote is None and not foreign):
            # Nothing to quote: no "met" could stand, so no model is asked.
            settle(_decide(combiner, evidence, answer, None))
        else:
            open_.append(criterion)
    if asking is None or not open_:
        return
    wanted = tuple(found)
    try:
        tell("reading the item's example answers")
        middle = await asking.prepare(wanted)
    except JudgeError as error:
        for criterion in open_:
            settle(_not_graded(found[criterion], str(error)))
        return
    for criterion in open_:
        tell(f"asking the model about {criterion}")
        try:
            logit = await asking.logit(question, answer, criterion)
        except JudgeError as error:
            settle(_not_graded(found[criterion], str(error)))
            continue
        anchored = round(logit - middle[criterion], 4)
        if foreign:
            settle(_by_model_alone(found[criterion], answer, anchored, combiner.margin, asking.endpoint.model, trusted))
        else:
            settle(_decide(combiner, found[criterion], answer, anchored, trusted, asking.endpoint.model))


def _by_model_alone(
    evidence: Evidence, answer: str, anchored: float, margin: float, model: str, trusted: bool
) -> CriterionGrade:
    """An answer in another language: its words are unknown to code, so that only the model can tell."""
    body = answer.strip()
    start = answer.index(body[0])
    end = start + min(len(body), 240)
    p_met = 1 / (1 + math.exp(-anchored))
    verdict: Verdict = "unsure" if abs(p_met - 0.5) < margin or not trusted else ("met" if p_met > 0.5 else "not_met")
    return CriterionGrade(
        criterion=evidence.criterion, verdict=verdict, decided_by="model" if trusted else None, p_met=round(p_met, 4),
        quote=evidence.quote or Quote(text=answer[start:end], start=start, end=end), anchored=anchored,
        reason=f"The answer is not in English; this is {model}'s reading of it.",
    )  # fmt: skip


def _not_graded(evidence: Evidence, why: str) -> CriterionGrade:
    return CriterionGrade(
        criterion=evidence.criterion, verdict="not_graded", quote=evidence.quote,
        features=evidence.features, reason=f"{why}; evidence: {evidence.note}",
    )  # fmt: skip
