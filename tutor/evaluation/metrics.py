"""Agreement and calibration in numbers; each function is a formula from the literature, on arrays.

- Cohen's κ: J. Cohen, "A coefficient of agreement for nominal scales", 1960.
- weighted κ: J. Cohen, "Weighted kappa", 1968, with the squared distance of the levels as weight.
- expected calibration error: M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining well calibrated probabilities
  using Bayesian binning", AAAI 2015, with bins of equal width.
- Brier score: G. W. Brier, "Verification of forecasts expressed in terms of probability", 1950.
- percentile bootstrap: B. Efron, R. Tibshirani, "An introduction to the bootstrap", 1993; by cluster: whole groups are
  drawn, since answers to one item resemble each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
CONFIDENCE = 0.95
SAMPLES = 2000


def counts(ours: Sequence[int], theirs: Sequence[int], levels: int = 2) -> Floats:
    """The table of agreement: row = ours, column = theirs, both from 0 to levels − 1."""
    table = np.zeros((levels, levels))
    np.add.at(table, (np.asarray(ours, dtype=int), np.asarray(theirs, dtype=int)), 1)
    return table


def kappa(table: Floats) -> float | None:
    """Cohen's κ of a table of agreement; None for an empty one, and where chance alone would agree fully."""
    return _only(kappas(table[None]))


def quadratic_kappa(table: Floats) -> float | None:
    """κ with the squared distance of the levels as weight; None as for `kappa`."""
    return _only(quadratic_kappas(table[None]))


def accuracy(table: Floats) -> float | None:
    """Share of agreement; None for an empty table."""
    total = float(table.sum())
    return float(np.trace(table)) / total if total else None


def kappas(tables: Floats) -> Floats:
    """Cohen's κ of each of many tables (n × levels × levels); nan where it is not defined."""
    levels = tables.shape[1]
    return _weighted(tables, 1.0 - np.eye(levels))


def quadratic_kappas(tables: Floats) -> Floats:
    """Quadratically weighted κ of each of many tables; nan where it is not defined."""
    steps = np.arange(tables.shape[1])
    return _weighted(tables, (steps[:, None] - steps[None, :]).astype(float) ** 2)


def _weighted(tables: Floats, distance: Floats) -> Floats:
    """1 − observed over expected distance; both κ are this, with different distances."""
    total = tables.sum(axis=(1, 2))
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    observed = (tables * distance).sum(axis=(1, 2)) * total
    expected = (rows[:, :, None] * columns[:, None, :] * distance).sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(expected > 0, 1.0 - observed / expected, np.nan)
    return found


def _only(values: Floats) -> float | None:
    return None if np.isnan(values[0]) else float(values[0])


@dataclass(frozen=True)
class Interval:
    """Ends of a confidence interval; `defined` is the share of samples in which the figure exists."""

    low: float
    high: float
    defined: float


Statistic = Callable[[Floats], Floats]


def interval(
    ours: Sequence[int],
    theirs: Sequence[int],
    statistic: Statistic,
    seed: int,
    *,
    levels: int = 2,
    groups: Sequence[str] | None = None,
    samples: int = SAMPLES,
) -> Interval | None:
    """The percentile bootstrap interval of a statistic of the table; by answer, or by whole groups where given.

    None where less than half of the samples have the figure (a criterion that is hardly ever met).
    """
    if not len(ours):
        return None
    names = sorted(set(groups)) if groups is not None else []
    if groups is None:
        units = np.zeros((len(ours), levels * levels))
        units[np.arange(len(ours)), np.asarray(ours, dtype=int) * levels + np.asarray(theirs, dtype=int)] = 1
    else:
        place = {name: n for n, name in enumerate(names)}
        units = np.zeros((len(names), levels * levels))
        cells = np.asarray(ours, dtype=int) * levels + np.asarray(theirs, dtype=int)
        np.add.at(units, ([place[g] for g in groups], cells), 1)
    random = np.random.default_rng(seed)
    drawn = random.multinomial(len(units), np.full(len(units), 1 / len(units)), size=samples)
    values = statistic((drawn @ units).reshape(samples, levels, levels))
    values = values[~np.isnan(values)]
    if len(values) * 2 < samples:
        return None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, (tail, 1 - tail))
    return Interval(float(low), float(high), len(values) / samples)


@dataclass(frozen=True)
class Bin:
    """Answers whose P(met) lies in one stretch."""

    low: float
    high: float
    count: int
    predicted: float
    """Mean P(met)."""
    observed: float
    """Share labelled met."""


def reliability(predicted: Sequence[float], met: Sequence[bool], bins: int = 10) -> tuple[Bin, ...]:
    """Bins of equal width over 0 to 1 that hold an answer; the last includes 1."""
    p, y = np.asarray(predicted, dtype=float), np.asarray(met, dtype=float)
    place = np.minimum((p * bins).astype(int), bins - 1)
    out = []
    for n in range(bins):
        inside = place == n
        if inside.any():
            out.append(
                Bin(n / bins, (n + 1) / bins, int(inside.sum()), float(p[inside].mean()), float(y[inside].mean()))
            )
    return tuple(out)


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """Mean distance of predicted and observed over the bins, weighted by their answers; None without any."""
    total = sum(b.count for b in bins)
    return sum(b.count * abs(b.predicted - b.observed) for b in bins) / total if total else None


def brier(predicted: Sequence[float], met: Sequence[bool]) -> float | None:
    """Mean squared distance of P(met) from the label; None without answers."""
    if not len(predicted):
        return None
    return float(np.mean((np.asarray(predicted, dtype=float) - np.asarray(met, dtype=float)) ** 2))


def correlation(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Pearson's r; None where one side does not vary."""
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if len(x) < 2 or x.std() == 0 or y.std() == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def root_mean_square(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Root of the mean squared distance; None without values."""
    if not len(a):
        return None
    return float(np.sqrt(np.mean((np.asarray(a, dtype=float) - np.asarray(b, dtype=float)) ** 2)))


def area_under_curve(scores: Sequence[float], met: Sequence[bool]) -> float | None:
    """Chance that a met answer's score is higher than one that is not met (ties half); None where one is missing."""
    s, y = np.asarray(scores, dtype=float), np.asarray(met, dtype=bool)
    positive, negative = s[y], s[~y]
    if not len(positive) or not len(negative):
        return None
    order = np.sort(negative)
    below = np.searchsorted(order, positive, "left")
    through = np.searchsorted(order, positive, "right")
    return float((below + through).mean() / (2 * len(negative)))


def coverage_at(predicted: Sequence[float], met: Sequence[bool], agreement: float) -> tuple[float, float]:
    """The largest share of answers, surest first, that agree with the label as often as asked, and its margin.

    The margin is the least distance from one half within that share. (0, 0.5) where even the surest do not agree so
    often. Answers equally sure are taken together, as a margin cannot part them.
    """
    p, y = np.asarray(predicted, dtype=float), np.asarray(met, dtype=bool)
    sure = np.abs(p - 0.5)
    for margin in np.unique(sure):
        kept = sure >= margin
        if float(((p > 0.5) == y)[kept].mean()) >= agreement:
            return float(kept.mean()), float(margin)
    return 0.0, 0.5
