"""Queue, seats and KV blocks of a replica over time, read from its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim.log import Log
from sim.ticks import TICKS_PER_S

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
    def start_s(self) -> NDArray[np.float64]:
        """Starts in seconds."""
        seconds: NDArray[np.float64] = self.start_ticks / TICKS_PER_S
        return seconds

    @property
    def end_s(self) -> NDArray[np.float64]:
        """Ends in seconds."""
        seconds: NDArray[np.float64] = self.end_ticks / TICKS_PER_S
        return seconds

    @property
    def kv_usage(self) -> NDArray[np.float64] | None:
        """Share of the blocks held, 0 to 1; None where there are no blocks."""
        if not self.capacity_blocks:
            return None
        usage: NDArray[np.float64] = self.kv_blocks / self.capacity_blocks
        return usage

    @property
    def peak_waiting(self) -> float | None:
        """Longest queue at the start of any run."""
        return float(self.waiting.max()) if len(self.waiting) else None

    @property
    def peak_running(self) -> float | None:
        """Most seats taken."""
        return float(self.running.max()) if len(self.running) else None

    @property
    def peak_kv_usage(self) -> float | None:
        """Largest share of the blocks held at the end of any run, 0 to 1."""
        usage = self.kv_usage
        return float(usage.max()) if usage is not None and len(usage) else None


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
        capacity_blocks=log.scenario.server.kv_blocks,
    )
