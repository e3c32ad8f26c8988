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


@reference("the-largest-budget")
def _(p: P) -> R:
    """Tokens are put into the step until the next one would break the limit."""
    spent_us = p["base_ms"] * 1000 + sum(p["dec_us"] for _sequence in range(round(p["seats"])))
    tokens = 0
    while spent_us + p["us"] <= p["limit_ms"] * 1000:
        spent_us += p["us"]
        tokens += 1
    return {"room": tokens, "rate": tokens * (1000 / p["limit_ms"])}


@reference("chats-behind-a-book")
def _(p: P) -> R:
    """Step by step in order of arrival; the cap binds the book only."""

    def chats_done_ms(cap: float) -> float:
        clock_ms, book, chats = 0.0, p["book"], p["chats"] * p["own"]
        while chats > 0:
            of_book = min(book, cap, p["budget"])
            of_chats = min(chats, p["budget"] - of_book)
            book, chats = book - of_book, chats - of_chats
            clock_ms += p["base_ms"] + (of_book + of_chats) * p["us"] * 1e-3
        return clock_ms

    return {"free_ms": chats_done_ms(p["budget"]), "capped_ms": chats_done_ms(p["budget"] / 2)}
