"""What a server can do is learnt from what it does, and asked only once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.llm.faulty_server import Behaviour, Exchange, FaultyServer, closed_port, says, status
from tutor.llm.capabilities import MEMORY_FILE, probe_capabilities
from tutor.llm.errors import LlmError
from tutor.llm.types import Capabilities, Deadlines, Endpoint

QUICK = Deadlines(connect_s=1, first_token_s=1, idle_s=1, total_s=3)


def there(server: FaultyServer, model: str = "served") -> Endpoint:
    return Endpoint(name="Test server", provider="openai", base_url=server.base_url, model=model)


def answering(*, schema: bool, logprobs: bool) -> Behaviour:
    entry = {"token": "Yes", "logprob": -0.1, "bytes": None}
    told = {"content": [{**entry, "top_logprobs": [entry]}]} if logprobs else None

    def behave(exchange: Exchange) -> None:
        if "response_format" in exchange.body:
            says('{"colour": "teal"}' if schema else "hello")(exchange)
        else:
            says("Yes", logprobs=told)(exchange)

    return behave


@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("logprobs", [True, False])
async def test_both_abilities_are_seen(schema: bool, logprobs: bool) -> None:
    with FaultyServer(answering(schema=schema, logprobs=logprobs)) as server:
        seen = await probe_capabilities(there(server), known=Capabilities(context_tokens=99), deadlines=QUICK)
    assert seen == Capabilities(json_schema=schema, logprobs=logprobs, context_tokens=99)


async def test_a_server_that_refuses_the_parameters_cannot_do_it() -> None:
    with FaultyServer(status(400, "unknown field")) as server:
        assert await probe_capabilities(there(server), deadlines=QUICK) == Capabilities()


async def test_it_is_remembered_per_server_and_model(tmp_path: Path) -> None:
    with FaultyServer(answering(schema=True, logprobs=True)) as server:
        first = await probe_capabilities(there(server), data_dir=tmp_path, deadlines=QUICK)
        assert len(server.exchanges) == 2
        window = Capabilities(context_tokens=4096)
        again = await probe_capabilities(there(server), data_dir=tmp_path, known=window, deadlines=QUICK)
        assert len(server.exchanges) == 2
        await probe_capabilities(there(server, "other"), data_dir=tmp_path, deadlines=QUICK)
        assert len(server.exchanges) == 4
        await probe_capabilities(there(server), data_dir=tmp_path, deadlines=QUICK, refresh=True)
        assert len(server.exchanges) == 6
    assert again == first.model_copy(update={"context_tokens": 4096})
    assert len(json.loads((tmp_path / MEMORY_FILE).read_text())) == 2


@pytest.mark.parametrize("spoilt", ["", "[]", '{"a": {"b": 1}}', "\x00"])
async def test_a_spoilt_memory_is_asked_anew(tmp_path: Path, spoilt: str) -> None:
    (tmp_path / MEMORY_FILE).write_text(spoilt)
    with FaultyServer(answering(schema=True, logprobs=False)) as server:
        assert (await probe_capabilities(there(server), data_dir=tmp_path, deadlines=QUICK)).json_schema


async def test_a_server_that_cannot_be_asked_is_not_remembered(tmp_path: Path) -> None:
    with closed_port() as port:
        gone = Endpoint(name="Gone", provider="openai", base_url=f"http://127.0.0.1:{port}/v1", model="m")
        with pytest.raises(LlmError):
            await probe_capabilities(gone, data_dir=tmp_path, deadlines=QUICK)
    assert not (tmp_path / MEMORY_FILE).exists()
