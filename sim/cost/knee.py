"""A step cost with a knee: up to some number of tokens a step takes as long as reading the weights does."""

from __future__ import annotations

from typing import Literal

from sim.cost.work import FOREVER, StepWork
from sim.fields import Part, Seconds
from sim.ticks import to_ticks


class MixedMaxCost(Part):
    """base + max(weights, tokens × k) + attention pairs + tokens of context + decoding sequences.

    The tokens of a step are its prompt tokens and one for each decoding sequence. While they are few, the
    step waits for the weights to come from memory, whatever it computes with them; above weights_s /
    per_token_s of them it waits for the arithmetic.
    """

    kind: Literal["mixed_max"]
    base_s: Seconds = 0.0
    weights_s: Seconds = 0.0
    per_token_s: Seconds = 0.0
    per_prefill_pair_s: Seconds = 0.0
    per_context_token_s: Seconds = 0.0
    per_decode_seq_s: Seconds = 0.0
    overhead_s: Seconds = 0.0
    """Time of every step on the CPU: scheduling, preparing inputs, launching."""

    def build(self) -> MixedMaxModel:
        """The model with these coefficients."""
        return MixedMaxModel(self)

    @property
    def takes_no_time(self) -> bool:
        """Whether every step takes no time at all."""
        return not any(value for name, value in self if name != "kind")


class MixedMaxModel:
    """The formula of `MixedMaxCost`, in whole ticks."""

    def __init__(self, cost: MixedMaxCost) -> None:
        self._base = to_ticks(cost.base_s) + to_ticks(cost.overhead_s)
        self._weights = to_ticks(cost.weights_s)
        self._per_token = to_ticks(cost.per_token_s)
        self._per_prefill_pair = to_ticks(cost.per_prefill_pair_s)
        self._per_context_token = to_ticks(cost.per_context_token_s)
        self._per_decode_seq = to_ticks(cost.per_decode_seq_s)

    def ticks(self, work: StepWork) -> int:
        _, prefill_tokens, decode_seqs, context_tokens, prefill_pairs = work
        return (
            self._base
            + max(self._weights, self._per_token * (prefill_tokens + decode_seqs))
            + self._per_prefill_pair * prefill_pairs
            + self._per_context_token * context_tokens
            + self._per_decode_seq * decode_seqs
        )

    def decode_run(self, seqs: int, context: int) -> tuple[int, int, int]:
        first = self.ticks(StepWork("decode", 0, seqs, context))
        return first, self._per_context_token * seqs, FOREVER
