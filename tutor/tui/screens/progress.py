"""Progress: a map of topics, confidence against outcome, weeks, the days ahead, and readiness for an interview."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, ScrollableContainer, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input
from textual.worker import Worker, WorkerState

from tutor.errors import TutorError
from tutor.reports.progress import Figures, figures
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, join
from tutor.tui.screens.base import TutorScreen
from tutor.tui.screens.progress_words import (
    ahead_content,
    calibration_content,
    readiness_content,
    surprise_content,
    topics_content,
    weeks_content,
)
from tutor.tui.widgets.ruled_line import RuledLine

if TYPE_CHECKING:
    from tutor.drills import Drills

PAGES = ("Topics", "Confidence", "Weeks", "Ahead", "Readiness")
READINESS = PAGES.index("Readiness")


class Page(VerticalScroll, inherit_bindings=False):
    """Scrolls up and down only: → and ← turn the pages."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in ScrollableContainer.BINDINGS
        if not (isinstance(binding, Binding) and binding.key in ("left", "right"))
    ]


class ProgressScreen(TutorScreen):
    """One page at a time; from 120 columns two beside each other, from 180 three."""

    CSS_PATH = "progress.tcss"
    PLACE = "Progress"
    PURPOSE = (
        "What your answers say. → and ← turn the pages: the map of topics with what each needs; how sure you were "
        "against what came out; the weeks; the days ahead; and readiness for an interview day, which i sets. "
        "s saves them all as one page. "
        "Everything is derived from the log of answers. Symbols: ✓ mastered, … learning, ↓ fading, – not begun; "
        "after “needs” ✓ is mastered and ✗ is not."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "next-page", "previous-page", "interview-day", "keep-day", "progress-save"
    )

    @dataclass
    class Derived(Message):
        """The figures are there."""

        found: Figures

    @dataclass
    class Failed(Message):
        """They could not be derived."""

        sentence: str

    def __init__(self, drills: Drills) -> None:
        super().__init__()
        self.drills = drills
        self.index = 0
        self.found: Figures | None = None
        self.since_s = monotonic()
        self.working = True

    def place(self) -> str:
        return f"Progress · {PAGES[self.index]} · {self.index + 1} of {len(PAGES)}"

    def body(self) -> ComposeResult:
        yield Line(id="tabs")
        yield Line(id="notice")
        with Horizontal(id="columns"):
            for title in PAGES:
                with Vertical(id=f"page-{title.lower()}", classes="page"):
                    yield RuledLine(title)
                    if title == "Readiness":
                        yield Input(id="day", placeholder="interview day, such as 2026-03-20; Enter", max_length=10)
                    with Page(can_focus=True):
                        yield Line(classes="text")

    def on_mount(self) -> None:
        self.turn(0)
        self.set_interval(1.0, self.tick)
        self.derive_anew(None)

    # --- deriving -----------------------------------------------------------------------------------------------

    def derive_anew(self, day: date | None) -> None:
        """Off the event loop, in a connection of its own."""
        self.working, self.since_s = True, monotonic()
        self.tick()
        self.derive(day)

    @work(thread=True, exclusive=True, group="figures", exit_on_error=False)
    def derive(self, day: date | None) -> None:
        """Read the log."""
        from tutor.drills import Drills
        from tutor.store import open_store

        bank, store, now = self.tutor.bank, self.drills.store, self.tutor.clock()
        assert bank is not None
        try:
            with open_store(store.path) as own, Drills.open(own, bank) as drills:
                found = figures(drills, now, day)
        except TutorError as error:
            self.post_message(self.Failed(str(error)))
            return
        self.post_message(self.Derived(found))

    @on(Worker.StateChanged)
    def worker_changed(self, event: Worker.StateChanged) -> None:
        """A fault is a line, never a wait without end."""
        if event.worker.group == "figures" and event.state is WorkerState.ERROR:
            self.failed(self.Failed(f"The figures could not be derived ({type(event.worker.error).__name__})."))

    @on(Failed)
    def failed(self, message: Failed) -> None:
        self.working = False
        self.query_one("#notice", Line).show(message.sentence, tone="problem")
        self.query_one("#notice").display = True

    @on(Derived)
    def derived(self, message: Derived) -> None:
        self.working, self.found = False, message.found
        self.query_one("#notice").display = False
        day = self.query_one("#day", Input)
        if not day.value and message.found.interview_day is not None:
            day.value = str(message.found.interview_day)
        self.draw()
        self.refresh_bindings()

    def tick(self) -> None:
        """How long it has been reading."""
        notice = self.query_one("#notice", Line)
        if self.working:
            seconds = int(monotonic() - self.since_s)
            notice.show(f"Reading the log of answers, {seconds} s; Esc goes back.", tone="note")
            notice.display = True

    # --- showing ------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """How many pages stand beside each other."""
        return 3 if self.size.width >= 180 else 2 if self.size.width >= 120 else 1

    def turn(self, index: int, *, focus: bool = True) -> None:
        """Show a page, and those after it where there is room."""
        self.index = index % len(PAGES)
        first = min(self.index, len(PAGES) - self.columns)
        seen = range(first, first + self.columns)
        pages = list(self.query(".page"))
        for number, page in enumerate(pages):
            page.display = number in seen
        names = [
            Content.styled(f"[{name}]", "bold $accent") if number in seen else Content.styled(f" {name} ", "$secondary")
            for number, name in enumerate(PAGES)
        ]
        self.query_one("#tabs", Line).update(Content(" ").join(names))
        if focus:
            pages[self.index].query_one(Page).focus()
        self.retitle()
        self.refresh_bindings()
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Every page that is seen, to the width there is."""
        found = self.found
        if found is None or not self.is_mounted:
            return
        for title, page in zip(PAGES, self.query(".page"), strict=True):
            width = page.size.width - 4
            if not page.display or width < 1:
                continue
            width = max(24, width)
            match title:
                case "Topics":
                    content = topics_content(found.topics, width)
                case "Confidence":
                    content = calibration_content(found.everything, found.by_topic, width)
                    content = Content("\n").join([content, surprise_content(found.surprises, width)])
                case "Weeks":
                    content = weeks_content(found.weeks, width)
                case "Ahead":
                    content = ahead_content(found.counts, found.ahead, found.catching, width)
                case _:
                    content = readiness_content(found.ready, width)
            page.query_one(".text", Line).update(content)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        if self.is_mounted:
            self.turn(self.index, focus=False)

    # --- keys ---------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "save_page":
            return self.found is not None and not self.working
        if action == "keep_day":
            return self.found is not None and self.found.interview_day is not None and not self.working
        return super().check_action(action, parameters)

    def action_page(self, step: int) -> None:
        """→ and ←."""
        self.turn(self.index + step)

    def action_save_page(self) -> None:
        """s: what the pages show, as HTML."""
        from tutor.reports.progress_page import progress_html
        from tutor.reports.save import file_name, free_path, write

        if self.found is None:
            return
        name = file_name("progress", self.found.made_at.date(), "html")
        path = free_path(self.tutor.settings.data_dir / "reports" / name)
        try:
            write(progress_html(self.found), path)
        except TutorError as error:
            self.failed(self.Failed(str(error)))
            return
        notice = self.query_one("#notice", Line)
        notice.show(f"Saved as {path}.", tone="note")
        notice.display = True

    def action_interview_day(self) -> None:
        """i."""
        self.turn(READINESS)
        self.query_one("#day", Input).focus()

    @on(Input.Submitted, "#day")
    def day_entered(self, event: Input.Submitted) -> None:
        """Readiness for that day; nothing is stored."""
        try:
            day = date.fromisoformat(event.value.strip())
        except ValueError:
            self.failed(self.Failed(f"“{event.value}” is no day. Write it as 2026-03-20."))
            return
        self.query_one("#page-readiness Page").focus()
        self.derive_anew(day)

    def action_keep_day(self) -> None:
        """k: the plan for all items has this interview day; u in the drills takes it back."""
        day = self.found.interview_day if self.found is not None else None
        if day is None:
            return
        try:
            plan = self.drills.settings.base.model_copy(update={"interview_day": day})
            self.drills.set_plan(plan, self.tutor.clock())
        except TutorError as error:
            self.failed(self.Failed(str(error)))
            return
        self.derive_anew(day)
        self.query_one("#tabs", Line).update(
            join((f"The plan has the interview on {day}: all that was met comes back before it.", "$accent"))
        )
