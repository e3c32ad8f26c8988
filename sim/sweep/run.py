"""Running a sweep's points: here, in processes, or on a Dask cluster; the numbers do not depend on where."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from sim.commands.points import Point, run_point
from sim.errors import ScenarioError

if TYPE_CHECKING:
    from sim.sweep.plan import Points

AHEAD: Final = 4
"""Points handed out per process beyond the one under way; a million points are never all in memory."""
Stop = Callable[[], bool]


def locally(
    file: str, points: Points, numbers: Iterable[int], metrics: Sequence[str], jobs: int, stop: Stop
) -> Iterator[tuple[int, Point]]:
    """The points of these numbers as they are done, in no order; once `stop` is true no further one is begun."""
    waiting = iter(numbers)
    if jobs <= 1:
        for number in waiting:
            if stop():
                return
            point = run_point(file, points[number], metrics, stop)
            if point.error and stop():
                return
            yield number, point
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_quiet) as pool:
        under_way: dict[Future[Point], int] = {}

        def fill() -> None:
            for number in islice(waiting, jobs * AHEAD - len(under_way)):
                under_way[pool.submit(run_point, file, points[number], metrics)] = number

        fill()
        while under_way:
            done, _ = wait(under_way, timeout=0.1, return_when=FIRST_COMPLETED)
            for future in done:
                yield under_way.pop(future), future.result()
            if stop():
                for future in under_way:
                    future.cancel()
                return
            fill()


def on_dask(
    address: str, file: str, points: Points, numbers: Iterable[int], metrics: Sequence[str], stop: Stop
) -> Iterator[tuple[int, Point]]:
    """The same on a Dask cluster. What a lost worker had is run again by another; each point is given once.

    The scenario is read on the workers, so the file must be there under the same path, or be a built-in one.

    Raises:
        ScenarioError: Dask is not installed, or no scheduler answers at the address.
    """
    try:
        import distributed
    except ImportError:
        raise ScenarioError("--dask needs Dask; install the extra `dask`") from None
    dask: Any = distributed  # it declares no types
    try:
        client = dask.Client(address, timeout="10s")
    except (OSError, TimeoutError, ValueError) as error:
        raise ScenarioError(f"--dask {address}: no scheduler answers there ({error}); check the address") from None
    with client:
        waiting = iter(numbers)
        room = max(1, sum(client.ncores().values())) * AHEAD

        def submit(number: int) -> Any:
            key = f"point-{points.identity}-{number}"
            return client.submit(_numbered, number, file, points[number], tuple(metrics), key=key, retries=3, pure=True)

        coming = dask.as_completed([submit(number) for number in islice(waiting, room)])
        given: set[int] = set()
        recent: deque[int] = deque(maxlen=100_000)
        for future in coming:
            number, point = future.result()
            if number not in given:
                if len(recent) == recent.maxlen:
                    given.discard(recent[0])
                given.add(number)
                recent.append(number)
                yield number, point
            if stop():
                return
            for following in islice(waiting, 1):
                coming.add(submit(following))


def _numbered(number: int, file: str, changes: Any, metrics: tuple[str, ...]) -> tuple[int, Point]:
    return number, run_point(file, changes, metrics)


def _quiet() -> None:
    """Ctrl+C reaches every process of the terminal; only the first one is to act on it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
