"""A step cost from a run's request times alone, with the scheduler in the loop.

Which requests share a step depends on the queue more than on the cost of a step. So with the steps of a
simulation held, each measured wait is a linear equation in the coefficients: what the steps up to a token did,
times the coefficients, is the time up to it. The steps are counted from the latest moment at which an arrival
still decided them: the request's own arrival if the first step after it took it in, else, since a queue's order
and not its times decides, the arrival of the latest one before it that did not wait. Solve all equations by
least squares, simulate with the solution, and repeat: a Gauss-Newton iteration whose derivatives come from the
simulation.
Preemptions make the error jump from one simulation to the next, so the best round is kept, not the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.cost import LinearCost, MixedMaxCost
from sim.fit.compare import Comparison, compare
from sim.fit.floors import Floors, solve_above
from sim.fit.forms import TERMS, FormName, cost_of, knees, rounded
from sim.fit.least_squares import Array, robust
from sim.fit.replay import Replay, replay
from sim.fit.runs import MeasuredRun
from sim.fit.simplex import nelder_mead
from sim.vllm import Engine, EngineConfig

POLISH_SIZE = 0.01
"""First steps of the search at the end, as a share of each coefficient."""
SOFTEN_S = 1.0
"""Equations weigh by one over their duration and this, so that short waits do not rule the fit."""

Round = Callable[[int, Comparison], None]
"""Called after each round with its number, from 1, and the error on the requests fitted to."""


@dataclass(frozen=True, slots=True)
class RunFit:
    """A fitted step cost, and how a simulation with it compares with the measurement."""

    form: FormName
    cost: LinearCost | MixedMaxCost
    fitted: Comparison
    """On the requests whose times were used."""
    predicted: Comparison | None
    """On the others; None when all were used."""
    attempt: int
    """The simulation it was found in, from 1."""
    steps: int
    preemptions: int


def fit_run(
    run: MeasuredRun,
    config: EngineConfig,
    form: FormName = "linear",
    *,
    engine: Engine = "0.33",
    fit_first: int | None = None,
    floors: Floors | None = None,
    rounds: int = 12,
    polish: int = 40,
    on_round: Round | None = None,
) -> RunFit:
    """Fit a form to the times of a run's first `fit_first` requests (all when absent), and predict the rest.

    `rounds` simulations make the equations, and `polish` more search around the best of them. All requests are
    simulated in any case; those behind `fit_first` add load, as they did when measured.
    """
    search = _Search(run, config, form, engine, len(run) if fit_first is None else min(fit_first, len(run)), on_round)
    cost: LinearCost | MixedMaxCost = _start(run)
    for number in range(rounds):
        # The start is of no form; it only makes the first equations.
        result = search.attempt(cost) if number else replay(run, config, cost.build(), engine)
        solved = _solve(run, result, form, search.count, floors or {})
        if solved == cost:
            break
        cost = solved if number < rounds // 2 else _halfway(cost, solved)
    search.attempt(cost)
    assert search.best is not None
    _polish(search, floors or {}, polish)
    return search.best


class _Search:
    """Simulations of one fit, and the best of them."""

    def __init__(
        self,
        run: MeasuredRun,
        config: EngineConfig,
        form: FormName,
        engine: Engine,
        count: int,
        on_round: Round | None,
    ) -> None:
        self._run, self._config, self._form, self._engine = run, config, form, engine
        self._on_round = on_round
        self.count = count
        self.attempts = 0
        self.best: RunFit | None = None

    def attempt(self, cost: LinearCost | MixedMaxCost) -> Replay:
        """Simulate with a cost, and keep it if it is the best so far."""
        run, count = self._run, self.count
        result = replay(run, self._config, cost.build(), self._engine)
        self.attempts += 1
        self.latest = _compared(run, result, slice(0, count))
        if self._on_round is not None:
            self._on_round(self.attempts, self.latest)
        if self.best is None or score(self.latest) < score(self.best.fitted):
            predicted = _compared(run, result, slice(count, None)) if count < len(run) else None
            self.best = RunFit(
                self._form, cost, self.latest, predicted, self.attempts, result.steps, result.preemptions
            )
        return result


def _polish(search: _Search, floors: Floors, calls: int) -> None:
    """Look around the best cost for one with a smaller error: equations say nothing about queues and chance."""
    if calls <= 0 or search.best is None:
        return
    start = search.best.cost
    names = [name for name, value in start if name != "kind" and value]

    def value_of(shift: Array) -> float:
        values = {
            name: rounded(max(getattr(start, name) * float(np.exp(by)), floors.get(name, 0.0)))
            for name, by in zip(names, shift, strict=True)
        }
        search.attempt(type(start)(kind=start.kind, **values))
        return score(search.latest)

    nelder_mead(value_of, np.zeros(len(names)), POLISH_SIZE, calls)


def _halfway(one: LinearCost | MixedMaxCost, other: LinearCost | MixedMaxCost) -> LinearCost | MixedMaxCost:
    """The mean of two costs of one form, for when whole steps jump to and fro between two schedules."""
    values = {name: rounded((getattr(one, name) + value) / 2) for name, value in other if name != "kind"}
    return type(other)(kind=other.kind, **values)


def best_form(
    run: MeasuredRun, config: EngineConfig, forms: Sequence[FormName], floors: Floors, engine: Engine = "0.33"
) -> FormName:
    """The form that, fitted to a run's first half, predicts its second half best."""
    half = max(1, len(run) // 2)

    def miss(form: FormName) -> float:
        predicted = fit_run(run, config, form, engine=engine, fit_first=half, floors=floors, polish=0).predicted
        assert predicted is not None
        return score(predicted)

    return min(forms, key=miss)


def score(comparison: Comparison) -> float:
    """What a fit makes small: the largest error of the figures and the median one of a request's TTFT, percent."""
    return comparison.worst_percent + comparison.ttft_median_error_percent


def _start(run: MeasuredRun) -> LinearCost:
    """A guess: most of a quick token is the base, and prompts take a third of the time."""
    outputs = np.array(run.output_tokens)
    several = outputs > 1
    tpot = (run.last_token_s - run.first_token_s)[several] / (outputs[several] - 1)
    base_s = 0.5 * float(np.percentile(tpot, 10)) if several.any() else 0.0
    span_s = float(run.last_token_s.max())
    return LinearCost(
        kind="linear",
        base_s=max(base_s, 1e-6),
        per_prefill_token_s=0.3 * span_s / sum(run.prompt_tokens),
    )


def _compared(run: MeasuredRun, result: Replay, chosen: slice) -> Comparison:
    return compare(
        run.arrival_s,
        run.output_tokens,
        (run.first_token_s, run.last_token_s),
        (result.first_token_s, result.last_token_s),
        chosen,
    )


def _solve(run: MeasuredRun, result: Replay, form: FormName, count: int, floors: Floors) -> LinearCost | MixedMaxCost:
    """The coefficients that put the simulated steps' ends where the measured tokens were."""
    first, last, came = run.first_token_s[:count], run.last_token_s[:count], run.arrival_s[:count]
    # Steps are counted from 1 here, so that number 0 stands for nothing done.
    to_first, to_last = result.first_step[:count] + 1, result.last_step[:count] + 1
    anchor = _anchors(result)[:count]
    begin, since_s = result.next_step[anchor], run.arrival_s[anchor]
    under_way_s = np.maximum(np.concatenate([[0.0], result.end_s])[begin] - since_s, 0.0)
    spans = [first - since_s - under_way_s, last - since_s - under_way_s, last - first]
    weights = [1 / (span + SOFTEN_S) for span in (first - came, last - came, last - first)]
    target = np.concatenate([weight * span for weight, span in zip(weights, spans, strict=True)])
    best: tuple[float, Array, float] | None = None
    for knee in knees(form):
        works = result.works.matrix(form, knee)
        done = np.concatenate([np.zeros((1, works.shape[1])), np.cumsum(works, axis=0)])
        parts = [done[to_first] - done[begin], done[to_last] - done[begin], done[to_last] - done[to_first]]
        matrix = np.concatenate([weight[:, None] * part for weight, part in zip(weights, parts, strict=True)])
        found = solve_above(robust, matrix, target, floors, form, knee)
        loss = float(np.abs(matrix @ found - target).sum())
        if best is None or loss < best[0]:
            best = (loss, found, knee)
    assert best is not None
    coefficients = best[1]
    if not coefficients.any():
        coefficients = np.full(len(TERMS[form]), 1e-9)
    return cost_of(form, coefficients, best[2])


def _anchors(result: Replay) -> NDArray[np.int64]:
    """For each request, the latest one up to it that did not have to wait for more than the step under way."""
    positions = np.arange(len(result.next_step))
    return np.maximum.accumulate(np.where(result.admitted_step <= result.next_step, positions, 0))
