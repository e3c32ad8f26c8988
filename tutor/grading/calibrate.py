"""Fits the combiner's coefficients on labelled answers, and says how they do on items not used in the fit.

Plain regularised logistic regression by gradient steps: a handful of coefficients on some tens of rows
needs no library. Evidence may only add to P(met), save a slip, which may only take away: signs are held.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rubrics import CriterionId
from tutor.grading.combine import Weights
from tutor.grading.evidence import FEATURES

_STEPS = 3000
_RATE = 0.15
_NEGATIVE = frozenset({"slip"})


@dataclass(frozen=True)
class Row:
    """One labelled answer for one criterion; `anchored` is None where no model was asked."""

    item: str
    features: dict[str, float]
    anchored: float | None
    met: bool


def fit(rows: Sequence[Row], criterion: CriterionId, penalty: float = 0.008, with_model: bool = True) -> Weights:
    """The coefficients that fit the rows best, drawn towards zero by `penalty` (per row).

    The anchored logit of a small model moves within about one unit, so it is drawn less.
    """
    names = FEATURES[criterion]
    weights = dict.fromkeys(names, 0.0)
    bias = logit = 0.0
    for _ in range(_STEPS):
        slope = dict.fromkeys(names, 0.0)
        d_bias = d_logit = 0.0
        for row in rows:
            anchored = max(-4.0, min(4.0, row.anchored or 0.0)) if with_model else 0.0
            total = bias + logit * anchored + sum(weights[n] * row.features[n] for n in names)
            miss = float(row.met) - 1 / (1 + math.exp(-total))
            d_bias += miss
            d_logit += miss * anchored
            for n in names:
                slope[n] += miss * row.features[n]
        bias += _RATE * d_bias / len(rows)
        logit = max(0.0, logit + _RATE * (d_logit / len(rows) - penalty / 8 * logit))
        for n in names:
            stepped = weights[n] + _RATE * (slope[n] / len(rows) - penalty * weights[n])
            weights[n] = min(0.0, stepped) if n in _NEGATIVE else max(0.0, stepped)
    return Weights(bias=round(bias, 2), logit=round(logit, 2), features={n: round(w, 2) for n, w in weights.items()})


def probability(weights: Weights, row: Row) -> float:
    """P(met) of a row under given coefficients."""
    total = weights.bias + weights.logit * max(-4.0, min(4.0, row.anchored or 0.0))
    total += sum(w * row.features[n] for n, w in weights.features.items())
    return 1 / (1 + math.exp(-total))


def held_out(rows: Sequence[Row], criterion: CriterionId, with_model: bool = True) -> list[tuple[float, bool]]:
    """(P(met), label) of every row, each predicted by coefficients fitted without its item."""
    pairs = []
    for item in sorted({r.item for r in rows}):
        weights = fit([r for r in rows if r.item != item], criterion, with_model=with_model)
        pairs += [(probability(weights, r), r.met) for r in rows if r.item == item]
    return pairs


def kappa(pairs: Sequence[tuple[float, bool]]) -> float:
    """Cohen's κ at one half; 0 where one side never varies."""
    n = len(pairs)
    said = [p > 0.5 for p, _ in pairs]
    agree = sum(s == met for s, (_, met) in zip(said, pairs, strict=True)) / n
    a, b = sum(said) / n, sum(met for _, met in pairs) / n
    chance = a * b + (1 - a) * (1 - b)
    return 0.0 if chance == 1 else (agree - chance) / (1 - chance)
