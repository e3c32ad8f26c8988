"""What drives a replica and what a replica must answer: the border between clock and step rules.

A replica is planned at an instant when it is free, and then has a *run* under way: one step, or many equal
ones whose content is known beforehand. Nothing of a run has happened until it is settled. Whoever drives it
settles at the run's end, or earlier when the world outside changes; it then keeps the steps that are over
and finishes the one under way.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True, eq=False)
class Sequence:
    """One request inside the servers. Times are ticks; None until they happen."""

    id: int
    class_index: int
    number: int
    prompt_tokens: int
    output_tokens: int
    arrival: int
    prefix: tuple[tuple[str, int], ...] = ()
    """What its prompt starts with and others may share: labels and lengths in tokens. The rest is its own."""
    priority: int = 0
    """Smaller is served first where the scheduler has priorities."""
    computed: int = 0
    """Tokens whose state is in the cache of its replica."""
    generated: int = 0
    """Tokens emitted; all of them seen by the client unless it left."""
    cached: int = 0
    computed_prompt: int = 0
    recomputed: int = 0
    preemptions: int = 0
    queued: int | None = None
    scheduled: int | None = None
    first_token: int | None = None
    """When the server emitted it (without transport)."""
    last_token: int | None = None
    gaps: list[int] = field(default_factory=list)
    """Single gaps, ticks: those that `first_run` and `stretches` do not cover."""
    first_run: int = -1
    last_run: int = -1
    stretches: list[tuple[int, int, int]] = field(default_factory=list)
    """Further stretches: replica, first run, last run."""


class Replica(Protocol):
    """One server. All calls carry the present instant in ticks, never less than the one before."""

    @property
    def end(self) -> int | None:
        """When the run under way ends; None while the replica is free."""
        ...

    @property
    def waiting(self) -> int:
        """Requests in its queue."""
        ...

    @property
    def running(self) -> int:
        """Seats taken."""
        ...

    @property
    def kv_usage(self) -> float:
        """Share of the KV blocks that are held, 0 to 1; 0 where the policy has no blocks."""
        ...

    def submit(self, seq: Sequence, now: int) -> None:
        """Put a request into the queue. May shorten the run under way: read `end` again."""
        ...

    def abort(self, seq: Sequence, now: int) -> None:
        """Take a request out, wherever it is; the step under way goes on without effect on it."""
        ...

    def plan(self, now: int) -> bool:
        """Decide the next run; only while free. False when there is nothing to do."""
        ...

    def settle(self, now: int) -> Many[Sequence]:
        """Let everything happen that is over by `now`, and return the requests that finished, in order.

        Sets `first_token` and `last_token` of sequences. A run always ends with the step in which any
        sequence emits its first or last token, so neither is ever found out later than it happened.
        """
        ...

    def look(self, seq: Sequence) -> None:
        """Bring the counts of one of its requests up to what was settled; those that finished are up to date."""
        ...
