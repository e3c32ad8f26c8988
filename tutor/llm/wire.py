"""What really happened on the connection of one call.

litellm and the SDK beneath it fold refusals, cuts and time-outs into classes that differ by provider and
version, and end a cut stream as if it had finished. So the HTTP client is ours, and remembers.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx

_BODY_LIMIT_BYTES = 64_000
_END_OF_REPLY = re.compile(rb'"finish_reason"\s*:\s*"|\[DONE\]')
_TAIL_BYTES = 64


class Wire:
    """The facts of the last exchange: set by the hooks of the client that `open_client` makes."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.retry_after: str | None = None
        self.body = ""
        """The text of an error response; empty for a good one."""
        self.ended = False
        """Whether the reply said that it was complete."""

    def retry_after_s(self, now: datetime) -> float | None:
        """Seconds that the server asked to be left alone, from either form of the Retry-After header."""
        text = (self.retry_after or "").strip()
        if not text:
            return None
        try:
            seconds = float(text)
        except ValueError:
            try:
                when = parsedate_to_datetime(text)
            except ValueError:
                return None
            if when.tzinfo is None:
                when = when.replace(tzinfo=UTC)
            seconds = (when - now).total_seconds()
        return max(0.0, seconds) if seconds == seconds and seconds != float("inf") else None


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine."""
    host = (urlsplit(url).hostname or "").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def open_client(base_url: str, wire: Wire, *, connect_s: float, read_s: float) -> httpx.AsyncClient:
    """An HTTP client for one call that reports to `wire`.

    A proxy of the environment is never used for this machine: `HTTP_PROXY` without a matching `NO_PROXY`
    would send the embedded server's traffic away.
    """
    import httpx

    class Watched(httpx.AsyncByteStream):
        def __init__(self, inner: httpx.AsyncByteStream) -> None:
            self._inner = inner
            self._tail = b""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self._inner:
                window = self._tail + piece
                if not wire.ended and _END_OF_REPLY.search(window):
                    wire.ended = True
                self._tail = window[-_TAIL_BYTES:]
                yield piece

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def remember(response: httpx.Response) -> None:
        wire.status = response.status_code
        wire.retry_after = response.headers.get("retry-after")
        wire.ended = False
        if response.status_code >= 400:
            wire.body = (await _beginning(response)).decode("utf-8", "replace")
        else:
            wire.body = ""
            assert isinstance(response.stream, httpx.AsyncByteStream)
            response.stream = Watched(response.stream)

    return httpx.AsyncClient(
        timeout=httpx.Timeout(read_s, connect=connect_s),
        trust_env=not is_loopback(base_url),
        verify=base_url.startswith("https:"),  # building a TLS context for plain HTTP costs 20 ms
        headers={"Accept-Encoding": "identity"},  # so that the end of the reply can be seen in the bytes
        event_hooks={"response": [remember]},
    )


async def _beginning(response: httpx.Response) -> bytes:
    """What an error says first, in place of its whole body: some servers never end one."""
    import httpx

    assert isinstance(response.stream, httpx.AsyncByteStream)
    parts = b""
    async for piece in response.stream:
        parts += piece
        if len(parts) >= _BODY_LIMIT_BYTES:
            break
    await response.stream.aclose()
    parts = parts[:_BODY_LIMIT_BYTES]
    response.stream = httpx.ByteStream(parts)  # what the SDK reads afterwards
    return parts


def causes(error: BaseException) -> Iterator[BaseException]:
    """An exception and everything that led to it, nearest first."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        current = queue.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        queue += [current.__cause__, current.__context__, getattr(current, "original_exception", None)]
