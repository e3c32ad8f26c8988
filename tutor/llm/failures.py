"""Turning what a call ran into into one `LlmError` with a sentence a person can act on."""

from __future__ import annotations

import json
import re

from tutor.llm.errors import ErrorKind, LlmError
from tutor.llm.types import Endpoint
from tutor.llm.wire import Wire, causes

_CONTEXT_TEXT = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|exceed_context|too many tokens|prompt is too long"
    r"|input is too long|longer than the (?:model|context)|n_ctx|max_model_len",
    re.IGNORECASE,
)
_MODEL_TEXT = re.compile(r"model\b.{0,80}\b(?:not found|does not exist|unknown|not loaded)", re.IGNORECASE | re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")


def excerpt(text: str, limit: int = 200) -> str:
    """A server's own words made safe for one line of a terminal."""
    plain = _CONTROL.sub(" ", text).strip()
    plain = re.sub(r"\s+", " ", plain)
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def server_words(body: str) -> str:
    """The message inside an OpenAI-style error body, or the body itself."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return excerpt(re.sub(r"<[^>]*>", " ", body))
    error = data.get("error", data) if isinstance(data, dict) else data
    if isinstance(error, dict):
        for key in ("message", "detail", "error", "type"):
            if isinstance(error.get(key), str):
                return excerpt(error[key])
    return excerpt(error if isinstance(error, str) else json.dumps(error))


def _without_key(endpoint: Endpoint, body: str) -> str:
    """Some gateways repeat the key that they refuse, and a refusal becomes part of a grade, a report, an export."""
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else ""
    return body.replace(key, "…") if key else body


def from_status(endpoint: Endpoint, status: int, body: str) -> LlmError:
    """The error for an HTTP status of 400 or more."""
    words = server_words(_without_key(endpoint, body))
    said = f": {words}" if words else "."
    who = endpoint.name
    if status in (401, 403):
        return LlmError(
            "auth",
            f"{who} refused the API key (HTTP {status}).",
            hint="Check the model's API key in the settings.",
        )
    if status == 413 or (status in (400, 422, 500) and _CONTEXT_TEXT.search(body)):
        return LlmError(
            "context",
            f"The text is too long for {endpoint.model} on {who}{said}",
            hint="Shorten it, or serve the model with a larger context window.",
        )
    if status == 404 or (status in (400, 422) and _MODEL_TEXT.search(body)):
        return LlmError(
            "not_found",
            f"{who} has no model {endpoint.model!r} at {endpoint.base_url}{said}",
            hint="`tutor model` lists what was found.",
        )
    if status == 429:
        return LlmError(
            "rate_limited", f"{who} asks to be called less often{said}", hint="Wait a little and try again."
        )
    if status >= 500:
        return LlmError("server", f"{who} failed (HTTP {status}){said}", hint="Its own log says why.")
    return LlmError(
        "bad_request",
        f"{who} did not accept the request (HTTP {status}){said}",
        hint="`tutor model` shows what this server can do.",
    )


def from_exception(endpoint: Endpoint, error: Exception, wire: Wire, *, started: bool) -> LlmError:
    """The error for whatever litellm raised; `started` tells whether part of a reply had arrived."""
    import httpx

    if wire.status is not None and wire.status >= 400:
        return from_status(endpoint, wire.status, wire.body)
    who, where = endpoint.name, endpoint.base_url
    chain = list(causes(error))
    for cause in chain:
        if isinstance(cause, httpx.ConnectTimeout):
            return LlmError(
                "unreachable",
                f"{who} at {where} did not accept a connection in time.",
                hint="Check the address and that the server runs.",
            )
        if isinstance(cause, httpx.ConnectError):
            return LlmError(
                "unreachable",
                f"{who} at {where} is not running or cannot be reached.",
                hint="Start it, or see `tutor model` for what else can be used.",
            )
        if isinstance(cause, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            return LlmError(
                "unreachable",
                f"{where} is not an address a model can be asked at: {excerpt(str(cause))}",
                hint="It should look like http://127.0.0.1:8000/v1.",
            )
        if isinstance(cause, httpx.TimeoutException):
            return LlmError(
                "timeout",
                f"{who} did not answer in time.",
                hint="A smaller model or a shorter text answers sooner.",
            )
        if isinstance(cause, httpx.TransportError):
            return cut(endpoint)
    if any("finish_reason=abort" in str(cause) for cause in chain):
        return cancelled(endpoint)
    if any(isinstance(cause, json.JSONDecodeError) for cause in chain):
        return not_a_completion(endpoint)
    if wire.status is not None and (started or not wire.ended) and any("Stream" in type(c).__name__ for c in chain):
        return cut(endpoint)
    return not_a_completion(endpoint)


def not_a_completion(endpoint: Endpoint) -> LlmError:
    """The error for a reply in another format."""
    return LlmError(
        "bad_reply",
        f"{endpoint.name} sent something that is not a chat completion.",
        hint="Check that the address is an OpenAI-compatible server's.",
    )


def cancelled(endpoint: Endpoint) -> LlmError:
    """The error for a request that the server itself dropped."""
    return LlmError("cancelled", f"{endpoint.name} cancelled the request.", hint="Try again.")


def cut(endpoint: Endpoint) -> LlmError:
    """The error for a reply that stopped in the middle."""
    return LlmError(
        "server", f"{endpoint.name} broke off its reply.", hint="Its own log says why; trying again may help."
    )


def of_kind(kind: ErrorKind, message: str, hint: str = "") -> LlmError:
    """Shorthand for an error without a server's words in it."""
    return LlmError(kind, message, hint=hint)
