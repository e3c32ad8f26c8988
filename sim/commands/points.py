"""Many variants of one scenario, side by side in processes, in an order that never changes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import product
from multiprocessing.synchronize import Event

from sim.commands.files import load_changed
from sim.commands.overrides import Change
from sim.errors import ScenarioError
from sim.result import simulate

MAX_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class Point:
    """One variant: what was changed, and the numbers asked for or the reason why there are none."""

    changes: tuple[Change, ...]
    values: dict[str, float | None]
    """By metric name; None where the run gave no sample. Empty when it failed."""
    counts: dict[str, int]
    """Requests by fate."""
    error: str | None = None


def grid(choices: Sequence[tuple[str, Sequence[object]]]) -> list[tuple[Change, ...]]:
    """Every combination, the last path varying fastest. Raises ScenarioError for too many, or a path twice."""
    paths = [path for path, _ in choices]
    for path in paths:
        if paths.count(path) > 1:
            raise ScenarioError(f"--set {path} is given twice; write all its values after one")
    count = 1
    for _, values in choices:
        count *= len(values)
    if count > MAX_POINTS:
        raise ScenarioError(f"{count:,} points are more than the {MAX_POINTS:,} allowed; give fewer values")
    return [tuple(zip(paths, values, strict=True)) for values in product(*(values for _, values in choices))]


def run_point(
    file: str, changes: tuple[Change, ...], metrics: Sequence[str], stop: Callable[[], bool] | None = None
) -> Point:
    """One variant. A scenario that cannot be run, or was stopped, is reported in the point, not raised."""
    try:
        result = simulate(load_changed(file, changes), stop=stop)
        if result.partial:
            return Point(changes, {}, {}, "stopped before its end")
        return Point(changes, {name: result.metric(name) for name in metrics}, result.counts._asdict())
    except ScenarioError as error:
        return Point(changes, {}, {}, str(error))


def sweep(
    file: str,
    points: Sequence[tuple[Change, ...]],
    metrics: Sequence[str],
    *,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Point]:
    """The variants in the order given, each in a process of its own when `jobs` is above 1.

    `progress` hears how many are done and how many there are. Once `stop` returns true no further one is
    begun, and those not run say so. The numbers do not depend on `jobs`.
    """
    jobs = min(jobs or os.cpu_count() or 1, len(points))
    stop = stop or _never
    progress = progress or _silent
    if jobs <= 1:
        for done, changes in enumerate(points):
            yield _not_run(changes) if stop() else run_point(file, changes, metrics, stop)
            progress(done + 1, len(points))
        return
    # Fresh processes: a fork of a program with threads may hang.
    context = multiprocessing.get_context("spawn")
    ended = context.Event()
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_worker, initargs=(ended,)) as pool:
        futures: list[Future[Point]] = [pool.submit(_work, file, changes, metrics) for changes in points]
        for changes, future in zip(points, futures, strict=True):
            while not future.done():
                wait([future], timeout=0.1)
                progress(sum(other.done() for other in futures), len(points))
                if stop() and not ended.is_set():
                    ended.set()
                    for other in futures:
                        other.cancel()
            yield _not_run(changes) if future.cancelled() else future.result()


def _not_run(changes: tuple[Change, ...]) -> Point:
    return Point(changes, {}, {}, "stopped before this point")


def _never() -> bool:
    return False


def _silent(done: int, total: int) -> None:
    pass


_ended: Event | None = None
"""In a worker: set once the sweep is to end."""


def _begin_worker(ended: Event) -> None:
    global _ended
    _ended = ended
    # Ctrl+C reaches every process of the terminal; only the first one is to act on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(file: str, changes: tuple[Change, ...], metrics: Sequence[str]) -> Point:
    assert _ended is not None
    return run_point(file, changes, metrics, _ended.is_set)
