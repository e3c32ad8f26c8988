"""Servers are found where they usually are, told apart, and their windows read from what they say."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.llm.faulty_server import Exchange, FaultyServer, closed_port, status
from tutor.llm.choose import choose_model, open_model
from tutor.llm.servers import discover, normalise_base_url, parameter_count, survey
from tutor.llm.types import Deadlines, ModelSettings

NOTHING = ModelSettings(discover=False)
VLLM = {"/v1/models": {"data": [{"id": "Qwen/Qwen3-8B", "owned_by": "vllm", "max_model_len": 32768}]}}
LLAMA_CPP = {
    "/v1/models": {"data": [{"id": "big", "owned_by": "llamacpp", "meta": {"n_params": 7_600_000_000, "n_ctx": 1}}]},
    "/props": {"default_generation_settings": {"n_ctx": 8192}},
}
OLLAMA = {
    "/v1/models": {
        "data": [
            {"id": name, "owned_by": "library"} for name in ("big:7b", "tiny:135m", "ready:3b", "nomic-embed-text")
        ]
    },
    "/api/version": {"version": "0.12.0"},
    "/api/ps": {"models": [{"name": "ready:3b", "context_length": 16384}]},
    "/api/tags": {
        "models": [
            {"name": "big:7b", "details": {"parameter_size": "7.6B"}},
            {"name": "tiny:135m", "details": {"parameter_size": "134.52M"}},
            {"name": "ready:3b", "details": {"parameter_size": "3.1B"}},
        ]
    },
}
LM_STUDIO = {
    "/v1/models": {"data": [{"id": "a", "owned_by": "organization_owner"}]},
    "/api/v0/models": {
        "data": [
            {"id": "a", "type": "llm", "state": "not-loaded", "max_context_length": 131072},
            {"id": "b", "type": "llm", "state": "loaded", "loaded_context_length": 4096, "max_context_length": 131072},
            {"id": "c", "type": "embeddings", "state": "loaded", "max_context_length": 512},
        ]
    },
}


async def found_at(routes: dict[str, Any]) -> list[tuple[str, str, int | None, bool]]:
    with FaultyServer(routes=routes) as server:
        models = await discover(ModelSettings(), ports=[server.port])
        assert all(model.source == f"found on port {server.port}" for model in models)
        assert all(model.endpoint.base_url == server.base_url for model in models)
    return [(m.endpoint.provider, m.endpoint.model, m.capabilities.context_tokens, m.grades) for m in models]


async def test_vllm_tells_its_window() -> None:
    assert await found_at(VLLM) == [("vllm", "Qwen/Qwen3-8B", 32768, True)]


async def test_llama_cpp_tells_the_window_of_a_slot() -> None:
    assert await found_at(LLAMA_CPP) == [("llama.cpp", "big", 8192, True)]


async def test_ollama_lists_the_loaded_model_first_and_marks_the_small_one() -> None:
    assert await found_at(OLLAMA) == [
        ("ollama", "ready:3b", 16384, True),
        ("ollama", "big:7b", 4096, True),
        ("ollama", "tiny:135m", 4096, False),
    ]


async def test_lm_studio_lists_chat_models_loaded_ones_first() -> None:
    assert await found_at(LM_STUDIO) == [("lmstudio", "b", 4096, True), ("lmstudio", "a", 131072, True)]


async def test_another_compatible_server_is_taken_as_one() -> None:
    assert await found_at({"/v1/models": {"data": [{"id": "x", "owned_by": "me"}]}}) == [("openai", "x", None, True)]


@pytest.mark.parametrize(
    "routes",
    [
        {"/": "<html>"},
        {"/v1/models": "<html>"},
        {"/v1/models": []},
        {"/v1/models": {"data": "x"}},
        {"/v1/models": {"data": [1, {"id": 3}, {}]}},
        {"/v1/models": 401},
        {"/v1/models": {"data": [{"id": "x", "owned_by": "llamacpp", "meta": []}]}, "/props": [1]},
        {"/v1/models": "[" * 100_000},
        {"/v1/models": '{"data": "' + "x" * 5_000_000},
    ],
)
async def test_what_is_not_a_model_server_is_passed_over(routes: dict[str, Any]) -> None:
    assert [m for m in await found_at(routes) if m[1] != "x"] == []


async def test_a_silent_port_costs_little() -> None:
    def silence(exchange: Exchange) -> None:
        exchange.wait_for_hang_up(5)

    def drip(exchange: Exchange) -> None:
        exchange.begin_stream()
        for _ in range(60):
            exchange.send(" ")
            time.sleep(0.1)

    with FaultyServer(silence) as silent, FaultyServer(drip) as endless, FaultyServer(routes=VLLM) as good:
        began = time.monotonic()
        models = await discover(ModelSettings(), ports=[silent.port, endless.port, good.port])
    assert [model.endpoint.model for model in models] == ["Qwen/Qwen3-8B"]
    assert time.monotonic() - began < 2.5


async def test_the_named_server_comes_first_with_its_key_and_others_get_none() -> None:
    with FaultyServer(routes=LLAMA_CPP) as named, FaultyServer(routes=VLLM) as other:
        settings = ModelSettings(base_url=f"localhost:{named.port}", api_key=SecretStr("s3"))
        models = await discover(settings, ports=[other.port])
        assert [m.endpoint.model for m in models] == ["big", "Qwen/Qwen3-8B"]
        assert models[0].source == "named in the settings"
        assert all(e.headers.get("authorization") == "Bearer s3" for e in named.exchanges)
        assert all("authorization" not in e.headers for e in other.exchanges)


async def test_a_named_model_that_is_not_there_is_said_with_what_is() -> None:
    with FaultyServer(routes=VLLM) as server:
        seen = await survey(NOTHING.model_copy(update={"base_url": server.base_url, "name": "gpt"}))
    assert seen.models == ()
    assert seen.notes == (f"{server.base_url} has no model 'gpt'; it has: Qwen/Qwen3-8B.",)


async def test_a_named_gateway_that_does_not_list_is_believed() -> None:
    with FaultyServer(status(404)) as server:
        seen = await survey(NOTHING.model_copy(update={"base_url": server.base_url, "name": "gpt"}))
    assert [m.endpoint.model for m in seen.models] == ["gpt"]


@pytest.mark.parametrize(("code", "words"), [(401, "refused the API key"), (500, "not a model server (HTTP 500)")])
async def test_a_named_server_that_fails_is_said(code: int, words: str) -> None:
    with FaultyServer(status(code)) as server:
        seen = await survey(NOTHING.model_copy(update={"base_url": server.base_url}))
    assert words in seen.notes[0]


async def test_with_nothing_there_is_no_model_and_the_reason_says_what_to_do(tmp_path: Path) -> None:
    heard: list[str] = []
    with closed_port() as port:
        settings = ModelSettings(base_url=f"http://127.0.0.1:{port}/v1", deadlines=Deadlines(connect_s=1))
        assert await open_model(settings, model_dir=tmp_path, on_status=heard.append, ports=[]) is None
    assert "does not answer" in heard[-1]
    assert "`tutor model get`" in heard[-1]


async def test_the_reason_names_a_switched_off_model(tmp_path: Path) -> None:
    choice = await choose_model(ModelSettings(use_embedded=False), model_dir=tmp_path, ports=[])
    assert choice.model is None
    assert choice.reason == (
        "No model server was found on this machine. The model inside the program is switched off in the settings."
    )


async def test_a_model_too_small_to_grade_is_passed_over_unless_named(tmp_path: Path) -> None:
    small = {"/v1/models": {"data": [{"id": "s", "owned_by": "llamacpp", "meta": {"n_params": 134_515_008}}]}}
    with FaultyServer(routes=small) as server:
        assert (await choose_model(ModelSettings(), model_dir=tmp_path, ports=[server.port])).model is None
        named = await choose_model(ModelSettings(base_url=server.base_url), model_dir=tmp_path, ports=[])
        assert named.model is not None
        assert not named.model.info.grades
        await named.model.close()


async def test_a_file_that_cannot_be_loaded_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "mine.gguf"
    broken.write_bytes(b"GGUF, but no more")
    choice = await choose_model(ModelSettings(discover=False, model_file=broken))
    assert choice.model is None
    assert f"The model file {broken} could not be loaded." in choice.reason


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("gpu-box:8000", "http://gpu-box:8000/v1"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"),
        ("https://host/api/v1/", "https://host/api/v1"),
        ("http://host:1/v1/chat/completions", "http://host:1/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        (" HTTP://h/v1/models ", "http://h/v1"),
    ],
)
def test_addresses_are_completed(written: str, meant: str) -> None:
    assert normalise_base_url(written) == meant


@pytest.mark.parametrize(
    ("written", "count"), [("7.6B", 7.6e9), ("134.52M", 134.52e6), ("1t", 1e12), ("", None), (7, None), ("B", None)]
)
def test_sizes_are_read(written: object, count: float | None) -> None:
    assert parameter_count(written) == (None if count is None else pytest.approx(count))
