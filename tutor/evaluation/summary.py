"""From graded answers to the figures of an evaluation.

Unsure and not graded are counted apart, never as "not met": agreement is over decided verdicts and says how many
those are; beside it stands the same with every estimated P(met) cut at one half, which leaves nothing out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubrics import CRITERION_IDS, CriterionId
from tutor.evaluation import metrics
from tutor.evaluation.cases import Case
from tutor.evaluation.figures import (
    Agreement,
    AtMargin,
    Bounded,
    Cost,
    CriterionFigures,
    Flips,
    KindFigures,
    PartialCredit,
    Reliability,
    Summary,
    Totals,
)
from tutor.evaluation.record import AnswerRecord, CriterionRecord
from tutor.evaluation.runner import Outcome

BOOTSTRAP_SEED = 20_261_201
MARGINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)


@dataclass(frozen=True)
class _Marked:
    case: Case
    met: bool
    record: CriterionRecord


def summarise(cases: Sequence[Case], outcome: Outcome) -> Summary:
    """The figures; agreement is that of the first run."""
    by_id = {case.id: case for case in cases}
    first = [r for r in outcome.records if r.run == 0 and r.case_id in by_id]
    figures = []
    for criterion in CRITERION_IDS:
        marked = [
            _Marked(by_id[r.case_id], by_id[r.case_id].labels[criterion], r.criteria[criterion])
            for r in first
            if criterion in by_id[r.case_id].labels and criterion in r.criteria
        ]
        if marked:
            figures.append(_criterion(criterion, marked, outcome.grader.model is not None))
    return Summary(
        answers=len(first),
        items=len({by_id[r.case_id].item for r in first}),
        criteria=tuple(figures),
        totals=_totals([(by_id[r.case_id], r) for r in first]),
        flips=_flips(outcome.records),
        cost=_cost(outcome),
        partial_credit=_partial([(by_id[r.case_id], r) for r in first]),
        kinds=_kinds([(by_id[r.case_id], r) for r in first]),
    )


def agreement(ours: Sequence[bool], theirs: Sequence[bool], items: Sequence[str]) -> Agreement:
    """Two markings side by side; `ours` is the grader's (or the second labeller's)."""
    a, b = [int(x) for x in ours], [int(x) for x in theirs]
    table = metrics.counts(a, b)
    return Agreement(
        answers=len(a),
        accuracy=metrics.accuracy(table),
        kappa=_bounded(metrics.kappa(table), a, b, metrics.kappas, items, 2),
        false_accepts=int(table[1, 0]),
        false_rejects=int(table[0, 1]),
        labelled_met=sum(b),
        graded_met=sum(a),
    )


def _bounded(
    value: float | None, a: list[int], b: list[int], statistic: metrics.Statistic, items: Sequence[str], levels: int
) -> Bounded:
    ends = [
        metrics.interval(a, b, statistic, BOOTSTRAP_SEED, levels=levels, groups=groups)
        if value is not None and (groups is None or len(set(groups)) > 1)
        else None
        for groups in (None, items)
    ]
    by_answer, by_item = ((found.low, found.high) if found else None for found in ends)
    return Bounded(value=value, by_answer=by_answer, by_item=by_item)


def _agree(marked: Sequence[_Marked], said: Sequence[bool]) -> Agreement:
    return agreement(said, [m.met for m in marked], [m.case.item for m in marked])


def _criterion(criterion: CriterionId, marked: Sequence[_Marked], with_model: bool) -> CriterionFigures:
    decided = [m for m in marked if m.record.verdict in ("met", "not_met")]
    estimated = [m for m in marked if m.record.p_met is not None]
    p = [m.record.p_met or 0.0 for m in estimated]
    alone = [(m, probability_alone(m.record)) for m in marked]
    told = [(m, value) for m, value in alone if value is not None]
    # A verdict of code is certain by construction, so it says nothing about how well a probability is calibrated.
    uncertain = [m for m in estimated if m.record.decided_by in ("model", "evidence")]
    numeric = [m for m in decided if criterion == "result" and m.case.question.expected]
    return CriterionFigures(
        criterion=criterion,
        labelled=len(marked),
        unsure=sum(m.record.verdict == "unsure" for m in marked),
        not_graded=sum(m.record.verdict == "not_graded" for m in marked),
        decided=_agree(decided, [m.record.verdict == "met" for m in decided]),
        at_half=_agree(estimated, [value > 0.5 for value in p]),
        in_numbers=_agree(numeric, [m.record.verdict == "met" for m in numeric]) if numeric else None,
        evidence_alone=_agree([m for m, _ in told], [value > 0.5 for _, value in told]) if with_model else None,
        margins=tuple(_at_margin(estimated, margin, len(marked)) for margin in MARGINS),
        coverage_at_90=metrics.coverage_at(p, [m.met for m in estimated], 0.9)[0],
        reliability=_reliability(uncertain),
    )


def probability_alone(record: CriterionRecord) -> float | None:
    """P(met) without the model's part; None where only a person could say."""
    if record.alone is not None:
        return record.alone
    return record.p_met if record.decided_by in ("code", "evidence") else None


def _at_margin(estimated: Sequence[_Marked], margin: float, labelled: int) -> AtMargin:
    kept = [m for m in estimated if abs((m.record.p_met or 0.0) - 0.5) >= margin]
    table = metrics.counts([int((m.record.p_met or 0.0) > 0.5) for m in kept], [int(m.met) for m in kept])
    return AtMargin(
        margin=margin,
        coverage=len(kept) / labelled,
        kappa=metrics.kappa(table),
        accuracy=metrics.accuracy(table),
    )


def _reliability(marked: Sequence[_Marked]) -> Reliability:
    p, met = [m.record.p_met or 0.0 for m in marked], [m.met for m in marked]
    bins = metrics.reliability(p, met)
    return Reliability(
        answers=len(p),
        ece=metrics.calibration_error(bins),
        brier=metrics.brier(p, met),
        area_under_curve=metrics.area_under_curve(p, met),
        bins=bins,
    )


def _totals(pairs: Sequence[tuple[Case, AnswerRecord]]) -> Totals | None:
    """Over answers with the most common number of labelled criteria, so that a point is the same share in all."""
    sizes = [len(case.labels) for case, _ in pairs]
    width = max(set(sizes), key=sizes.count, default=0)
    if width < 2:
        return None
    whole = [(case, r) for case, r in pairs if len(case.labels) == width]
    decided = [(case, r) for case, r in whole if all(r.criteria[c].verdict in ("met", "not_met") for c in case.labels)]
    ours = [sum(r.criteria[c].verdict == "met" for c in case.labels) for case, r in decided]
    theirs = [sum(case.labels.values()) for case, _ in decided]
    table = metrics.counts(ours, theirs, width + 1)
    away = np.abs(np.asarray(ours) - np.asarray(theirs))
    return Totals(
        answers=len(decided),
        of_answers=len(whole),
        criteria=width,
        qwk=_bounded(
            metrics.quadratic_kappa(table),
            ours,
            theirs,
            metrics.quadratic_kappas,
            [case.item for case, _ in decided],
            width + 1,
        ),
        exact=float((away == 0).mean()) if decided else None,
        within_one=float((away <= 1).mean()) if decided else None,
        mean_difference=float(np.mean(ours) - np.mean(theirs)) if decided else None,
    )


def _flips(records: Sequence[AnswerRecord]) -> Flips | None:
    runs = max((r.run for r in records), default=0) + 1
    if runs < 2:
        return None
    said: dict[tuple[str, CriterionId], list[str]] = {}
    for record in records:
        for criterion, each in record.criteria.items():
            said.setdefault((record.case_id, criterion), []).append(each.verdict)
    complete = {key: verdicts for key, verdicts in said.items() if len(verdicts) == runs}
    flipped = [key for key, verdicts in complete.items() if len(set(verdicts)) > 1]
    return Flips(
        runs=runs,
        verdicts=len(complete),
        flipped=len(flipped),
        answers_with_a_flip=len({case for case, _ in flipped}),
        answers=len({case for case, _ in complete}),
    )


def _cost(outcome: Outcome) -> Cost:
    # Where a model graded, an answer that never reached it (blank, or no sentence) says nothing about its cost.
    used = [r for r in outcome.records if r.prompt_tokens or outcome.grader.model is None] or outcome.records
    seconds = np.asarray([r.seconds for r in used] or [0.0])
    spent = outcome.example_seconds

    def mean(values: Sequence[int]) -> float:
        return float(np.mean(values)) if values else 0.0

    return Cost(
        answers=len(used),
        seconds=float(seconds.mean()),
        seconds_median=float(np.median(seconds)),
        seconds_p95=float(np.quantile(seconds, 0.95)),
        evaluated_tokens=mean([r.evaluated_tokens for r in used]),
        cached_tokens=mean([r.cached_tokens for r in used]),
        completion_tokens=mean([r.completion_tokens for r in used]),
        example_seconds=float(np.mean(spent)) if spent and outcome.grader.model else None,
    )


def _partial(pairs: Sequence[tuple[Case, AnswerRecord]]) -> PartialCredit | None:
    found = []
    for case, record in pairs:
        p = next(iter(record.criteria.values())).p_met if record.criteria else None
        if case.score is not None and p is not None:
            found.append((p, case.score))
    if not found:
        return None
    p_met, scores = [p for p, _ in found], [s for _, s in found]
    return PartialCredit(
        answers=len(found),
        correlation=metrics.correlation(p_met, scores),
        rmse=metrics.root_mean_square(p_met, scores),
        rmse_of_mean=float(np.std(scores)),
    )


def _kinds(pairs: Sequence[tuple[Case, AnswerRecord]]) -> tuple[KindFigures, ...]:
    out = []
    for kind in sorted({kind for case, _ in pairs for kind in case.kinds}):
        of_kind = [(case, r) for case, r in pairs if kind in case.kinds]
        marked = [(r.criteria[c].p_met, met) for case, r in of_kind for c, met in case.labels.items()]
        told = [(int(p > 0.5), int(met)) for p, met in marked if p is not None]
        table = metrics.counts([a for a, _ in told], [b for _, b in told])
        out.append(
            KindFigures(
                kind=kind,
                answers=len(of_kind),
                verdicts=len(told),
                without=len(marked) - len(told),
                accuracy=metrics.accuracy(table),
                kappa=metrics.kappa(table),
                false_accepts=int(table[1, 0]),
                false_rejects=int(table[0, 1]),
            )
        )
    return tuple(out)
