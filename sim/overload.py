"""Whether more came than was served, so that waits say how long the run was and nothing about the server."""

from __future__ import annotations

from typing import NamedTuple

from sim.log import Log
from sim.table import NONE
from sim.ticks import TICKS_PER_S
from sim.traffic import ClosedLoop

_UNSERVED_SHARE = 0.1
_FEWEST = 30


class Overload(NamedTuple):
    """The last two thirds of the time in which requests came."""

    arrivals_per_s: float
    ended_per_s: float
    """Completed, cancelled, rejected or failed."""
    unfinished: int
    """Requests in the system when the last one came."""

    def __str__(self) -> str:
        return (
            f"more came than was served: {self.arrivals_per_s:,.2f} requests/s against {self.ended_per_s:,.2f}, and "
            f"{self.unfinished:,} were unfinished when the last one came; waits grow with the length of the run"
        )


def overload(log: Log) -> Overload | None:
    """Find an overload that lasts; None where there is none, or too little to tell.

    One lasts when the number in the system has grown through both of the last two thirds of the arrivals' time,
    to more than twice the seats, by at least a tenth of those who came meanwhile. Closed loops cannot overload.
    """
    import numpy as np

    scenario = log.scenario
    if any(isinstance(item.arrivals, ClosedLoop) for item in scenario.classes) or len(log.lives) < _FEWEST:
        return None
    arrival = np.sort(log.lives["arrival"])
    ended = log.lives["ended"]
    ended = np.sort(ended[ended != NONE])
    start, last = int(arrival[0]), int(arrival[-1])
    moments = [start + (last - start) * third // 3 for third in (1, 2, 3)]
    come = [int(np.searchsorted(arrival, moment, side="right")) for moment in moments]
    gone = [int(np.searchsorted(ended, moment, side="right")) for moment in moments]
    inside = [here - away for here, away in zip(come, gone, strict=True)]
    fleet = scenario.fleet
    seats = sum((fleet.replica(i).server or scenario.server).max_seqs for i in range(len(fleet.replicas)))
    grown = inside[2] - inside[0]
    if not inside[0] < inside[1] < inside[2] or inside[2] <= 2 * seats:
        return None
    if grown < _UNSERVED_SHARE * (come[2] - come[0]):
        return None
    seconds = (moments[2] - moments[0]) / TICKS_PER_S
    return Overload((come[2] - come[0]) / seconds, (gone[2] - gone[0]) / seconds, inside[2])
