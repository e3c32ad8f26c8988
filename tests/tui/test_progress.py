"""The progress screen: each page with and without answers, an interview day, sizes; the texts by hand arithmetic."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len
from textual.widgets import Input

from question_bank import Bank
from tests.tui.conftest import TutorPilot, no_model, text_of, until
from tutor.drills import DrillPlan, Drills, Outcome, Rating
from tutor.drills.calibration import calibration_of
from tutor.drills.mastery import TopicMastery
from tutor.reports.progress import depths, verdict_words
from tutor.settings import Settings
from tutor.store import Store
from tutor.tui.app import TutorApp
from tutor.tui.screens.home import HomeScreen
from tutor.tui.screens.progress import PAGES, ProgressScreen
from tutor.tui.screens.progress_words import (
    calibration_content,
    level_picture,
    share_bar,
    topics_content,
)

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
OpenProgress = Callable[..., AbstractAsyncContextManager[tuple[TutorPilot, ProgressScreen]]]


@pytest.fixture
def open_progress(settings: Settings, store: Store, bank: Bank) -> OpenProgress:
    """Open the program at the progress screen, at a time."""

    @asynccontextmanager
    async def opened(
        now: datetime = START, size: tuple[int, int] = (80, 24)
    ) -> AsyncIterator[tuple[TutorPilot, ProgressScreen]]:
        app = TutorApp(settings, store, bank, choose_model=no_model, clock=lambda: now)
        async with app.run_test(size=size, tooltips=True) as pilot:
            await until(lambda: app.model.settled and bool(app.screen.query("#places")))
            await pilot.press("p")
            await until(lambda: isinstance(app.screen, ProgressScreen))
            screen = app.screen
            assert isinstance(screen, ProgressScreen)
            await until(lambda: screen.found is not None)
            await pilot.pause()
            yield pilot, screen

    return opened


def practise(store: Store, bank: Bank, days: int) -> datetime:
    """Four answers a day, every fourth one wrong, all said to be "confident"; returns the day after."""
    now, count = START, 0
    with Drills.open(store, bank) as drills:
        drills.set_plan(DrillPlan(new_per_day=3), now)
        for _ in range(days):
            for _ in range(4):
                shown = drills.next(now)
                if shown is None:
                    break
                count += 1
                right = count % 4 != 0
                rating = Rating.GOOD if right else Rating.AGAIN
                drills.record(shown, Outcome(rating, right, "marked"), now, confidence=3)
                now += timedelta(minutes=2)
            now = (now + timedelta(days=1)).replace(hour=9, minute=0)
    return now


async def test_without_answers_every_page_says_what_would_be_there(open_progress: OpenProgress) -> None:
    async with open_progress() as (pilot, screen):
        for words in (
            "Nothing was asked so far",
            "No answer had its confidence stated",
            "No week has an answer yet",
            "Today 10 to ask: 0 due, 0 overdue, 10 new.",
            "No interview day is set",
        ):
            await until(lambda words=words: words in text_of(pilot))  # type: ignore[misc]
            await pilot.press("right")
            await pilot.pause()
        assert screen.index == 0
        await pilot.press("left")
        await pilot.pause()
        assert screen.place() == "Progress · Readiness · 5 of 5"
        assert "→ next" in text_of(pilot)
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))


async def test_answers_fill_the_pages_with_counts(open_progress: OpenProgress, store: Store, bank: Bank) -> None:
    now = practise(store, bank, 14)
    async with open_progress(now) as (pilot, screen):
        found = screen.found
        assert found is not None
        assert "topics mastered" in text_of(pilot)
        await pilot.press("right")
        confident = found.everything.levels[2]
        await until(lambda: f"{confident.right} of {confident.answers}" in text_of(pilot))
        assert confident.answers == found.everything.answers
        assert "Brier score" in text_of(pilot)
        await pilot.press("right")
        await until(lambda: "2026-03-09" in text_of(pilot))
        # Weeks count an item once a day, calibration every answer.
        assert sum(week.reviews for week in found.weeks) == len(
            {(event.stream, event.payload["day"]) for event in store.events(kind="drill.reviewed")}
        )
        await pilot.press("right")
        await until(lambda: f"Today {found.counts.today} to ask" in text_of(pilot))


async def test_an_interview_day_gives_a_range_with_its_basis_and_enters_the_plan(
    open_progress: OpenProgress, store: Store, bank: Bank
) -> None:
    now = practise(store, bank, 14)
    async with open_progress(now) as (pilot, screen):
        await pilot.press("i", *"soon", "enter")
        await pilot.pause()
        assert "“soon” is no day. Write it as 2026-03-20." in text_of(pilot)
        screen.query_one("#day", Input).focus()
        await pilot.press(*["backspace"] * 4, *"2026-04-20", "enter")
        await until(lambda: "Interview on 2026-04-20" in text_of(pilot))
        text = text_of(pilot)
        assert "items would be answered right" in text
        assert "Lower end: nothing is practised" in text
        await pilot.press("k")
        await until(lambda: str(screen.drills.settings.base.interview_day) == "2026-04-20")
        assert screen.drills.settings.base.new_per_day == 3


async def test_a_day_that_is_past_is_a_sentence(open_progress: OpenProgress) -> None:
    async with open_progress() as (pilot, _):
        await pilot.press("i", *"2020-01-01", "enter")
        await until(lambda: "2020-01-01 is past." in text_of(pilot))


@pytest.mark.parametrize(("size", "seen"), [((20, 5), 1), ((60, 20), 1), ((80, 24), 1), ((120, 40), 2), ((200, 50), 3)])
async def test_wider_terminals_show_more_pages(
    open_progress: OpenProgress, store: Store, bank: Bank, size: tuple[int, int], seen: int
) -> None:
    now = practise(store, bank, 3)
    async with open_progress(now, size) as (pilot, screen):
        for _ in PAGES:
            await pilot.press("right")
            await pilot.pause()
            assert sum(page.display for page in screen.query(".page")) == seen
            assert screen.max_scroll_x == 0
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert sum(page.display for page in screen.query(".page")) == 1


async def test_s_saves_the_pages_and_says_where(
    open_progress: OpenProgress, store: Store, bank: Bank, settings: Settings
) -> None:
    async with open_progress(practise(store, bank, 3)) as (pilot, screen):
        await pilot.press("s")
        await pilot.pause()
        (path,) = (settings.data_dir / "reports").iterdir()
        assert "Saved as" in text_of(pilot)
        assert screen.found is not None
        assert verdict_words(screen.found.everything) in path.read_text(encoding="utf-8")


def test_a_picture_marks_what_was_stated_and_what_came_out() -> None:
    confident = calibration_of([(0, 0, 0, 0, 5, 5)]).levels[2]
    picture = level_picture(confident, 41)
    # 5 of 10 is the middle of 0 to 100 % in 41 columns; Wilson's interval is 23.7 to 76.3 %; 85 % was stated.
    assert (picture.index("●"), picture.index("├"), picture.index("┤"), picture.index("┊")) == (20, 9, 31, 34)
    assert len(picture) == 41


def test_no_verdict_under_twenty_answers() -> None:
    assert verdict_words(calibration_of([(0, 0, 0, 0, 9, 10)])) == "Too few answers to judge: 19 of 20."
    assert verdict_words(calibration_of([(0, 0, 0, 0, 10, 10)])).startswith("Overconfident")


def test_bars_are_as_long_as_the_share() -> None:
    assert [share_bar(share, 6) for share in (0.0, 0.5, 1.0)] == ["▁▁▁▁▁▁", "███▁▁▁", "██████"]


def topic(name: str, *needs: str, title: str = "") -> TopicMastery:
    return TopicMastery(name, title or name, 4, 1, 0, 0.5, "learning", needs, needs)


def test_topics_stand_on_steps_even_where_they_need_each_other() -> None:
    steps = depths([topic("a"), topic("b", "a"), topic("c", "b", "a"), topic("d", "elsewhere")])
    assert steps == {"a": 0, "b": 1, "c": 2, "d": 0}
    assert set(depths([topic("x", "y"), topic("y", "x")])) == {"x", "y"}


@pytest.mark.parametrize("width", [57, 77, 117])
def test_the_map_fits_its_width_and_shows_titles_literally(width: int) -> None:
    topics = [topic("a", title="[red]Roofline[/]"), topic("b", "a", title="a title that goes on and on " * 3)]
    text = topics_content(topics, width).plain
    assert "[red]Roofline[/]" in text
    assert "needs ✗ [red]Roofline[/]" in text
    assert all(cell_len(row) <= width for row in text.splitlines())


@pytest.mark.parametrize("width", [56, 60, 72, 76, 116])
def test_the_picture_of_confidence_fits_its_width(width: int) -> None:
    everything = calibration_of([(31, 12, 55, 24, 97, 25)])
    text = calibration_content(everything, [calibration_of([(1, 0, 0, 0, 1, 1)], "roofline")], width).plain
    assert all(cell_len(row) <= width for row in text.splitlines())
    assert "97 of 122" in text
    assert "too few" in text
