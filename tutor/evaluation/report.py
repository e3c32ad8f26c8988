"""The report of an evaluation: one JSON for programs, one Markdown for people, beside the published figures."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tutor.evaluation.cases import Case, CaseSet, EvaluationError, counted
from tutor.evaluation.figures import Agreement, Bounded, CriterionFigures, Summary
from tutor.evaluation.picture import bars, draw
from tutor.evaluation.published import SAME_ANSWERS, Line, load_published
from tutor.evaluation.record import AnswerRecord, GraderIdentity
from tutor.evaluation.runner import Outcome
from tutor.evaluation.summary import summarise
from tutor.grading.combine import load_combiner

FORMAT = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GradedAnswer(_Frozen):
    """One answer of the report with what people gave."""

    id: str
    item: str
    labels: dict[str, bool]
    record: AnswerRecord


class Report(_Frozen):
    """Everything about one evaluation."""

    format: int = FORMAT
    made: datetime
    source: str
    kind: str
    grader: GraderIdentity
    margin: float
    summary: Summary
    notes: tuple[str, ...]
    published: tuple[Line, ...]
    answers: tuple[GradedAnswer, ...]


def make_report(cases: CaseSet, outcome: Outcome, made: datetime, notes: Sequence[str] = ()) -> Report:
    """The report of what was graded; `made` is the moment that it carries."""
    by_id: dict[str, Case] = {case.id: case for case in cases.cases}
    answers = tuple(
        GradedAnswer(id=r.case_id, item=by_id[r.case_id].item, labels=dict(by_id[r.case_id].labels), record=r)
        for r in outcome.records
        if r.run == 0
    )
    more = list(notes)
    if not outcome.grader.counts:
        more.append(f"{outcome.grader.name} is too small to grade: in the program its verdicts do not count.")
    if any(c.shown == "not_graded" for a in answers for c in a.record.criteria.values()):
        more.append(
            "Without a model the program shows what it found and lets the candidate mark the criteria that code does "
            "not decide; the figures are those of the evidence's own verdicts."
        )
    return Report(
        made=made,
        source=cases.name,
        kind=cases.kind,
        grader=outcome.grader,
        margin=load_combiner().margin,
        summary=summarise(cases.cases, outcome),
        notes=(*cases.notes, *more),
        published=load_published().beside(cases.kind),
        answers=answers,
    )


def write_report(report: Report, folder: Path) -> tuple[Path, ...]:
    """Writes the report below `folder`, named by day, source and grader; a picture too where matplotlib is there.

    Raises:
        EvaluationError: the folder cannot be written to.
    """
    plain = "".join(c if c.isalnum() or c in "-._" else "-" for c in report.grader.name.replace(" ", "-"))
    stem = f"{report.made:%Y-%m-%d}-{report.source}-{plain}"
    written = []
    check_folder(folder)
    try:
        picture = draw(report.summary.criteria, folder / f"{stem}.svg")
        texts = {"json": report.model_dump_json(indent=1) + "\n", "md": markdown(report, picture)}
        for ending, text in texts.items():
            path = folder / f"{stem}.{ending}"
            write_whole(path, text)
            written.append(path)
    except OSError as error:
        raise EvaluationError(
            f"{folder}: cannot be written ({error.strerror or error}).", hint="Name another folder with --out."
        ) from error
    return (*written, *([picture] if picture else []))


def check_folder(folder: Path) -> None:
    """Makes the folder where it is missing; asked before a long run, not after it.

    Raises:
        EvaluationError: it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "no permission to write")
    except OSError as error:
        raise EvaluationError(
            f"{folder}: cannot be written ({error.strerror or error}).", hint="Name another folder with --out."
        ) from error


def write_whole(path: Path, text: str) -> None:
    """Writes a file in one step: whoever reads it sees the old one or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def figure(value: float | None, digits: int = 2) -> str:
    """A figure, or a dash where it is not defined."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A share in whole percent, or a dash."""
    return "–" if value is None else f"{value:.0%}"


def span(ends: tuple[float, float] | None) -> str:
    """An interval, or a dash."""
    return "–" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [list(head), ["---"] * len(head), *(list(row) for row in rows)]
    return [f"| {' | '.join(row)} |" for row in cells] + [""]


def _agreement_row(name: str, a: Agreement) -> list[str]:
    return [
        name,
        str(a.answers),
        figure(a.accuracy),
        figure(a.kappa.value),
        span(a.kappa.by_answer),
        span(a.kappa.by_item),
        str(a.false_accepts),
        str(a.false_rejects),
        "–" if a.met_bias is None else f"{a.met_bias:+.1%}",
    ]


_AGREEMENT_HEAD = (
    "criterion", "answers", "accuracy", "κ", "95 % by answer", "95 % by item", "false accepts", "false rejects",
    "MET bias",
)  # fmt: skip


def markdown(report: Report, picture: Path | None = None) -> str:
    """The whole report for a person."""
    s, g = report.summary, report.grader
    lines = [
        f"# Evaluation of {report.made:%Y-%m-%d}: {report.source}, {g.name}",
        "",
        f"{counted(s.answers, 'answer')} to {counted(s.items, 'item')}. "
        f"Grader: {g.name} ({g.source.rstrip('.')}), key `{g.key}`.",
        "",
        *(f"- {note}" for note in report.notes),
        *([""] if report.notes else []),
        "## Verdicts",
        "",
        f"At the margin of {report.margin:g} around one half. Unsure and not graded are left out here and counted.",
        "",
        *_table(
            (*_AGREEMENT_HEAD[:2], "unsure", "not graded", "coverage", *_AGREEMENT_HEAD[2:]),
            [
                (*row[:2], str(c.unsure), str(c.not_graded), percent(c.coverage), *row[2:])
                for c in s.criteria
                for row in [_agreement_row(c.criterion, c.decided)]
            ],
        ),
        *_in_numbers(s.criteria),
        "## Every estimate cut at one half",
        "",
        *_table(_AGREEMENT_HEAD, [_agreement_row(c.criterion, c.at_half) for c in s.criteria]),
    ]
    lines += _model_part(s.criteria)
    lines += _totals(s)
    lines += ["## Margin", "", "Coverage and κ when everything closer to one half is left open.", ""]
    lines += _table(
        ("criterion", *(f"{m.margin:g}" for m in s.criteria[0].margins), "coverage at 90 % agreement")
        if s.criteria
        else ("criterion",),
        [
            (c.criterion, *(f"{percent(m.coverage)}, {figure(m.kappa)}" for m in c.margins), percent(c.coverage_at_90))
            for c in s.criteria
        ],
    )
    lines += _kinds(s)
    lines += _reliability(s.criteria, picture)
    lines += _running(s)
    lines += _published(report)
    return "\n".join(lines).rstrip() + "\n"


def _in_numbers(criteria: Sequence[CriterionFigures]) -> list[str]:
    rows = [_agreement_row(c.criterion, c.in_numbers) for c in criteria if c.in_numbers is not None]
    told = "Of these, the answers to questions that ask for numbers, which code alone decides:"
    return [told, "", *_table(_AGREEMENT_HEAD, rows)] if rows else []


def _model_part(criteria: Sequence[CriterionFigures]) -> list[str]:
    both = [(c, c.evidence_alone) for c in criteria if c.evidence_alone is not None]
    if not both:
        return []
    rows = []
    for c, alone in both:
        with_model, without = c.at_half.kappa.value, alone.kappa.value
        gain = "–" if with_model is None or without is None else f"{with_model - without:+.2f}"
        rows.append((c.criterion, figure(without), figure(with_model), gain))
    return [
        "## What the model adds",
        "",
        *_table(("criterion", "κ of evidence alone", "κ with the model", "gain"), rows),
    ]


def _totals(s: Summary) -> list[str]:
    t = s.totals
    if t is None:
        return []
    return [
        "## Totals",
        "",
        f"Of {t.of_answers} answers with {t.criteria} labelled criteria, {t.answers} have a verdict on each.",
        "",
        *_table(
            ("QWK", "95 % by answer", "95 % by item", "exact", "within one", "mean difference"),
            [
                (
                    figure(t.qwk.value), span(t.qwk.by_answer), span(t.qwk.by_item), percent(t.exact),
                    percent(t.within_one), "–" if t.mean_difference is None else f"{t.mean_difference:+.2f}",
                )
            ],
        ),
    ]  # fmt: skip


def _kinds(s: Summary) -> list[str]:
    if not s.kinds:
        return []
    rows = [
        (k.kind, str(k.answers), str(k.verdicts), figure(k.accuracy), figure(k.kappa), str(k.false_accepts),
         str(k.false_rejects))
        for k in s.kinds
    ]  # fmt: skip
    head = ("kind of answer", "answers", "verdicts", "accuracy", "κ", "false accepts", "false rejects")
    return ["## By what the answer tries", "", "Criteria pooled, at one half.", "", *_table(head, rows)]


def _reliability(criteria: Sequence[CriterionFigures], picture: Path | None) -> list[str]:
    shown = [c for c in criteria if c.reliability.answers]
    if not shown:
        return []
    rows = [
        (c.criterion, str(c.reliability.answers), figure(c.reliability.ece, 3), figure(c.reliability.brier, 3),
         figure(c.reliability.area_under_curve))
        for c in shown
    ]  # fmt: skip
    lines = [
        "## Is P(met) to be believed",
        "",
        "Verdicts that code decides are certain and not counted here. ECE: ten bins of equal width.",
        "",
        *_table(("criterion", "answers", "ECE", "Brier", "AUC"), rows),
    ]
    if picture is not None:
        lines += [f"![P(met) beside the share labelled met]({picture.name})", ""]
    for c in shown:
        lines += [f"{c.criterion}:", "", *(f"    {line}" for line in bars(c.reliability.bins)), ""]
    return lines


def _running(s: Summary) -> list[str]:
    cost = s.cost
    lines = [
        "## Running",
        "",
        *_table(
            ("answers", "s an answer", "median", "95 %", "prompt tokens evaluated", "cached", "generated"),
            [
                (
                    str(cost.answers), f"{cost.seconds:.2f}", f"{cost.seconds_median:.2f}", f"{cost.seconds_p95:.2f}",
                    f"{cost.evaluated_tokens:.0f}", f"{cost.cached_tokens:.0f}", f"{cost.completion_tokens:.0f}",
                )
            ],
        ),
    ]  # fmt: skip
    if cost.example_seconds is not None:
        lines += [f"Scoring the examples of an item, once: {cost.example_seconds:.1f} s on average.", ""]
    if s.flips is not None:
        f = s.flips
        lines += [
            f"{f.runs} runs: {f.flipped} of {f.verdicts} verdicts differ between runs, "
            f"in {f.answers_with_a_flip} of {f.answers} answers.",
            "",
        ]
    if s.partial_credit is not None:
        p = s.partial_credit
        lines += [
            f"P(met) beside the partial credit of {p.answers} answers: r {figure(p.correlation)}, RMSE "
            f"{figure(p.rmse, 3)} (naming the mean for all: {figure(p.rmse_of_mean, 3)}).",
            "",
        ]
    return lines


def ours(report: Report) -> list[tuple[str, str, str]]:
    """(grader, metric, figure) lines of this evaluation, of the kind that others publish."""
    s, name = report.summary, report.grader.name
    out = []
    for c in s.criteria:
        label = f"ours, {name}" + (f", {c.criterion}" if len(s.criteria) > 1 else "")
        out.append((label, "kappa", _with_span(c.at_half.kappa, c.at_half.accuracy)))
        if report.kind == "khan":
            out.append((label, "auc", figure(c.reliability.area_under_curve, 3)))
    if len(s.criteria) > 1:
        out.append((f"ours, {name}, mean", "kappa", figure(s.mean_kappa, 3)))
    if s.partial_credit is not None:
        out.append((f"ours, {name}", "rmse", figure(s.partial_credit.rmse, 3)))
        out.append((f"ours, {name}", "r", figure(s.partial_credit.correlation, 3)))
    return out


def _with_span(value: Bounded, accuracy: float | None) -> str:
    ends = f" ({span(value.by_item)})" if value.by_item else ""
    return f"{figure(value.value, 3)}{ends}, accuracy {figure(accuracy, 3)}"


def _published(report: Report) -> list[str]:
    same = report.kind in SAME_ANSWERS
    rows = [(grader, metric, value, "this report") for grader, metric, value in ours(report)]
    sources = load_published().sources
    for line in report.published:
        where = line.grader if same else f"{line.grader} ({line.set})"
        more = f", accuracy {line.accuracy:.3f}" if line.accuracy is not None else ""
        if line.same_in_three_runs is not None:
            more += f", same verdict in three runs {line.same_in_three_runs:.1%}"
        rows.append((where, line.metric, f"{line.value:.3f}{more}", sources[line.source]))
    told = (
        "The others graded the same answers."
        if same
        else "The others graded other answers to other questions: their lines say how hard the task is, no more."
    )
    return ["## Beside published figures", "", told, "", *_table(("grader", "metric", "value", "source"), rows)]
