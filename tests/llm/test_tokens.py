"""What is sent is counted first, so that a server never cuts a prompt in silence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.faulty_server import FaultyServer
from tutor.llm.errors import LlmError
from tutor.llm.tokens import count_tokens_upper_bound, ensure_fits, estimate_tokens, prompt_tokens
from tutor.llm.types import Capabilities, Endpoint, Provider, Request


def request_of(text: str, max_tokens: int = 100) -> Request:
    return Request(messages=({"role": "user", "content": text},), max_tokens=max_tokens)


def somewhere(provider: Provider, base_url: str = "http://127.0.0.1:9/v1") -> Endpoint:
    return Endpoint(name="x", provider=provider, base_url=base_url, model="m")


@given(st.text())
def test_the_estimate_never_exceeds_the_bound(text: str) -> None:
    assert 0 <= estimate_tokens(text) <= count_tokens_upper_bound(text)


@given(st.text(), st.text())
def test_the_bound_adds_up(left: str, right: str) -> None:
    assert count_tokens_upper_bound(left + right) == count_tokens_upper_bound(left) + count_tokens_upper_bound(right)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("time", 1), ("times", 2), ("1,050 ms", 6), ("≈", 3), ("a\n\nb", 5)]
)
def test_the_estimate_counts_digits_and_signs_one_by_one(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


async def test_a_short_text_fits_without_asking() -> None:
    await ensure_fits(somewhere("vllm"), Capabilities(context_tokens=4096), request_of("short"))


async def test_an_unknown_window_is_left_to_the_server() -> None:
    await ensure_fits(somewhere("openai"), Capabilities(), request_of("x" * 10**6))


async def test_a_long_text_is_refused_with_the_numbers() -> None:
    with pytest.raises(
        LlmError, match=r"about 10,012 tokens and 100 for the reply do not fit its window of 4,096"
    ) as caught:
        await ensure_fits(somewhere("ollama"), Capabilities(context_tokens=4096), request_of("word" * 10_000))
    assert caught.value.kind == "context"


async def test_vllm_is_asked_for_its_own_count() -> None:
    with FaultyServer(routes={"/tokenize": {"count": 3000}}) as server:
        there = somewhere("vllm", server.base_url)
        assert await prompt_tokens(there, request_of("word" * 5000)) == (3000, True)
        await ensure_fits(there, Capabilities(context_tokens=3100), request_of("word" * 5000))
        with pytest.raises(LlmError, match="3,000 tokens and 101"):
            await ensure_fits(there, Capabilities(context_tokens=3100), request_of("word" * 5000, 101))


@pytest.mark.parametrize("answer", [404, "<html>", {"count": None}, [], {"count": -1}])
async def test_a_server_that_cannot_count_is_estimated(answer: object) -> None:
    with FaultyServer(routes={"/tokenize": answer}) as server:
        assert await prompt_tokens(somewhere("vllm", server.base_url), request_of("time")) == (13, False)
