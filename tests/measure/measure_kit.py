"""What the tests of measuring share: small loads, and a completions server that misbehaves on order."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence

import httpx

from sim import Scenario, parse_scenario
from tests.llm.faulty_server import Behaviour, Exchange, FaultyServer
from tutor.measure.plan import plan_load
from tutor.measure.prompts import Prompts
from tutor.measure.run import Measured, run_load
from tutor.measure.send import Target


class CompletionsServer(FaultyServer):
    """Answers the n-th completion with the n-th behaviour; it lists one model, and has neither tokens nor counters."""

    def __init__(self, *behaviours: Behaviour) -> None:
        super().__init__(*behaviours)
        self.completions = 0
        self._count = threading.Lock()

    def _behave(self, exchange: Exchange) -> None:
        if exchange.path == "/v1/models":
            exchange.respond(200, json.dumps({"data": [{"id": "served"}]}))
        elif exchange.path != "/v1/completions":
            exchange.respond(404, "{}")
        elif not exchange.body.get("stream"):
            exchange.respond(200, json.dumps({"usage": {"prompt_tokens": 30}}))
        else:
            with self._count:
                self.completions += 1
                number = self.completions
            self.behaviours[min(number, len(self.behaviours)) - 1](exchange)


def load(*classes: dict[str, object], seed: int = 5) -> Scenario:
    """A scenario whose server is of no account."""
    data = {
        "name": "A small load",
        "seed": seed,
        "classes": list(classes),
        "server": {"policy": "vllm", "max_seqs": 2, "token_budget": 512, "prefix_cache": False},
        "step_cost": {"kind": "linear", "base_s": 0.01},
    }
    return parse_scenario(data, "test")


def chats(times_s: Sequence[float], name: str = "chat", more: dict[str, object] | None = None) -> dict[str, object]:
    """A class with requests of 8 prompt and 4 output tokens at these times."""
    arrivals = {"kind": "times", "times_s": list(times_s)}
    return {"name": name, "prompt_tokens": 8, "output_tokens": 4, "arrivals": arrivals, **(more or {})}


def streams(tokens: int, gap_s: float = 0.0, *, first_s: float = 0.0, then: Callable[[Exchange], None] | None = None,
            ) -> Behaviour:  # fmt: skip
    """A completions stream of so many tokens; `then` takes over instead of a proper end."""

    def behave(exchange: Exchange) -> None:
        exchange.begin_stream()
        time.sleep(first_s)
        for number in range(tokens):
            if number:
                time.sleep(gap_s)
            exchange.send(f"data: {json.dumps({'choices': [{'text': f' t{number}', 'finish_reason': None}]})}\n\n")
        if then is not None:
            then(exchange)
            return
        exchange.send(f"data: {json.dumps({'choices': [{'text': '', 'finish_reason': 'length'}]})}\n\n")
        usage = {"prompt_tokens": 8, "completion_tokens": tokens}
        exchange.send(f"data: {json.dumps({'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n")

    return behave


def measure(
    server: FaultyServer, scenario: Scenario, *, stall_s: float = 5.0, stop_after_s: float | None = None
) -> Measured:
    """Send the load to a server on loopback."""

    async def go() -> Measured:
        stop = asyncio.Event()
        if stop_after_s is not None:
            asyncio.get_running_loop().call_later(stop_after_s, stop.set)
        async with httpx.AsyncClient(trust_env=False) as client:
            target = Target(server.base_url, "served", stall_s)
            return await run_load(plan_load(scenario), target, Prompts(1), client, stop=stop)

    return asyncio.run(go())
