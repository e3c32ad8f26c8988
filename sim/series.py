"""Queue, seats and KV blocks of a replica over time, read from its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sim.log import Log

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sim.table import Column


@dataclass(frozen=True, slots=True)
class Series:
    """One point a run of steps: the queue and the seats when it starts, the blocks held when it ends."""

    replica: int
    start_ticks: Column
    end_ticks: Column
    waiting: Column
    """Requests in the queue."""
    running: Column
    """Seats taken."""
    kv_blocks: Column
    capacity_blocks: int | None
    """All KV blocks of the replica; None where its policy has no blocks."""

    @property
    def kv_usage(self) -> NDArray[np.float64] | None:
        """Share of the blocks held, 0 to 1; None where there are no blocks."""
        if not self.capacity_blocks:
            return None
        usage: NDArray[np.float64] = self.kv_blocks / self.capacity_blocks
        return usage

    def points(self, name: Literal["waiting", "running", "kv_blocks"]) -> tuple[Column, Column]:
        """Times in ticks and the value from each of them on; zero while the replica has nothing to do."""
        import numpy as np

        times = self.end_ticks if name == "kv_blocks" else self.start_ticks
        values = getattr(self, name)
        idle = np.flatnonzero(np.append(self.start_ticks[1:], np.iinfo(np.int64).max) > self.end_ticks)
        return np.insert(times, idle + 1, self.end_ticks[idle]), np.insert(values, idle + 1, 0)


def capacity_blocks(log: Log, replica: int) -> int | None:
    """All KV blocks of a replica; None where its policy has no blocks."""
    scenario = log.scenario
    return (scenario.fleet.replica(replica).server or scenario.server).kv_blocks


def peak(log: Log, name: str) -> float | None:
    """The largest value of any replica; None where there is none.

    `waiting` and `running` are the longest queue and the most seats taken when a step starts, `kv_usage` the
    largest share of the KV blocks held when a run of steps ends.
    """
    found: list[float] = []
    for replica, runs in enumerate(log.runs):
        if not len(runs):
            continue
        if name != "kv_usage":
            found.append(float(runs[name].max()))
        elif blocks := capacity_blocks(log, replica):
            found.append(float(runs["kv_blocks"].max()) / blocks)
    return max(found, default=None)


def most_waiting(queued: Column, left: Column) -> int:
    """Most requests that waited at once, from the moments at which each joined the queue and left it.

    Who leaves at the moment of joining never waited.
    """
    import numpy as np

    joined = np.sort(queued)
    gone = np.searchsorted(np.sort(left), joined, side="right")
    return int((np.arange(1, len(joined) + 1) - gone).max(initial=0))


def replica_series(log: Log, replica: int) -> Series:
    """The series of one replica, by its place in `log.runs`."""
    import numpy as np

    runs = log.runs[replica]
    start, steps, first, growth = (np.ascontiguousarray(runs[name]) for name in ("start", "steps", "first", "growth"))
    return Series(
        replica=replica,
        start_ticks=start,
        end_ticks=start + first * steps + growth * (steps * (steps - 1) // 2),
        waiting=np.ascontiguousarray(runs["waiting"]),
        running=np.ascontiguousarray(runs["running"]),
        kv_blocks=np.maximum(runs["kv_blocks"], 0),
        capacity_blocks=capacity_blocks(log, replica),
    )
