"""Home: what is unfinished, what can be started, and what each key opens."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from rich.cells import cell_len
from textual.widgets import Input, OptionList

from question_bank import Bank
from tests.tui.conftest import EXERCISE, OpenTutor, interview_of, no_model, start_item, text_of, until
from tutor.interview import unfinished
from tutor.settings import Settings
from tutor.store import Store
from tutor.tui.app import TutorApp
from tutor.tui.screens.home import HomeScreen
from tutor.tui.screens.home_table import day_words
from tutor.tui.screens.interview import InterviewScreen
from tutor.tui.screens.items import ItemsScreen
from tutor.tui.screens.lesson import LessonScreen, lesson_pages
from tutor.tui.screens.model import ModelScreen
from tutor.tui.screens.plan_choice import PlanScreen
from tutor.tui.screens.settings import SettingsScreen


async def test_an_empty_home_teaches_what_would_be_there(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        text = text_of(pilot)
        assert "nothing unfinished" in text
        assert "No model" in text
        assert "i interview" in text
        assert "c continue" not in text


async def test_an_interview_left_with_esc_is_offered_with_its_draft(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        await pilot.press("3", "s", "i", "x")
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))
        await pilot.pause()
        assert "item 1 of 1, draft kept" in text_of(pilot)
        await pilot.press("c")
        await until(lambda: isinstance(pilot.app.screen, InterviewScreen))
        assert interview_of(pilot).stage.answer.text == "six"
        assert len(unfinished(store)) == 1


async def test_letters_open_the_places_and_esc_leads_back(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        for key, place in (("l", LessonScreen), ("m", ModelScreen), ("s", SettingsScreen), ("i", PlanScreen)):
            await pilot.press(key)
            await until(lambda place=place: isinstance(pilot.app.screen, place))  # type: ignore[misc]
            await pilot.pause()
            await pilot.press("escape")
            await until(lambda: isinstance(pilot.app.screen, HomeScreen))


async def test_enter_opens_the_highlighted_row(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        places = pilot.app.screen.query_one("#places", OptionList)
        places.focus()
        places.highlighted = places.get_option_index("lesson:serving/prefill-decode")
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, LessonScreen))
        assert "Prefill, decode and batching" in text_of(pilot)


async def test_i_on_a_lesson_offers_that_lesson(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        places = pilot.app.screen.query_one("#places", OptionList)
        places.highlighted = places.get_option_index("lesson:serving/prefill-decode")
        await pilot.press("i")
        await until(lambda: isinstance(pilot.app.screen, PlanScreen))
        await pilot.pause()
        plan = pilot.app.screen
        assert isinstance(plan, PlanScreen)
        assert (plan.lesson_id, plan.chosen) == ("serving/prefill-decode", "serving/prefill-decode")


async def test_an_item_is_found_by_its_words_and_opened(open_tutor: OpenTutor, bank: Bank) -> None:
    async with open_tutor() as pilot:
        await pilot.press("slash")
        await until(lambda: isinstance(pilot.app.screen, ItemsScreen))
        await pilot.pause()
        listed = pilot.app.screen.query_one("#items", OptionList)
        assert listed.option_count == len(bank.items)
        await pilot.press(*"exercise completion")
        await pilot.pause()
        found = {option.id for option in listed.options}
        assert EXERCISE in found
        assert all(item is not None and bank.item(item).kind == "exercise" for item in found)
        while listed.highlighted_option is not None and listed.highlighted_option.id != EXERCISE:
            await pilot.press("down")
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, InterviewScreen))
        assert "Completion time" in interview_of(pilot).place()
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, ItemsScreen))
        assert pilot.app.screen.query_one("#wanted", Input).value == "exercise completion"


async def test_words_that_nothing_has_are_said_to_be_so(open_tutor: OpenTutor) -> None:
    async with open_tutor((60, 20)) as pilot:
        await pilot.press("slash")
        await until(lambda: isinstance(pilot.app.screen, ItemsScreen))
        await pilot.press(*"[/] zebra")
        await pilot.pause()
        assert "Nothing has all of these words" in text_of(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ItemsScreen)


@pytest.mark.parametrize(
    ("ahead", "words"), [(-3, "today"), (0, "today"), (1, "tomorrow"), (2, "Wed 09 Dec"), (400, "11 Jan 28")]
)
def test_when_a_lesson_comes_back_is_said_in_days(ahead: int, words: str) -> None:
    today = date(2026, 12, 7)
    assert day_words(today + timedelta(days=ahead), today) == words


def test_a_lesson_never_asked_is_new() -> None:
    assert day_words(None, date(2026, 12, 7)) == "new"


async def test_a_bank_that_cannot_be_read_is_a_line_not_a_crash(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        app = pilot.app
        assert isinstance(app, TutorApp)
        app.post_message(TutorApp.DomainFailed("packs/x.yaml: line 3: [/] list[int] is not a title"))
        await pilot.pause()
        assert "packs/x.yaml: line 3: [/] list[int]" in text_of(pilot)


async def test_without_its_data_no_model_is_looked_for(settings: Settings, bank: Bank) -> None:
    settings.store_file.mkdir(parents=True)
    app = TutorApp(settings, None, bank, choose_model=no_model)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: bool(app.problem))
        await pilot.pause()
        assert text_of(pilot).splitlines()[0].rstrip().endswith("no model")
        app.action_open_model_screen()
        await until(lambda: bool(app.screen.query("#in-use")))
        await pilot.press("r")
        await pilot.pause()
        assert "None was looked for" in text_of(pilot)
        assert "looking for a model" not in text_of(pilot)


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_every_row_of_home_is_one_line(open_tutor: OpenTutor, width: int) -> None:
    async with open_tutor((width, 30)) as pilot:
        await start_item(pilot)
        await pilot.press("2", *"a draft", "escape")
        await pilot.pause()
        places = pilot.app.screen.query_one("#places", OptionList)
        rows = [str(option.prompt) for option in places.options]
        assert all(cell_len(row.strip("\n")) <= places.scrollable_content_region.width for row in rows)
        assert "s ago" in rows[0]


async def test_home_counts_the_sections_that_the_lesson_shows(open_tutor: OpenTutor, bank: Bank) -> None:
    async with open_tutor((120, 40)) as pilot:
        count = len(lesson_pages(bank.lessons[0]))
        assert f"{count} sections" in text_of(pilot)
        await pilot.press("l")
        await until(lambda: isinstance(pilot.app.screen, LessonScreen))
        await pilot.pause()
        assert f"1 of {count}" in text_of(pilot)


async def test_help_lists_the_keys_of_the_screen_below(open_tutor: OpenTutor) -> None:
    async with open_tutor((100, 40)) as pilot:
        await start_item(pilot)
        await pilot.press("f1")
        await pilot.pause()
        text = text_of(pilot)
        assert "Hand in the answer" in text
        assert "Show the next hint" in text
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, InterviewScreen)


async def test_the_palette_finds_the_commands_of_the_screen(open_tutor: OpenTutor) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        await pilot.press("ctrl+p")
        await pilot.press(*"hint")
        await until(lambda: "Show the next hint" in text_of(pilot))
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, InterviewScreen))
        await until(lambda: interview_of(pilot).session.hints_used == 1)


async def test_an_interview_in_which_nothing_was_said_is_not_offered(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        await pilot.press("escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))
        assert unfinished(store) == []


async def test_an_unfinished_interview_can_be_ended_from_home(open_tutor: OpenTutor, store: Store) -> None:
    async with open_tutor() as pilot:
        await start_item(pilot)
        await pilot.press("3", "escape")
        await until(lambda: isinstance(pilot.app.screen, HomeScreen))
        await pilot.pause()
        places = pilot.app.screen.query_one("#places", OptionList)
        places.highlighted = 0
        await until(lambda: "x end it" in text_of(pilot))
        await pilot.press("x")
        await pilot.pause()
        assert unfinished(store) == []
        assert "nothing unfinished" in text_of(pilot)
