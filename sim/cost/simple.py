"""Step costs given by hand: one time for each kind of step, or a coefficient for each thing a step does."""

from __future__ import annotations

from typing import Literal

from sim.cost.work import FOREVER, StepKind, StepWork
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

    def build(self) -> FixedModel:
        """The model with these times."""
        return FixedModel(self)

    @property
    def takes_no_time(self) -> bool:
        """Whether every step takes no time at all."""
        return not any((self.prefill_s, self.decode_s, self.chunk_s))


class LinearCost(Part):
    """base + prompt tokens + attention pairs + decoding sequences + tokens of context, each times its coefficient.

    `per_prefill_pair_s` is what makes long prompts cost more than their length: n tokens on c before them are
    n·c + n(n+1)/2 pairs. `per_context_token_beside_prefill_s` is added to the context's cost in steps that
    also compute prompt tokens: engines replay a recorded graph and split the cache among more cores only in
    steps of decodes alone.
    """

    kind: Literal["linear"]
    base_s: Seconds = 0.0
    per_prefill_token_s: Seconds = 0.0
    per_prefill_pair_s: Seconds = 0.0
    per_decode_seq_s: Seconds = 0.0
    per_context_token_s: Seconds = 0.0
    per_context_token_beside_prefill_s: Seconds = 0.0

    def build(self) -> LinearModel:
        """The model with these coefficients."""
        return LinearModel(
            to_ticks(self.base_s),
            to_ticks(self.per_prefill_token_s),
            to_ticks(self.per_decode_seq_s),
            to_ticks(self.per_context_token_s),
            to_ticks(self.per_prefill_pair_s),
            to_ticks(self.per_context_token_beside_prefill_s),
        )

    @property
    def takes_no_time(self) -> bool:
        """Whether every step takes no time at all."""
        return not any(value for name, value in self if name != "kind")


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

    def decode_run(self, seqs: int, context: int) -> tuple[int, int, int]:
        return self._by_kind["decode"], 0, FOREVER


class LinearModel:
    """A sum of coefficients, in whole ticks."""

    def __init__(
        self,
        base: int,
        per_prefill_token: int,
        per_decode_seq: int,
        per_context_token: int,
        per_prefill_pair: int = 0,
        per_context_token_beside_prefill: int = 0,
    ) -> None:
        self._base = base
        self._per_prefill_token = per_prefill_token
        self._per_decode_seq = per_decode_seq
        self._per_context_token = per_context_token
        self._per_prefill_pair = per_prefill_pair
        self._beside_prefill = per_context_token + per_context_token_beside_prefill

    def ticks(self, work: StepWork) -> int:
        _, prefill_tokens, decode_seqs, context_tokens, prefill_pairs = work
        per_context_token = self._beside_prefill if prefill_tokens else self._per_context_token
        return (
            self._base
            + self._per_prefill_token * prefill_tokens
            + self._per_decode_seq * decode_seqs
            + per_context_token * context_tokens
            + self._per_prefill_pair * prefill_pairs
        )

    def decode_run(self, seqs: int, context: int) -> tuple[int, int, int]:
        first = self._base + self._per_decode_seq * seqs + self._per_context_token * context
        return first, self._per_context_token * seqs, FOREVER
