"""The program on the terminal: it opens store, bank and model in the background and keeps the stack of screens."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen

from tutor.errors import TutorError
from tutor.tui import theme
from tutor.tui.bindings import bindings, key_for
from tutor.tui.ending import Ending, speak_utf8
from tutor.tui.model_state import ModelState, short_model
from tutor.tui.screens.base import TutorScreen
from tutor.tui.screens.home import HomeScreen

if TYPE_CHECKING:
    from question_bank import Bank
    from tutor.drills import Drills
    from tutor.grader import Grader
    from tutor.interview.plan import Plan
    from tutor.llm.choose import ModelChoice
    from tutor.settings import Settings
    from tutor.store import Store

ModelChooser = Callable[["Settings", Callable[[str], None]], Awaitable["ModelChoice"]]
"""Finds a model, telling in words what it is doing."""


def local_now() -> datetime:
    """The wall clock with this place's offset; handed to the domain, which has none of its own."""
    return datetime.now(UTC).astimezone()


def new_seed() -> int:
    """Which numbers are drawn; stored with the interview, so that they can be shown again."""
    return secrets.randbelow(1_000_000)


class TutorApp(App[int]):
    """All screens of the tutor.

    `store` and `bank` are opened after the first frame when they are not given; `choose_model` looks for a
    model (and may start one), in the background.
    """

    TITLE = "Tutor"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("help", "palette", "quit")

    @dataclass
    class DomainOpened(Message):
        """Store and bank can be used."""

        bank: Bank

    @dataclass
    class DomainFailed(Message):
        """The bank could not be read."""

        sentence: str

    @dataclass
    class ModelMoved(Message):
        """The search for a model came one step further."""

        state: ModelState

    def __init__(
        self,
        settings: Settings,
        store: Store | None = None,
        bank: Bank | None = None,
        choose_model: ModelChooser | None = None,
        clock: Callable[[], datetime] = local_now,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.store = store
        self.bank = bank
        self.clock = clock
        self.model = ModelState()
        self.drills: Drills | None = None
        """What is due; opened when it is first asked for."""
        self.grader: Grader | None = None
        """Grades with the model that is open, or with code alone; there once the model is settled."""
        self.problem = ""
        """Why store or bank cannot be used."""
        self.model_settled = asyncio.Event()
        self._choose_model = choose_model or choose
        for one in theme.THEMES:
            self.register_theme(one)

    def on_mount(self) -> None:
        """Show Home; everything that takes time starts once that is on the terminal."""
        self.choose_theme()
        self.push_screen(HomeScreen())
        if not (self.is_web or self.is_headless):
            self._ending = Ending(self)
        self.set_interval(1.0, self._tick)
        self.call_after_refresh(self._open_domain)

    def choose_theme(self) -> None:
        """The theme of the settings where it exists; TEXTUAL_THEME is Textual's own way and wins."""
        wanted = theme.DEFAULT if self.settings.theme == "textual-dark" else self.settings.theme
        if not os.environ.get("TEXTUAL_THEME") and wanted in self.available_themes:
            self.theme = wanted

    # --- store, bank and model -----------------------------------------------------------------------------

    def _open_domain(self) -> None:
        try:
            if self.store is None:
                from tutor.store import open_store

                self.store = open_store(self.settings.store_file)
        except TutorError as error:
            self.post_message(self.DomainFailed(str(error)))
            return
        if self.bank is None:
            self.read_bank()
        else:
            self.post_message(self.DomainOpened(self.bank))

    @work(thread=True, exclusive=True, group="bank", exit_on_error=False)
    def read_bank(self) -> None:
        """Read and check all packs, off the event loop."""
        from question_bank import BankError, load_bank

        try:
            bank = load_bank(self.settings.bank_dirs)
        except BankError as error:
            self.post_message(self.DomainFailed(str(error)))
            return
        self.post_message(self.DomainOpened(bank))

    @on(DomainOpened)
    def domain_opened(self, message: DomainOpened) -> None:
        self.bank = message.bank
        self._refresh_screens()
        self.look_for_model()

    @on(DomainFailed)
    def domain_failed(self, message: DomainFailed) -> None:
        self.problem = message.sentence
        self.model = ModelState("none", "", "None was looked for, since the program's data could not be opened.")
        self._refresh_screens()
        self._tell_screens()

    @work(exclusive=True, group="model", exit_on_error=False)
    async def look_for_model(self) -> None:
        """Find a model, starting the built-in one if need be; never fatal."""
        if self.bank is None or self.store is None:
            return  # nothing can be graded; why is on the screen already
        from tutor.grader import Grader
        from tutor.llm.errors import LlmError

        self.model_settled.clear()
        await self.close_model()

        def said(text: str) -> None:
            name = short_model(text.removeprefix("Loading ").rstrip(".")) if text.startswith("Loading ") else ""
            self.post_message(self.ModelMoved(ModelState("loading" if name else "looking", name, "", monotonic())))

        choice = await self._choose_model(self.settings, said)
        opened = choice.model
        assert self.bank is not None
        self.grader = Grader(self.settings, self.bank, opened)
        if opened is None:
            self.post_message(self.ModelMoved(ModelState("none", "", choice.reason, monotonic())))
            return
        name = f"{short_model(opened.info.endpoint.model)} ({opened.info.endpoint.provider})"
        capabilities = opened.capabilities
        if opened.info.endpoint.provider != "embedded":
            self.post_message(self.ModelMoved(ModelState("probing", name, "", monotonic(), opened)))
            with suppress(LlmError):  # a server that cannot be asked now is said to be so at the first grade
                capabilities = await self.grader.capabilities() or capabilities
        state = ModelState("ready", name, choice.reason, monotonic(), opened, capabilities)
        self.post_message(self.ModelMoved(state))

    @on(ModelMoved)
    def model_moved(self, message: ModelMoved) -> None:
        self.model = message.state
        if self.model.settled:
            self.model_settled.set()
        self._tell_screens()

    async def close_model(self) -> None:
        """Stop the built-in server, if this program started it."""
        opened = self.model.opened
        self.model = ModelState("looking", since_s=monotonic())
        if opened is not None:
            await opened.close()

    def _tick(self) -> None:
        if not self.model.settled:
            self._tell_screens()

    def _tell_screens(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, TutorScreen) and screen.is_mounted:
                screen.model_changed()

    def _refresh_screens(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, HomeScreen):
                screen.show_domain()

    # --- keys ------------------------------------------------------------------------------------------------

    def action_show_keys(self) -> None:
        """F1."""
        from tutor.tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen.about(self.screen))

    def action_open_model_screen(self) -> None:
        """Which model, and why."""
        from tutor.tui.screens.model import ModelScreen

        if not isinstance(self.screen, ModelScreen):
            self.push_screen(ModelScreen())

    def action_open_settings(self) -> None:
        """Every setting with its source."""
        from tutor.tui.screens.settings import SettingsScreen

        if not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen())

    # --- places ----------------------------------------------------------------------------------------------

    def choose_plan(self, lesson_id: str, plan_name: str) -> None:
        """Which interview: a screen, a loop, weak topics or a lesson, of the pack that the lesson belongs to."""
        from tutor.tui.screens.plan_choice import PlanScreen

        if self.bank is not None and self.store is not None:
            self.push_screen(PlanScreen(lesson_id, plan_name))

    def start_quiz(self, lesson_id: str, section_id: str) -> None:
        """Two or three items on a section of a lesson, other ones than last time as far as there are any."""
        from tutor.interview.past import past_of
        from tutor.interview.plans import section_plan

        assert self.bank is not None
        assert self.store is not None
        try:
            plan = section_plan(self.bank, lesson_id, section_id, new_seed(), past=past_of(self.store))
        except TutorError as error:
            self.say_problem(str(error))
            return
        self.start_plan(plan)

    def start_item(self, item_id: str) -> None:
        """One item alone."""
        from tutor.interview.plan import single_item_plan

        assert self.bank is not None
        self.start_plan(single_item_plan(item_id, new_seed(), title=self.bank.item(item_id).title))

    def open_items(self) -> None:
        """All items, to be searched."""
        from tutor.tui.screens.items import ItemsScreen

        if self.bank is not None and self.store is not None:
            self.push_screen(ItemsScreen(self.bank))

    def start_plan(self, plan: Plan) -> None:
        """A new interview."""
        from tutor.interview.session import Session
        from tutor.tui.screens.interview import InterviewScreen

        assert self.store is not None
        assert self.bank is not None
        try:
            session = Session.start(self.store, self.bank, plan, self.clock)
        except (TutorError, ValueError) as error:
            self.say_problem(str(error))
            return
        self.push_screen(InterviewScreen(session))

    def continue_interview(self, interview_id: str) -> None:
        """Where one left off."""
        from tutor.interview.session import Session
        from tutor.tui.screens.interview import InterviewScreen

        assert self.store is not None
        assert self.bank is not None
        try:
            session = Session.resume(self.store, self.bank, interview_id, self.clock)
        except (TutorError, ValueError) as error:
            self.say_problem(str(error))
            return
        self.push_screen(InterviewScreen(session))

    def end_interview(self, interview_id: str) -> None:
        """Close an unfinished interview; what was answered in it stays."""
        from tutor.interview.session import Session

        assert self.store is not None
        assert self.bank is not None
        try:
            Session.resume(self.store, self.bank, interview_id, self.clock).finish()
        except (TutorError, ValueError) as error:
            self.say_problem(str(error))

    def open_drills(self) -> Drills | None:
        """The drills of the open store and bank; None while these are not open, and raises when they cannot be read."""
        if self.store is None or self.bank is None:
            return None
        if self.drills is None:
            from tutor.drills import Drills

            self.drills = Drills.open(self.store, self.bank)
        return self.drills

    def start_drills(self, kinds: tuple[str, ...] = ()) -> None:
        """A sitting of what is due and new."""
        from tutor.drills import DrillSession
        from tutor.tui.screens.drill import DrillScreen

        try:
            drills = self.open_drills()
            session = DrillSession(drills, self.clock, kinds=kinds) if drills is not None else None
        except (TutorError, ValueError) as error:
            self.say_problem(str(error))
            return
        if session is not None:
            self.push_screen(DrillScreen(session, kinds=kinds))

    def open_progress(self) -> None:
        """Mastery, calibration, history, forecast and readiness."""
        from tutor.tui.screens.progress import ProgressScreen

        try:
            drills = self.open_drills()
        except TutorError as error:
            self.say_problem(str(error))
            return
        if drills is not None and not isinstance(self.screen, ProgressScreen):
            self.push_screen(ProgressScreen(drills))

    def action_open_lab(self) -> None:
        """Scenarios, predictions and claims."""
        from tutor.tui.screens.lab import LabScreen

        if self.bank is not None and self.store is not None and not isinstance(self.screen, LabScreen):
            self.push_screen(LabScreen())

    def open_lesson(self, lesson_id: str) -> None:
        """Read, from where one stopped."""
        from tutor.tui.screens.lesson import LessonScreen

        assert self.bank is not None
        self.push_screen(LessonScreen(self.bank.lesson(lesson_id)))

    def say_problem(self, sentence: str) -> None:
        """Show a sentence on Home, where the thing was started."""
        self.problem = sentence
        self._refresh_screens()

    def keep_all(self) -> None:
        """Have every screen write what is not yet on disk."""
        for screen in self.screen_stack:
            if isinstance(screen, TutorScreen):
                screen.keep()

    def rescue(self, text: str) -> Path | None:
        """Put text that the store did not take into a file of its own; None when no folder takes one."""
        from tutor.store.rescue import rescue_text

        home = Path.home() if os.environ.get("HOME") else self.settings.data_dir
        return rescue_text(text, (self.settings.data_dir, home), self.clock())

    async def action_leave(self) -> None:
        """Keep the drafts, stop the built-in model, and end."""
        self.keep_all()
        kept = [screen.rescued() for screen in self.screen_stack if isinstance(screen, TutorScreen)]
        if not all(kept):
            return
        self.workers.cancel_all()
        await self.close_model()
        self.exit(0)

    def on_exit_app(self) -> None:
        """Asked to end from outside, as when a browser's window is closed: what is typed is kept first."""
        self.keep_all()

    def _handle_exception(self, error: Exception) -> None:
        """A flaw of the program ends it; what is typed is kept first."""
        with suppress(Exception):  # the flaw may be in the keeping itself
            self.keep_all()
        super()._handle_exception(error)

    async def action_quit(self) -> None:
        """Textual's own quit goes the same way."""
        await self.action_leave()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: what the keys of this screen do, and the theme."""
        for active in screen.active_bindings.values():
            key = key_for(active.binding)
            if key is None or not active.enabled or active.binding.id != key.id or key.id == "palette":
                continue
            run = self._runner(active.node, active.binding.action)
            yield SystemCommand(f"{key.label} ({self.get_key_display(active.binding)})", key.tooltip, run)
        yield SystemCommand("model", "See which model grades, and get a better one.", self.action_open_model_screen)
        yield SystemCommand("lab", "Scenarios, predictions and claims in the simulator.", self.action_open_lab)
        yield SystemCommand("settings", "See every setting and its source.", self.action_open_settings)
        yield SystemCommand("theme", "Change the colours.", self.action_change_theme)

    def _runner(self, node: Any, action: str) -> Callable[[], Any]:
        async def run() -> None:
            await self.run_action(action, default_namespace=node)

        return run


async def choose(settings: Settings, said: Callable[[str], None]) -> ModelChoice:
    """The model for real: a server that was found, or the built-in one."""
    from tutor.llm.choose import choose_model

    return await choose_model(settings.model, model_dir=settings.model_dir, on_status=said)


def run(settings: Settings) -> int:
    """Show the program on this terminal until the person leaves; the exit code is 0 unless it broke."""
    speak_utf8()
    app = TutorApp(settings)
    try:
        return app.run() or app.return_code or 0
    finally:
        if app.store is not None:
            app.store.close()
