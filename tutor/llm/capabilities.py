"""What an endpoint can do, asked once with two tiny questions and remembered."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tutor.llm.complete import complete
from tutor.llm.errors import LlmError
from tutor.llm.types import Capabilities, Deadlines, Endpoint, Request

MEMORY_FILE = "model-capabilities.json"
_COLOUR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["teal"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_NO_FEATURE = ("bad_request", "bad_reply", "empty", "length")


async def probe_capabilities(
    endpoint: Endpoint,
    *,
    data_dir: Path | None = None,
    known: Capabilities | None = None,
    deadlines: Deadlines | None = None,
    refresh: bool = False,
) -> Capabilities:
    """Whether the endpoint honours a JSON schema and returns log-probabilities.

    What is learnt is kept in `data_dir` per server and model, and asked again only with `refresh`. `known` is
    what discovery saw; its context window is kept.

    Raises:
        LlmError: the server could not be asked; nothing is remembered then.
    """
    window = known.context_tokens if known is not None else None
    if endpoint.provider == "embedded":
        return Capabilities(json_schema=True, logprobs=True, context_tokens=window)
    path = data_dir / MEMORY_FILE if data_dir is not None else None
    key = memory_key(endpoint)
    if path is not None and not refresh and (remembered := _read(path).get(key)) is not None:
        return remembered.model_copy(update={"context_tokens": window or remembered.context_tokens})
    limits = deadlines or Deadlines()
    found = Capabilities(
        logprobs=await _gives_logprobs(endpoint, limits),
        json_schema=await _honours_schema(endpoint, limits),
        context_tokens=window,
    )
    if path is not None:
        _write(path, {**_read(path), key: found})
    return found


def memory_key(endpoint: Endpoint) -> str:
    """Server and model, without the credentials that a URL may carry."""
    digest = hashlib.sha256(f"{endpoint.base_url}\n{endpoint.model}".encode()).hexdigest()[:16]
    return f"{endpoint.provider} {endpoint.model} {digest}"


async def _honours_schema(endpoint: Endpoint, limits: Deadlines) -> bool:
    """A server that ignores the schema answers the question; one that honours it can only name a colour."""
    question = Request(
        messages=({"role": "user", "content": "Reply with the single word hello."},),
        max_tokens=48,
        json_schema=_COLOUR_SCHEMA,
    )
    try:
        reply = await complete(endpoint, question, limits)
        return bool(json.loads(reply.text) == {"colour": "teal"})
    except (ValueError, RecursionError):  # the latter from ten thousand brackets
        return False
    except LlmError as error:
        if error.kind in _NO_FEATURE:
            return False
        raise


async def _gives_logprobs(endpoint: Endpoint, limits: Deadlines) -> bool:
    question = Request(
        messages=({"role": "user", "content": "Is water wet? Reply yes or no."},),
        max_tokens=2,
        logprobs=True,
        top_logprobs=2,
    )
    try:
        reply = await complete(endpoint, question, limits)
    except LlmError as error:
        if error.kind in _NO_FEATURE:
            return False
        raise
    return bool(reply.logprobs and reply.logprobs[0].top)


def _read(path: Path) -> dict[str, Capabilities]:
    try:
        data = json.loads(path.read_bytes())
        return {str(key): Capabilities.model_validate(value) for key, value in data.items()}
    except (OSError, ValueError, ValidationError, AttributeError):
        return {}  # only a memory: whatever is wrong with it, asking again mends it


def _write(path: Path, memory: dict[str, Capabilities]) -> None:
    scratch = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(json.dumps({k: v.model_dump() for k, v in sorted(memory.items())}, indent=1))
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
