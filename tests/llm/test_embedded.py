"""The embedded server: a real llama.cpp, real weights, through litellm. Verdicts of so small a model mean nothing."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.llm.capabilities import probe_capabilities
from tutor.llm.choose import choose_model
from tutor.llm.complete import complete
from tutor.llm.embedded import EmbeddedServer
from tutor.llm.errors import LlmError
from tutor.llm.files import CATALOGUE, installed
from tutor.llm.machine import memory_bytes, usable_cores
from tutor.llm.servers import discover
from tutor.llm.tokens import ensure_fits, prompt_tokens
from tutor.llm.types import Capabilities, ModelSettings, Request

VERDICT: dict[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["met", "not_met"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}


def asking(text: str, **more: Any) -> Request:
    return Request(messages=({"role": "user", "content": text},), **{"max_tokens": 40, **more})


def free_port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LlmError, match="There is no model file") as caught:
        await EmbeddedServer(tmp_path / "none.gguf").start()
    assert caught.value.kind == "not_found"


async def test_a_broken_file_is_named_and_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(100))
    server = EmbeddedServer(tmp_path / "broken.gguf")
    with pytest.raises(LlmError, match="could not be loaded"):
        await server.start()
    assert not server.running
    with pytest.raises(LlmError, match="was not started"):
        _ = server.endpoint


async def test_stopping_what_never_started_is_fine(tmp_path: Path) -> None:
    await EmbeddedServer(tmp_path / "none.gguf").stop()


def test_a_containers_limits_are_respected(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text("1000000\n")
    assert usable_cores(tmp_path) == min(2, usable_cores(tmp_path / "none"))
    assert memory_bytes(tmp_path) == 1_000_000
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert usable_cores(tmp_path) == usable_cores(tmp_path / "none") >= 1
    assert memory_bytes(tmp_path) == memory_bytes(tmp_path / "none")


@given(st.binary(max_size=20))
def test_odd_limits_do_no_harm(text: bytes) -> None:
    assert usable_cores(Path(os.fsdecode(text.replace(b"\0", b"")) or "x")) >= 1


@pytest.mark.model
class TestRealServer:
    async def test_a_plain_completion(self, embedded_server: EmbeddedServer) -> None:
        reply = await complete(embedded_server.endpoint, asking("Say hello.", max_tokens=4))
        assert reply.text.strip()
        assert reply.finish_reason in ("stop", "length")
        assert reply.prompt_tokens > 5
        assert reply.completion_tokens > 0
        assert reply.model == embedded_server.model_path.stem

    async def test_a_reply_is_held_to_the_schema(self, embedded_server: EmbeddedServer) -> None:
        question = asking("Write a poem about the sea.", json_schema=VERDICT)
        reply = await complete(embedded_server.endpoint, question)
        assert json.loads(reply.text)["verdict"] in ("met", "not_met")

    async def test_the_first_token_has_its_probability(self, embedded_server: EmbeddedServer) -> None:
        question = asking("Is water wet? Reply yes or no.", max_tokens=1, logprobs=True, top_logprobs=8)
        reply = await complete(embedded_server.endpoint, question)
        assert reply.logprobs is not None
        first = reply.logprobs[0]
        assert first.token == reply.text
        assert len(first.top) == 8
        assert math.isclose(first.top[first.token], first.logprob)
        assert 0 < sum(math.exp(value) for value in first.top.values()) <= 1.0001

    async def test_the_same_question_has_the_same_answer(self, embedded_server: EmbeddedServer) -> None:
        question = asking("Name a colour.", max_tokens=3, logprobs=True)
        first, second = [await complete(embedded_server.endpoint, question) for _ in range(2)]
        assert (first.text, first.logprobs) == (second.text, second.logprobs)

    async def test_a_shared_beginning_is_computed_once(self, embedded_server: EmbeddedServer) -> None:
        beginning = "Here is a long text about queues and tokens. " * 20
        one = asking(beginning + "Is it about queues? yes or no", max_tokens=1)
        two = asking(beginning + "Is it about ships? yes or no", max_tokens=1)
        first = await complete(embedded_server.endpoint, one)
        second = await complete(embedded_server.endpoint, two)
        assert first.cached_tokens is not None
        assert second.cached_tokens is not None
        assert second.cached_tokens > first.cached_tokens
        assert second.cached_tokens > 0.8 * second.prompt_tokens

    async def test_cancelling_is_prompt_and_frees_the_server(self, embedded_server: EmbeddedServer) -> None:
        story = asking("Write a very long story about the number one. " * 60, max_tokens=2000)
        task = asyncio.create_task(complete(embedded_server.endpoint, story))
        await asyncio.sleep(0.5)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 0.5
        # Two thousand tokens would take minutes; the next caller does not wait for them.
        await complete(embedded_server.endpoint, asking("Hi", max_tokens=1))
        assert time.monotonic() - began < 20

    async def test_a_prompt_beyond_the_window_is_a_context_error(self, embedded_server: EmbeddedServer) -> None:
        long = asking("one two three four " * 2000)
        for call in (
            complete(embedded_server.endpoint, long),
            ensure_fits(embedded_server.endpoint, embedded_server.capabilities, long),
        ):
            with pytest.raises(LlmError) as caught:
                await call
            assert caught.value.kind == "context"

    async def test_the_count_before_is_the_count_after(self, embedded_server: EmbeddedServer) -> None:
        question = asking("Explain 1,050 ms ≈ 1.05 s in one word.", max_tokens=1)
        counted, exact = await prompt_tokens(embedded_server.endpoint, question)
        assert exact
        assert counted == (await complete(embedded_server.endpoint, question)).prompt_tokens

    async def test_others_on_this_machine_cannot_use_it(self, embedded_server: EmbeddedServer) -> None:
        keyless = embedded_server.endpoint.model_copy(update={"api_key": None})
        with pytest.raises(LlmError) as caught:
            await complete(keyless, asking("Hi"))
        assert caught.value.kind == "auth"
        key = embedded_server.endpoint.api_key
        assert key is not None
        for arguments in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                assert key.get_secret_value().encode() not in arguments.read_bytes()
            except OSError:
                continue

    async def test_a_probe_of_any_server_sees_what_llama_cpp_can(self, embedded_server: EmbeddedServer) -> None:
        as_other = embedded_server.endpoint.model_copy(update={"provider": "openai"})
        seen = await probe_capabilities(as_other)
        assert (seen.json_schema, seen.logprobs) == (True, True)


@pytest.mark.model
async def test_discovery_finds_a_llama_cpp_server_on_its_port(small_model_path: Path) -> None:
    server = EmbeddedServer(small_model_path, context_tokens=2048, threads=1, port=free_port())
    endpoint = await server.start()
    try:
        port = int(endpoint.base_url.split(":")[2].split("/")[0])
        assert port == server.port
        assert await discover(ModelSettings(), ports=[port]) == []  # it asks for a key that only we have
        found = await discover(ModelSettings(base_url=endpoint.base_url, api_key=endpoint.api_key), ports=[])
    finally:
        await server.stop()
    assert [(m.endpoint.provider, m.endpoint.model) for m in found] == [("llama.cpp", small_model_path.stem)]
    assert found[0].capabilities == Capabilities(context_tokens=2048)
    assert not found[0].grades
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{endpoint.base_url}/models", trust_env=False)


@pytest.mark.model
async def test_the_small_model_is_served_only_when_it_is_named(small_model_path: Path) -> None:
    settings = ModelSettings(discover=False, model_dir=small_model_path.parent, context_tokens=1024, threads=1)
    if [file.entry for file in installed(small_model_path.parent)] == [CATALOGUE["smollm2-135m"]]:
        assert (await choose_model(settings)).model is None
    heard: list[str] = []
    chosen = await choose_model(settings.model_copy(update={"model_file": small_model_path}), on_status=heard.append)
    assert chosen.model is not None
    try:
        assert heard == ["Looking for a model server.", f"Loading {small_model_path.name}."]
        assert not chosen.model.info.grades
        assert chosen.model.capabilities == Capabilities(json_schema=True, logprobs=True, context_tokens=1024)
        assert (await complete(chosen.model.endpoint, asking("Hi", max_tokens=1))).text
    finally:
        await chosen.model.close()
        await chosen.model.close()
    with pytest.raises(LlmError):
        _ = chosen.model.endpoint


@pytest.mark.model
async def test_a_server_that_was_killed_is_said(small_model_path: Path) -> None:
    server = EmbeddedServer(small_model_path, context_tokens=1024, threads=1)
    await server.start()
    assert server._child is not None
    server._child.kill()
    server._child.wait()
    with pytest.raises(LlmError, match=r"ended \(signal 9\)"):
        _ = server.endpoint
    assert (await server.start()).base_url  # and can be started again
    await server.stop()


@pytest.mark.model
async def test_cancelling_a_load_ends_it(small_model_path: Path) -> None:
    server = EmbeddedServer(small_model_path)
    task = asyncio.create_task(server.start())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not server.running


@pytest.mark.model
def test_the_server_dies_with_a_killed_program_and_prints_nothing(small_model_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from tutor.llm.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), context_tokens=1024, threads=1)
print(server.start_blocking().base_url, flush=True)
time.sleep(60)
"""
    program = subprocess.Popen(
        [sys.executable, "-c", code, str(small_model_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    assert program.stderr is not None
    base_url = program.stdout.readline().strip()
    health = base_url.removesuffix("/v1") + "/health"
    assert httpx.get(health, trust_env=False).status_code == 200
    program.send_signal(signal.SIGKILL)
    assert program.communicate() == ("", "")
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            httpx.get(health, trust_env=False)
        except httpx.TransportError:
            return
        time.sleep(0.05)
    pytest.fail("the server outlived the program")
