"""Choosing a plan by keyboard, and being quizzed on the section that was just read."""

from __future__ import annotations

from rich.cells import cell_len
from textual.widgets import Input, OptionList

from question_bank import Bank
from tests.tui.conftest import OpenTutor, TutorPilot, interview_of, text_of, until
from tutor.interview import make_plan, section_plan
from tutor.store import Store
from tutor.tui.app import TutorApp
from tutor.tui.screens.home import HomeScreen
from tutor.tui.screens.interview import InterviewScreen
from tutor.tui.screens.lesson import LessonScreen
from tutor.tui.screens.plan_choice import PlanScreen


async def choose(pilot: TutorPilot) -> PlanScreen:
    await pilot.press("i")
    await until(lambda: isinstance(pilot.app.screen, PlanScreen) and bool(pilot.app.screen.query("#plans")))
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, PlanScreen)
    return screen


def words_of(pilot: TutorPilot) -> str:
    """All words on the terminal, wherever lines break."""
    return " ".join(text_of(pilot).split())


async def begun(pilot: TutorPilot) -> InterviewScreen:
    await until(lambda: isinstance(pilot.app.screen, InterviewScreen))
    await pilot.pause()
    return interview_of(pilot)


async def test_two_keys_begin_the_25_minute_screen(open_tutor: OpenTutor, bank: Bank) -> None:
    async with open_tutor() as pilot:
        screen = await choose(pilot)
        text = words_of(pilot)
        assert "25-minute screen" in text
        assert "60-minute loop" in text
        assert "Weak topics: No topic is known to be weak" in text
        assert "two good or poor answers in a row" in text
        assert "^S start" in text
        assert screen.chosen == "screen"
        await pilot.press("enter")
        interview = await begun(pilot)
        assert interview.session.plan == make_plan(bank, "screen", 0)
        assert "min" in interview.place()
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))


async def test_a_seed_makes_it_the_same_for_everyone(open_tutor: OpenTutor, bank: Bank) -> None:
    async with open_tutor() as pilot:
        screen = await choose(pilot)
        await pilot.press("m", "down", "tab", "4", "x", "2")
        await pilot.pause()
        assert screen.query_one("#seed", Input).value == "42"
        assert "seed 42: the same for everyone" in words_of(pilot)
        assert "silent until the end" in words_of(pilot)
        await pilot.press("enter")
        interview = await begun(pilot)
        expected = make_plan(bank, "loop", 42, mode="interview", adaptive=False)
        assert interview.session.plan == expected
        assert all(len(entry.choices) == 1 for entry in expected.entries)


async def test_every_lesson_can_be_chosen_at_every_width(open_tutor: OpenTutor, bank: Bank) -> None:
    for width in (60, 80, 120):
        async with open_tutor((width, 24)) as pilot:
            await choose(pilot)
            plans = pilot.app.screen.query_one("#plans", OptionList)
            assert {lesson.id for lesson in bank.lessons} < {option.id for option in plans.options}
            rows = [str(option.prompt) for option in plans.options]
            assert all(cell_len(row) <= plans.scrollable_content_region.width for row in rows)


async def test_a_poor_answer_makes_its_topics_weak(open_tutor: OpenTutor, bank: Bank, store: Store) -> None:
    weak = next(item for item in bank.items if item.kind == "checkpoint")
    async with open_tutor() as pilot:
        app = pilot.app
        assert isinstance(app, TutorApp)
        app.start_item(weak.id)
        interview = await begun(pilot)
        await pilot.press("f8")
        await until(lambda: interview.session.phase == "finished")
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, HomeScreen))
        screen = await choose(pilot)
        asked = [bank.item(entry.item_id) for entry in screen.plans["weak"].entries]
        assert asked
        assert all(set(item.topics) & set(weak.topics) for item in asked)


async def test_a_quiz_on_what_was_just_read(open_tutor: OpenTutor, bank: Bank) -> None:
    lesson = bank.lessons[0]
    async with open_tutor() as pilot:
        await pilot.press("l")
        await until(lambda: isinstance(pilot.app.screen, LessonScreen))
        await pilot.pause()
        await pilot.press("right")
        await pilot.pause()
        assert "k quiz me" in text_of(pilot)
        await pilot.press("k")
        interview = await begun(pilot)
        plan = interview.session.plan
        assert plan == section_plan(bank, lesson.id, lesson.sections[1].id, 0)
        assert 2 <= len(plan.entries) <= 3
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, LessonScreen))
        # Neither quiz nor exercise belongs to the wrap-up.
        screen = pilot.app.screen
        assert isinstance(screen, LessonScreen)
        await screen.show_page(len(screen.pages) - 1)
        await pilot.pause()
        assert "quiz me" not in text_of(pilot)
        await pilot.press("k", "e")
        assert pilot.app.screen is screen


async def test_the_exercise_of_a_section_is_another_one_the_second_time(open_tutor: OpenTutor, bank: Bank) -> None:
    lesson = bank.lessons[0]
    section = next(
        one for one in lesson.sections if sum(item.kind == "exercise" for item in lesson.items_on(one.id)) > 1
    )
    exercises = [item.id for item in lesson.items_on(section.id) if item.kind == "exercise"]
    async with open_tutor() as pilot:
        app = pilot.app
        assert isinstance(app, TutorApp)
        app.open_lesson(lesson.id)
        await until(lambda: isinstance(app.screen, LessonScreen) and app.screen.is_mounted)
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, LessonScreen)
        await screen.show_page(lesson.sections.index(section))
        for expected in exercises[:2]:
            await pilot.press("e")
            interview = await begun(pilot)
            assert interview.session.plan.entries[0].item_id == expected
            await pilot.press("escape")
            await until(lambda: app.screen is screen)


async def test_a_lesson_leads_to_the_plans_with_itself_chosen(open_tutor: OpenTutor, bank: Bank) -> None:
    async with open_tutor() as pilot:
        app = pilot.app
        assert isinstance(app, TutorApp)
        app.open_lesson(bank.lessons[1].id)
        await until(lambda: isinstance(app.screen, LessonScreen))
        await pilot.pause()
        screen = await choose(pilot)
        assert screen.chosen == bank.lessons[1].id
        await pilot.press("ctrl+s")
        interview = await begun(pilot)
        assert interview.session.plan == make_plan(bank, bank.lessons[1].id, 0)
