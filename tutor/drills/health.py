"""Whether the stored drills can be read, and whether what is kept of them is what a replay gives."""

from __future__ import annotations

from tutor.drills.cache import Cache
from tutor.drills.log import DrillLog
from tutor.store import Problem, Store


def check_drills(store: Store) -> list[Problem]:
    """Where the drill state kept for a store is not what its log gives; for `tutor doctor`, which has no deck at hand.

    Raises:
        StoreError: the cache cannot be read or written.
    """
    log = DrillLog(store)
    cache = Cache(log)
    try:
        return checked(log, cache, repair=False)
    finally:
        cache.close()


def checked(log: DrillLog, cache: Cache, *, repair: bool) -> list[Problem]:
    """What cannot be read, and where the cached state is not the replayed one; `repair` replays it."""
    wrong = cache.differences()
    if wrong and repair:
        cache.rebuild()
    remedy = "It was replayed." if repair else "'tutor drill check --repair' replays it."
    return [
        *log.faults(),
        *(Problem(f"The drill state of {item_id} is not what its log gives.", remedy) for item_id in wrong),
    ]
