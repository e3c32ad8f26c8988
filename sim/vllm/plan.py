"""What one step computes, and the queue it takes from."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sim.vllm.request import EngineRequest


@dataclass(slots=True)
class PrefixStats:
    """Prefix lookups of admissions, those of requests that come back from preemption apart."""

    requests: int = 0
    queried_tokens: int = 0
    hit_tokens: int = 0
    preempted_requests: int = 0
    preempted_queried_tokens: int = 0
    preempted_hit_tokens: int = 0

    def count(self, queried_tokens: int, hit_tokens: int, *, preempted: bool) -> None:
        """Add one admission."""
        if preempted:
            self.preempted_requests += 1
            self.preempted_queried_tokens += queried_tokens
            self.preempted_hit_tokens += hit_tokens
        else:
            self.requests += 1
            self.queried_tokens += queried_tokens
            self.hit_tokens += hit_tokens


@dataclass(slots=True)
class StepPlan:
    """What one step computes, in the order it was decided."""

    scheduled: dict[EngineRequest, int] = field(default_factory=dict)
    """Tokens for each request."""
    admitted: list[EngineRequest] = field(default_factory=list)
    resumed: list[EngineRequest] = field(default_factory=list)
    preempted: list[EngineRequest] = field(default_factory=list)
    decoding: list[EngineRequest] = field(default_factory=list)
    """Those whose prompt was done before the step."""
    sampling: list[EngineRequest] = field(default_factory=list)
    """Requests that emit at the end of the step."""
    cached_tokens: dict[EngineRequest, int] = field(default_factory=dict)
    """Prefix hit of each admission."""
    prefix: PrefixStats = field(default_factory=PrefixStats)

    @property
    def total_tokens(self) -> int:
        return sum(self.scheduled.values())


class Queue(Protocol):
    """Requests in the order in which they will be considered; the head is at 0."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[EngineRequest]: ...
    def __getitem__(self, index: Literal[0], /) -> EngineRequest: ...
    def append(self, request: EngineRequest, /) -> None:
        """Take in a request."""
        ...

    def appendleft(self, request: EngineRequest, /) -> None:
        """Take back one that has been considered before."""
        ...

    def popleft(self) -> EngineRequest: ...
    def remove(self, request: EngineRequest, /) -> None: ...


class ByPriority:
    """A queue in which the smaller priority stands first, and whoever came first among equals."""

    def __init__(self) -> None:
        self._requests: list[EngineRequest] = []

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[EngineRequest]:
        return iter(self._requests)

    def __getitem__(self, index: Literal[0]) -> EngineRequest:
        return self._requests[index]

    def append(self, request: EngineRequest) -> None:
        insort(self._requests, request, key=lambda other: other.rank)

    appendleft = append

    def popleft(self) -> EngineRequest:
        return self._requests.pop(0)

    def remove(self, request: EngineRequest) -> None:
        self._requests.remove(request)
