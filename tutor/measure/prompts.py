"""Prompts of exactly so many tokens, each different unless it is meant to share a prefix.

Servers that tell their tokens (`/tokenize` of llama.cpp and vLLM) are sent lists of token ids, so lengths are exact.
The others are sent words, as many as a trial request showed to be needed; what they count is kept with each request.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

import httpx

Prompt = str | list[int]
WORDS: Final = tuple(
    "river stone paper garden window market silver winter morning letter bridge summer forest candle harbour engine "  # noqa: SIM905
    "village mirror copper meadow lantern station orchard thunder kitchen journey pocket valley feather compass".split()
)


class Prompts:
    """Makes prompts for one server; the same seed and request give the same prompt."""

    def __init__(self, seed: int, ids: Sequence[int] = (), tokens_per_word: float = 1.0) -> None:
        self.seed = seed
        self.ids = tuple(ids)
        """Ids to draw from; none: words are sent."""
        self.tokens_per_word = tokens_per_word

    @property
    def exact(self) -> bool:
        """Whether the lengths are exact."""
        return bool(self.ids)

    def make(self, key: str, tokens: int, prefix: Sequence[tuple[str, int]] = ()) -> Prompt:
        """A prompt for the request `key`: the shared prefixes, then text of its own."""
        parts: list[tuple[str, int]] = []
        left = tokens
        for name, length in prefix:
            parts.append((f"prefix/{name}", min(length, left)))
            left -= min(length, left)
        parts.append((f"request/{key}", left))
        if self.exact:
            made: list[int] = []
            for name, length in parts:
                made += random.Random(f"{self.seed}/{name}").choices(self.ids, k=length)
            return made
        words: list[str] = []
        for name, length in parts:
            count = max(1, round(length / self.tokens_per_word)) if length else 0
            words += random.Random(f"{self.seed}/{name}").choices(WORDS, k=count)
        return " ".join(words)


async def prompts_for(client: httpx.AsyncClient, base_url: str, model: str, seed: int) -> Prompts:
    """Find out how this server's prompts are made."""
    text = " ".join(WORDS)
    root = base_url.removesuffix("/").removesuffix("/v1")
    for body in (
        {"content": text, "add_special": False},
        {"model": model, "prompt": text, "add_special_tokens": False},
    ):
        ids = await _tokens(client, f"{root}/tokenize", body)
        if ids:
            return Prompts(seed, sorted(set(ids)))
    counted = await _counted(client, base_url, model, text)
    return Prompts(seed, (), counted / len(WORDS) if counted else 1.0)


async def _tokens(client: httpx.AsyncClient, url: str, body: dict[str, Any]) -> list[int]:
    try:
        reply = await client.post(url, json=body, timeout=5.0)
        tokens = reply.json().get("tokens") if reply.status_code == 200 else None
    except (httpx.HTTPError, ValueError, AttributeError):
        return []
    if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
        return []
    return tokens


async def _counted(client: httpx.AsyncClient, base_url: str, model: str, text: str) -> int | None:
    """How many tokens the server counts in a text."""
    body = {"model": model, "prompt": text, "max_tokens": 1}
    try:
        reply = await client.post(f"{base_url.removesuffix('/')}/completions", json=body, timeout=60.0)
        usage = reply.json().get("usage") if reply.status_code == 200 else None
        count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    except (httpx.HTTPError, ValueError, AttributeError):
        return None
    return count if isinstance(count, int) and count > 0 else None
