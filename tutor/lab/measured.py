"""A claim settled by measured runs of a real server instead of the simulator.

With two runs a side or more, they are replications: Student's interval of one side, Welch's of a difference (B. Welch,
"The generalization of Student's problem when several different population variances are involved", 1947), and of a
ratio the same on logarithms.

From one run a side it cannot be told how another would come out. The interval then only says how much a number depends
on which requests were in the run: a circular block bootstrap over the requests in order of sending (D. Politis,
J. Romano, "A circular block-resampling procedure for stationary data", 1992), in blocks, since neighbours wait in the
same queue. It is too narrow for times that hang together over much of the run; `benchmarks.lab_statistics` shows how
much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import TYPE_CHECKING, Final

import numpy as np

from sim.experiment.comparison import Outcome, TermOutcome, worst
from sim.experiment.intervals import mean_interval, welch_interval
from sim.experiment.measure import too_few
from sim.experiment.terms import ALPHA, Term
from tutor.errors import TutorError
from tutor.lab.quantities import ALL, Chosen, chosen_from
from tutor.measure.records import Seen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

RESAMPLES: Final = 2_000
FEWEST: Final = 8
"""Requests below which a run has no interval worth showing."""
READABLE: Final = ("ttft_s", "itl_s", "tpot_s", "e2e_s", "output_tokens_per_s")
"""A result file holds times and tokens; limits, and so goodput, stand in a scenario."""
ONE_RUN: Final = (
    "One run a side: the interval tells how much depends on which requests were in it, not how another run would come "
    "out; near full load it is too narrow. Measure each side twice or more to know."
)
RUNS: Final = "Each run counts as one replication; the load's seed should differ between the runs of a side."


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A saved run, ready to be asked."""

    name: str
    requests: tuple[Seen, ...]
    failed: int
    """Requests that did not complete; no number is taken from them."""

    @property
    def classes(self) -> tuple[str, ...]:
        """In their first order; a file of another tool has the one class "all"."""
        return tuple(dict.fromkeys(one.class_name for one in self.requests))


def load_measured(path: Path) -> MeasuredRun:
    """A run that `tutor measure` or `vllm bench serve --save-detailed` saved.

    Raises:
        TutorError: the file cannot be read, or no request of it completed.
    """
    from tutor.measure.saved import read_run

    _, seen = read_run(path)
    done = [one for one in seen if one.status == "completed" and one.events_s]
    if not done:
        raise TutorError(f"{path}: no request of it completed.", hint="Measure again.")
    done.sort(key=lambda one: (one.sent_s or 0.0, one.number))
    return MeasuredRun(path.name, tuple(done), len(seen) - len(done))


def settle_measured(
    terms: Sequence[Term], changed: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun] = (), *, seed: int = 1
) -> Outcome:
    """Hold statements against measured runs; several statements share the error that is allowed (Bonferroni).

    Raises:
        TutorError: a run has no request of the class, or a quantity cannot be read off requests.
    """
    begin = monotonic()
    alpha = ALPHA / len(terms)
    outcomes = tuple(_settle(term, changed, baseline, alpha, seed + n) for n, term in enumerate(terms))
    return Outcome(
        verdict=worst(outcomes),
        terms=outcomes,
        replications=min(len(side) for side in (changed, baseline) if side),
        requests=sum(len(run.requests) for run in (*baseline, *changed)),
        seconds=monotonic() - begin,
        first_seed=seed,
        warm_up_s=0.0,
        stopped="measured",
    )


def _settle(
    term: Term, changed: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun], alpha: float, seed: int
) -> TermOutcome:
    chosen = chosen_from(term.metric)
    if chosen is None or chosen.quantity not in READABLE:
        raise TutorError(
            f"{term.metric} cannot be read off a result file.",
            hint="It has TTFT, ITL, TPOT, E2E and tokens/s; limits stand in scenarios.",
        )
    if term.subject != "value" and not baseline:
        raise TutorError("The claim compares two servers, and one was given.", hint="Give --baseline too.")
    after = [_Numbers(run, chosen) for run in changed]
    before = [_Numbers(run, chosen) for run in baseline]
    samples = min(side.samples for side in (*after, *before))
    fewest = min(side.requests for side in (*after, *before))
    note = too_few(term.metric, samples)
    if fewest < FEWEST:
        note = f"{fewest} requests in a run; it takes {FEWEST}"
    after_values, before_values = ([one.value(None) for one in side] for side in (after, before))
    if term.subject == "change" and not all(value > 0 for value in (*before_values, *after_values)):
        note, interval = "a run's value is 0, so no change in per cent can be told", (-math.inf, math.inf)
    elif min(len(side) for side in (after, before) if side) > 1:
        interval = _between_runs(term, after_values, before_values, alpha)
    else:
        interval = _within_runs(term, after, before, alpha, seed)
    mean_after, mean_before = fmean(after_values), fmean(before_values) if before_values else None
    return TermOutcome(
        term=term,
        verdict="undetermined" if note else term.verdict(*interval),
        estimate=_subject(term, mean_after, mean_before or 0.0),
        interval=interval,
        level=1 - alpha,
        baseline=mean_before,
        changed=mean_after,
        values=tuple(after_values),
        samples=samples,
        note=note,
    )


def _subject(term: Term, after: float, before: float) -> float:
    if term.subject == "value":
        return after
    if term.subject == "difference":
        return after - before
    return after / before - 1 if before else math.nan


def _between_runs(term: Term, after: Sequence[float], before: Sequence[float], alpha: float) -> tuple[float, float]:
    """Student's interval over runs, Welch's of a difference; of a ratio on logarithms."""
    if term.subject == "value":
        return mean_interval(after, alpha)
    if term.subject == "difference":
        return welch_interval(after, before, alpha)
    low, high = welch_interval([math.log(v) for v in after], [math.log(v) for v in before], alpha)
    return math.expm1(low), math.expm1(high)


def _within_runs(
    term: Term, after: Sequence[_Numbers], before: Sequence[_Numbers], alpha: float, seed: int
) -> tuple[float, float]:
    """What other requests in the same runs would have given; each run has its own draws."""

    def drawn(side: Sequence[_Numbers], at: int) -> Numbers:
        each = [one.draws(np.random.default_rng([seed, at, n])) for n, one in enumerate(side)]
        return np.mean(each, axis=0) if each else np.zeros(1)

    after_draws, before_draws = drawn(after, 0), drawn(before, 1)
    spread = after_draws
    if term.subject == "difference":
        spread = after_draws - before_draws
    elif term.subject == "change":
        usable = before_draws > 0
        spread = after_draws[usable] / before_draws[usable] - 1
    low, high = np.quantile(spread, [alpha / 2, 1 - alpha / 2])
    return float(low), float(high)


class _Numbers:
    """One metric of one run: its value, and what it would be with other requests in the run."""

    def __init__(self, run: MeasuredRun, chosen: Chosen) -> None:
        kept = [one for one in run.requests if chosen.class_name in (ALL, one.class_name)]
        if not kept:
            raise TutorError(
                f"{run.name} has no completed request of the class {chosen.class_name!r}.",
                hint=f"It has {', '.join(run.classes)}; all of them are {ALL!r}.",
            )
        self.requests = len(kept)
        if chosen.quantity == "output_tokens_per_s":
            self.samples, self._read = len(kept), _rate(kept)
            return
        groups = [times for one in kept if len(times := _times(chosen.quantity, one))]
        if not groups:
            raise TutorError(f"No request of {run.name} has a {chosen.of.words}.", hint="Ask for TTFT or E2E.")
        self.requests = len(groups)
        self.samples = sum(len(group) for group in groups)
        self._read = _times_reader(groups, chosen.statistic)

    def value(self, picked: NDArray[np.int64] | None) -> float:
        """Of the run itself, or of the requests that were drawn for it."""
        return self._read(picked)

    def draws(self, rng: np.random.Generator) -> Numbers:
        """What it comes to in so many resampled runs."""
        return np.array([self._read(picked) for picked in blocks(self.requests, RESAMPLES, rng)])


def blocks(count: int, times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Row numbers of resampled runs: blocks of neighbours, the end joined to the start; shape (times, count).

    A block is twice the square root of the number of requests: longer than what is best for weakly dependent data,
    since waits in a queue hang together for long; beside one, two and four cube roots it was least narrow on M/M/1.
    """
    length = max(1, min(count, round(2 * math.sqrt(count))))
    starts = rng.integers(0, count, (times, math.ceil(count / length)))
    rows = (starts[:, :, None] + np.arange(length)).reshape(times, -1)[:, :count] % count
    return rows.astype(np.int64)


Reader = Callable[["NDArray[np.int64] | None"], float]


def _times_reader(groups: Sequence[Numbers], statistic: str) -> Reader:
    sizes = np.array([len(group) for group in groups])
    whole = np.concatenate(groups)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    single = bool((sizes == 1).all())

    def value(picked: NDArray[np.int64] | None) -> float:
        if picked is None:
            return _statistic(statistic, whole)
        if single:
            return _statistic(statistic, whole[picked])
        # Requests are drawn, not gaps: the gaps of one request are alike.
        chosen = sizes[picked]
        ends = np.cumsum(chosen)
        within = np.arange(ends[-1]) - np.repeat(ends - chosen, chosen)
        return _statistic(statistic, whole[np.repeat(starts[picked], chosen) + within])

    return value


def _rate(kept: Sequence[Seen]) -> Reader:
    """Tokens over the time from the first request sent to the last token, each request with the time until the next."""
    sent = np.array([one.sent_s or 0.0 for one in kept])
    end = max(one.last_s or 0.0 for one in kept)
    tokens = np.array([float(one.tokens) for one in kept])
    spans = np.diff(np.append(sent, max(end, sent[-1])))

    def rate(picked: NDArray[np.int64] | None) -> float:
        chosen = slice(None) if picked is None else picked
        span = float(spans[chosen].sum())
        return float(tokens[chosen].sum()) / span if span > 0 else 0.0

    return rate


def _times(quantity: str, seen: Seen) -> Numbers:
    if quantity == "itl_s":
        return np.array(seen.gaps_s, dtype=np.float64)
    found = {"ttft_s": seen.ttft_s, "e2e_s": seen.e2e_s, "tpot_s": seen.tpot_s}[quantity]
    return np.array([] if found is None else [found], dtype=np.float64)


def _statistic(name: str, values: Numbers) -> float:
    if name in ("mean", "max"):
        return float(values.mean() if name == "mean" else values.max())
    return float(np.percentile(values, 99.9 if name == "p999" else float(name[1:])))
