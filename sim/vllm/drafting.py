"""Speculative decoding: how many drafts are accepted."""

from __future__ import annotations

import random
from collections.abc import Iterable

from sim.server import Speculation
from sim.ticks import to_ticks
from sim.vllm.request import EngineRequest


class Drafting:
    """Proposes drafts for one engine and draws how many of them hold, from a stream of its own."""

    def __init__(self, speculation: Speculation, stream: str) -> None:
        self.ticks = to_ticks(speculation.draft_s)
        """Of each step that decodes."""
        self._tokens = speculation.draft_tokens
        self._acceptance = speculation.acceptance
        self._rng = random.Random(f"{stream}/drafts")

    def propose(self, requests: Iterable[EngineRequest], longest: int) -> None:
        """Give those that decode their drafts for the next step; a sequence has at most `longest` tokens."""
        for request in requests:
            if not request.prefilling:
                request.drafts = max(0, min(self._tokens, longest - 1 - request.total))

    def verify(self, requests: Iterable[EngineRequest]) -> dict[EngineRequest, int]:
        """Tokens that come out for each: the leading drafts that are accepted, and one more."""
        return {request: 1 + self._accepted(request.drafts) for request in requests}

    def _accepted(self, drafts: int) -> int:
        accepted = 0
        while accepted < drafts and self._rng.random() < self._acceptance:
            accepted += 1
        return accepted
