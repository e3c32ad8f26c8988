"""A result that can be read in two ways is asked about on the screen, and the reply changes the grade."""

from __future__ import annotations

import pytest

from tests.tui.conftest import OpenTutor, answer, paste, start_item, text_of, until

TWO_TOTALS = "First token: 300 ms. The request is complete after 1,050 ms. The completion time is 1,075 ms."


@pytest.mark.parametrize(("reply", "verdict"), [("1,050 ms", "met"), ("the second", "not_met")])
async def test_the_reply_decides_the_result(open_tutor: OpenTutor, reply: str, verdict: str) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        screen = await answer(pilot, TWO_TOTALS)
        assert screen.session.phase == "follow_up"
        assert "Which is your final completion time: 1,050 ms or 1,075 ms?" in text_of(pilot)
        screen.stage.follow_answer.focus()
        await paste(pilot, reply)
        await pilot.press("ctrl+s")
        await until(lambda: screen.session.effective("result") == verdict)
        await pilot.pause()
        assert screen.session.phase in {"graded", "follow_up"}
        assert "You settled on" in text_of(pilot)
        assert "clarified" in {entry.kind for entry in screen.session.history}
