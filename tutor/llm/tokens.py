"""Counting before sending: prompt and reply must fit the server's window together."""

from __future__ import annotations

import math
import re

from tutor.llm.errors import LlmError
from tutor.llm.types import Capabilities, Endpoint, Request
from tutor.llm.wire import is_loopback

MESSAGE_OVERHEAD_TOKENS = 12
"""Role names and separators that a chat template puts around one message, and its own opening words."""
_COUNT_TIMEOUT_S = 5.0
_PIECE = re.compile(r"[A-Za-z]+|\s+|.", re.DOTALL)


def count_tokens_upper_bound(text: str) -> int:
    """No byte-level tokenizer makes more tokens than this: one for each byte of UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def estimate_tokens(text: str) -> int:
    """Tokens a text is likely to have, on the high side: digits and signs one each, a word by its letters."""
    total = 0
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece[0].isascii() and piece[0].isalpha():
            total += math.ceil(len(piece) / 4)
        elif piece.isspace():
            total += piece.count("\n") + (len(piece) > 1)
        else:
            total += min(3, len(piece.encode("utf-8", "surrogatepass")))
    return total


async def prompt_tokens(endpoint: Endpoint, request: Request) -> tuple[int, bool]:
    """Tokens of the request's prompt, and whether that is the server's own count rather than an estimate."""
    counted = await _ask_server(endpoint, request)
    if counted is not None:
        return counted, True
    return sum(estimate_tokens(m["content"]) + MESSAGE_OVERHEAD_TOKENS for m in request.messages), False


async def ensure_fits(endpoint: Endpoint, capabilities: Capabilities, request: Request) -> None:
    """Do nothing when prompt and reply fit the window, or when the server does not tell its window.

    Costs no network where the text is short; otherwise llama.cpp and vLLM are asked, and others estimated.

    Raises:
        LlmError: of kind `context` when they do not fit.
    """
    window = capabilities.context_tokens
    if window is None:
        return
    bound = sum(count_tokens_upper_bound(m["content"]) + MESSAGE_OVERHEAD_TOKENS for m in request.messages)
    if bound + request.max_tokens <= window:
        return
    prompt, exact = await prompt_tokens(endpoint, request)
    if prompt + request.max_tokens > window:
        about = "" if exact else "about "
        raise LlmError(
            "context",
            f"The text is too long for {endpoint.model}: {about}{prompt:,} tokens and {request.max_tokens:,} "
            f"for the reply do not fit its window of {window:,}.",
            hint="Shorten the answer, or serve the model with a larger context window.",
        )


async def _ask_server(endpoint: Endpoint, request: Request) -> int | None:
    import httpx

    root = endpoint.base_url.removesuffix("/v1")
    messages = [dict(message) for message in request.messages]
    if endpoint.provider in ("embedded", "llama.cpp"):
        url, field = f"{endpoint.base_url}/chat/completions/input_tokens", "input_tokens"
        body: dict[str, object] = {"messages": messages}
    elif endpoint.provider == "vllm":
        url, field = f"{root}/tokenize", "count"
        body = {"model": endpoint.model, "messages": messages}
    else:
        return None
    headers = {"Authorization": f"Bearer {endpoint.api_key.get_secret_value()}"} if endpoint.api_key else {}
    try:
        async with httpx.AsyncClient(
            timeout=_COUNT_TIMEOUT_S,
            trust_env=not is_loopback(endpoint.base_url),
            verify=url.startswith("https:"),
        ) as client:
            response = await client.post(url, json=body, headers=headers)
            count = response.json().get(field) if response.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError):
        return None
    return count if isinstance(count, int) and count > 0 else None
