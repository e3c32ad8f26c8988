"""What the screen does when grading is slow, stopped, breaks off or comes too late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual import events
from textual.widgets import Input

from question_bank import Bank, Question
from rubrics import CRITERION_IDS
from tests.tui.conftest import EXERCISE, FULL_ANSWER, OpenTutor, interview_of, paste, start_item, text_of, until
from tutor.errors import TutorError
from tutor.grader import Grader
from tutor.grading import CriterionGrade, Grade
from tutor.grading.models import Provenance
from tutor.interview import Session
from tutor.store import Store
from tutor.tui.app import local_now
from tutor.tui.screens.simulate import SimulateScreen

Tell = Callable[[CriterionGrade | str], None]


async def hand_in(pilot: object, text: str = FULL_ANSWER) -> None:
    from textual.pilot import Pilot

    assert isinstance(pilot, Pilot)
    screen = interview_of(pilot)
    await pilot.press("2")
    await until(lambda: screen.focused is screen.stage.answer)
    await paste(pilot, text)
    await pilot.press("ctrl+s")
    await pilot.pause()


@pytest.fixture
def slow_grader(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """A grader that decides the result at once and the rest when the event is set."""
    release = asyncio.Event()
    real = Grader.grade

    async def grade(self: Grader, question: Question, answer: str, on_progress: Tell | None = None) -> Grade:
        assert on_progress is not None
        on_progress(CriterionGrade(criterion="result", verdict="met", decided_by="code", reason="list[int] [/]"))
        on_progress("asking the model about reasoning")
        await release.wait()
        return await real(self, question, answer, on_progress)

    monkeypatch.setattr(Grader, "grade", grade)
    return release


async def test_verdicts_arrive_one_by_one_with_the_seconds(open_tutor: OpenTutor, slow_grader: asyncio.Event) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await hand_in(pilot)
        await until(lambda: "list[int] [/]" in text_of(pilot))
        await until(lambda: "asking the model about reasoning, 1 s" in text_of(pilot))
        assert "Esc cancels and keeps the answer" in text_of(pilot)
        slow_grader.set()
        await until(lambda: screen.session.phase == "follow_up")


async def test_esc_stops_the_grading_and_gives_the_answer_back(
    open_tutor: OpenTutor, slow_grader: asyncio.Event
) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await hand_in(pilot)
        await until(lambda: "asking the model" in text_of(pilot))
        await pilot.press("escape")
        await until(lambda: screen.session.phase == "answering")
        await pilot.pause()
        assert screen.stage.answer.text == FULL_ANSWER
        assert screen.focused is screen.stage.answer
        assert "Grading stopped" in text_of(pilot)
        slow_grader.set()
        await pilot.press("f5")
        await until(lambda: screen.session.phase == "follow_up")
        assert len(screen.session.state.entries[0].attempts) == 1


async def test_a_second_submit_while_grading_changes_nothing(open_tutor: OpenTutor, slow_grader: asyncio.Event) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await hand_in(pilot)
        await pilot.press("ctrl+s", "f5", "ctrl+s")
        assert len(screen.session.state.entries[0].attempts) == 1
        slow_grader.set()
        await until(lambda: screen.session.phase == "follow_up")


@pytest.mark.parametrize("fault", [TutorError("The answer is too long [/]."), RuntimeError("a fault in the grader")])
async def test_a_grader_that_fails_leaves_the_answer_and_says_so(
    open_tutor: OpenTutor, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    async def grade(self: Grader, question: Question, answer: str, on_progress: Tell | None = None) -> Grade:
        raise fault

    monkeypatch.setattr(Grader, "grade", grade)
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await hand_in(pilot)
        await until(lambda: screen.session.phase == "answering")
        await pilot.pause()
        assert "Not graded" in text_of(pilot)
        assert screen.stage.answer.text == FULL_ANSWER


@pytest.mark.parametrize("otherwise", ["graded", "finished", "stopped"])
async def test_an_answer_that_another_window_settled_is_shown_as_it_stands(
    open_tutor: OpenTutor, slow_grader: asyncio.Event, store: Store, bank: Bank, otherwise: str
) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await hand_in(pilot)
        await until(lambda: "asking the model" in text_of(pilot))
        other = Session.resume(store, bank, screen.session.interview_id, local_now)
        attempt_id = other.entry().attempt_id
        assert attempt_id is not None
        if otherwise == "graded":
            all_met = tuple(
                CriterionGrade(criterion=one, verdict="met", decided_by="code", reason="") for one in CRITERION_IDS
            )
            about = Provenance(item_id=EXERCISE, item_version=1, seed=0, answer_hash="")
            assert other.record_grade(attempt_id, Grade(criteria=all_met, provenance=about))
        elif otherwise == "finished":
            other.finish()
        else:
            assert other.record_ungraded(attempt_id, "stopped there")
        slow_grader.set()
        expected = {
            "graded": "graded in another window; that grade stands",
            "finished": "Done.",
            "stopped": "stopped in another window",
        }
        await until(lambda: expected[otherwise] in text_of(pilot))
        assert screen.session.phase == {"graded": "graded", "finished": "finished", "stopped": "answering"}[otherwise]
        assert "asking the model" not in text_of(pilot)
        if otherwise == "graded":
            assert "4 of 4" in text_of(pilot)
        if otherwise == "stopped":
            assert screen.stage.answer.text == FULL_ANSWER


async def test_a_blank_answer_is_not_handed_in(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        await pilot.press("space", "enter", "ctrl+s")
        await until(lambda: "The answer is blank. Write one, or F8 skips it." in text_of(pilot))
        assert not screen.session.state.entries[0].attempts
        await paste(pilot, FULL_ANSWER)
        await pilot.press("ctrl+s")
        await until(lambda: screen.session.phase == "follow_up")
        await pilot.pause()
        assert "blank" not in text_of(pilot)
        await pilot.press("ctrl+s")
        await until(lambda: "The answer is blank. Write one, or F8 skips it." in text_of(pilot))
        assert screen.session.phase == "follow_up"
        assert "follow_up_answer" not in {entry.kind for entry in screen.session.history}


async def test_quitting_while_grading_keeps_the_answer_for_next_time(
    open_tutor: OpenTutor, slow_grader: asyncio.Event
) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await hand_in(pilot)
        await until(lambda: "asking the model" in text_of(pilot))
        await pilot.press("ctrl+q")
    assert screen.session.state.entries[0].attempts[0].text == FULL_ANSWER
    assert screen.session.phase == "grading"


@pytest.mark.parametrize("key", ["ctrl+s", "f5"])
async def test_what_is_typed_just_before_handing_in_is_handed_in_whole(open_tutor: OpenTutor, key: str) -> None:
    text = "words typed faster than they are drawn " * 5 + "end"
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        for character in text:
            pilot.app.post_message(events.Key("space" if character == " " else character, character))
        pilot.app.post_message(events.Key(key, None))
        await until(lambda: bool(screen.session.state.entries[0].attempts))
        assert screen.session.state.entries[0].attempts[0].text == text


async def test_a_number_typed_just_before_locking_is_locked_whole(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        await hand_in(pilot, "no numbers at all")
        await until(lambda: interview_of(pilot).session.phase == "follow_up")
        await pilot.press("f2")
        await until(lambda: isinstance(pilot.app.screen, SimulateScreen))
        await pilot.pause()
        simulator = pilot.app.screen
        assert isinstance(simulator, SimulateScreen)
        last = list(simulator.query(Input))[-1]
        for field in simulator.query(Input):
            field.value = "" if field is last else "300"
        last.focus()
        for digit in "1234567890.12345":
            pilot.app.post_message(events.Key("full_stop" if digit == "." else digit, digit))
        pilot.app.post_message(events.Key("ctrl+s", None))
        await until(lambda: simulator.locked)
        assert last.value == "1234567890.12345"
