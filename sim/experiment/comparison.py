"""Two scenarios on the same requests, so often that the intervals decide or the budget ends.

Both sides of a replication have the same seed, and a class draws its arrivals and lengths from streams that no change
of the server touches: what differs is the change (common random numbers). The interval of a difference is that of the
paired differences. After each round of replications every statement is looked at with its share of the error that is
allowed (`terms.spent`), so that stopping early does not raise it.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from sim.errors import ScenarioError
from sim.experiment.intervals import mean_interval
from sim.experiment.measure import Reading, read, too_few, warm_up_ticks
from sim.experiment.terms import ALPHA, Budget, Term, Verdict, looks, spent

if TYPE_CHECKING:
    from sim.scenario import Scenario

EXACT_AFTER: Final = 3
"""Replications that all give the same to the last bit, and no more are run."""
MAX_SEED: Final = 2**63 - 1

Progress = Callable[[int, int, int], None]
"""Called with replications done, the most there may be, and requests simulated."""


@dataclass(frozen=True, slots=True)
class TermOutcome:
    """What the replications say about one statement."""

    term: Term
    verdict: Verdict
    estimate: float | None
    """Mean over the replications of the statement's subject; None without samples."""
    interval: tuple[float, float] | None
    """At the confidence of `level`, which allows for every look and every statement."""
    level: float
    baseline: float | None
    """Mean of the metric on the baseline side; None where there is none."""
    changed: float | None
    values: tuple[float, ...]
    """The subject in each replication."""
    samples: int
    """Fewest in a replication."""
    note: str = ""
    """Why nothing can be told, where it cannot."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A whole comparison. The verdict is that of the statement that stands worst."""

    verdict: Verdict
    terms: tuple[TermOutcome, ...]
    replications: int
    requests: int
    seconds: float
    first_seed: int
    warm_up_s: float
    """Mean over the replications of what was left out at the start of both sides."""
    stopped: str
    """Why it ended: decided, nothing random, budget, cancelled, or a fault."""

    @property
    def partial(self) -> bool:
        """Whether somebody stopped it."""
        return self.stopped == "cancelled"


Looked = Callable[[tuple[TermOutcome, ...], int], None]
"""Called with the statements as they stand, and of how many replications."""


class _Side(NamedTuple):
    readings: tuple[Reading, ...]
    requests: int


class _Pair(NamedTuple):
    """One replication."""

    baseline: _Side | None
    changed: _Side
    warm_up_s: float


@dataclass
class _Tally:
    terms: Sequence[Term]
    pairs: list[_Pair] = field(default_factory=list)

    def subject(self, index: int) -> list[float] | None:
        """The values of a statement's subject; None where a replication has no sample."""
        term, found = self.terms[index], []
        for pair in self.pairs:
            changed = pair.changed.readings[index].value
            if changed is None:
                return None
            if term.subject == "value":
                found.append(changed)
                continue
            before = pair.baseline.readings[index].value if pair.baseline is not None else None
            if before is None or (term.subject == "change" and before == 0):
                return None
            found.append(changed - before if term.subject == "difference" else changed / before - 1)
        return found

    def samples(self, index: int) -> int:
        sides = [side for pair in self.pairs for side in (pair.baseline, pair.changed) if side is not None]
        return min(side.readings[index].samples for side in sides)

    def means(self, index: int) -> tuple[float | None, float | None]:
        def mean(sides: list[_Side]) -> float | None:
            values = [value for side in sides if (value := side.readings[index].value) is not None]
            return fmean(values) if values else None

        return (
            mean([pair.baseline for pair in self.pairs if pair.baseline is not None]),
            mean([pair.changed for pair in self.pairs]),
        )

    @property
    def requests(self) -> int:
        return sum(
            pair.changed.requests + (pair.baseline.requests if pair.baseline is not None else 0) for pair in self.pairs
        )

    def outcomes(self, alpha: float) -> tuple[TermOutcome, ...]:
        """All statements at this look; `alpha` is for each of them."""
        return tuple(self._outcome(index, alpha) for index in range(len(self.terms)))

    def _outcome(self, index: int, alpha: float) -> TermOutcome:
        term = self.terms[index]
        values, samples = self.subject(index), self.samples(index)
        baseline, changed = self.means(index)
        note = too_few(term.metric, samples)
        if values is None:
            note = note or "no sample on one of the sides"
            return TermOutcome(term, "undetermined", None, None, 1 - alpha, baseline, changed, (), samples, note)
        low, high = mean_interval(values, alpha)
        floor = lowest(term, values)
        low, high = max(low, floor), max(high, floor)
        verdict = "undetermined" if note else term.verdict(low, high)
        return TermOutcome(
            term, verdict, fmean(values), (low, high), 1 - alpha, baseline, changed, tuple(values), samples, note
        )

    @property
    def exact(self) -> bool:
        """Whether all replications gave the same."""
        if len(self.pairs) < EXACT_AFTER:
            return False
        return all(
            (pair.changed.readings, pair.baseline and pair.baseline.readings)
            == (self.pairs[0].changed.readings, self.pairs[0].baseline and self.pairs[0].baseline.readings)
            for pair in self.pairs
        )


def compare(
    baseline: Scenario | None,
    changed: Scenario,
    terms: Sequence[Term],
    budget: Budget | None = None,
    *,
    first_seed: int | None = None,
    warm_up: bool = True,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
    looked: Looked | None = None,
    alpha: float = ALPHA,
) -> Outcome:
    """Settle the statements, or say that the budget does not.

    Args:
        baseline: the other side; None where every statement is about a value.
        changed: the side that values are read on.
        terms: the statements; all must hold for the whole to be supported, and each is held to `alpha` over their
            number (Bonferroni).
        budget: replications, seconds and requests to spend.
        first_seed: of the replications, which follow each other; the changed scenario's own when not given.
        warm_up: leave out the start of loads that go on alike (MSER-5, the later of the two sides' cuts on both).
        progress: told after each replication.
        stop: asked now and then; what is there by then is kept.
        looked: shown what each look gave, while more replications are run.
        alpha: the chance of a wrong verdict that is allowed, over all looks and statements together.

    Raises:
        ScenarioError: a metric does not exist in the scenarios, or a run cannot be made.
        ValueError: a statement compares and there is no baseline.
    """
    if not terms:
        raise ValueError("there is nothing to settle; give at least one statement")
    if baseline is None and any(term.subject != "value" for term in terms):
        raise ValueError("a difference or change needs a baseline")
    budget, stop, progress = budget or Budget(), stop or _never, progress or _silent
    seed = changed.seed if first_seed is None else first_seed
    if seed + budget.replications > MAX_SEED:
        raise ScenarioError(f"seed {seed} leaves no room for {budget.replications} replications; choose a smaller one")
    counts = looks(budget.replications)
    shares = dict(zip(counts, spent(counts, alpha / len(terms)), strict=True))
    begun, tally = time.perf_counter(), _Tally(terms)
    job = (baseline, changed, tuple(term.metric for term in terms), warm_up)
    outcomes: tuple[TermOutcome, ...] = ()
    why = "budget"
    with _Runner(budget.jobs, job, stop) as runner:
        for count in counts:
            seeds = range(seed + len(tally.pairs), seed + count)
            for pair in runner.run(seeds):
                tally.pairs.append(pair)
                progress(len(tally.pairs), budget.replications, tally.requests)
            if stop():
                why = "cancelled"
                break
            # What an earlier look decided stays decided: looking on would be another test.
            latest = tally.outcomes(shares[count])
            outcomes = tuple(
                before if before.verdict != "undetermined" else now
                for before, now in zip(outcomes or latest, latest, strict=True)
            )
            if looked is not None:
                looked(outcomes, count)
            if tally.exact:
                why = "nothing random"
                break
            if all(each.verdict != "undetermined" for each in outcomes):
                why = "decided"
                break
            if all(each.note for each in outcomes if each.verdict == "undetermined"):
                why = "too few samples"
                break
            spent_s = time.perf_counter() - begun
            # Another look is worth its time only where it can end within what is left.
            following = next((other for other in counts if other > count), count)
            if spent_s * following / count > budget.seconds or tally.requests * following / count > budget.requests:
                break
    if len(tally.pairs) >= 2 and why == "cancelled":
        latest = tuple(_undecided(each) for each in tally.outcomes(min(shares.values())))
        outcomes = tuple(
            before if before.verdict != "undetermined" else now
            for before, now in zip(outcomes or latest, latest, strict=True)
        )
    return Outcome(
        worst(outcomes),
        outcomes,
        len(tally.pairs),
        tally.requests,
        time.perf_counter() - begun,
        seed,
        fmean([pair.warm_up_s for pair in tally.pairs]) if tally.pairs else 0.0,
        why,
    )


def _undecided(outcome: TermOutcome) -> TermOutcome:
    """A look that was not planned decides nothing."""
    from dataclasses import replace

    return replace(outcome, verdict="undetermined", note=outcome.note or "stopped before it was decided")


def lowest(term: Term, values: Sequence[float]) -> float:
    """What the subject cannot fall below: a change -100 %, a metric of which no run gave less than 0 that."""
    if term.subject == "change":
        return -1.0
    return 0.0 if term.subject == "value" and min(values) >= 0 else -math.inf


def worst(outcomes: Sequence[TermOutcome]) -> Verdict:
    """The verdict of all statements together: refuted where one is, supported where all are."""
    verdicts = [each.verdict for each in outcomes]
    if "refuted" in verdicts:
        return "refuted"
    return "supported" if verdicts and all(each == "supported" for each in verdicts) else "undetermined"


# ---- replications ----------------------------------------------------------------------------------


def replicate(
    baseline: Scenario | None, changed: Scenario, metrics: tuple[str, ...], warm_up: bool, seed: int
) -> _Pair:
    """One replication: both sides on the same seed, cut at the same moment."""
    from sim.result import simulate

    sides = [None if each is None else simulate(each.model_copy(update={"seed": seed})) for each in (baseline, changed)]
    since = max((warm_up_ticks(side) for side in sides if side is not None), default=0) if warm_up else 0
    found = [
        None if side is None else _Side(tuple(read(side, name, since) for name in metrics), side.columns.count)
        for side in sides
    ]
    assert found[1] is not None
    return _Pair(found[0], found[1], since / 1e12)


Job = tuple["Scenario | None", "Scenario", tuple[str, ...], bool]


class _Runner:
    """Runs replications here, or in processes once they are seen to take long enough to be worth it."""

    def __init__(self, jobs: int, job: Job, stop: Callable[[], bool], worth_s: float = 1.0) -> None:
        """`worth_s`: what is left to do must take so long before processes are begun."""
        self.jobs = jobs or os.cpu_count() or 1
        self.worth_s = worth_s
        self.job, self.stop = job, stop
        self.pool: object | None = None
        self.took_s = 0.0

    def __enter__(self) -> _Runner:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            from concurrent.futures import ProcessPoolExecutor

            assert isinstance(self.pool, ProcessPoolExecutor)
            self.pool.shutdown(wait=True, cancel_futures=True)

    def run(self, seeds: Sequence[int]) -> list[_Pair]:
        """In the order of the seeds, as far as nobody stops it."""
        pairs: list[_Pair] = []
        for number, seed in enumerate(seeds):
            if self.stop():
                break
            left = len(seeds) - number
            if self.jobs > 1 and left > 1 and self.took_s * left > self.worth_s:
                return [*pairs, *self._in_processes(seeds[number:])]
            begun = time.perf_counter()
            pairs.append(replicate(*self.job, seed))
            self.took_s = time.perf_counter() - begun
        return pairs

    def _in_processes(self, seeds: Sequence[int]) -> list[_Pair]:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor, wait

        if self.pool is None:
            # Fresh processes: a fork of a program with threads may hang.
            context = multiprocessing.get_context("spawn")
            self.pool = ProcessPoolExecutor(self.jobs, mp_context=context, initializer=_quiet)
        assert isinstance(self.pool, ProcessPoolExecutor)
        futures = [self.pool.submit(replicate, *self.job, seed) for seed in seeds]
        pairs = []
        for future in futures:
            while not future.done():
                wait([future], timeout=0.1)
                if self.stop():
                    for other in futures:
                        other.cancel()
                    break
            if future.cancelled() or not future.done():
                break
            pairs.append(future.result())
        return pairs


def _quiet() -> None:
    """Ctrl+C reaches every process of the terminal; only the first one is to act on it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _never() -> bool:
    return False


def _silent(done: int, most: int, requests: int) -> None:
    pass
