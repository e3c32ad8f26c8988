"""One streamed request, with the moment of each token."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tutor.measure.plan import Patience
from tutor.measure.prompts import Prompt
from tutor.measure.records import Seen

MAX_ERROR_CHARS = 200


@dataclass(frozen=True, slots=True)
class Target:
    """The server that is measured."""

    base_url: str
    """With `/v1`."""
    model: str
    stall_s: float = 60.0
    """A stream that brings nothing for so long is given up."""


async def send(
    client: httpx.AsyncClient,
    target: Target,
    prompt: Prompt,
    seen: Seen,
    patience: Patience,
    now: Callable[[], float],
) -> None:
    """Send one request and fill in `seen`; faults become its status, only cancellation is raised."""
    body: dict[str, Any] = {
        "model": target.model,
        "prompt": prompt,
        "max_tokens": seen.asked_output_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        # Understood by vLLM and llama.cpp, passed over by others: answers as long as planned, and no prompt
        # taken from the last one in the seat.
        "ignore_eos": True,
        "cache_prompt": False,
    }
    seen.sent_s = now()
    try:
        async with asyncio.timeout(patience.whole_s):
            await _stream(client, target, body, seen, patience, now)
    except TimeoutError:
        seen.status, seen.error = "cancelled", "not answered in full in time"
    except httpx.ReadTimeout:
        seen.status, seen.error = "stalled", f"nothing came for {target.stall_s:g} s"
    except (httpx.HTTPError, httpx.StreamError) as error:
        seen.status, seen.error = "failed", (str(error) or type(error).__name__)[:MAX_ERROR_CHARS]
    except _Refused as error:
        seen.status, seen.error = "failed", str(error)[:MAX_ERROR_CHARS]


class _Refused(Exception):
    """The server answered with something that is no stream of tokens."""


async def _stream(
    client: httpx.AsyncClient,
    target: Target,
    body: dict[str, Any],
    seen: Seen,
    patience: Patience,
    now: Callable[[], float],
) -> None:
    url = f"{target.base_url.removesuffix('/')}/completions"
    times = httpx.Timeout(10.0, read=target.stall_s)
    async with asyncio.timeout(patience.first_token_s) as first, client.stream(
        "POST", url, json=body, timeout=times
    ) as reply:  # fmt: skip
        if reply.status_code != 200:
            text = (await reply.aread())[:MAX_ERROR_CHARS].decode("utf-8", "replace")
            # Some gateways repeat the key that they refuse, and this goes into the result.
            key = client.headers.get("authorization", "").removeprefix("Bearer ")
            raise _Refused(f"HTTP {reply.status_code}: {text.replace(key, '…') if key else text}")
        async for line in reply.aiter_lines():
            if not line.startswith("data:"):
                continue
            came = now()
            data = line[5:].strip()
            if data == "[DONE]":
                break
            if _take(data, seen, came) and len(seen.events_s) == 1 and patience.first_token_s is not None:
                first.reschedule(None)
    if not seen.events_s:
        raise _Refused("the stream ended without a token")
    seen.status = "completed"


def _take(data: str, seen: Seen, came: float) -> bool:
    """Note one event; whether it brought a token."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise _Refused(f"an event is not JSON: {data[:80]!r}") from None
    if not isinstance(event, dict):
        raise _Refused(f"an event is no object: {data[:80]!r}")
    if "error" in event:
        raise _Refused(f"the server says: {event['error']}")
    usage = event.get("usage")
    if isinstance(usage, dict):
        prompt, output = usage.get("prompt_tokens"), usage.get("completion_tokens")
        seen.prompt_tokens = prompt if isinstance(prompt, int) else seen.prompt_tokens
        seen.output_tokens = output if isinstance(output, int) else seen.output_tokens
        details = usage.get("prompt_tokens_details")
        if isinstance(details, dict) and isinstance(details.get("cached_tokens"), int):
            seen.cached_tokens = details["cached_tokens"]
    choices = event.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return False
    # An event may bring a token without text (part of a character): it is a token all the same. The last one, which
    # only says why the answer ended, is not.
    if choices[0].get("finish_reason") is not None and not choices[0].get("text"):
        return False
    seen.events_s.append(came)
    return True
