"""Drills on the terminal: every quick kind, undo, skip, bury, suspend, notes, midnight, sizes; no model anywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from textual.widgets import Button, Input

from question_bank import Bank
from tests.tui.conftest import TutorPilot, answer, no_model, paste, text_of, until
from tutor.drills import DrillPlan, Drills, Outcome, Rating
from tutor.drills.events import stream_of
from tutor.settings import Settings
from tutor.store import Store
from tutor.tui.app import TutorApp
from tutor.tui.screens.drill import DrillScreen
from tutor.tui.screens.home import HomeScreen
from tutor.tui.screens.interview import InterviewScreen
from tutor.tui.widgets.size_notice import SizeNotice


@dataclass
class HandClock:
    """Stands still until it is moved."""

    now: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


OpenDrill = Callable[..., AbstractAsyncContextManager[tuple[TutorPilot, DrillScreen]]]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def open_drill(settings: Settings, store: Store, bank: Bank, clock: HandClock) -> OpenDrill:
    """Open the program at the drills, with certain kinds of items."""

    @asynccontextmanager
    async def opened(
        kinds: tuple[str, ...] = (), size: tuple[int, int] = (80, 24)
    ) -> AsyncIterator[tuple[TutorPilot, DrillScreen]]:
        app = TutorApp(settings, store, bank, choose_model=no_model, clock=clock)
        async with app.run_test(size=size, tooltips=True) as pilot:
            await until(lambda: app.model.settled and bool(app.screen.query("#places")))
            app.start_drills(kinds)
            await until(lambda: isinstance(app.screen, DrillScreen) and bool(app.screen.query("#summary-text")))
            await pilot.pause()
            yield pilot, drill_of(pilot)

    return opened


def drill_of(pilot: TutorPilot) -> DrillScreen:
    screen = pilot.app.screen
    assert isinstance(screen, DrillScreen)
    return screen


def right_letter(screen: DrillScreen, *, right: bool = True) -> str:
    question = screen.shown.question
    assert question is not None
    return "abcdefgh"[next(n for n, option in enumerate(question.options) if option.correct is right)]


def right_numbers(screen: DrillScreen) -> str:
    question = screen.shown.question
    assert question is not None
    return "; ".join(f"{each.label} = {each.value:.6g} {each.unit}" for each in question.expected)


async def test_home_shows_what_is_due_and_d_opens_it(open_drill: OpenDrill) -> None:
    async with open_drill() as (pilot, _):
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))
        await pilot.pause()
        text = text_of(pilot)
        assert "0 due · 0 overdue · 10 new" in text
        assert "d drills" in text
        assert "p progress" in text
        await pilot.press("d")
        await until(lambda: isinstance(pilot.app.screen, DrillScreen))


async def test_a_checkpoint_goes_from_confidence_to_the_next_interval(open_drill: OpenDrill, store: Store) -> None:
    async with open_drill(("checkpoint",)) as (pilot, screen):
        text = text_of(pilot)
        assert "0 due" in text
        assert "10 of " in text
        assert "How sure are you?" in text
        await pilot.press("2", right_letter(screen))
        await until(lambda: screen.phase == "graded")
        await pilot.pause()
        text = text_of(pilot)
        assert text.count("✓ right") == 1
        assert "right (Good): in 2 days, on 2026-03-04" in text or "right (Good): in 3 days" in text
        assert "How sure you were: getting there" in text
        before = screen.shown.item.id
        await pilot.press("n")
        await until(lambda: screen.phase == "confidence")
        assert screen.shown.item.id != before
        assert len(store.events(kind="drill.reviewed")) == 1


async def test_an_option_before_the_confidence_is_refused_in_place(open_drill: OpenDrill) -> None:
    async with open_drill(("checkpoint",)) as (pilot, screen):
        screen.query_one("#option-list").focus()
        await pilot.press("a")
        await pilot.pause()
        assert screen.phase == "confidence"
        assert "Say first how sure you are" in text_of(pilot)


async def test_wrong_though_confident_returns_tomorrow_and_u_takes_it_back(open_drill: OpenDrill) -> None:
    async with open_drill(("checkpoint",)) as (pilot, screen):
        item = screen.shown.item.id
        await pilot.press("3", right_letter(screen, right=False))
        await until(lambda: screen.phase == "graded")
        await pilot.pause()
        assert "✗ not right" in text_of(pilot)
        assert "wrong though confident: once more today, then tomorrow" in text_of(pilot)
        await pilot.press("u")
        await until(lambda: screen.phase == "confidence")
        await pilot.pause()
        assert screen.shown.item.id == item
        assert screen.drills.card(item).state.reviews == 0
        assert "Taken back" in text_of(pilot)
        await pilot.press("u")
        await pilot.pause()
        assert "nothing to take back" in text_of(pilot)


async def test_numbers_alone_are_decided_by_code_and_come_back_after_undo(open_drill: OpenDrill) -> None:
    async with open_drill(("exercise",)) as (pilot, screen):
        assert screen.shown.mode == "numbers"
        typed = right_numbers(screen)
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "Say first how sure you are" in text_of(pilot)
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "No number is given" in text_of(pilot)
        await paste(pilot, typed)
        await pilot.press("ctrl+s")
        await until(lambda: screen.phase == "graded")
        await pilot.pause()
        assert "✓ right" in text_of(pilot)
        assert "Reference" in text_of(pilot)
        await pilot.press("u")
        await until(lambda: screen.phase == "confidence")
        assert screen.stage.answer.text == typed


async def test_a_recall_is_marked_with_four_intervals_in_sight(open_drill: OpenDrill) -> None:
    async with open_drill(("recall",)) as (pilot, screen):
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        await pilot.press("ctrl+s")
        await until(lambda: screen.phase == "marking")
        await pilot.pause()
        days = screen.recall_days()
        assert days[1] <= days[2] <= days[3] <= days[4]
        for number, mark in ((1, "missed"), (2, "partly"), (3, "well"), (4, "easily")):
            label = str(screen.query_one(f"#recall-{number}", Button).label)
            assert label == f"({number}) {mark} {days[number]} d"
            assert label in text_of(pilot)
        await pilot.press("4")
        await until(lambda: screen.phase == "graded")
        await pilot.pause()
        answered = screen.session.answered
        assert answered is not None
        assert answered.outcome.rating is Rating.EASY
        assert answered.days == days[4]


async def test_a_prediction_is_set_beside_the_simulator(open_drill: OpenDrill) -> None:
    async with open_drill(("prediction",)) as (pilot, screen):
        question = screen.shown.question
        assert question is not None
        await pilot.press("2")
        await pilot.pause()
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "is empty" in text_of(pilot)
        for field, each in zip(screen.stage.fields.query(Input), question.expected, strict=True):
            field.value = f"{each.value:.8g}"
        await pilot.press("ctrl+s")
        await until(lambda: screen.phase == "graded")
        await pilot.pause()
        text = text_of(pilot)
        assert "✓ right" in text
        assert "ratio 1.0" in text


async def test_skip_bury_and_suspend_leave_an_item_and_u_brings_it_back(open_drill: OpenDrill) -> None:
    async with open_drill(("checkpoint",)) as (pilot, screen):
        first = screen.shown.item.id
        await pilot.press("f8")
        await pilot.pause()
        second = screen.shown.item.id
        assert second != first
        await pilot.press("t")
        await pilot.pause()
        assert "not asked before tomorrow" in text_of(pilot)
        assert screen.drills.card(second).state.buried_until is not None
        await pilot.press("u")
        await pilot.pause()
        assert screen.drills.card(second).state.buried_until is None
        await pilot.press("x")
        await pilot.pause()
        assert "is not asked any more" in text_of(pilot)
        assert sum(screen.drills.card(item.id).state.suspended for item in screen.drills.deck.items) == 1


async def test_a_note_is_kept_by_esc_and_taken_back_by_u(open_drill: OpenDrill) -> None:
    async with open_drill(("checkpoint",)) as (pilot, screen):
        item = screen.shown.item.id
        await pilot.press("o", *"mind [b]n", "escape")
        await pilot.pause()
        assert isinstance(pilot.app.screen, DrillScreen)
        assert screen.drills.card(item).state.note == "mind [b]n"
        assert "Your note  mind [b]n" in text_of(pilot)
        await pilot.press("u")
        await pilot.pause()
        assert screen.drills.card(item).state.note == ""


async def test_esc_keeps_the_draft_and_the_item_has_it_again(open_drill: OpenDrill, store: Store) -> None:
    async with open_drill(("exercise",)) as (pilot, screen):
        stream = stream_of(screen.shown.item.id)
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        await pilot.press(*"42 ms", "escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))
        kept = store.draft(stream, 0)
        assert kept is not None
        assert kept.text == "42 ms"
    async with open_drill(("exercise",)) as (_, screen):
        assert screen.stage.answer.text == "42 ms"


async def test_a_draft_is_on_the_disk_without_leaving(open_drill: OpenDrill, store: Store) -> None:
    async with open_drill(("prediction",)) as (pilot, screen):
        await pilot.press("1")
        await pilot.pause()
        await pilot.press("7")
        await until(
            lambda: (draft := store.draft(stream_of(screen.shown.item.id), 0)) is not None and "7" in draft.text
        )


async def test_a_sitting_ends_with_what_was_learned_and_when_the_next_is_due(open_drill: OpenDrill) -> None:
    async with open_drill(("checkpoint",)) as (pilot, screen):
        title = screen.shown.item.title
        await pilot.press("2", right_letter(screen))
        await until(lambda: screen.phase == "graded")
        await pilot.press("n")
        await until(lambda: screen.phase == "confidence")
        await pilot.press("escape")
        await pilot.pause()
        text = text_of(pilot)
        assert "1 answer in 1 min: 1 right, 0 not right." in text
        assert "✓ Learned (1)" in text
        assert title in text
        assert "due 2026-03-0" in text
        assert "n goes on" in text
        await pilot.press("n")
        await until(lambda: screen.phase == "confidence")
        await pilot.press("escape", "escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))


async def test_an_empty_queue_teaches_and_a_new_day_fills_it(
    open_drill: OpenDrill, store: Store, bank: Bank, clock: HandClock
) -> None:
    with Drills.open(store, bank) as drills:
        drills.set_plan(DrillPlan(new_per_day=0), clock())
    async with open_drill() as (pilot, screen):
        assert screen.phase == "over"
        text = text_of(pilot)
        assert "Nothing is due now." in text
        assert "Here come items you missed" in text
        assert "n next" not in text
        screen.drills.set_plan(DrillPlan(new_per_day=3), clock())
        clock.now += timedelta(days=1)
        await until(lambda: "A new day has begun (2026-03-03): 3 to ask." in text_of(pilot))
        await pilot.press("n")
        await until(lambda: screen.phase == "confidence")


async def test_midnight_with_an_item_open_moves_nothing_but_the_counts(open_drill: OpenDrill, clock: HandClock) -> None:
    clock.now = datetime(2026, 3, 3, 3, 59, tzinfo=UTC)  # the day ends at four
    async with open_drill(("checkpoint",)) as (pilot, screen):
        item = screen.shown.item.id
        await pilot.press("2")
        clock.now = datetime(2026, 3, 3, 4, 1, tzinfo=UTC)
        await until(lambda: "A new day has begun (2026-03-03)" in text_of(pilot))
        assert screen.shown.item.id == item
        await pilot.press(right_letter(screen))
        await until(lambda: screen.phase == "graded")
        answered = screen.session.answered
        assert answered is not None
        assert str(answered.recorded.review.day) == "2026-03-03"


async def test_an_exercise_in_full_hands_over_to_the_interview(open_drill: OpenDrill, clock: HandClock) -> None:
    async with open_drill(("exercise",)) as (pilot, screen):
        typed = right_numbers(screen)
        item = screen.shown.item.id
        screen.stage.answer.focus()
        await paste(pilot, typed)
        screen.query_one("#sure-1").focus()
        await pilot.press("i")
        await until(lambda: isinstance(pilot.app.screen, InterviewScreen) and bool(pilot.app.screen.query("#answer")))
        await pilot.pause()
        interview = pilot.app.screen
        assert isinstance(interview, InterviewScreen)
        assert interview.stage.answer.text == typed
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        await pilot.pause()
        assert "Not answered yet" in text_of(pilot)
        await pilot.press("i")
        await until(lambda: isinstance(pilot.app.screen, InterviewScreen) and bool(pilot.app.screen.query("#answer")))
        await pilot.pause()
        await answer(pilot, "")
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        await until(lambda: screen.phase == "graded")
        await pilot.pause()
        assert "Returns  right" in text_of(pilot)
        assert "How sure you were: getting there" in text_of(pilot)
        assert screen.drills.card(item).state.reviews == 1


async def test_an_item_that_keeps_being_forgotten_offers_another_way_in(
    open_drill: OpenDrill, store: Store, bank: Bank, clock: HandClock
) -> None:
    exercise = next(item for item in bank.items if item.kind == "exercise")
    with Drills.open(store, bank) as drills:
        drills.set_plan(DrillPlan(new_per_day=0), clock())
        for right in (True, False, True, False, True, False, True, False):
            shown = drills.present(exercise.id, "review", clock())
            rating = Rating.GOOD if right else Rating.AGAIN
            drills.record(shown, Outcome(rating, right, "marked"), clock(), confidence=2)
            clock.now += timedelta(days=3)
        assert drills.card(exercise.id).state.leech
    async with open_drill() as (pilot, screen):
        assert screen.shown.item.id == exercise.id
        assert "This was forgotten 4 times" in text_of(pilot)
        assert "w opens it" in text_of(pilot)
        await pilot.press("w")
        await pilot.pause()
        assert "Worked example" in text_of(pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert "How sure are you?" in text_of(pilot)
        way = screen.shown.way_in
        assert way is not None
        assert len(way.choices) > 1


async def test_k_turns_through_the_kinds_until_something_is_answered(open_drill: OpenDrill) -> None:
    async with open_drill() as (pilot, screen):
        for kind in ("checkpoint", "recall", "exercise", "prediction"):
            await pilot.press("k")
            await until(lambda kind=kind: screen.kinds[:1] == (kind,))  # type: ignore[misc]
            await pilot.pause()
            assert screen.shown.item.kind in screen.kinds
        await pilot.press("k")
        await until(lambda: screen.kinds == ())


@pytest.mark.parametrize("size", [(20, 5), (40, 12), (60, 20), (80, 24), (120, 40), (200, 50)])
async def test_a_drill_can_be_done_at_any_size(open_drill: OpenDrill, size: tuple[int, int]) -> None:
    async with open_drill(("recall",), size) as (pilot, screen):
        small = size[0] < 60 or size[1] < 20
        assert screen.query_one(SizeNotice).display is small
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        await pilot.press("ctrl+s")
        await until(lambda: screen.phase == "marking")
        await pilot.press("3")
        await until(lambda: screen.phase == "graded")
        await pilot.pause()
        assert screen.max_scroll_x == 0
        await pilot.press("escape")
        await pilot.pause()
        assert screen.phase == "over"


async def test_a_resize_storm_leaves_the_answer_and_the_focus(open_drill: OpenDrill) -> None:
    async with open_drill(("exercise",)) as (pilot, screen):
        await pilot.press("2")
        await until(lambda: screen.focused is screen.stage.answer)
        await pilot.press(*"kept")
        for size in [(20, 5), (200, 50), (61, 21), (1, 1), (120, 40), (80, 24)]:
            await pilot.resize_terminal(*size)
        await pilot.pause()
        assert screen.stage.answer.text == "kept"
        assert screen.focused is screen.stage.answer
        assert screen.phase == "answering"


async def test_every_key_of_the_drills_is_in_help_and_palette(open_drill: OpenDrill) -> None:
    async with open_drill(("exercise",), (100, 60)) as (pilot, screen):
        names = {command.title.partition(" (")[0] for command in pilot.app.get_system_commands(screen)}
        assert {"skip", "tomorrow", "suspend", "note", "undo", "in full", "hint", "lesson", "kinds"} <= names
        await pilot.press("f1")
        await pilot.pause()
        text = text_of(pilot)
        assert "Bury this item" in text
        assert "Take back the last answer" in text
