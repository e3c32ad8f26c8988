"""What a candidate sees when the model's server misbehaves: the whole grading path against a real HTTP server."""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

from question_bank import Bank, build_question, load_bank
from tests.llm.faulty_server import Behaviour, Exchange, FaultyServer, closed_port, says, status
from tutor.grader import Grader
from tutor.grading import Grade
from tutor.llm.choose import OpenModel
from tutor.llm.types import Deadlines, Endpoint, ModelInfo, ModelSettings
from tutor.settings import Settings

# Each fault waits for a limit to pass, so all of them together take too long for the default suite.
pytestmark = pytest.mark.slow
ITEM = "serving/prefill-decode/completion-time"
ANSWER = (
    "TTFT is 100 + 40 + 160 = 300 ms. 31 tokens leave 30 gaps, so completion = 300 + 30 * 25 = 1050 ms. "
    "A doubled queue adds 100 ms to both while ITL stays at 25 ms. I would log queue duration on the server; "
    "if it did not rise by 100 ms I would be wrong."
)
SHORT = Deadlines(connect_s=0.3, first_token_s=0.15, idle_s=0.15, total_s=0.6)
TABLE = Path(__file__).parents[2] / "docs" / "model-faults.md"


def silent(exchange: Exchange) -> None:
    """Not even a status line: a load that outlasts the limit, both scaled down."""
    exchange.wait_for_hang_up()


def silent_stream(exchange: Exchange) -> None:
    exchange.begin_stream()
    exchange.wait_for_hang_up()


def silent_amid(exchange: Exchange) -> None:
    exchange.begin_stream()
    exchange.chunk("y")
    exchange.wait_for_hang_up()


def cut(exchange: Exchange) -> None:
    exchange.begin_stream()
    exchange.chunk("ye")


def endless(exchange: Exchange) -> None:
    exchange.begin_stream()
    while True:
        exchange.chunk("a ")
        time.sleep(0.05)


def endless_error(exchange: Exchange) -> None:
    exchange.send("HTTP/1.1 400 X\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")
    while True:
        exchange.send(b"no " * 8000)
        time.sleep(0.01)


def raw(data: bytes) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        exchange.begin_stream()
        exchange.send(data)

    return behave


def thinks(exchange: Exchange) -> None:
    exchange.begin_stream()
    exchange.chunk(None, None, delta={"reasoning_content": "hm, so"})
    exchange.end_stream()


def probability(value: float) -> Behaviour:
    entry = {"token": "perhaps", "logprob": value, "bytes": None, "top_logprobs": []}
    return says("perhaps", logprobs={"content": [entry]})


def constrained(reply: str) -> Behaviour:
    """A server that seemed to honour a schema when it was tried, and does not keep to it afterwards."""

    def behave(exchange: Exchange) -> None:
        probed = "colour" in json.dumps(exchange.body.get("response_format", {}))
        says('{"colour": "teal"}' if probed else reply)(exchange)

    return behave


FAULTS: dict[str, Behaviour] = {
    "401": status(401, "bad key"),
    "403": status(403, "not yours"),
    "404 model": status(404, "model 'served' not found"),
    "429 with Retry-After": status(429, "slow down", ["Retry-After: 60"]),
    "400": status(400, "unknown field"),
    "500": status(500, "out of luck"),
    "501": status(501, "not here"),
    "503 while loading": status(503, "Loading model"),
    "slow load": silent,
    "stall before tokens": silent_stream,
    "stall amid tokens": silent_amid,
    "cut stream": cut,
    "empty content": says(),
    "length stop": says("It is because", finish="length"),
    "only reasoning tokens": thinks,
    "only a thinking block": says("<think>hm</think>"),
    "aborted by the server": says("ye", finish="abort"),
    "prose instead of JSON": says("Well, that depends on what you mean."),
    "fenced JSON": constrained('```json\n{"verdict": "yes"}\n```'),
    "wrong types": constrained('{"verdict": 1}'),
    "verdict outside the set": constrained('{"verdict": "maybe"}'),
    "nested JSON": constrained("[" * 20000),
    "NaN log-probability": probability(float("nan")),
    "infinite log-probability": probability(float("-inf")),
    "context too small": status(400, "This model's maximum context length is 512 tokens."),
    "a web page": lambda exchange: exchange.respond(200, "<html>Welcome</html>", kind="text/html"),
    "garbage in the stream": raw(b"data: {not json\n\n"),
    "invalid UTF-8": raw(b'data: {"choices": [{"delta": {"content": "\xff\xfe"}}]}\n\ndata: [DONE]\n\n'),
    "endless stream": endless,
    "endless error": endless_error,
    "huge reply": says("maybe " * 200_000),
}
"""Every fault by its name in the table; "refused connection" and "DNS" need no server."""
NO_SERVER = ("refused connection", "DNS")


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank()


def grader_at(url: str, bank: Bank, folder: Path, limits: Deadlines = SHORT) -> Grader:
    endpoint = Endpoint(name="Test server", provider="openai", base_url=url, model="served")
    settings = Settings(data_dir=folder, model=ModelSettings(deadlines=limits))
    return Grader(settings, bank, OpenModel(ModelInfo(endpoint=endpoint, source="named in the settings")))


async def graded(url: str, bank: Bank, folder: Path) -> Grade:
    question = build_question(bank.item(ITEM), 0)
    return await grader_at(url, bank, folder).grade(question, ANSWER)


def nothing_invented(grade: Grade) -> str:
    """Code's verdict on the result stands, the rest is not graded for one stated reason, which is returned."""
    assert grade.criterion("result").verdict == "met"
    assert grade.criterion("result").decided_by == "code"
    others = [one for one in grade.criteria if one.criterion != "result"]
    assert {one.verdict for one in others if one.decided_by != "evidence"} == {"not_graded"}
    reasons = {one.reason.split("; evidence:")[0] for one in others if one.verdict == "not_graded"}
    assert len(reasons) == 1
    return reasons.pop()


def sentence_in_table(name: str) -> str:
    rows: list[tuple[str, str]] = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", TABLE.read_text("utf-8"), re.MULTILINE)
    return dict(rows)[name]


async def check(name: str, url: str, bank: Bank, folder: Path) -> None:
    reason = nothing_invented(await graded(url, bank, folder)).replace(url, "ADDRESS")
    assert reason == sentence_in_table(name)


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_told_and_no_grade_is_invented(name: str, bank: Bank, tmp_path: Path) -> None:
    with FaultyServer(FAULTS[name]) as server:
        await check(name, server.base_url, bank, tmp_path)


async def test_a_server_that_is_not_there(bank: Bank, tmp_path: Path) -> None:
    with closed_port() as port:
        await check("refused connection", f"http://127.0.0.1:{port}/v1", bank, tmp_path)
    await check("DNS", "http://no.such.host.invalid:1/v1", bank, tmp_path)


@pytest.mark.parametrize("name", ["slow load", "stall before tokens", "stall amid tokens", "endless stream"])
async def test_cancelling_takes_less_than_a_second(name: str, bank: Bank, tmp_path: Path) -> None:
    question = build_question(bank.item(ITEM), 0)
    with FaultyServer(FAULTS[name]) as server:
        task = asyncio.create_task(grader_at(server.base_url, bank, tmp_path, Deadlines()).grade(question, ANSWER))
        while not server.exchanges:
            await asyncio.sleep(0.01)
        began = time.monotonic()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert time.monotonic() - began < 1


def test_the_table_lists_the_faults_that_are_tried() -> None:
    rows = re.findall(r"^\| ([^|]+?) \| [^|]+? \|$", TABLE.read_text("utf-8"), re.MULTILINE)
    assert rows[2:] == [*NO_SERVER, *FAULTS]
    assert len(FAULTS) >= 25
