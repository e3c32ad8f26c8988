"""Every terminal size stays usable, and a storm of resizes changes nothing but the layout."""

from __future__ import annotations

import random

import pytest

from tests.tui.conftest import FULL_ANSWER, GERMAN_ANSWER, OpenTutor, answer, start_item, text_of, until
from tutor.tui.screens.lesson import LessonScreen
from tutor.tui.widgets.size_notice import SizeNotice

SIZES = [(20, 5), (40, 12), (60, 20), (80, 24), (120, 40), (200, 50)]


@pytest.mark.parametrize("size", SIZES)
async def test_an_interview_can_be_held_at_any_size(open_tutor: OpenTutor, size: tuple[int, int]) -> None:
    async with open_tutor(size) as pilot:
        screen = await start_item(pilot)
        small = size[0] < 60 or size[1] < 20
        assert screen.query_one(SizeNotice).display is small
        assert (f"{size[0]}x{size[1]}" in text_of(pilot)) is small
        await answer(pilot, FULL_ANSWER)
        assert screen.session.effective("result") == "met"
        await pilot.press("f8")
        await until(lambda: screen.session.phase == "reference")
        await pilot.pause()
        assert screen.max_scroll_x == 0
        await pilot.press("escape", "l")
        await until(lambda: isinstance(pilot.app.screen, LessonScreen))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_question_editor_and_verdicts_are_in_sight(open_tutor: OpenTutor, size: tuple[int, int]) -> None:
    async with open_tutor(size) as pilot:
        await start_item(pilot)
        await pilot.press("2")
        await pilot.pause()
        text = text_of(pilot)
        assert "100 ms in the queue" in text
        assert "would prove you wrong" in text
        assert "Your answer" in text
        await pilot.press("escape", "escape")
        await start_item(pilot)
        await answer(pilot, FULL_ANSWER)
        text = text_of(pilot)
        for criterion in ("result", "reasoning", "failure", "verification"):
            assert criterion in text
        assert "100 ms in the queue" in text
        assert "Follow-up:" in text


async def test_a_resize_storm_changes_nothing_but_the_layout(open_tutor: OpenTutor) -> None:
    draw = random.Random(7)
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await pilot.press("2", *"kept")
        for _ in range(25):
            await pilot.resize_terminal(draw.randint(1, 220), draw.randint(1, 60))
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert screen.stage.answer.text == "kept"
        assert screen.focused is screen.stage.answer
        assert screen.session.phase == "answering"
        assert "Your answer" in text_of(pilot)


async def test_no_colour_still_tells_verdicts_apart(open_tutor: OpenTutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_tutor() as pilot:
        await start_item(pilot)
        await answer(pilot, GERMAN_ANSWER)
        text = text_of(pilot)
        assert "✓ result" in text
        assert "? reasoning" in text
        assert "unsure" in text


@pytest.mark.parametrize("theme", ["tutor-light", "tutor-contrast", "ansi-dark", "ansi-light"])
async def test_other_themes_show_the_same_words(open_tutor: OpenTutor, theme: str) -> None:
    async with open_tutor() as pilot:
        pilot.app.theme = theme
        await start_item(pilot)
        await answer(pilot, FULL_ANSWER)
        assert "✓ result" in text_of(pilot)
