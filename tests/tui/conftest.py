"""The whole program on a virtual terminal: real bank, real store in a temporary folder, no model unless given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from time import monotonic

import pytest
from textual.pilot import Pilot

from question_bank import Bank, load_bank
from tutor.llm.choose import ModelChoice
from tutor.settings import Settings, load_settings
from tutor.store import Store, open_store
from tutor.tui.app import TutorApp
from tutor.tui.screens.interview import InterviewScreen

TutorPilot = Pilot[int]
OpenTutor = Callable[..., AbstractAsyncContextManager[TutorPilot]]
EXERCISE = "serving/prefill-decode/completion-time"
# For the numbers of seed 0: 100 ms queue, 40 ms preprocessing, 160 ms prefill, 31 tokens 25 ms apart.
FULL_ANSWER = (
    "TTFT is 100 + 40 + 160 = 300 ms. 31 tokens leave 30 gaps, so completion = 300 + 30 * 25 = 1050 ms. "
    "A doubled queue adds 100 ms to both while ITL stays at 25 ms. I would log queue duration on the server; "
    "if it did not rise by 100 ms I would be wrong."
)

# Code reads the numbers of any language; the evidence is in English words, so the rest of this stays unsure.
GERMAN_ANSWER = (
    "Das erste Token kommt nach 300 ms, das letzte nach 1050 ms. Eine doppelt so lange Warteschlange verschiebt beide "
    "um 100 ms, die Abstände zwischen den Token bleiben gleich. Ich würde die Wartezeit auf dem Server messen."
)


async def no_model(settings: Settings, said: Callable[[str], None]) -> ModelChoice:
    """A machine without any model."""
    said("Looking for a model server.")
    return ModelChoice(None, "No model server was found on this machine.")


@pytest.fixture(scope="session")
def bank() -> Bank:
    return load_bank()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"data_dir": tmp_path / "data"}, {})


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    with open_store(settings.store_file) as opened:
        yield opened


@pytest.fixture
def open_tutor(settings: Settings, store: Store, bank: Bank, monkeypatch: pytest.MonkeyPatch) -> OpenTutor:
    """Open the program at a size; every draw of numbers is the lesson's own (seed 0)."""
    monkeypatch.setattr("tutor.tui.app.new_seed", lambda: 0)

    @asynccontextmanager
    async def opened(
        size: tuple[int, int] = (80, 24),
        choose: Callable[..., Awaitable[ModelChoice]] = no_model,
        used_settings: Settings | None = None,
    ) -> AsyncIterator[TutorPilot]:
        app = TutorApp(used_settings or settings, store, bank, choose_model=choose)
        async with app.run_test(size=size, notifications=True, tooltips=True) as pilot:
            await until(lambda: app.model.settled and bool(app.screen.query("#places")))
            await pilot.pause()
            yield pilot

    return opened


async def until(condition: Callable[[], bool], limit_s: float = 10.0) -> None:
    """Wait for a condition; the virtual terminal's own pause is only a guess."""
    end = monotonic() + limit_s
    while not condition():
        assert monotonic() < end, "waited in vain"
        await asyncio.sleep(0.02)


def interview_of(pilot: TutorPilot) -> InterviewScreen:
    """The interview screen, which must be the one in front."""
    screen = pilot.app.screen
    assert isinstance(screen, InterviewScreen)
    return screen


async def start_item(pilot: TutorPilot, item_id: str = EXERCISE) -> InterviewScreen:
    """Begin one item alone."""
    app = pilot.app
    assert isinstance(app, TutorApp)
    app.start_item(item_id)
    await until(lambda: isinstance(app.screen, InterviewScreen) and bool(app.screen.query("#answer")))
    await pilot.pause()
    return interview_of(pilot)


async def paste(pilot: TutorPilot, text: str) -> None:
    """What a terminal sends for a paste."""
    from textual import events

    focused = pilot.app.focused
    assert focused is not None
    focused.post_message(events.Paste(text))
    await pilot.pause()


async def answer(pilot: TutorPilot, text: str, confidence: str = "2") -> InterviewScreen:
    """Say how sure, paste the answer, hand it in, and wait for the grade."""
    screen = interview_of(pilot)
    await pilot.press(confidence)
    await until(lambda: screen.focused is screen.stage.answer)
    if text:
        await paste(pilot, text)
    await pilot.press("ctrl+s")
    await until(lambda: screen.session.phase not in ("confidence", "answering", "grading"))
    await pilot.pause()
    return screen


def text_of(pilot: TutorPilot) -> str:
    """All that is on the terminal now, line by line."""
    rows = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in rows)
