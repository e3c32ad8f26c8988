"""The program in a real headless Chromium: an answer typed and graded, the simulator run, two people apart."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, WebSocket, async_playwright

from tests.tui.conftest import FULL_ANSWER
from tutor.serve.users import add_user
from tutor.store import open_store

CHROMIUM = os.environ.get("TUTOR_TEST_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")
pytestmark = pytest.mark.slow


class Window:
    """One browser's page, and what its terminal was sent."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.sent = ""
        page.on("websocket", self._socket)

    def _socket(self, opened: WebSocket) -> None:
        def take(data: bytes | str) -> None:
            text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
            self.sent += ESCAPES.sub(" ", text)

        opened.on("framereceived", take)

    async def shows(self, text: str, limit_s: float = 60) -> None:
        """Wait until the terminal was sent this text; spaces may have been jumped over."""
        wanted = re.compile(r"\s*".join(re.escape(word) for word in text.split()))
        async with asyncio.timeout(limit_s):
            while not wanted.search(self.sent):
                await asyncio.sleep(0.1)

    async def type(self, text: str) -> None:
        await self.page.keyboard.type(text)

    async def leads_to(self, key: str, text: str) -> None:
        """Press a key until the terminal shows what it leads to: a busy program may not listen to it yet."""
        for _ in range(5):
            await self.press(key)
            with suppress(TimeoutError):
                await self.shows(text, 15)
                return
        raise AssertionError(f"{key} did not lead to {text!r}; sent last: {self.sent[-500:]!r}")

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)
            await asyncio.sleep(0.15)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Served:
    """`tutor serve` in a process of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.data, self.port = folder / "data", free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = ["--no-model", "--data-dir", str(self.data), "serve", "--port", str(self.port), *arguments]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tutor", *command], stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.startswith("Open "):
                break

    def children(self) -> list[int]:
        """Programs that it has running."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text("utf-8").split()]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=20)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    one = Served(tmp_path)
    yield one
    if one.process.poll() is None:
        one.process.kill()
        one.process.wait()


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


async def open_window(browser: Browser, url: str, token: str = "") -> Window:
    """A browser profile of its own."""
    context = await browser.new_context(viewport={"width": 1100, "height": 700})
    window = Window(await context.new_page())
    await window.page.goto(url)
    if token:
        await window.page.fill("#token", token)
        await window.page.click("button")
    await window.page.wait_for_selector("body.-first-byte", timeout=30_000)
    await window.shows("LLM inference serving")
    await window.page.click("#terminal")
    return window


async def start_exercise(window: Window) -> None:
    """Find the first exercise of the lesson and say how sure one is."""
    await window.press("/")
    await window.shows("Find")
    await window.type("completion time")
    await window.shows("1 item of")
    await window.leads_to("Enter", "How sure are you")
    await window.press("2")
    await asyncio.sleep(2)


def kinds(data_dir: Path) -> list[str]:
    """Kinds of the events that are stored."""
    with open_store(data_dir / "tutor.db") as store:
        return [event.kind for stream in store.streams() for event in store.events(stream)]


async def test_an_answer_is_typed_graded_and_simulated(served: Served) -> None:
    async with chromium() as browser:
        window = await open_window(browser, served.url)
        await start_exercise(window)
        await window.type(FULL_ANSWER)
        await window.shows("I would be wrong")
        await window.leads_to("Control+s", "of 4")
        await asyncio.sleep(1)
        await window.leads_to("F2", "You predict")
        await asyncio.sleep(1)
        for _ in range(4):
            # The numbers are drawn anew, and where the answer's do not fit they are not taken over: the first field
            # that is empty has the focus then.
            await window.press("Control+s")
            with suppress(TimeoutError):
                await window.shows("simulated", 10)
                break
            await window.type("300")
        await window.shows("simulated", 5)
        (child,) = served.children()
    async with asyncio.timeout(15):
        while served.children():
            await asyncio.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert served.end() == 0
    assert {"answer.submitted", "attempt.graded", "simulation.recorded"} <= set(kinds(served.data))


async def test_a_closed_window_keeps_what_was_typed(served: Served) -> None:
    async with chromium() as browser:
        window = await open_window(browser, served.url)
        await start_exercise(window)
        await window.type("a sentence that nobody handed in")
        await window.shows("nobody handed in")
    async with asyncio.timeout(15):
        while served.children():
            await asyncio.sleep(0.1)
    async with chromium() as browser:
        window = await open_window(browser, served.url)
        await window.press("c")
        await window.shows("a sentence that nobody handed in")


async def test_two_people_see_nothing_of_each_other(tmp_path: Path) -> None:
    file = tmp_path / "people"
    tokens = {name: add_user(file, name) for name in ("anna", "ben")}
    served = Served(tmp_path, "--users", str(file))
    try:
        async with chromium() as browser:
            anna, ben = [await open_window(browser, served.url, tokens[name]) for name in ("anna", "ben")]
            await asyncio.gather(start_exercise(anna), start_exercise(ben))
            await anna.type("the first one's secret thought")
            await ben.type("quite another matter")
            await anna.shows("secret thought")
            await ben.shows("another matter")
            await asyncio.sleep(1.5)
            assert len(served.children()) == 2
            wrong = await (await browser.new_context()).new_page()
            await wrong.goto(served.url)
            await wrong.fill("#token", "guess")
            await wrong.click("button")
            await wrong.wait_for_selector(".problem")
            children = served.children()
            assert served.end() == 0
        for child in children:
            with pytest.raises(ProcessLookupError):
                os.kill(child, 0)
        assert "secret thought" not in ben.sent
        assert "another matter" not in anna.sent
        drafts = {}
        for name in ("anna", "ben"):
            with open_store(served.data / "users" / name / "tutor.db") as store:
                drafts[name] = [draft.text for draft in store.drafts()]
        assert drafts["anna"] == ["the first one's secret thought"]
        assert drafts["ben"] == ["quite another matter"]
    finally:
        if served.process.poll() is None:
            served.process.kill()
            served.process.wait()
