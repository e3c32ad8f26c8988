"""The store fails while one types: a sentence with the remedy, and the text stays until it can be handed in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from question_bank import Bank
from tests.tui.conftest import OpenTutor, TutorPilot, no_model, start_item, text_of, until
from tutor.settings import Settings
from tutor.store import Store
from tutor.tui.app import TutorApp
from tutor.tui.screens.drill import DrillScreen
from tutor.tui.screens.home import HomeScreen


def read_only(store: Store) -> Callable[[], object]:
    """Every write is refused, as for a file without the right to write."""
    store._db.conn.execute("PRAGMA query_only = ON")
    return lambda: store._db.conn.execute("PRAGMA query_only = OFF")


def removed(store: Store) -> Callable[[], object]:
    """The file is moved away while it is open, and back."""
    aside = store.path.with_name("aside.db")
    store.path.rename(aside)
    return lambda: aside.rename(store.path)


FAULTS = [
    pytest.param(read_only, "cannot be written", id="read-only"),
    pytest.param(removed, "removed or replaced while it was in use", id="removed"),
]
Break = Callable[[Store], Callable[[], object]]


def flat(pilot: TutorPilot) -> str:
    """What is on the terminal, wrapped lines joined."""
    return " ".join(text_of(pilot).split())


def written_aside(store: Store) -> list[Path]:
    """Files that hold what the store did not take."""
    return sorted(store.path.parent.glob("tutor-unsaved-*.txt"))


@pytest.mark.parametrize(("breaks", "said"), FAULTS)
async def test_an_interview_keeps_the_text_and_hands_it_in_once_the_store_works(
    open_tutor: OpenTutor, store: Store, breaks: Break, said: str
) -> None:
    async with open_tutor((100, 30)) as pilot:
        screen = await start_item(pilot)
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        await pilot.press(*"kept")
        screen.keep()
        mend = breaks(store)
        await pilot.press(*" more")
        screen.keep()
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert said in flat(pilot)
        assert screen.session.phase == "answering"
        assert screen.stage.answer.text == "kept more"
        mend()
        await pilot.press("ctrl+s")
        await until(lambda: screen.session.phase not in ("answering", "grading"))
        assert [event.payload["text"] for event in store.events(kind="answer.submitted")] == ["kept more"]


@pytest.mark.parametrize(("breaks", "said"), FAULTS)
async def test_leaving_an_interview_that_cannot_be_stored_puts_the_text_into_a_file_first(
    open_tutor: OpenTutor, store: Store, breaks: Break, said: str
) -> None:
    async with open_tutor((100, 30)) as pilot:
        screen = await start_item(pilot)
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        breaks(store)
        await pilot.press(*"not stored")
        await pilot.press("escape")
        await pilot.pause()
        assert pilot.app.screen is screen
        (path,) = written_aside(store)
        assert path.read_text(encoding="utf-8") == "not stored"
        assert str(path) in "".join(text_of(pilot).split())
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))
        assert written_aside(store) == [path]


async def test_quitting_asks_once_when_something_could_not_be_stored(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor((100, 30)) as pilot:
        screen = await start_item(pilot)
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        read_only(store)
        await pilot.press(*"words")
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert pilot.app.is_running
        assert "Leaving again leaves" in flat(pilot)
        assert [path.read_text(encoding="utf-8") for path in written_aside(store)] == ["words"]
        await pilot.press("ctrl+q")
        await until(lambda: pilot.app._exit)


# -- drills --------------------------------------------------------------------------------------------------------

OpenDrill = Callable[..., AbstractAsyncContextManager[tuple[TutorPilot, DrillScreen]]]


@pytest.fixture
def open_drill(settings: Settings, store: Store, bank: Bank) -> OpenDrill:
    """The drills, with exercises answered by numbers only."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[TutorPilot, DrillScreen]]:
        app = TutorApp(settings, store, bank, choose_model=no_model, clock=lambda: datetime(2026, 3, 2, 9, tzinfo=UTC))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(lambda: app.model.settled and bool(app.screen.query("#places")))
            app.start_drills(("exercise",))
            await until(lambda: isinstance(app.screen, DrillScreen) and bool(app.screen.query("#summary-text")))
            await pilot.pause()
            assert isinstance(app.screen, DrillScreen)
            yield pilot, app.screen

    return opened


@pytest.mark.parametrize(("breaks", "said"), FAULTS)
async def test_a_drill_keeps_the_text_and_hands_it_in_once_the_store_works(
    open_drill: OpenDrill, store: Store, breaks: Break, said: str
) -> None:
    async with open_drill() as (pilot, screen):
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        await pilot.press(*"300 ms")
        mend = breaks(store)
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert said in flat(pilot)
        assert screen.phase == "answering"
        assert screen.stage.answer.text == "300 ms"
        mend()
        await pilot.press("ctrl+s")
        await until(lambda: screen.phase == "graded")
        (review,) = store.events(kind="drill.reviewed")
        assert review.payload["answer"] == "300 ms"


@pytest.mark.parametrize(("breaks", "said"), FAULTS)
async def test_leaving_a_drill_that_cannot_be_stored_puts_the_text_into_a_file_first(
    open_drill: OpenDrill, store: Store, breaks: Break, said: str
) -> None:
    async with open_drill() as (pilot, screen):
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        breaks(store)
        await pilot.press(*"12 GiB")
        await pilot.press("escape")
        await pilot.pause()
        assert pilot.app.screen is screen
        assert [path.read_text(encoding="utf-8") for path in written_aside(store)] == ["12 GiB"]
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))


async def test_the_other_keys_of_a_drill_only_say_that_nothing_was_stored(open_drill: OpenDrill, store: Store) -> None:
    async with open_drill() as (pilot, screen):
        item_id = screen.shown.item.id
        await pilot.press("o")
        await until(lambda: screen.focused is screen.note_editor)
        await pilot.press(*"my note")
        mend = read_only(store)
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "cannot be written" in flat(pilot)
        assert screen.note_editor.text == "my note"
        assert screen.focused is screen.note_editor
        mend()
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert screen.note_text == "my note"
        read_only(store)
        for key in ("t", "x", "u"):  # tomorrow, suspend, undo
            await pilot.press(key)
            await pilot.pause()
            assert "cannot be written" in flat(pilot)
            assert screen.shown.item.id == item_id


async def test_a_store_that_is_gone_at_the_start_is_a_sentence_on_the_first_screen(
    settings: Settings, store: Store, bank: Bank
) -> None:
    store.close()
    store.path.unlink()
    app = TutorApp(settings, None, bank, choose_model=no_model)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(lambda: app.model.settled)
        await until(lambda: "has vanished" in flat(pilot) and "to begin with nothing" in flat(pilot))
    assert not store.path.exists()
