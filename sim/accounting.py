"""Bookkeeping around the scheduler: speculative decoding, the logged prefix hit rate, the cache's capacity."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Verification(NamedTuple):
    """One request's drafts in one step: how many were proposed, and how many tokens came out."""

    draft_tokens: int
    emitted_tokens: int


class SpeculationCounts(NamedTuple):
    """Totals over requests that had drafts."""

    drafts: int
    """Requests that had any."""
    draft_tokens: int
    accepted_tokens: int
    accepted_per_position: tuple[int, ...]
    """How often the first, second, … draft was accepted, as far as the longest draft."""


def count_speculation(verifications: Iterable[Verification]) -> SpeculationCounts:
    """Add up what drafts brought; a request without drafts adds nothing.

    Raises ValueError unless each request emits its accepted drafts plus one.
    """
    with_drafts = [item for item in verifications if item.draft_tokens]
    for item in with_drafts:
        if not 1 <= item.emitted_tokens <= item.draft_tokens + 1:
            raise ValueError(f"{item.emitted_tokens} tokens cannot come of {item.draft_tokens} drafts")
    longest = max((item.draft_tokens for item in with_drafts), default=0)
    return SpeculationCounts(
        drafts=len(with_drafts),
        draft_tokens=sum(item.draft_tokens for item in with_drafts),
        accepted_tokens=sum(item.emitted_tokens - 1 for item in with_drafts),
        accepted_per_position=tuple(
            sum(item.emitted_tokens - 1 > position for item in with_drafts) for position in range(longest)
        ),
    )


class Lookups(NamedTuple):
    """Prefix lookups of one observation, usually a step."""

    requests: int
    queried_tokens: int
    hit_tokens: int


class HitRateWindow:
    """Prefix hit rate over about the last `requests` requests, as vLLM logs it.

    Observations leave as a whole, oldest first, while the window holds too many requests; the newest
    always stays.
    """

    def __init__(self, requests: int = 1000) -> None:
        self._most = requests
        self._kept: deque[Lookups] = deque()

    def observe(self, lookups: Lookups) -> None:
        """Add an observation; one without requests changes nothing."""
        if not lookups.requests:
            return
        self._kept.append(lookups)
        while len(self._kept) > 1 and sum(kept.requests for kept in self._kept) > self._most:
            self._kept.popleft()

    @property
    def rate(self) -> float:
        """Hit tokens over queried tokens, 0 to 1; 0 before anything was queried."""
        queried = sum(kept.queried_tokens for kept in self._kept)
        return sum(kept.hit_tokens for kept in self._kept) / queried if queried else 0.0


def window_rate(observations: Sequence[Lookups], requests: int) -> float:
    """The hit rate after all `observations`."""
    window = HitRateWindow(requests)
    for item in observations:
        window.observe(item)
    return window.rate


def kv_block_bytes(block_size: int, kv_heads: int, k_dim: int, v_dim: int, dtype_bytes: float) -> float:
    """Bytes of one block of one layer: a key and a value for each head and each of its `block_size` tokens."""
    return block_size * kv_heads * (k_dim + v_dim) * dtype_bytes


def max_concurrency(blocks: int, block_size: int, context_tokens: int) -> float:
    """How many requests of `context_tokens` the cache holds at once, in whole blocks for each."""
    return blocks / -(-context_tokens // block_size)
