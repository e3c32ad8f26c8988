"""How long one engine step takes, in ticks.

A step is described by what it computes, never by which requests are in it, so that a model fitted to
measurements can take this one's place.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, Protocol

from pydantic import Field

from sim.fields import Part, Seconds
from sim.ticks import to_ticks


class FixedCost(Part):
    """A step takes the same time whatever is in it."""

    kind: Literal["fixed"]
    prefill_s: Seconds
    decode_s: Seconds
    chunk_s: Seconds | None = None
    """A step with part of a prompt (alternating, mixed); needed by those two policies."""
    mixed_s: Seconds | None = None
    """A step with prompt chunks and decodes together; `chunk_s + decode_s` when absent."""


class LinearCost(Part):
    """base + prompt tokens + decoding sequences + tokens of context read, each times its coefficient."""

    kind: Literal["linear"]
    base_s: Seconds = 0.0
    per_prefill_token_s: Seconds = 0.0
    per_decode_seq_s: Seconds = 0.0
    per_context_token_s: Seconds = 0.0


StepCost = Annotated[FixedCost | LinearCost, Field(discriminator="kind")]


StepKind = Literal["prefill", "decode", "chunk", "mixed"]


class StepWork(NamedTuple):
    """What one step computes."""

    kind: StepKind
    prefill_tokens: int
    decode_seqs: int
    context_tokens: int
    """Tokens computed in earlier steps that this step's sequences read."""


class CostModel(Protocol):
    """Anything that can say how long a step takes."""

    def ticks(self, work: StepWork) -> int:
        """Duration of the step in ticks."""
        ...


class FixedModel:
    """One duration for each kind of step."""

    def __init__(self, cost: FixedCost) -> None:
        decode = to_ticks(cost.decode_s)
        chunk = to_ticks(cost.chunk_s if cost.chunk_s is not None else cost.prefill_s)
        self._by_kind: dict[StepKind, int] = {
            "prefill": to_ticks(cost.prefill_s),
            "decode": decode,
            "chunk": chunk,
            "mixed": chunk + decode if cost.mixed_s is None else to_ticks(cost.mixed_s),
        }

    def ticks(self, work: StepWork) -> int:
        return self._by_kind[work.kind]


class LinearModel:
    """`base + a·prefill_tokens + b·decode_seqs + c·context_tokens`, in whole ticks."""

    def __init__(self, base: int, per_prefill_token: int, per_decode_seq: int, per_context_token: int) -> None:
        self._base = base
        self._per_prefill_token = per_prefill_token
        self._per_decode_seq = per_decode_seq
        self._per_context_token = per_context_token

    def ticks(self, work: StepWork) -> int:
        return (
            self._base
            + self._per_prefill_token * work.prefill_tokens
            + self._per_decode_seq * work.decode_seqs
            + self._per_context_token * work.context_tokens
        )


def cost_model(cost: StepCost) -> CostModel:
    """The model a scenario asks for."""
    if isinstance(cost, FixedCost):
        return FixedModel(cost)
    return LinearModel(
        to_ticks(cost.base_s),
        to_ticks(cost.per_prefill_token_s),
        to_ticks(cost.per_decode_seq_s),
        to_ticks(cost.per_context_token_s),
    )
