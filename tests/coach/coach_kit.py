"""What the tests of the tutor's talk share: a server that replies with given text, and a collector of replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache

from question_bank import Bank, build_question, load_bank
from tests.llm.faulty_server import FaultyServer, says
from tutor.coach.material import Material
from tutor.coach.talk import Asked, Said, reply
from tutor.llm.types import Endpoint

EXERCISE = "serving/prefill-decode/completion-time"
LESSON = "serving/prefill-decode"


@cache
def bank() -> Bank:
    return load_bank()


@cache
def material() -> Material:
    return Material.of(bank())


def endpoint(server: FaultyServer) -> Endpoint:
    return Endpoint(name="A server", provider="openai", base_url=server.base_url, model="served")


def speaking(text: str) -> FaultyServer:
    """A model that says this to whatever it is asked, a few characters at a time."""
    return FaultyServer(says(*(text[at : at + 7] for at in range(0, len(text), 7))))


def hints(count: int = 4) -> Callable[[], str | None]:
    left = [f"hint number {n}" for n in ("one", "two", "three", "four")[:count]]
    return lambda: left.pop(0) if left else None


def ask(
    message: str, server: FaultyServer | None, *, answer: str | None = None, item: str = EXERCISE,
    take_hint: Callable[[], str | None] | None = None,
) -> list[Said]:  # fmt: skip
    """All that is said."""
    question = build_question(bank().item(item), 0)
    asked = Asked(question, message, LESSON, answer)

    async def go() -> list[Said]:
        model = endpoint(server) if server is not None else None
        return [said async for said in reply(asked, material(), model, take_hint or hints())]

    return asyncio.run(go())
