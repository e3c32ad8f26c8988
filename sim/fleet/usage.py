"""What a fleet costs: how long its replicas were there."""

from __future__ import annotations

from sim.log import DRAINING, READY, STARTING, Log
from sim.ticks import to_seconds

_PAID = (STARTING, READY, DRAINING)


def replica_seconds(log: Log) -> float:
    """Time that all replicas together were starting, ready or draining, until the end of the log, in seconds.

    A lost replica counts again from its restart.
    """
    if not len(log.states):
        return to_seconds(log.end * len(log.runs))
    total = 0
    paid_since: dict[int, int] = {}
    for replica, state, since in log.states.rows().tolist():
        begun = paid_since.pop(replica, None)
        if begun is not None:
            total += min(since, log.end) - min(begun, log.end)
        if state in _PAID:
            paid_since[replica] = since
    total += sum(max(0, log.end - begun) for begun in paid_since.values())
    return to_seconds(total)


def replicas_over_time(log: Log) -> list[tuple[float, int]]:
    """How many replicas were ready from which second on; one entry for each change."""
    if not len(log.states):
        return [(0.0, len(log.runs))]
    ready: set[int] = set()
    counts: dict[int, int] = {}
    for replica, state, since in log.states.rows().tolist():
        if state == READY:
            ready.add(replica)
        else:
            ready.discard(replica)
        counts[since] = len(ready)
    changes: list[tuple[float, int]] = []
    for since, count in counts.items():
        if not changes or changes[-1][1] != count:
            changes.append((to_seconds(since), count))
    return changes
