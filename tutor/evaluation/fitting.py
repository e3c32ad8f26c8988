"""The combiner's few coefficients by logistic regression with an L2 penalty and signs held, in numpy.

Evidence may only add to P(met), save what speaks against the point, which may only take away; the model's logit may
only add. The penalised mean log-loss is convex, so that accelerated projected gradient steps (A. Beck, M. Teboulle,
"A fast iterative shrinkage-thresholding algorithm", 2009) come to its one minimum whatever they start from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubrics import CriterionId
from tutor.evaluation.metrics import Floats
from tutor.grading.combine import Weights
from tutor.grading.evidence import FEATURES, NEAR, TAKES_AWAY

PENALTY = 0.008
"""Per row, half the weight of the squared coefficients."""
LOGIT_PENALTY_SHARE = 1 / 8
"""The anchored logit of a small model moves within about one unit, so it is drawn to zero less."""
ANCHORED_LIMIT = 4.0
_STEPS = 20_000
_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Row:
    """One labelled answer for one criterion; `anchored` is None where no model was asked.

    `features` are empty where nothing could be quoted: then P(met) is 0 whatever the coefficients.
    """

    case_id: str
    item: str
    features: dict[str, float]
    anchored: float | None
    met: bool


def fit(rows: Sequence[Row], criterion: CriterionId, *, penalty: float = PENALTY, with_model: bool = True) -> Weights:
    """The coefficients that minimise the penalised mean log-loss over rows with evidence, to two decimals.

    Raises:
        ValueError: no row has evidence, or all of them have the same label.
    """
    used = [row for row in rows if row.features]
    labels = {row.met for row in used}
    if len(labels) < 2:
        raise ValueError(f"{criterion}: needs labelled answers of both kinds that say something about it")
    names = (*FEATURES[criterion], *((NEAR,) if any(NEAR in row.features for row in used) else ()))
    x = np.array([[1.0, _clipped(row.anchored), *(row.features.get(n, 0.0) for n in names)] for row in used])
    if not with_model:
        x[:, 1] = 0.0
    y = np.array([float(row.met) for row in used])
    pull = penalty * np.array([0.0, LOGIT_PENALTY_SHARE, *(1.0 for _ in names)])
    low = np.array([-np.inf, 0.0, *(-np.inf if n in TAKES_AWAY else 0.0 for n in names)])
    high = np.array([np.inf, np.inf, *(0.0 if n in TAKES_AWAY else np.inf for n in names)])
    found = _minimise(x, y, pull, low, high)
    bias, logit, *weights = (round(float(v), 2) + 0.0 for v in found)
    return Weights(bias=bias, logit=logit if with_model else 0.0, features=dict(zip(names, weights, strict=True)))


def _clipped(anchored: float | None) -> float:
    return max(-ANCHORED_LIMIT, min(ANCHORED_LIMIT, anchored or 0.0))


def gradient(x: Floats, y: Floats, pull: Floats, weights: Floats) -> Floats:
    """Slope of the penalised mean log-loss."""
    said = 1 / (1 + np.exp(-np.clip(x @ weights, -500, 500)))
    slope: Floats = x.T @ (said - y) / len(y) + pull * weights
    return slope


def _minimise(x: Floats, y: Floats, pull: Floats, low: Floats, high: Floats) -> Floats:
    # The second derivative of the log-loss is at most a quarter.
    step = 1 / (float(np.linalg.norm(x, 2) ** 2) / (4 * len(y)) + float(pull.max()))
    weights = ahead = np.zeros(x.shape[1])
    momentum = 1.0
    for _ in range(_STEPS):
        new = np.clip(ahead - step * gradient(x, y, pull, ahead), low, high)
        if float(np.abs(new - weights).max()) < _TOLERANCE:
            return new
        if float((ahead - new) @ (new - weights)) > 0:
            momentum = 1.0  # it overshoots: begin to gather speed anew
        grown = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = new + (momentum - 1) / grown * (new - weights)
        weights, momentum = new, grown
    return weights


def probability(weights: Weights, row: Row) -> float:
    """P(met) of a row under given coefficients; 0 where nothing could be quoted."""
    if not row.features:
        return 0.0
    total = weights.bias + weights.logit * _clipped(row.anchored)
    total += sum(weight * row.features.get(name, 0.0) for name, weight in weights.features.items())
    return float(1 / (1 + np.exp(-total)))


def folds(items: Sequence[str], count: int) -> tuple[tuple[str, ...], ...]:
    """The items dealt to at most `count` folds, each item whole, in the order of their names."""
    names = sorted(set(items))
    count = max(1, min(count, len(names)))
    return tuple(tuple(names[n::count]) for n in range(count))


def held_out(
    rows: Sequence[Row], criterion: CriterionId, count: int, *, penalty: float = PENALTY, with_model: bool = True
) -> dict[str, float]:
    """P(met) by the answer's id, each by coefficients that saw no answer to its item.

    Raises:
        ValueError: there is only one item, or what remains without a fold cannot be fitted.
    """
    parts = folds([row.item for row in rows], count)
    if len(parts) < 2:
        raise ValueError(f"{criterion}: needs labelled answers to two items at least, to hold one out")
    told: dict[str, float] = {}
    for part in parts:
        weights = fit([r for r in rows if r.item not in part], criterion, penalty=penalty, with_model=with_model)
        told |= {r.case_id: probability(weights, r) for r in rows if r.item in part}
    return told
