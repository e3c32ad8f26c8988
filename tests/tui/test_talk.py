"""Asking the tutor, comments on a grade, and a second verdict, with a real HTTP server for a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from textual.widgets import Input

from tests.llm.faulty_server import Exchange, FaultyServer, says
from tests.tui.conftest import EXERCISE, FULL_ANSWER, OpenTutor, answer, interview_of, start_item, text_of, until
from tutor.interview import Session
from tutor.llm.choose import ModelChoice, OpenModel
from tutor.llm.types import Capabilities, Endpoint, ModelInfo
from tutor.settings import Settings
from tutor.store import Store
from tutor.tui.app import TutorApp, local_now
from tutor.tui.screens.interview import InterviewScreen
from tutor.tui.screens.talk import TalkScreen

COMMENTS = "result: both values stand.\nfailure: the answer says what doubles and what stays. Great!\n"
EXPLANATION = "Gaps lie between tokens. On an H200 it would be 612 ms."


class CoachingServer(FaultyServer):
    """Says yes to a yes-or-no question, comments on a grade, explains what is asked."""

    def __init__(self, *, slow: bool = False) -> None:
        super().__init__(says("yes"))
        self.slow = slow
        self.stopped = False

    def _behave(self, exchange: Exchange) -> None:
        if exchange.path != "/v1/chat/completions":
            exchange.respond(404, "{}")
            return
        system = exchange.body["messages"][0]["content"]
        if "one line for each criterion" in system:
            says(COMMENTS[:20], COMMENTS[20:])(exchange)
        elif system.startswith("You are a tutor"):
            if self.slow:
                exchange.begin_stream()
                exchange.chunk("The first sentence stands. And then ")
                exchange.wait_for_hang_up(10)
                self.stopped = exchange.hung_up.is_set()
                return
            says(EXPLANATION)(exchange)
        else:
            says("yes")(exchange)


def model_at(server: FaultyServer) -> Callable[[Settings, Callable[[str], None]], Awaitable[ModelChoice]]:
    async def choose(settings: Settings, said: Callable[[str], None]) -> ModelChoice:
        endpoint = Endpoint(name="A server", provider="embedded", base_url=server.base_url, model="served-7b")
        info = ModelInfo(endpoint=endpoint, capabilities=Capabilities(), source="test")
        return ModelChoice(OpenModel(info), "test")

    return choose


async def ask(pilot: object, text: str) -> TalkScreen:
    from textual.pilot import Pilot

    assert isinstance(pilot, Pilot)
    screen = pilot.app.screen
    assert isinstance(screen, TalkScreen)
    screen.query_one("#asked", Input).value = text
    await pilot.press("enter")
    return screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 20)])
async def test_before_the_answer_asking_brings_the_next_hint_and_never_the_result(
    open_tutor: OpenTutor, size: tuple[int, int]
) -> None:
    async with open_tutor(size) as pilot:
        screen = await start_item(pilot)
        await pilot.press("ctrl+t")
        await until(lambda: isinstance(pilot.app.screen, TalkScreen))
        await pilot.pause()
        assert "A request spends 100 ms" in text_of(pilot).replace("\n", " ")
        talk = await ask(pilot, "is it 1050 ms?")
        await until(lambda: screen.session.entry().talk[-1].replied)
        await pilot.pause()
        assert "Numbers are checked when you hand the answer in" in " ".join(text_of(pilot).split())
        assert screen.session.question is not None
        hint = screen.session.question.hints[0]
        assert hint[:20] in " ".join(text_of(pilot).split())
        assert screen.session.hints_used == 1
        await ask(pilot, "just tell me")
        await until(lambda: len(talk.session.entry().talk) == 2 and talk.session.entry().talk[-1].replied)
        assert screen.session.hints_used == 2
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, InterviewScreen))
        await pilot.pause()
        assert interview_of(pilot).session.hints_used == 2


async def test_the_talk_stays_with_the_interview(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor((200, 50)) as pilot:
        screen = await start_item(pilot)
        await pilot.press("ctrl+t")
        await until(lambda: isinstance(pilot.app.screen, TalkScreen))
        await ask(pilot, "just tell me [/] list[int] \x1b[31m")
        await until(lambda: screen.session.entry().talk[-1].replied)
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, InterviewScreen))
        await pilot.pause()
        assert "just tell me [/] list[int]" in text_of(pilot)
        app = pilot.app
        assert isinstance(app, TutorApp)
        assert app.bank is not None
        again = Session.resume(store, app.bank, screen.session.interview_id, local_now)
        assert [entry.kind for entry in again.history if entry.kind.startswith("talk")] == ["talk", "talk_reply"]


async def test_after_the_grade_the_model_explains_and_unchecked_numbers_are_marked(open_tutor: OpenTutor) -> None:
    with CoachingServer() as server:
        async with open_tutor((120, 40), model_at(server)) as pilot:
            screen = await start_item(pilot)
            await answer(pilot, FULL_ANSWER)
            await pilot.press("ctrl+t")
            await until(lambda: isinstance(pilot.app.screen, TalkScreen))
            await ask(pilot, "Why are there fewer gaps than tokens?")
            await until(lambda: screen.session.entry().talk[-1].replied)
            await pilot.pause()
            text = " ".join(text_of(pilot).split())
            assert "Gaps lie between tokens." in text
            assert "(unchecked: 612 ms)" in text
            assert "F2 runs the numbers in the simulator." in text


async def test_comments_come_below_the_verdicts_and_praise_is_left_out(open_tutor: OpenTutor) -> None:
    with CoachingServer() as server:
        async with open_tutor((120, 40), model_at(server)) as pilot:
            screen = await start_item(pilot)
            await answer(pilot, FULL_ANSWER)
            grade = screen.session.entry().grade
            await until(lambda: "result" in screen.session.entry().comments)
            await pilot.pause()
            assert "model: both values stand." in text_of(pilot)
            await asyncio.sleep(0.2)
            assert "Great" not in text_of(pilot)
            assert screen.session.entry().grade == grade
            asked = [one for one in server.exchanges if "one line for each" in json.dumps(one.body)]
            assert len(asked) == 1


async def test_a_contested_criterion_is_judged_once_more_and_all_verdicts_stay(open_tutor: OpenTutor) -> None:
    with CoachingServer() as server:
        async with open_tutor((120, 40), model_at(server)) as pilot:
            screen = await start_item(pilot)
            await answer(pilot, "TTFT is 300 ms, completion 1,075 ms.")
            before = screen.session.entry().grade
            assert before is not None
            assert before.criterion("result").verdict == "not_met"
            screen.stage.panel.row("result").focus()
            await pilot.press("f6")
            await pilot.pause()
            await pilot.press(*"the answer counts 31 gaps, it should be 30", "enter")
            await until(lambda: "result" in screen.session.entry().marks)
            await until(lambda: screen.session.entry().marks["result"].judged is not None)
            await pilot.pause()
            mark = screen.session.entry().marks["result"]
            assert (mark.verdict, mark.note) == ("met", "the answer counts 31 gaps, it should be 30")
            assert mark.judged is not None
            assert mark.judged["verdict"] in ("met", "not_met", "unsure")
            assert screen.session.entry().grade == before
            assert "Judged once more, result is" in text_of(pilot)
            assert "judged again:" in text_of(pilot)


async def test_esc_stops_a_reply_and_what_came_is_kept(open_tutor: OpenTutor) -> None:
    with CoachingServer(slow=True) as server:
        async with open_tutor((100, 30), model_at(server)) as pilot:
            screen = await start_item(pilot)
            await pilot.press("ctrl+t")
            await until(lambda: isinstance(pilot.app.screen, TalkScreen))
            talk = await ask(pilot, "Does the time to first token include the queue?")
            await until(lambda: bool(talk.coming))
            await ask(pilot, "and another one?")
            assert "still coming" in text_of(pilot)
            await pilot.press("escape")
            await until(lambda: screen.session.entry().talk[-1].replied)
            turn = screen.session.entry().talk[-1]
            assert turn.broken_off
            assert [piece.text for piece in turn.pieces] == ["The first sentence stands."]
            await until(lambda: server.stopped)
            assert isinstance(pilot.app.screen, TalkScreen)
            await pilot.press("escape")
            await until(lambda: isinstance(pilot.app.screen, InterviewScreen))


async def test_an_interview_answers_no_questions_before_its_end(
    open_tutor: OpenTutor, settings: Settings, store: Store
) -> None:
    used = settings.model_copy(update={"mode": "interview"})
    async with open_tutor((100, 30), used_settings=used) as pilot:
        app = pilot.app
        assert isinstance(app, TutorApp)
        from tutor.interview.plan import single_item_plan

        plan = single_item_plan(EXERCISE, 0, mode="interview", title="x")
        app.start_plan(plan)
        await until(lambda: isinstance(app.screen, InterviewScreen) and bool(app.screen.query("#answer")))
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert isinstance(app.screen, InterviewScreen)
