"""Asking the model for prose, sentence by sentence as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from tutor.coach.stream import Sentences
from tutor.llm.complete import complete
from tutor.llm.types import Completion, Deadlines, Endpoint, Message, Request

MAX_TOKENS = 320


async def sentences_of(
    endpoint: Endpoint, messages: tuple[Message, ...], deadlines: Deadlines, max_tokens: int = MAX_TOKENS
) -> AsyncIterator[str]:
    """The sentences of one reply. Closing the iterator stops the model.

    Raises:
        LlmError: the model cannot be asked, or broke off; sentences given until then stand.
    """
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    whole = Sentences()

    async def ask() -> Completion:
        try:
            request = Request(messages=messages, max_tokens=max_tokens, temperature=0.0)
            return await complete(endpoint, request, deadlines, on_text=queue.put_nowait)
        finally:
            queue.put_nowait(None)

    task = asyncio.create_task(ask())
    try:
        while (piece := await queue.get()) is not None:
            for sentence in whole.add(piece):
                yield sentence
        for sentence in whole.end():
            yield sentence
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
