"""The Model screen and the title bar's words about the model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.conftest import OpenTutor, text_of, until
from tutor.errors import TutorError
from tutor.llm import files, servers
from tutor.llm.choose import ModelChoice
from tutor.llm.progress import Cancelled, Progress
from tutor.settings import Settings
from tutor.tui.app import TutorApp
from tutor.tui.screens.model import ModelScreen


@pytest.fixture(autouse=True)
def _no_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(settings: object) -> servers.Survey:
        return servers.Survey(models=(), notes=("http://box:1/v1, named [/] in the settings, does not answer.",))

    monkeypatch.setattr(servers, "survey", nothing)


async def test_it_says_what_is_missing_and_how_to_get_it(open_tutor: OpenTutor) -> None:
    async with open_tutor((100, 45)) as pilot:
        await pilot.press("m")
        await until(lambda: "named [/] in the settings" in text_of(pilot))
        text = text_of(pilot)
        assert "None. No model server was found" in text
        assert "1.12 GB" in text
        assert "vllm serve" in text
        assert "ollama pull" in text


async def test_fetching_shows_progress_and_can_be_stopped(
    open_tutor: OpenTutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(
        entry: object, directory: Path, on_progress: Callable[[Progress], None], cancelled: Callable[[], bool]
    ) -> Path:
        import time

        done = 0
        while not cancelled():
            done += 1_000_000
            on_progress(Progress("fetching", done, 1_117_320_768))
            time.sleep(0.02)
        raise Cancelled

    monkeypatch.setattr(files, "fetch", fetch)
    async with open_tutor((100, 45)) as pilot:
        await pilot.press("m")
        await until(lambda: isinstance(pilot.app.screen, ModelScreen))
        await pilot.pause()
        await pilot.press("g")
        await until(lambda: "of 1,117.321 MB" in text_of(pilot))
        await pilot.click("#stop")
        await until(lambda: "what has arrived is kept" in text_of(pilot))


async def test_a_fetch_that_fails_says_why_in_place(open_tutor: OpenTutor, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(*_: object) -> Path:
        raise TutorError("No room on [/] disk.", hint="Free 1.2 GB.")

    monkeypatch.setattr(files, "fetch", fetch)
    async with open_tutor((100, 45)) as pilot:
        await pilot.press("m")
        await until(lambda: isinstance(pilot.app.screen, ModelScreen))
        await pilot.pause()
        await pilot.press("g")
        await until(lambda: "No room on [/] disk. Free 1.2 GB." in text_of(pilot))


async def test_the_title_bar_counts_while_a_model_is_loading(open_tutor: OpenTutor) -> None:
    release = asyncio.Event()
    loading = asyncio.Event()

    async def choose(settings: Settings, said: Callable[[str], None]) -> ModelChoice:
        said("Loading big[/]model.gguf.")
        loading.set()
        await release.wait()
        return ModelChoice(None, "It did not start.")

    async with asyncio.timeout(20):
        opening = asyncio.create_task(_hold(open_tutor, choose, loading, release))
        await opening


async def _hold(open_tutor: OpenTutor, choose: object, loading: asyncio.Event, release: asyncio.Event) -> None:
    async def watch() -> None:
        await loading.wait()
        await asyncio.sleep(1.2)
        release.set()

    watcher = asyncio.create_task(watch())
    async with open_tutor((80, 24), choose) as pilot:
        app = pilot.app
        assert isinstance(app, TutorApp)
        assert app.model.status == "none"
        await until(lambda: "It did not start." in text_of(pilot))
    await watcher
