"""Checkpoints, recall and predictions, and reading a lesson."""

from __future__ import annotations

from textual.widgets import Input

from question_bank import Bank
from tests.tui.conftest import OpenTutor, interview_of, paste, start_item, text_of, until
from tutor.interview import last_section
from tutor.store import Store
from tutor.tui.app import TutorApp
from tutor.tui.screens.interview import InterviewScreen
from tutor.tui.screens.lab_bench import BenchScreen
from tutor.tui.screens.lesson import LessonScreen
from tutor.tui.screens.simulate import SimulateScreen
from tutor.tui.widgets.choice_row import ChoiceRow

LESSON = "serving/prefill-decode"


def first_of(bank: Bank, kind: str) -> str:
    return next(item.id for item in bank.items if item.kind == kind)


async def test_a_checkpoint_shows_right_and_wrong_by_id_with_every_reason(open_tutor: OpenTutor, bank: Bank) -> None:
    async with open_tutor((100, 40)) as pilot:
        screen = await start_item(pilot, first_of(bank, "checkpoint"))
        question = screen.session.question
        assert question is not None
        wrong = next(n for n, option in enumerate(question.options) if not option.correct)
        await pilot.press("abcdefgh"[wrong])
        await until(lambda: screen.session.phase == "graded")
        await pilot.pause()
        choice = screen.session.entry().choice
        assert choice is not None
        assert not choice.correct
        text = text_of(pilot)
        assert "✗ not right" in text
        assert "(your choice)" in text
        for option in question.options:
            assert option.reason.split(".")[0].split()[0] in text
        await pilot.press("n")
        await until(lambda: screen.session.phase == "finished")


async def test_arrows_and_enter_choose_too(open_tutor: OpenTutor, bank: Bank) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot, first_of(bank, "checkpoint"))
        question = screen.session.question
        assert question is not None
        right = next(n for n, option in enumerate(question.options) if option.correct)
        await pilot.press(*["down"] * right, "enter")
        await until(lambda: screen.session.phase == "graded")
        await pilot.pause()
        assert "✓ right" in text_of(pilot)


async def test_recall_takes_text_and_a_level_and_then_shows_the_reference(open_tutor: OpenTutor, bank: Bank) -> None:
    async with open_tutor((100, 40)) as pilot:
        screen = await start_item(pilot, first_of(bank, "recall"))
        await pilot.press("ctrl+s")
        assert "how sure you are" in text_of(pilot)
        await pilot.press("3")
        assert screen.focused is screen.stage.answer
        await paste(pilot, "Prefill reads the prompt, decode writes tokens.")
        await pilot.press("ctrl+s")
        await until(lambda: screen.session.phase == "reference")
        recall = screen.session.entry().recall
        assert recall is not None
        assert recall.level == 3
        await pilot.pause()
        assert "Model answer" in text_of(pilot)


async def test_a_prediction_is_locked_before_the_run_and_compared(open_tutor: OpenTutor, bank: Bank) -> None:
    async with open_tutor((120, 40)) as pilot:
        screen = await start_item(pilot, first_of(bank, "prediction"))
        await pilot.press("2")
        await pilot.press("f2")
        await until(lambda: isinstance(pilot.app.screen, SimulateScreen))
        await pilot.pause()
        simulator = pilot.app.screen
        assert isinstance(simulator, SimulateScreen)
        for field in simulator.query(".field Input").results(Input):
            field.value = "10 to 14" if field.has_class("range") else "12"
        # Which way it goes is asked for, and nothing runs before it is said.
        await pilot.press("f5")
        await pilot.pause()
        assert not simulator.locked
        assert "say which way" in text_of(pilot)
        for row in simulator.query(ChoiceRow):
            row.choose("lower")
        await pilot.press("f5")
        await until(lambda: simulator.result is not None)
        await pilot.pause()
        entry = screen.session.entry()
        assert set(entry.predictions.values()) == {12.0}
        assert set(entry.ranges.values()) == {(10.0, 14.0)}
        assert set(entry.directions.values()) == {"lower"}
        assert all(field.disabled for field in simulator.query(".field Input"))
        assert "nothing in it is random" in text_of(pilot)
        assert "bits" in text_of(pilot)
        await pilot.press(*"because", "enter")
        assert screen.session.entry().explanation == "because"
        # The question's scenario goes on in the lab, with the one before the change as its baseline.
        await pilot.press("b")
        await until(lambda: isinstance(pilot.app.screen, BenchScreen) and bool(pilot.app.screen.query(".value")))
        await pilot.pause()
        assert "Changed  server" in text_of(pilot)
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is simulator)
        await pilot.press("escape")
        await until(lambda: screen.session.phase == "reference")
        await pilot.pause()
        assert {"prediction", "simulation"} <= {entry.kind for entry in screen.session.history}


async def test_a_lesson_opens_where_one_stopped(open_tutor: OpenTutor, store: Store, bank: Bank) -> None:
    async with open_tutor((120, 30)) as pilot:
        await pilot.press("l")
        await until(lambda: isinstance(pilot.app.screen, LessonScreen))
        await pilot.pause()
        await pilot.press("right", "right")
        await pilot.pause()
        lesson = bank.lessons[0]
        assert last_section(store, lesson.id) == lesson.sections[2].id
        await pilot.press("escape")
        await pilot.pause()
        assert "at section 3" in text_of(pilot)
        await pilot.press("l")
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, LessonScreen)
        assert screen.index == 2


async def test_every_page_of_every_lesson_can_be_shown(open_tutor: OpenTutor, bank: Bank) -> None:
    async with open_tutor() as pilot:
        app = pilot.app
        assert isinstance(app, TutorApp)
        for lesson in bank.lessons:
            app.open_lesson(lesson.id)
            await until(lambda: isinstance(app.screen, LessonScreen))
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, LessonScreen)
            for _ in screen.pages[1:]:
                await pilot.press("right")
            assert screen.index == len(screen.pages) - 1
            await pilot.press("escape")


async def test_from_a_section_to_a_quiz_on_it_and_to_an_exercise(open_tutor: OpenTutor, bank: Bank) -> None:
    lesson = bank.lessons[0]
    bound = {item.id for item in lesson.items_on(lesson.sections[1].id)}
    async with open_tutor() as pilot:
        for key, kinds, most in (("k", {"checkpoint"}, 3), ("e", {"exercise"}, 1)):
            await pilot.press("l")
            await until(lambda: isinstance(pilot.app.screen, LessonScreen))
            await pilot.pause()
            await pilot.press("right" if key == "k" else "left")
            await pilot.press(key)
            await until(lambda: isinstance(pilot.app.screen, InterviewScreen))
            await pilot.pause()
            session = interview_of(pilot).session
            assert session.question is not None
            assert session.question.kind in kinds
            assert 1 <= session.of <= most
            if key == "k":
                assert {entry.item_id for entry in session.plan.entries} <= bound
            await pilot.press("escape")
            await pilot.press("escape")
            await pilot.pause()
