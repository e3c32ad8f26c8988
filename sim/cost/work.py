"""What one engine step computes, and what anything that times it must answer.

A step is described by its sums, never by which requests are in it, so that a model fitted to measurements
can take another one's place.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

StepKind = Literal["prefill", "decode", "chunk", "mixed"]

FOREVER = 1 << 62
"""Number of steps of a decode run whose growth never changes."""


class StepWork(NamedTuple):
    """What one step computes."""

    kind: StepKind
    prefill_tokens: int
    decode_seqs: int
    context_tokens: int
    """Tokens this step's sequences attend to: all of a decoding one, its newest included, and of a prompt those
    computed in earlier steps."""
    prefill_pairs: int = 0
    """Pairs of a prompt token computed now and a token it attends to; see `attention_pairs`."""


def attention_pairs(tokens: int, before: int) -> int:
    """Pairs of a chunk of `tokens` prompt tokens after `before` others: each sees those, itself and its elders."""
    return tokens * before + tokens * (tokens + 1) // 2


class CostModel(Protocol):
    """Anything that can say how long a step takes."""

    def ticks(self, work: StepWork) -> int:
        """Duration of the step in ticks."""
        ...

    def decode_run(self, seqs: int, context: int) -> tuple[int, int, int]:
        """A run of pure decode steps of `seqs` sequences, the first of which reads `context` tokens.

        The three numbers are first, growth and steps: step k (from 0) takes exactly `first + k * growth` ticks
        while k < steps; each step reads `seqs` tokens more than the one before. At least one step; `FOREVER`
        when the growth never changes.
        """
        ...
