"""Fits the combiner on graded, labelled answers, says what that changes on held-out items, and writes the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import yaml

from rubrics import CRITERION_IDS, CriterionId
from tutor.evaluation import metrics
from tutor.evaluation.cases import Case, CaseSet, EvaluationError
from tutor.evaluation.figures import Agreement
from tutor.evaluation.fitting import PENALTY, Row, fit, held_out
from tutor.evaluation.record import AnswerRecord
from tutor.evaluation.report import figure, write_whole
from tutor.evaluation.runner import Outcome
from tutor.evaluation.summary import agreement
from tutor.grading.combine import COEFFICIENTS, Combiner, Weights, combiner_for


@dataclass(frozen=True)
class Fitted:
    """One criterion before and after; all three on the same answers, at one half."""

    criterion: CriterionId
    rows: int
    before: Agreement
    """With the coefficients in use, which may have been chosen on these answers."""
    held_out: Agreement
    """Each item by coefficients fitted on the other items: the one to go by."""
    after: Agreement
    """With the new coefficients, on the answers that they were fitted on."""
    ece_before: float | None
    ece_held_out: float | None
    weights: Weights


@dataclass(frozen=True)
class Calibration:
    """The new coefficients and what they are worth."""

    combiner: Combiner
    criteria: tuple[Fitted, ...]
    kept: tuple[CriterionId, ...]
    """Criteria that could not be fitted and keep their coefficients."""


def rows_of(cases: Sequence[Case], records: Sequence[AnswerRecord], criterion: CriterionId) -> list[Row]:
    """The labelled answers on which a criterion's coefficients bear: not those that code alone decides."""
    by_id = {case.id: case for case in cases}
    rows = []
    for record in records:
        case, found = by_id.get(record.case_id), record.criteria.get(criterion)
        if record.run or case is None or found is None or criterion not in case.labels:
            continue
        if found.decided_by == "code" or found.verdict == "not_graded" or found.alone is None:
            continue
        rows.append(Row(case.id, case.item, found.features, found.anchored, case.labels[criterion]))
    return rows


def calibrate(
    cases: CaseSet, outcome: Outcome, made: datetime, *, fold_count: int = 10, penalty: float = PENALTY
) -> Calibration:
    """Fits every criterion that has answers enough.

    Raises:
        EvaluationError: none has.
    """
    shipped = combiner_for(outcome.grader.model, outcome.grader.encoder)
    with_model = outcome.grader.model is not None
    fitted, kept, why = [], [], ""
    for criterion in CRITERION_IDS:
        rows = rows_of(cases.cases, outcome.records, criterion)
        try:
            told = held_out(rows, criterion, fold_count, penalty=penalty, with_model=with_model)
            weights = fit(rows, criterion, penalty=penalty, with_model=with_model)
        except ValueError as error:
            kept.append(criterion)
            why = why or str(error)
            continue
        fitted.append(_compared(criterion, rows, shipped.criteria[criterion], weights, told))
    if not fitted:
        raise EvaluationError(f"Nothing can be fitted: {why}.", hint="Label more answers, to several items.")
    criteria = dict(shipped.criteria) | {f.criterion: f.weights for f in fitted}
    return Calibration(
        combiner=Combiner(
            provenance=_provenance(cases, outcome, fitted, kept, made, penalty),
            margin=shipped.margin,
            kappa={f.criterion: round(k, 2) for f in fitted if (k := f.held_out.kappa.value) is not None},
            criteria=criteria,
        ),
        criteria=tuple(fitted),
        kept=tuple(kept),
    )


def _compared(
    criterion: CriterionId, rows: Sequence[Row], old: Weights, new: Weights, told: dict[str, float]
) -> Fitted:
    from tutor.evaluation.fitting import probability

    met, items = [row.met for row in rows], [row.item for row in rows]
    before = [probability(old, row) for row in rows]
    out = [told[row.case_id] for row in rows]
    after = [probability(new, row) for row in rows]

    def agree(p: list[float]) -> Agreement:
        return agreement([value > 0.5 for value in p], met, items)

    return Fitted(
        criterion=criterion,
        rows=len(rows),
        before=agree(before),
        held_out=agree(out),
        after=agree(after),
        ece_before=metrics.calibration_error(metrics.reliability(before, met)),
        ece_held_out=metrics.calibration_error(metrics.reliability(out, met)),
        weights=new,
    )


def _provenance(
    cases: CaseSet,
    outcome: Outcome,
    fitted: Sequence[Fitted],
    kept: Sequence[CriterionId],
    made: datetime,
    penalty: float,
) -> str:
    who = outcome.grader
    figures = ", ".join(f"{f.criterion} {figure(f.held_out.kappa.value)}" for f in fitted)
    left = f" Kept as they were: {', '.join(kept)}." if kept else ""
    return (
        f"Fitted on {made:%Y-%m-%d} by 'tutor eval calibrate' for {who.name} (grader {who.key}) on {cases.name}: "
        f"{len(cases.cases)} answers to {len({c.item for c in cases.cases})} items, L2 penalty {penalty:g}. "
        f"κ on items held out: {figures}.{left}"
    )


def to_yaml(combiner: Combiner) -> str:
    """The coefficient file, one line a criterion, as the shipped one is written."""
    head: str = yaml.safe_dump(
        {"provenance": combiner.provenance, "margin": combiner.margin}, sort_keys=False, allow_unicode=True, width=116
    )
    kappa = ", ".join(f"{criterion}: {value:g}" for criterion, value in combiner.kappa.items())
    lines = [head.rstrip(), *([f"kappa: {{{kappa}}}"] if kappa else []), "criteria:"]
    for criterion, weights in combiner.criteria.items():
        features = ", ".join(f"{name}: {value:g}" for name, value in weights.features.items())
        lines.append(f"  {criterion}: {{bias: {weights.bias:g}, logit: {weights.logit:g}, features: {{{features}}}}}")
    return "\n".join(lines) + "\n"


def check_target(path: Path, force: bool) -> None:
    """Whether the coefficients may be written there; asked before anything is graded.

    Raises:
        EvaluationError: the path is there already, or is the shipped file, and `force` is not given.
    """
    if force:
        return
    if path.resolve() == COEFFICIENTS.resolve():
        raise EvaluationError(
            f"{path} is the file that the program grades with.", hint="Name another --output, or add --force."
        )
    if path.exists():
        raise EvaluationError(f"{path} is there already.", hint="Name another --output, or add --force.")


def write_coefficients(combiner: Combiner, path: Path, *, force: bool = False) -> None:
    """Writes the coefficient file in one step.

    Raises:
        EvaluationError: as `check_target`, or the disk refuses.
    """
    check_target(path, force)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, to_yaml(combiner))
    except OSError as error:
        raise EvaluationError(
            f"{path}: cannot be written ({error.strerror or error}).", hint="Name another --output."
        ) from error
