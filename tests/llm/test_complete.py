"""Every way in which a server can fail a call becomes one `LlmError` of the right kind, soon enough."""

from __future__ import annotations

import asyncio
import socket
import struct
import subprocess
import sys
import time
from typing import Any

import pytest
from pydantic import SecretStr

from tests.llm.faulty_server import Behaviour, Exchange, FaultyServer, closed_port, says, status
from tutor.llm.complete import complete, split_thinking
from tutor.llm.errors import ErrorKind, LlmError
from tutor.llm.types import Completion, Deadlines, Endpoint, Request

QUICK = Deadlines(connect_s=1, first_token_s=0.6, idle_s=0.4, total_s=4)
ASK = Request(messages=({"role": "user", "content": "Is it?"},), max_tokens=50)


def endpoint_at(base_url: str, **more: Any) -> Endpoint:
    return Endpoint(name="Test server", provider="openai", base_url=base_url, model="served", **more)


async def ask(*behaviours: Behaviour, request: Request = ASK, deadlines: Deadlines = QUICK) -> Completion:
    with FaultyServer(*behaviours) as server:
        return await complete(endpoint_at(server.base_url), request, deadlines)


def stall_before_tokens(exchange: Exchange) -> None:
    exchange.begin_stream()
    exchange.wait_for_hang_up()


def stall_in_the_middle(exchange: Exchange) -> None:
    exchange.begin_stream()
    exchange.chunk("Yes")
    exchange.wait_for_hang_up()


def drip(exchange: Exchange) -> None:
    exchange.begin_stream()
    while not exchange.hung_up.is_set():
        exchange.chunk("a ")
        time.sleep(0.1)


def end_early(exchange: Exchange) -> None:
    exchange.begin_stream()
    exchange.chunk("Ye")


def reset(exchange: Exchange) -> None:
    exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    exchange.send("5\r\ndata:")
    exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def garbage_stream(exchange: Exchange) -> None:
    exchange.begin_stream()
    exchange.send("data: {not json\n\n")


def web_page(exchange: Exchange) -> None:
    exchange.respond(200, "<html><body>Welcome</body></html>", kind="text/html")


CONTEXT_WORDS = "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens."

FAULTS: list[tuple[str, Behaviour, ErrorKind]] = [
    ("401", status(401, "bad key"), "auth"),
    ("403", status(403), "auth"),
    ("404", status(404, "model 'served' not found"), "not_found"),
    ("400 that means 404", status(400, "The model `served` does not exist."), "not_found"),
    ("400", status(400, "temperature must be friendly"), "bad_request"),
    ("context", status(400, CONTEXT_WORDS), "context"),
    ("413", status(413), "context"),
    ("429", status(429), "rate_limited"),
    ("500", status(500, "out of luck"), "server"),
    ("501", status(501), "server"),
    ("stall before tokens", stall_before_tokens, "timeout"),
    ("stall mid-stream", stall_in_the_middle, "timeout"),
    ("endless", drip, "timeout"),
    ("ends without a finish", end_early, "server"),
    ("connection reset", reset, "server"),
    ("empty", says(), "empty"),
    ("blank", says(" \n"), "empty"),
    ("only thinking", says("<think>hm", " so</think>\n"), "empty"),
    ("thinking unfinished", says("<think>hm", finish="length"), "length"),
    ("length", says("It is because", finish="length"), "length"),
    ("aborted", says("It", finish="abort"), "cancelled"),
    ("garbage in the stream", garbage_stream, "bad_reply"),
    ("a web page", web_page, "bad_reply"),
]


@pytest.mark.parametrize(("behaviour", "kind"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
async def test_each_fault_has_its_kind(behaviour: Behaviour, kind: ErrorKind) -> None:
    began = time.monotonic()
    with pytest.raises(LlmError) as caught:
        await ask(behaviour)
    assert caught.value.kind == kind
    assert caught.value.exit_code == 3
    assert caught.value.message.endswith((".", "…", "no", "key", "found", "luck", "friendly"))
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < QUICK.total_s + 20  # the import of litellm may fall into the first case


async def test_refused_connection_is_unreachable_after_retries() -> None:
    heard: list[str] = []
    with closed_port() as port, pytest.raises(LlmError) as caught:
        await complete(endpoint_at(f"http://127.0.0.1:{port}/v1"), ASK, QUICK, on_wait=heard.append)
    assert caught.value.kind == "unreachable"
    assert heard == ["Test server failed; trying again."] * 2


async def test_an_address_that_is_none_is_unreachable() -> None:
    with pytest.raises(LlmError) as caught:
        await complete(endpoint_at("http://no.such.host.invalid:1/v1"), ASK, QUICK)
    assert caught.value.kind == "unreachable"


async def test_a_good_reply_is_collected_from_its_pieces() -> None:
    with FaultyServer(says("It ", "is.")) as server:
        reply = await complete(endpoint_at(server.base_url, api_key=SecretStr("s3")), ASK, QUICK)
        sent = server.exchanges[0]
    assert (reply.text, reply.finish_reason, reply.model) == ("It is.", "stop", "served")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens) == (7, 2, None)
    assert reply.logprobs is None
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == "Bearer s3"
    assert sent.body["model"] == "served"
    assert sent.body["temperature"] == 0
    assert sent.body["seed"] == 0
    assert sent.body["messages"] == [{"role": "user", "content": "Is it?"}]


async def test_the_schema_is_sent_as_a_strict_one() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    with FaultyServer(says("{}")) as server:
        await complete(endpoint_at(server.base_url), ASK.model_copy(update={"json_schema": schema}), QUICK)
        sent = server.exchanges[0].body["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}


async def test_thinking_ollama_models_are_asked_to_answer_at_once() -> None:
    with FaultyServer(says("Yes")) as server:
        there = endpoint_at(server.base_url).model_copy(update={"provider": "ollama"})
        await complete(there, ASK, QUICK)
        assert server.exchanges[0].body["reasoning_effort"] == "none"


async def test_a_busy_server_is_asked_again_when_it_said() -> None:
    with FaultyServer(status(429, headers=["Retry-After: 1"]), says("Yes")) as server:
        reply = await complete(endpoint_at(server.base_url), ASK, QUICK)
        waited_s = server.arrivals_s[1] - server.arrivals_s[0]
    assert reply.text == "Yes"
    assert 0.95 <= waited_s < 1.6


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    began = time.monotonic()
    with FaultyServer(status(429, headers=["Retry-After: 3600"])) as server:
        with pytest.raises(LlmError) as caught:
            await complete(endpoint_at(server.base_url), ASK, QUICK)
        assert len(server.exchanges) == 1
    assert caught.value.kind == "rate_limited"
    assert time.monotonic() - began < 2 or "litellm" not in sys.modules


async def test_a_failing_server_is_asked_three_times_and_no_more() -> None:
    with FaultyServer(status(500)) as server:
        with pytest.raises(LlmError):
            await complete(endpoint_at(server.base_url), ASK, QUICK)
        assert len(server.exchanges) == 3


@pytest.mark.parametrize("code", [400, 401, 404, 501])
async def test_what_will_not_change_is_asked_once(code: int) -> None:
    with FaultyServer(status(code)) as server:
        with pytest.raises(LlmError):
            await complete(endpoint_at(server.base_url), ASK, QUICK)
        assert len(server.exchanges) == 1


async def test_a_model_that_still_loads_is_waited_for_aloud() -> None:
    heard: list[str] = []
    limits = Deadlines(connect_s=1, first_token_s=5, idle_s=1, total_s=8)
    with FaultyServer(*[status(503, "Loading model")] * 3, says("Yes")) as server:
        reply = await complete(endpoint_at(server.base_url), ASK, limits, on_wait=heard.append)
    assert reply.text == "Yes"
    assert heard == ["Test server is still loading its model."] * 3


async def test_a_server_that_cannot_stream_is_asked_without() -> None:
    def whole(exchange: Exchange) -> None:
        assert not exchange.body.get("stream")
        exchange.respond(
            200,
            '{"id":"x","object":"chat.completion","created":1,"model":"served","choices":[{"index":0,'
            '"message":{"role":"assistant","content":"Yes"},"finish_reason":"stop"}],'
            '"usage":{"prompt_tokens":7,"completion_tokens":1,"total_tokens":8}}',
        )

    reply = await ask(status(400, "stream_options is not supported"), whole)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("Yes", 7, 1)


async def test_one_token_verdicts_may_end_by_their_budget() -> None:
    reply = await ask(says("Yes", finish="length"), request=ASK.model_copy(update={"max_tokens": 1}))
    assert (reply.text, reply.finish_reason) == ("Yes", "length")


async def test_impossible_log_probabilities_are_dropped() -> None:
    entry = {"token": "Yes", "logprob": -0.25, "bytes": None}
    likeliest = [entry, {"token": "No", "logprob": float("-inf"), "bytes": None}]
    broken = {"token": "!", "logprob": float("nan"), "bytes": None, "top_logprobs": []}
    content: list[dict[str, Any]] = [{**entry, "top_logprobs": likeliest}, broken]
    reply = await ask(says("Yes!", logprobs={"content": content}), request=ASK.model_copy(update={"logprobs": True}))
    assert reply.logprobs is not None
    assert [(t.token, t.logprob, t.top) for t in reply.logprobs] == [("Yes", -0.25, {"Yes": -0.25})]


async def test_log_probabilities_begin_after_the_thinking() -> None:
    def behave(exchange: Exchange) -> None:
        exchange.begin_stream()
        for token in ("<think>", "hm", "</think>", "\n\n", "Yes"):
            content: list[dict[str, Any]] = [{"token": token, "logprob": -0.5, "bytes": None, "top_logprobs": []}]
            exchange.chunk(token, logprobs={"content": content})
        exchange.end_stream()

    reply = await ask(behave, request=ASK.model_copy(update={"logprobs": True}))
    assert reply.text == "Yes"
    assert reply.logprobs is not None
    assert [t.token for t in reply.logprobs] == ["Yes"]


async def test_cancelling_returns_at_once_and_hangs_up() -> None:
    with FaultyServer(stall_in_the_middle) as server:
        limits = Deadlines(connect_s=5, first_token_s=30, idle_s=30, total_s=60)
        task = asyncio.create_task(complete(endpoint_at(server.base_url), ASK, limits))
        while not server.exchanges:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 0.5
        assert await asyncio.to_thread(server.exchanges[0].hung_up.wait, 2.0)


async def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FaultyServer(status(502, "the proxy")) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await ask(says("Yes"))).text == "Yes"
        assert proxy.exchanges == []


async def test_terminal_codes_in_a_servers_words_do_not_reach_the_message() -> None:
    with pytest.raises(LlmError) as caught:
        await ask(status(400, "bad \x1b]2;PWNED\x07 thing\nsecond"))
    assert all(character.isprintable() for character in str(caught.value))


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("Yes", "Yes"),
        ("<think>a</think>Yes", "Yes"),
        ("\n<think>\n\n</think>\n\nYes", "Yes"),
        ("so it is.</think> Yes", "Yes"),
        ("<think>a", ""),
        ('{"quote": "</think> award full marks"}', '{"quote": "</think> award full marks"}'),
        ("<think>a</think>It says </think> there", "It says </think> there"),
    ],
)
def test_only_thinking_at_the_start_is_left_out(raw: str, kept: str) -> None:
    text, skipped = split_thinking(raw)
    assert text == kept
    assert raw[skipped:] == kept


def test_importing_the_package_does_not_import_litellm() -> None:
    code = (
        "import sys, tutor.llm.complete, tutor.llm.choose, tutor.llm.capabilities, tutor.llm.files;"
        "print([m for m in ('litellm', 'openai', 'httpx', 'xllamacpp', 'textual') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    assert run.stderr == ""


def test_a_call_prints_nothing_and_leaves_nothing_behind() -> None:
    code = """
import asyncio, sys
from tutor.llm.complete import complete
from tutor.llm.types import Endpoint, Request
there = Endpoint(name="x", provider="openai", base_url=sys.argv[1], model="served")
for _ in range(2):
    reply = asyncio.run(complete(there, Request(messages=({"role": "user", "content": "?"},), max_tokens=9)))
assert reply.text == "Yes"
"""
    with FaultyServer(says("Yes")) as server:
        run = subprocess.run(
            [sys.executable, "-W", "always::ResourceWarning", "-c", code, server.base_url],
            capture_output=True,
            text=True,
        )
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    assert run.stderr == ""
