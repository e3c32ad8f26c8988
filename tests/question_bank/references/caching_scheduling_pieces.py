"""Lesson 3: prompts read in pieces, walked step by step."""

from __future__ import annotations

from collections.abc import Mapping

from question_bank.deep import Reference, collector

REFERENCES: dict[str, Reference] = {}
reference = collector(REFERENCES, "serving/caching-scheduling")

P = Mapping[str, float]
R = dict[str, float]


@reference("pieces-for-nobody")
def _(p: P) -> R:
    """Step by step, the prompt alone on the engine."""

    def first_token_ms(budget: float) -> float:
        clock_ms, left = 0.0, p["prompt"]
        while left > 0:
            read = min(left, budget)
            clock_ms += p["base_ms"] + read * p["us"] * 1e-3
            left -= read
        return clock_ms

    return {"whole_ms": first_token_ms(p["prompt"]), "pieces_ms": first_token_ms(p["budget"])}
