"""The forms a fitted step cost can have, as columns of a matrix: time = matrix · coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sim.cost import LinearCost, MixedMaxCost
from sim.fit.least_squares import Array

FormName = Literal["linear", "quadratic", "split", "full", "mixed_max"]

_LINEAR = ("base_s", "per_prefill_token_s", "per_decode_seq_s", "per_context_token_s")
_BESIDE = "per_context_token_beside_prefill_s"
_PAIR = "per_prefill_pair_s"
TERMS: dict[FormName, tuple[str, ...]] = {
    "linear": _LINEAR,
    "quadratic": (*_LINEAR, _PAIR),
    "split": (*_LINEAR, _BESIDE),
    "full": (*_LINEAR, _PAIR, _BESIDE),
    "mixed_max": ("base_s", "per_token_s", _PAIR, "per_context_token_s", "per_decode_seq_s"),
}
"""Coefficients of each form. In `mixed_max` the time of the weights is the knee times `per_token_s`."""

KNEES_TOKENS = tuple(sorted({round(16 * 2 ** (i / 6)) for i in range(42)}))
"""Where the knee of `mixed_max` is looked for: six places in each doubling, 16 to about 1,800 tokens."""


@dataclass(frozen=True, slots=True)
class Works:
    """What steps did, a row for each."""

    prefill_tokens: Array
    decode_seqs: Array
    context_tokens: Array
    prefill_pairs: Array

    def matrix(self, form: FormName, knee_tokens: float = 0.0) -> Array:
        """A row for each of these, a column for each coefficient of the form."""
        beside = np.where(self.prefill_tokens > 0, self.context_tokens, 0.0)
        columns = {
            "base_s": np.ones(len(self.decode_seqs)),
            "per_prefill_token_s": self.prefill_tokens,
            "per_decode_seq_s": self.decode_seqs,
            "per_context_token_s": self.context_tokens,
            _PAIR: self.prefill_pairs,
            _BESIDE: beside,
            "per_token_s": np.maximum(knee_tokens, self.prefill_tokens + self.decode_seqs),
        }
        return np.column_stack([columns[name] for name in TERMS[form]])


def knees(form: FormName) -> Sequence[float]:
    """Knees to try, tokens; one that does not matter for a form without."""
    return KNEES_TOKENS if form == "mixed_max" else (0.0,)


def cost_of(form: FormName, coefficients: Array, knee_tokens: float = 0.0) -> LinearCost | MixedMaxCost:
    """The step cost with these coefficients, to six digits."""
    values = {name: rounded(value) for name, value in zip(TERMS[form], coefficients, strict=True)}
    if form == "mixed_max":
        weights_s = rounded(knee_tokens * values["per_token_s"])
        return MixedMaxCost(kind="mixed_max", weights_s=weights_s, **values)
    return LinearCost(kind="linear", **values)


def rounded(value: float, digits: int = 6) -> float:
    """To so many significant digits; a coefficient has no more, and files are read by people."""
    return float(f"{value:.{digits}g}")
