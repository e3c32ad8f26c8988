"""The interview on the real bank and a real store, without a model: code grades, the candidate marks."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from tests.tui.conftest import (
    EXERCISE,
    FULL_ANSWER,
    GERMAN_ANSWER,
    OpenTutor,
    answer,
    interview_of,
    paste,
    start_item,
    text_of,
    until,
)
from tutor.interview import Session, unfinished
from tutor.interview.plan import Plan, PlanEntry
from tutor.settings import Settings
from tutor.store import Store
from tutor.tui.app import TutorApp, local_now
from tutor.tui.messages import AnswerGraded
from tutor.tui.screens.home import HomeScreen
from tutor.tui.screens.interview import InterviewScreen
from tutor.tui.screens.simulate import SimulateScreen
from tutor.tui.widgets.answer_editor import MAX_BYTES

OTHERS = ("serving/prefill-decode/two-rates", "serving/prefill-decode/change-tradeoff")


async def test_confidence_comes_first_and_then_the_editor_has_the_focus(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        assert "(1) not yet" in text_of(pilot)
        await pilot.click("#sure-2")
        assert screen.session.entry().confidence == 2
        assert screen.focused is screen.stage.answer
        await pilot.press("2", "enter", "3")
        assert screen.stage.answer.text == "2\n3"
        assert screen.session.phase == "answering"


async def test_handing_in_without_confidence_keeps_the_text_and_says_what_is_missing(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        screen.stage.answer.focus()
        await pilot.press("a", "b")
        await pilot.press("ctrl+s")
        assert screen.session.phase == "confidence"
        assert "Say first how sure you are" in text_of(pilot)
        assert screen.session.draft == "ab"


async def test_without_a_model_code_decides_the_result_and_evidence_the_rest(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        screen = await answer(pilot, FULL_ANSWER)
        grade = screen.session.grade
        assert grade is not None
        assert [one.decided_by for one in grade.criteria] == ["code", "evidence", "evidence", "evidence"]
        assert grade.provenance.model is None
        text = text_of(pilot)
        assert "✓ result" in text
        assert "✓ reasoning" in text
        assert "evidence" in text
        assert "4 of 4" in text


async def test_self_marking_goes_from_criterion_to_criterion(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        screen = await answer(pilot, GERMAN_ANSWER)
        assert [screen.session.effective(c) for c in ("reasoning", "failure", "verification")] == ["unsure"] * 3
        await pilot.press("f7")
        await pilot.press("m", "x", "m")
        await pilot.pause()
        assert [screen.session.effective(c) for c in ("reasoning", "failure", "verification")] == [
            "met",
            "not_met",
            "met",
        ]
        assert not screen.stage.form.is_open
        assert "3 of 4" in text_of(pilot)
        await pilot.press("f7")
        await pilot.pause()
        assert "Nothing is left to mark; F6 contests a verdict." in text_of(pilot)
        screen.stage.panel.row("failure").focus()
        await pilot.press("u")
        assert screen.session.effective("failure") == "unsure"


async def test_contesting_keeps_both_verdicts(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        screen = await answer(pilot, "First token at 999 ms, complete at 2000 ms.")
        assert screen.session.effective("result") == "not_met"
        await pilot.press("f6")
        assert isinstance(screen.focused, Input)
        assert "counts the point as met." in " ".join(text_of(pilot).split())
        await pilot.press(*"because", "enter")
        await pilot.pause()
        assert screen.session.effective("result") == "met"
        mark = screen.session.mark("result")
        assert mark is not None
        assert mark.note == "because"
        assert "was not met" in text_of(pilot)
        grade = screen.session.grade
        assert grade is not None
        assert grade.criterion("result").verdict == "not_met"


async def test_follow_up_then_reference_then_the_end(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor((100, 40)) as pilot:
        await start_item(pilot)
        screen = await answer(pilot, FULL_ANSWER)
        assert screen.session.phase == "follow_up"
        assert screen.focused is screen.stage.follow_answer
        await pilot.press(*"gaps")
        await pilot.press("f5")
        await until(lambda: screen.session.phase == "reference")
        await pilot.pause()
        assert "1,050 ms" in text_of(pilot)
        await pilot.press("n")
        await until(lambda: screen.session.phase == "finished")
        await pilot.pause()
        text = text_of(pilot)
        assert "Done." in text
        assert "1 graded: 4 of 4" in text
        kinds = [entry.kind for entry in screen.session.history]
        assert {"question", "confidence", "answer", "grade", "follow_up", "follow_up_answer", "reference"} <= set(kinds)
        assert unfinished(store) == []


async def test_the_end_saves_a_report_and_says_where(open_tutor: OpenTutor, settings: Settings) -> None:
    async with open_tutor((100, 30)) as pilot:
        await start_item(pilot)
        screen = await answer(pilot, FULL_ANSWER)
        await pilot.press("f8")
        await until(lambda: screen.session.phase == "reference")
        await pilot.press("s")  # not before the end
        await pilot.press("n")
        await until(lambda: screen.session.phase == "finished")
        await pilot.pause()
        assert "save report" in text_of(pilot)
        for count in (1, 2):  # a second one does not replace the first
            await pilot.press("s")
            await until(lambda: len(list((settings.data_dir / "reports").glob("*.html"))) == count)  # noqa: B023
            await until(lambda: not screen.saving_report)
        await pilot.pause()
        assert "Saved as" in text_of(pilot)
        saved = sorted((settings.data_dir / "reports").glob("*.html"))
        assert "4 of 4 criteria met" in saved[0].read_text(encoding="utf-8")


async def test_hints_are_counted_in_the_footer(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await pilot.press("1")
        assert "hint (0 of 4)" in text_of(pilot)
        await pilot.press("f3")
        await pilot.pause()
        assert "Hint 1 of 4" in text_of(pilot)
        assert "hint (1 of 4)" in text_of(pilot)
        await pilot.press("f3", "f3", "f3", "f3")
        assert screen.session.hints_used == 4
        assert "no hint left" in text_of(pilot)


@pytest.mark.parametrize(
    "hostile",
    [
        "a[/]b and list[int] and [bold and [@click=app.bell()]x[/]",
        "\x1b]2;PWNED\x1b\\ then \x1b[31mred\x1b[0m and \x9b2J",
        "｢日本語｣ 👍🏽 é\u202eabc",
    ],
)
async def test_hostile_text_is_shown_literally_everywhere(open_tutor: OpenTutor, hostile: str) -> None:
    async with open_tutor((140, 40)) as pilot:
        await start_item(pilot)
        screen = await answer(pilot, hostile + " so 300 ms and 1050 ms in the end")
        await pilot.press("f6")
        await paste(pilot, hostile)
        await pilot.press("enter")
        await pilot.pause()
        if screen.session.phase == "follow_up":
            screen.stage.follow_answer.focus()
            await paste(pilot, hostile)
            await pilot.press("ctrl+s")
            await pilot.pause()
        text = text_of(pilot)
        assert "\x1b" not in text
        assert "\x9b" not in text
        if "list[int]" in hostile:
            assert "a[/]b and list[int]" in text
        await pilot.press("f1")
        await pilot.press("escape", "escape", "escape")
        await pilot.pause()
        assert isinstance(pilot.app.screen, HomeScreen)


async def test_a_paste_of_100_kib_is_refused_whole_and_nothing_is_lost(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await pilot.press("1", "o", "k")
        await paste(pilot, "x" * 100 * 1024)
        assert screen.stage.answer.text == "ok"
        assert "100 KiB" in text_of(pilot)
        await paste(pilot, "y" * (MAX_BYTES - 2))
        assert len(screen.stage.answer.text) == MAX_BYTES
        await pilot.press("z", "ctrl+s")
        assert screen.session.phase == "answering"
        assert "longer than 20 KiB" in text_of(pilot)


async def test_a_draft_is_on_the_disk_within_two_seconds_of_the_last_key(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await pilot.press("2", *"typing on and on")
        await until(lambda: [draft.text for draft in store.drafts()] == [screen.stage.answer.text], limit_s=2.0)
        assert "saved" in text_of(pilot)


async def test_quitting_writes_what_was_typed_last(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        await pilot.press("2", "a", "b", "ctrl+q")
    assert [draft.text for draft in store.drafts()] == ["ab"]


async def test_double_submit_is_one_attempt_and_late_results_are_passed_over(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        screen = await answer(pilot, FULL_ANSWER)
        await pilot.press("ctrl+s", "f5")
        assert len(screen.session.state.entries[0].attempts) == 1
        grade = screen.session.grade
        assert grade is not None
        before = len(screen.session.history)
        screen.post_message(AnswerGraded("another.0.1", grade))
        screen.post_message(AnswerGraded(screen.session.entry().attempt_id or "", grade))
        await pilot.pause()
        assert len([e for e in screen.session.history if e.kind == "grade"]) == 1
        assert len(screen.session.history) == before


async def test_skip_goes_on_to_the_next_item(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        await pilot.press("i", "enter")
        await until(lambda: bool(pilot.app.screen.query("#answer")))
        screen = interview_of(pilot)
        await pilot.press("f8")
        await pilot.pause()
        assert screen.session.position == 1
        assert "2 of" in screen.place()


async def test_simulating_after_the_grade_compares_and_is_kept(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        screen = await answer(pilot, FULL_ANSWER)
        await pilot.press("f2")
        await until(lambda: isinstance(pilot.app.screen, SimulateScreen))
        await pilot.pause()
        simulator = pilot.app.screen
        assert isinstance(simulator, SimulateScreen)
        assert [field.value for field in simulator.query(Input)] == ["300", "1050"]
        await pilot.press("ctrl+s")
        await until(lambda: simulator.result is not None)
        await pilot.pause()
        text = text_of(pilot)
        assert "1,050" in text
        assert text.count("agrees") == 2
        assert "= decode" in text
        await pilot.press("escape")
        await pilot.pause()
        summary = screen.session.entry().simulation
        assert summary is not None
        assert summary["values"]["ttft"]["simulated"] == pytest.approx(300)
        assert screen.session.entry().predictions == {"ttft": 300, "completion": 1050}


async def test_an_empty_or_odd_prediction_is_asked_for_in_place(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        await answer(pilot, "no numbers at all")
        await pilot.press("f2")
        await until(lambda: isinstance(pilot.app.screen, SimulateScreen))
        await pilot.pause()
        simulator = pilot.app.screen
        assert isinstance(simulator, SimulateScreen)
        await pilot.press("ctrl+s")
        assert "is empty" in text_of(pilot)
        await pilot.press(*"[/]", "f5")
        assert "is not a number" in text_of(pilot)
        assert not simulator.locked


async def test_history_opens_and_closes_on_a_narrow_terminal(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        screen = await start_item(pilot)
        await pilot.press("2")
        await pilot.press("f9")
        await pilot.pause()
        assert "confidence: getting there" in text_of(pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert screen.focused is screen.stage.answer


async def test_interview_mode_is_silent_until_the_end(open_tutor: OpenTutor, settings: Settings) -> None:
    quiet = settings.model_copy(update={"mode": "interview"})
    async with open_tutor(used_settings=quiet) as pilot:
        app = pilot.app
        assert isinstance(app, TutorApp)
        entries = tuple(PlanEntry(item_id=item, seed=0) for item in (EXERCISE, *OTHERS))
        app.start_plan(Plan(id="three", title="Three", mode="interview", entries=entries))
        await until(lambda: isinstance(app.screen, InterviewScreen) and bool(app.screen.query("#answer")))
        screen = interview_of(pilot)
        assert screen.session.mode == "interview"
        await pilot.press("3")
        await until(lambda: screen.focused is screen.stage.answer)
        await paste(pilot, FULL_ANSWER)
        await pilot.press("ctrl+s")
        await until(lambda: screen.session.position == 1)
        await until(lambda: not screen.grading_id)
        assert "met" not in text_of(pilot)
        while screen.session.question is not None:
            await pilot.press("f8")
            await pilot.pause()
        text = text_of(pilot)
        assert "1 graded: 4 of 4" in text
        assert text.count("skipped") >= len(OTHERS)


async def test_an_answer_whose_grading_was_cut_off_by_a_kill_is_graded_on_resume(
    open_tutor: OpenTutor, store: Store
) -> None:
    async with open_tutor() as pilot:
        app = pilot.app
        assert isinstance(app, TutorApp)
        assert app.bank is not None
        from tutor.interview import single_item_plan

        session = Session.start(
            store, app.bank, single_item_plan("serving/prefill-decode/completion-time", 0), local_now
        )
        session.set_confidence(2)
        session.submit(FULL_ANSWER)
        app.continue_interview(session.interview_id)
        await until(lambda: bool(pilot.app.screen.query("#answer")))
        screen = interview_of(pilot)
        await until(lambda: screen.session.phase == "follow_up")
        assert screen.session.effective("result") == "met"
