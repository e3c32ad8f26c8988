"""From the keys to real weights and back; what the small model says is not asserted, that it is asked is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tui.conftest import FULL_ANSWER, OpenTutor, interview_of, paste, start_item, text_of, until
from tutor.llm.choose import ModelChoice, OpenModel
from tutor.llm.embedded import EmbeddedServer
from tutor.llm.types import ModelInfo
from tutor.settings import Settings


@pytest.mark.model
async def test_an_answer_is_graded_by_the_embedded_model(
    open_tutor: OpenTutor, embedded_server: EmbeddedServer
) -> None:
    info = ModelInfo(
        endpoint=embedded_server.endpoint,
        capabilities=embedded_server.capabilities,
        source="started inside the program",
        grades=False,
    )

    async def choose(settings: Settings, said: Callable[[str], None]) -> ModelChoice:
        said("Loading SmolLM2.")
        return ModelChoice(OpenModel(info), "The test's own model.")

    async with open_tutor((120, 40), choose) as pilot:
        assert "(embedded)" in text_of(pilot)
        screen = await start_item(pilot)
        await pilot.press("3")
        await until(lambda: screen.focused is screen.stage.answer)
        await paste(pilot, FULL_ANSWER)
        await pilot.press("ctrl+s")
        await until(lambda: screen.session.phase != "grading", limit_s=120)
        await pilot.pause()
        grade = interview_of(pilot).session.grade
        assert grade is not None
        assert grade.criterion("result").decided_by == "code"
        assert grade.provenance.model == embedded_server.endpoint.model
        assert grade.provenance.prompt_tokens > 0
        # Too small to grade: where it was asked, the verdict stays open.
        for criterion in ("reasoning", "failure", "verification"):
            assert grade.criterion(criterion).verdict in ("unsure", "not_met")
            assert grade.criterion(criterion).decided_by != "model"
        assert "too small to grade" in text_of(pilot)
