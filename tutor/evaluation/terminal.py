"""The figures of an evaluation in 80 columns."""

from __future__ import annotations

from textwrap import wrap

from tutor.evaluation.calibrate import Calibration
from tutor.evaluation.cases import counted
from tutor.evaluation.figures import CriterionFigures
from tutor.evaluation.label_files import Compared
from tutor.evaluation.published import SAME_ANSWERS
from tutor.evaluation.report import Report, figure, percent, span
from tutor.text import clip

WIDTH = 80
_SHOWN = 20


def lines(report: Report) -> list[str]:
    """What the command prints: verdicts, totals, cost, and the published figures of the same answers."""
    s, g = report.summary, report.grader
    out = [clip(f"{report.source}: {counted(s.answers, 'answer')} to {counted(s.items, 'item')}, {g.name}", WIDTH), ""]
    out.append(f"{'criterion':<13}{'n':>5}{'uns.':>5}{'n.g.':>5}{'acc':>6}{'κ':>6}  {'95 % by item':<14}"
               f"{'FA':>5}{'FR':>5}{'bias':>6}{'ECE':>6}")  # fmt: skip
    out += [_row(c) for c in s.criteria]
    if not s.criteria:
        out = [out[0], "", *_verdicts(report)]
    if any(c.at_half.answers != c.decided.answers for c in s.criteria):
        out += ["", "with every estimate cut at one half, the unsure ones too"]
        out += [
            f"{c.criterion:<13}{c.at_half.answers:>5}{'':>10}{figure(c.at_half.accuracy):>6}"
            f"{figure(c.at_half.kappa.value):>6}  {span(c.at_half.kappa.by_item):<14}"
            f"{c.at_half.false_accepts:>5}{c.at_half.false_rejects:>5}{_bias(c.at_half.met_bias):>6}"
            for c in s.criteria
        ]
    for a in [c.in_numbers for c in s.criteria if c.in_numbers is not None]:
        out += [
            "",
            f"result in numbers, by code: {counted(a.answers, 'verdict')}, accuracy {figure(a.accuracy)}, "
            f"FA {a.false_accepts}, FR {a.false_rejects}",
        ]
    gains = [
        f"{c.criterion} {figure(c.evidence_alone.kappa.value)} → {figure(c.at_half.kappa.value)}"
        for c in s.criteria
        if c.evidence_alone is not None
    ]
    if gains:
        out += ["", "κ of evidence alone → with the model:", *(f"  {gain}" for gain in gains)]
    out += ["", *_rest(report)]
    return out


def _verdicts(report: Report) -> list[str]:
    """Each answer's verdicts, where there are no labels to set them beside."""
    told = [
        clip(f"{a.id}  " + ", ".join(f"{c} {r.verdict}" for c, r in a.record.criteria.items()), WIDTH)
        for a in report.answers[:_SHOWN]
    ]
    more = len(report.answers) - _SHOWN
    return [*told, *([f"and {more} more; --json has them all"] if more > 0 else [])]


def _row(c: CriterionFigures) -> str:
    a = c.decided
    return (
        f"{c.criterion:<13}{a.answers:>5}{c.unsure:>5}{c.not_graded:>5}{figure(a.accuracy):>6}"
        f"{figure(a.kappa.value):>6}  {span(a.kappa.by_item):<14}{a.false_accepts:>5}{a.false_rejects:>5}"
        f"{_bias(a.met_bias):>6}{figure(c.reliability.ece):>6}"
    )


def _bias(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:+.0f}%"


def _rest(report: Report) -> list[str]:
    s = report.summary
    out = []
    if s.totals is not None:
        t = s.totals
        out.append(
            f"totals of {t.answers} of {t.of_answers} answers: QWK {figure(t.qwk.value)} ({span(t.qwk.by_item)}), "
            f"exact {percent(t.exact)}"
        )
    if s.flips is not None:
        f = s.flips
        out.append(f"{f.runs} runs: {f.flipped} of {f.verdicts} verdicts flip")
    if s.partial_credit is not None:
        p = s.partial_credit
        out.append(f"beside partial credit: r {figure(p.correlation)}, RMSE {figure(p.rmse, 3)}")
    cost = s.cost
    tokens = f", prompt tokens {cost.evaluated_tokens:.0f} evaluated + {cost.cached_tokens:.0f} cached"
    out.append(f"an answer: {cost.seconds:.2f} s{tokens if report.grader.model else ''}")
    if report.kind in SAME_ANSWERS:
        out.append("published on the same answers:")
        out += [clip(f"  {line.grader:<44} {line.metric} {line.value:.3f}", WIDTH) for line in report.published]
    for note in report.notes:
        out += wrap(f"note: {note}", WIDTH)
    return out


def calibration_lines(found: Calibration) -> list[str]:
    """κ before and after a fit, and the new coefficients."""
    out = [
        f"{'κ at one half':<14}{'n':>5}{'in use':>9}{'held out':>10}{'refitted':>10}{'ECE in use':>12}{'held out':>10}"
    ]
    out += [
        f"{c.criterion:<14}{c.rows:>5}{figure(c.before.kappa.value):>9}{figure(c.held_out.kappa.value):>10}"
        f"{figure(c.after.kappa.value):>10}{figure(c.ece_before, 3):>12}{figure(c.ece_held_out, 3):>10}"
        for c in found.criteria
    ]
    if found.kept:
        out.append(f"kept as they were, for want of answers: {', '.join(found.kept)}")
    out.append("held out: each item by coefficients that saw none of its answers; go by this column")
    for c in found.criteria:
        weights = ", ".join(f"{name} {value:g}" for name, value in c.weights.features.items())
        out += wrap(f"{c.criterion}: {c.weights.bias:g}, logit {c.weights.logit:g}, {weights}", WIDTH)
    return out


def label_lines(found: Compared) -> list[str]:
    """Agreement of two labellers per criterion."""
    out = [
        f"{found.shared} answers labelled by both, {found.only_one} by one only",
        f"{'criterion':<14}{'agree':>7}{'κ':>6}  {'95 % by item':<14}{'first only met':>15}{'second only':>13}",
    ]
    for criterion, a in found.criteria.items():
        out.append(
            f"{criterion:<14}{figure(a.accuracy):>7}{figure(a.kappa.value):>6}  {span(a.kappa.by_item):<14}"
            f"{a.false_rejects:>15}{a.false_accepts:>13}"
        )
    return out
