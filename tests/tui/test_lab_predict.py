"""Predict, lock, run, compare in the lab: nothing runs unlocked, the wrong prediction stays, the reason is kept."""

from __future__ import annotations

import pytest
from textual.widgets import Input, OptionList

from tests.tui.conftest import OpenTutor, TutorPilot, text_of
from tests.tui.test_lab import SIZES, open_bench, run, until
from tutor.lab.events import Locked
from tutor.lab.predictions import lock, predictions
from tutor.store import Store
from tutor.tui.screens.lab import LabScreen
from tutor.tui.screens.lab_bench import BenchScreen
from tutor.tui.screens.lab_past import PastScreen
from tutor.tui.screens.lab_plots import PlotsScreen
from tutor.tui.screens.lab_predict import PredictScreen
from tutor.tui.widgets.choice_row import ChoiceRow


async def open_prediction(pilot: TutorPilot, name: str = "scheduler_trace", chunk: str = "256") -> PredictScreen:
    """A changed scenario and F4."""
    bench = await open_bench(pilot, name)
    field = bench.form.inputs["server.chunk_tokens"]
    field.focus()
    await pilot.press("end", *["backspace"] * len(field.value), *chunk)
    await pilot.pause()
    await pilot.press("f4")
    await until(lambda: isinstance(pilot.app.screen, PredictScreen))
    screen = pilot.app.screen
    assert isinstance(screen, PredictScreen)
    await until(lambda: not screen.job)
    await pilot.pause()
    return screen


async def fill(pilot: TutorPilot, value: str, between: str, confidence: str) -> None:
    """Number, range and confidence by keys alone."""
    screen = pilot.app.screen
    screen.query_one("#value", Input).focus()
    await pilot.press(*value, "enter")
    await pilot.press(*["space" if one == " " else one for one in between], "enter")
    await pilot.press(confidence)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
async def test_a_prediction_from_the_first_field_to_the_reason(
    open_tutor: OpenTutor, store: Store, size: tuple[int, int]
) -> None:
    async with open_tutor(size) as pilot:
        screen = await open_prediction(pilot)
        assert "server.chunk_tokens 512 → 256" in text_of(pilot)
        assert "ms in one run" in text_of(pilot)
        assert screen.max_scroll_x == 0
        # Nothing can be run before it is locked.
        await pilot.press("f2")
        assert not screen.job
        assert "F2 run" not in text_of(pilot)
        screen.query_one("#class", ChoiceRow).choose("document")
        await fill(pilot, "300", "250 to 350", "3")
        await pilot.press("ctrl+s")
        (locked,) = predictions(store)
        assert (locked.locked.metric, locked.locked.direction) == ("document.ttft_s.p95", "lower")
        assert (locked.locked.low, locked.locked.high, locked.locked.confidence) == (250.0, 350.0, 3)
        await until(lambda: screen.prediction is not None and screen.prediction.simulated is not None, 30)
        await pilot.pause()
        text = text_of(pilot)
        assert "in every run: nothing in it is random" in text
        assert "✗ above your range" in text
        assert "bits" in text
        await pilot.press(*"twiceasmanychunks", "escape")
        await until(lambda: isinstance(pilot.app.screen, BenchScreen))
        (kept,) = predictions(store)
        assert kept.explanation == "twiceasmanychunks"
        assert kept.missed is True


async def test_what_is_missing_is_said_where_it_is_missing(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor() as pilot:
        screen = await open_prediction(pilot)
        for value, between, said in (
            ("", "", "The number is empty"),
            ("many", "", "The number is not a number"),
            ("300", "", "The range is empty"),
            ("300", "wide", "is no range"),
            ("300", "10 to 20", "does not hold your own number 300"),
            ("300", "±10%", "Say how sure you are"),
        ):
            screen.query_one("#value", Input).value = value
            screen.query_one("#range", Input).value = between
            await pilot.press("ctrl+s")
            await pilot.pause()
            assert said in text_of(pilot)
        assert predictions(store) == []


async def test_what_was_typed_is_there_again_and_esc_locks_nothing(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor() as pilot:
        await open_prediction(pilot)
        await fill(pilot, "300", "10%", "2")
        await pilot.press("escape", "f4")
        await until(lambda: isinstance(pilot.app.screen, PredictScreen))
        await pilot.pause()
        assert pilot.app.screen.query_one("#value", Input).value == "300"
        assert pilot.app.screen.query_one("#range", Input).value == "10%"
        assert predictions(store) == []


async def test_a_text_that_was_run_cannot_be_predicted_and_a_locked_one_waits_in_the_list(
    open_tutor: OpenTutor, store: Store
) -> None:
    async with open_tutor() as pilot:
        bench = await open_bench(pilot, "scheduler_trace")
        await run(pilot, bench)
        await pilot.press("f4")
        await pilot.pause()
        assert "You have run this text" in text_of(pilot)
        assert pilot.app.screen is bench
        made = Locked(
            title="scheduler_trace", scenario=bench.editor.text, baseline="", changes=(), metric="chat.itl_s.p95",
            unit="ms", scale=1000.0, direction="", value=28.0, low=20.0, high=36.0, confidence=2, topics=(),
        )  # fmt: skip
        lock(store, made, pilot.app.clock())  # type: ignore[attr-defined]
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, LabScreen))
        await pilot.pause()
        assert "Locked, to be run" in text_of(pilot)
        lab = pilot.app.screen
        assert isinstance(lab, LabScreen)
        lab.query_one("#scenarios", OptionList).action_first()
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, PredictScreen))
        await pilot.pause()
        assert "Not run yet" in text_of(pilot)
        await pilot.press("f2")
        await until(lambda: predictions(store)[0].simulated is not None, 30)


async def test_past_predictions_and_topics(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor() as pilot:
        screen = await open_prediction(pilot)
        await fill(pilot, "28", "20 to 36", "3")
        await pilot.press("ctrl+s")
        await until(lambda: screen.prediction is not None and screen.prediction.simulated is not None, 30)
        await pilot.pause()
        # p outside the line for the reason: both sides as plots.
        screen.query_one("#page").focus()
        await pilot.press("p")
        await until(lambda: isinstance(pilot.app.screen, PlotsScreen))
        await pilot.pause()
        assert "baseline" in text_of(pilot)
        await pilot.press("escape", "escape", "escape")
        await until(lambda: isinstance(pilot.app.screen, LabScreen))
        await pilot.press("p")
        await until(lambda: isinstance(pilot.app.screen, PastScreen))
        await until(lambda: "predicted 28 [20, 36] ms, confident" in text_of(pilot))
        assert "Chunked prefill and the token budget*" in text_of(pilot)
        assert "85%" in text_of(pilot)
