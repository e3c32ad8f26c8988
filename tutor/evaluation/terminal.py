"""The figures of an evaluation in 80 columns."""

from __future__ import annotations

from tutor.evaluation.published import SAME_ANSWERS
from tutor.evaluation.report import Report, figure, percent, span
from tutor.evaluation.summary import CriterionFigures
from tutor.text import clip

WIDTH = 80


def lines(report: Report) -> list[str]:
    """What the command prints: verdicts, totals, cost, and the published figures of the same answers."""
    s, g = report.summary, report.grader
    out = [clip(f"{report.source}: {s.answers} answers to {s.items} items, {g.name}", WIDTH), ""]
    out.append(f"{'criterion':<13}{'n':>4}{'uns.':>5}{'n.g.':>5}{'acc':>6}{'κ':>6}  {'95 % by item':<14}"
               f"{'FA':>4}{'FR':>4}{'bias':>6}{'ECE':>6}")  # fmt: skip
    out += [_row(c) for c in s.criteria]
    if any(c.at_half.answers != c.decided.answers for c in s.criteria):
        out += ["", "with every estimate cut at one half, the unsure ones too"]
        out += [
            f"{c.criterion:<13}{c.at_half.answers:>4}{'':>10}{figure(c.at_half.accuracy):>6}"
            f"{figure(c.at_half.kappa.value):>6}  {span(c.at_half.kappa.by_item):<14}"
            f"{c.at_half.false_accepts:>4}{c.at_half.false_rejects:>4}{_bias(c.at_half.met_bias):>6}"
            for c in s.criteria
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


def _row(c: CriterionFigures) -> str:
    a = c.decided
    return (
        f"{c.criterion:<13}{a.answers:>4}{c.unsure:>5}{c.not_graded:>5}{figure(a.accuracy):>6}"
        f"{figure(a.kappa.value):>6}  {span(a.kappa.by_item):<14}{a.false_accepts:>4}{a.false_rejects:>4}"
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
    out += [clip(f"note: {note}", 4 * WIDTH) for note in report.notes]
    return out
