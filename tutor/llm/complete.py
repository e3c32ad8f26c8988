"""One question to a model, one reply or one `LlmError`; everything that grades or tutors calls this."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, TypeGuard, cast

from tutor.llm import failures
from tutor.llm.errors import LlmError
from tutor.llm.types import Completion, Deadlines, Endpoint, Request, TokenLogprob
from tutor.llm.wire import Wire, open_client

ATTEMPTS = 3
VERDICT_TOKENS = 4
"""A reply that was asked to be at most this long may end by its budget without being an error."""
_BACKOFF_S = (0.3, 1.0)
_LOADING_POLL_S = 1.0
_THINKS_OFF = {"chat_template_kwargs": {"enable_thinking": False}}
_EXTRA_BODY: dict[str, dict[str, Any]] = {
    # A verdict is the first token, so a model that can think aloud is asked not to.
    "vllm": _THINKS_OFF,
    "llama.cpp": _THINKS_OFF,
    "embedded": _THINKS_OFF,
    "ollama": {"reasoning_effort": "none"},
}
_DEFAULT_DEADLINES = Deadlines()
_import_lock = threading.Lock()


def load_litellm() -> ModuleType:
    """Import litellm (3 to 6 s the first time) made quiet and offline; safe to call from any thread.

    A face may call it in a thread after its first frame, so that the first question does not wait for it.
    """
    with _import_lock:
        if "litellm" not in sys.modules:
            # Without these two the import asks the network for a price list and logs to stderr when it fails.
            os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import litellm

            litellm.acompletion  # noqa: B018 - half of litellm is imported when first touched
        # The rest comes during calls, and its type declarations warn on stderr, over the screen.
        warnings.filterwarnings("ignore", message=r"Items? '.*' on TypedDict class", category=UserWarning)
        litellm.suppress_debug_info = True  # it prints advice to stdout otherwise, over the screen
        litellm.drop_params = False
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logger = logging.getLogger(name)
            logger.handlers = [logging.NullHandler()]
            logger.setLevel(logging.CRITICAL + 1)
            logger.propagate = False
        return litellm  # type: ignore[no-any-return]


async def complete(
    endpoint: Endpoint,
    request: Request,
    deadlines: Deadlines = _DEFAULT_DEADLINES,
    *,
    on_wait: Callable[[str], None] | None = None,
    on_text: Callable[[str], None] | None = None,
) -> Completion:
    """Ask once, within `deadlines`; refused connections, 429 and 5xx are tried again at most twice.

    `on_wait` is told in plain words when a retry or a server that still loads its model is waited for. `on_text` is
    given each piece of the raw reply as it comes; a reply that has begun is never tried again.
    Cancelling the task closes the connection, so that the server stops computing.

    Raises:
        LlmError: for every failure; never another exception, save `asyncio.CancelledError`.
    """
    litellm = await asyncio.to_thread(load_litellm)
    start = time.perf_counter()
    total = asyncio.timeout(deadlines.total_s)
    try:
        async with total:
            reply = await _with_retries(litellm, endpoint, request, deadlines, start, on_wait, on_text)
    except TimeoutError:
        raise failures.of_kind(
            "timeout",
            f"{endpoint.name} did not finish within {deadlines.total_s:g} s.",
            "A smaller model or a shorter text answers sooner; the limit is in the settings.",
        ) from None
    return reply.to_completion(endpoint, request, time.perf_counter() - start)


async def _with_retries(
    litellm: ModuleType,
    endpoint: Endpoint,
    request: Request,
    deadlines: Deadlines,
    start: float,
    on_wait: Callable[[str], None] | None,
    on_text: Callable[[str], None] | None,
) -> _Reply:
    attempt = 0
    stream = True
    while True:
        wire = Wire()
        try:
            return await _attempt(litellm, endpoint, request, deadlines, wire, stream, on_text)
        except LlmError as error:
            elapsed_s = time.perf_counter() - start
            if stream and error.kind == "bad_request" and "stream" in wire.body.lower():
                stream = False
                continue
            if wire.status == 503 and "loading" in wire.body.lower():
                if elapsed_s + _LOADING_POLL_S > deadlines.first_token_s:
                    raise
                wait_s, why = _LOADING_POLL_S, "is still loading its model"
            else:
                attempt += 1
                asked_s = wire.retry_after_s(datetime.now(UTC))
                if attempt >= ATTEMPTS or not _worth_retrying(error, wire):
                    raise
                wait_s = _BACKOFF_S[attempt - 1] if asked_s is None else max(asked_s, 0.05)
                why = "asked to wait" if asked_s is not None else "failed; trying again"
                if elapsed_s + wait_s >= deadlines.total_s:
                    raise
        if on_wait is not None:
            on_wait(f"{endpoint.name} {why}.")
        await asyncio.sleep(wait_s)


def _worth_retrying(error: LlmError, wire: Wire) -> bool:
    if wire.status is None:
        return error.kind == "unreachable"
    return wire.status == 429 or (wire.status >= 500 and wire.status != 501 and error.kind == "server")


async def _attempt(
    litellm: ModuleType,
    endpoint: Endpoint,
    request: Request,
    deadlines: Deadlines,
    wire: Wire,
    stream: bool,
    on_text: Callable[[str], None] | None,
) -> _Reply:
    from openai import AsyncOpenAI

    key = endpoint.api_key.get_secret_value() if endpoint.api_key else "none"
    http = open_client(endpoint.base_url, wire, connect_s=deadlines.connect_s, read_s=deadlines.total_s)
    reply = _Reply(on_text)
    timer = asyncio.timeout(deadlines.connect_s + deadlines.first_token_s)
    try:
        # The SDK takes either generation of httpx but declares the newer; its client only wraps `http`.
        client = AsyncOpenAI(base_url=endpoint.base_url, api_key=key, http_client=cast(Any, http), max_retries=0)
        async with timer:
            answer = await litellm.acompletion(
                **_arguments(endpoint, request, stream), client=client, timeout=http.timeout, api_key=key
            )
            if stream:
                async for chunk in answer:
                    if reply.add(chunk):
                        timer.reschedule(asyncio.get_running_loop().time() + deadlines.idle_s)
            else:
                reply.add(answer)
    except TimeoutError:
        if not timer.expired():
            raise  # the caller's total deadline
        if reply.started:
            raise failures.of_kind(
                "timeout",
                f"{endpoint.name} fell silent for {deadlines.idle_s:g} s in the middle of its reply.",
                "Try again; its own log may say why.",
            ) from None
        raise failures.of_kind(
            "timeout",
            f"{endpoint.name} gave no first token within {deadlines.first_token_s:g} s.",
            "A model that is still loading answers the next time; a smaller one answers sooner.",
        ) from None
    except LlmError:
        raise
    except Exception as error:  # litellm raises plain exceptions too; all are told apart by what the wire saw
        raise failures.from_exception(endpoint, error, wire, started=reply.started) from error
    finally:
        await http.aclose()
    if stream and not wire.ended:
        raise failures.cut(endpoint) if reply.started else failures.not_a_completion(endpoint)
    return reply


def _arguments(endpoint: Endpoint, request: Request, stream: bool) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": f"openai/{endpoint.model}",
        "messages": [dict(message) for message in request.messages],
        "api_base": endpoint.base_url,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        # Both retry layers are broken or nested in litellm; ours is the only one.
        "max_retries": 0,
        "num_retries": None,
        "stream": stream,
    }
    if stream:
        arguments["stream_options"] = {"include_usage": True}
    if request.seed is not None:
        arguments["seed"] = request.seed
    if request.json_schema is not None:
        arguments["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": request.json_schema},
        }
    if request.logprobs:
        arguments["logprobs"] = True
        if request.top_logprobs:
            arguments["top_logprobs"] = request.top_logprobs
    if extra := _EXTRA_BODY.get(endpoint.provider):
        arguments["extra_body"] = extra
    return arguments


class _Reply:
    """A reply being put together from chunks, or from one whole message."""

    def __init__(self, on_text: Callable[[str], None] | None = None) -> None:
        self.started = False
        self._on_text = on_text
        self._pieces: list[str] = []
        self._thought = False
        self._finish = ""
        self._model = ""
        self._tokens: list[TokenLogprob] = []
        self._usage: Any = None

    def add(self, chunk: Any) -> bool:
        """Take one chunk; True once a token has come, so that the idle timer restarts."""
        self._usage = getattr(chunk, "usage", None) or self._usage
        self._model = getattr(chunk, "model", None) or self._model
        for choice in (getattr(chunk, "choices", None) or [])[:1]:
            part = getattr(choice, "delta", None) or getattr(choice, "message", None)
            text = getattr(part, "content", None)
            if isinstance(text, str) and text:
                self._pieces.append(text)
                self.started = True
                if self._on_text is not None:
                    self._on_text(text)
            if getattr(part, "reasoning_content", None) or getattr(part, "reasoning", None):
                self._thought = self.started = True
            self._tokens += _token_logprobs(getattr(choice, "logprobs", None))
            self._finish = getattr(choice, "finish_reason", None) or self._finish
        return self.started

    def to_completion(self, endpoint: Endpoint, request: Request, seconds: float) -> Completion:
        raw = "".join(self._pieces)
        text, thought_chars = split_thinking(raw)
        # One token was all that a verdict asked for; anything longer that stops early is half a reply.
        verdict = request.max_tokens <= VERDICT_TOKENS and text.strip()
        if self._finish == "length" and not verdict:
            raise failures.of_kind(
                "length",
                f"{endpoint.model} ran out of its token budget before it had finished.",
                "Try again, or use a model that does not think aloud." if thought_chars or self._thought else "",
            )
        if self._finish in ("abort", "cancelled"):
            raise failures.cancelled(endpoint)
        if not text.strip():
            why = "only thought aloud" if thought_chars or self._thought else "sent an empty reply"
            raise failures.of_kind("empty", f"{endpoint.model} {why}.", "Try again, or choose another model.")
        usage = self._usage
        details = getattr(usage, "prompt_tokens_details", None)
        cached = getattr(details, "cached_tokens", None)
        return Completion(
            text=text,
            finish_reason=self._finish or "stop",
            prompt_tokens=getattr(usage, "prompt_tokens", None) or 0,
            completion_tokens=getattr(usage, "completion_tokens", None) or 0,
            cached_tokens=cached if isinstance(cached, int) else None,
            seconds=seconds,
            model=self._model or endpoint.model,
            logprobs=_after(self._tokens, thought_chars) or None,
        )


def _token_logprobs(logprobs: Any) -> list[TokenLogprob]:
    found: list[TokenLogprob] = []
    for entry in getattr(logprobs, "content", None) or []:
        value = getattr(entry, "logprob", None)
        if not _finite(value):
            continue
        top = {
            str(other.token): float(other.logprob)
            for other in getattr(entry, "top_logprobs", None) or []
            if _finite(getattr(other, "logprob", None))
        }
        found.append(TokenLogprob(token=str(entry.token), logprob=float(value), top=top))
    return found


def _finite(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)


def _after(tokens: list[TokenLogprob], skipped_chars: int) -> tuple[TokenLogprob, ...]:
    """The tokens that come after the first `skipped_chars` characters of the raw reply."""
    position = 0
    for index, token in enumerate(tokens):
        if position >= skipped_chars:
            return tuple(tokens[index:])
        position += len(token.token)
    return ()


def split_thinking(raw: str) -> tuple[str, int]:
    """The reply without the thinking before it, and how many characters were left out.

    Only a block at the very start counts, or a closing tag whose opening one the chat template swallowed:
    the candidate's own words, quoted later in a reply, may hold such tags too.
    """
    if re.match(r"\s*<think>", raw):
        end = re.search(r"</think>\s*", raw)
        if end is None:
            return "", len(raw)
        return raw[end.end() :], end.end()
    if not re.match(r"\s*[{\[]", raw) and (end := re.search(r"</think>\s*", raw)):
        return raw[end.end() :], end.end()
    return raw, 0
