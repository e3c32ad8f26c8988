"""A request in an engine with a clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.vllm.request import EngineRequest


@dataclass(slots=True, eq=False)
class Job(EngineRequest):
    """A request with what its life's record needs. Times are ticks; -1 until they happen."""

    index: int = 0
    """Position among all requests."""
    queued: int = -1
    scheduled: int = -1
    first_token: int = -1
    last_token: int = -1
    """Kept while it is not in the group; those in the group emitted when the latest run ended."""
    cached_tokens: int = 0
    """Prompt tokens found in the cache at its first admission."""
    prefilled_tokens: int = 0
    """Tokens computed in prompt chunks, each time they were."""
    first_run: int = -1
    """The run at whose end its first token, or the first after its latest pause, was emitted."""
    last_run: int = -1
    joined: int = -1
    """The group's step count when it joined; -1 while it is not in the group."""
    order: int = 0
    """Rises with each join, in the order of admission."""
    gaps: list[int] = field(default_factory=list)
    """Gaps that bridge its pauses."""
    stretches: list[tuple[int, int]] = field(default_factory=list)
    """First and last run of its stretches before the latest."""
    owner: object = None
