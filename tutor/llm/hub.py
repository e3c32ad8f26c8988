"""Downloading a model file from a hub over HTTP, resuming in the middle of the file."""

from __future__ import annotations

import os
import re
import time
from io import BufferedWriter
from typing import TYPE_CHECKING

from tutor.errors import TutorError
from tutor.llm.failures import excerpt
from tutor.llm.progress import Cancelled, Progress, Report, Stop

if TYPE_CHECKING:
    import httpx

    from tutor.llm.catalogue import CatalogueEntry
    from tutor.llm.files import Partial

_TRIES = 5
_SAVE_EVERY_BYTES = 32 * 1024 * 1024
_SHA256 = re.compile(r"^[0-9a-f]{64}$")


class _GoOn(Exception):
    """The connection broke; what arrived is kept and the next try continues there."""


def download(entry: CatalogueEntry, partial: Partial, on_progress: Report, cancelled: Stop) -> str | None:
    """Fill `partial` from the entry's URL; returns the SHA-256 that the file must have, None if nobody knows.

    Raises:
        Cancelled: within one network read.
        TutorError: the hub cannot be reached or does not have the file.
    """
    import httpx

    assert entry.url is not None
    if not partial.path.exists():
        partial.restart()
    timeout = httpx.Timeout(30.0, connect=10.0)
    with httpx.Client(follow_redirects=True, timeout=timeout) as client:
        published = entry.sha256 or _published(client, entry.url)
        if partial.state.bytes_done and partial.state.sha256 != published:
            partial.restart()
        trouble = ""
        for attempt in range(_TRIES):
            before = partial.state.bytes_done
            try:
                _continue(client, entry, partial, published, on_progress, cancelled)
                return published
            except (httpx.TransportError, _GoOn) as error:
                trouble = excerpt(str(error) or type(error).__name__)
            if attempt and partial.state.bytes_done == before:
                break
            for _ in range(10 * (attempt + 1)):
                if cancelled():
                    raise Cancelled
                time.sleep(0.1)
    raise TutorError(
        f"{entry.title} could not be downloaded: {trouble}.",
        hint="Check the network, then run the command again: it resumes.",
        exit_code=3,
    )


def _published(client: httpx.Client, url: str) -> str | None:
    """The hub's own SHA-256 of a large file, which it sends before it redirects to the bytes."""
    import httpx

    try:
        headers = client.head(url, follow_redirects=False).headers
    except httpx.TransportError:
        return None
    tag = headers.get("x-linked-etag", "").strip('"').lower()
    return tag if _SHA256.match(tag) else None


def _continue(
    client: httpx.Client,
    entry: CatalogueEntry,
    partial: Partial,
    published: str | None,
    on_progress: Report,
    cancelled: Stop,
) -> None:
    assert entry.url is not None
    have = partial.state.bytes_done
    headers = {"Range": f"bytes={have}-"} if have else {}
    with client.stream("GET", entry.url, headers={**headers, "Accept-Encoding": "identity"}) as response:
        if response.status_code == 416:  # nothing is left after what we have
            return
        if response.status_code in (429, 500, 502, 503, 504):
            raise _GoOn(f"the hub answered HTTP {response.status_code}")
        if response.status_code not in (200, 206):
            raise TutorError(
                f"The hub does not give {entry.file_name} (HTTP {response.status_code}).",
                hint="Choose another model: `tutor model get` lists them.",
                exit_code=3,
            )
        if response.status_code == 200 and have:
            partial.restart()
            have = 0
        length = response.headers.get("content-length", "")
        total = have + int(length) if length.isdigit() else entry.size_bytes
        unsaved = 0
        with partial.path.open("ab") as file:
            try:
                for chunk in response.iter_raw():  # sizes of one's own would be lost at a cut
                    if cancelled():
                        raise Cancelled
                    file.write(chunk)
                    have += len(chunk)
                    unsaved += len(chunk)
                    on_progress(Progress("fetching", have, max(total, have)))
                    if unsaved >= _SAVE_EVERY_BYTES:
                        _save(file, partial, have, published)
                        unsaved = 0
            finally:
                _save(file, partial, have, published)
        if length.isdigit() and have < total:
            raise _GoOn("the connection was cut")


def _save(file: BufferedWriter, partial: Partial, have: int, published: str | None) -> None:
    from tutor.llm.files import PartialState

    file.flush()
    os.fsync(file.fileno())
    partial.save(PartialState(source="hub", bytes_done=have, sha256=published))
