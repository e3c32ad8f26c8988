"""The first place: what is unfinished, what can be started, and which model grades."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tutor.errors import TutorError
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.base import TutorScreen
from tutor.tui.words import ago, clip_cells, plural

if TYPE_CHECKING:
    from datetime import date

    from question_bank.schema import Lesson
    from tutor.drills.mastery import LessonProgress

LABEL_WIDTH = 11
ROW_EDGES = 4
"""Columns of a row that hold no text: padding at both sides, the space before the label, the scrollbar."""


class HomeScreen(TutorScreen, inherit_bindings=False):
    """A list; Enter opens what is highlighted, and the letters do the usual things at once."""

    CSS_PATH = "home.tcss"
    PLACE = "Tutor"
    PURPOSE = (
        "Home. Enter opens the highlighted row; on a lesson, Enter reads it and i asks about it. An interview asks one "
        "item after another: you say how sure you are, answer in your own words, see four verdicts with the words they "
        "rest on, and check the numbers in the simulator. Everything is kept as you type."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "continue", "end", "drills", "interview", "lesson", "find", "lab", "progress", "model", "settings", "quit-home"
    ) + list(Screen.BINDINGS)

    def body(self) -> ComposeResult:
        yield Line("Start      reading the question bank…", id="notice")
        yield OptionList(id="places", markup=False)

    def on_mount(self) -> None:
        if self.tutor.bank is not None or self.tutor.problem:
            self.show_domain()

    def on_screen_resume(self) -> None:
        if self.tutor.bank is not None:
            self.show_domain()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        if self.tutor.bank is not None:
            self.show_domain()

    def action_back(self) -> None:
        """Home is where Esc ends; it leaves the program by q or Ctrl+Q only."""

    def model_changed(self) -> None:
        super().model_changed()
        self._show_model()

    # --- what is shown ----------------------------------------------------------------------------------------

    def show_domain(self) -> None:
        """Fill the list anew, keeping the highlighted row."""
        self._show_model()
        if self.tutor.bank is None or self.tutor.store is None:
            return
        places = self.query_one("#places", OptionList)
        kept = self._highlighted_id()
        try:
            options = [*self._unfinished(), *self._starts(), *self._drills(), *self._packs(), *self._program()]
        except TutorError as error:
            self.query_one("#notice", Line).show(str(error), tone="problem")
            return
        places.clear_options()
        places.add_options(options)
        wanted = next((n for n, option in enumerate(options) if kept and option.id == kept), None)
        first = next((n for n, option in enumerate(options) if not option.disabled), None)
        places.highlighted = wanted if wanted is not None else first
        if self.focused is None:
            places.focus()
        self.refresh_bindings()

    def _show_model(self) -> None:
        notice = self.query_one("#notice", Line)
        model = self.tutor.model
        if self.tutor.problem:
            notice.show(self.tutor.problem, tone="problem")
        elif self.tutor.bank is None:
            return
        elif model.status == "none":
            notice.show(
                f"No model: {one_line(model.reason)} Code and evidence grade; m gets a model.",
                tone="note",
            )
        elif model.status == "ready":
            notice.show(f"Answers are graded by code and by {one_line(model.name)}.", tone="note")
        else:
            notice.show(f"{model.label()[:1].upper()}{model.label()[1:]}  You can start meanwhile.", tone="note")

    def _unfinished(self) -> list[Option]:
        from tutor.interview.views import unfinished

        assert self.tutor.store is not None
        rows: list[Option] = []
        for summary in unfinished(self.tutor.store):
            draft = ", draft kept" if summary.draft_chars else ""
            tail = (
                f", item {summary.position + 1} of {summary.of}{draft}, "
                f"begun {ago(summary.started_at, self.tutor.clock())}"
            )
            text = self._fitted(one_line(summary.title, 40), tail)
            rows.append(self._row("Continue" if not rows else "", text, f"continue:{summary.interview_id}"))
        if not rows:
            text = self._fitted("nothing unfinished; an interview you leave waits here")
            rows.append(Option(Content.assemble((f" {'Continue':<{LABEL_WIDTH}}{text}", "$secondary")), disabled=True))
        return rows[:5]

    def _drills(self) -> list[Option]:
        drills, now = self.tutor.open_drills(), self.tutor.clock()
        if drills is None:
            return []
        drills.sync(now)
        counts = drills.counts(now)
        parts = [f"{counts.due:,} due", f"{counts.overdue:,} overdue", f"{counts.today_new:,} new"]
        if counts.confident_wrong:
            parts.insert(1, f"{counts.confident_wrong} wrong though confident")
        if not counts.today:
            next_day, due = drills.queue.next_due(now)
            parts.append(f"done for today, next {plural(due, 'item')} on {next_day}" if next_day else "done for today")
        rows = [self._row("Drills", self._fitted(" · ".join(parts)), "drills")]
        done = (
            f"{plural(counts.done_today, 'answer')} today" if counts.done_today else "topics, confidence, weeks, ahead"
        )
        return [*rows, self._row("Progress", self._fitted(done), "progress")]

    def _starts(self) -> list[Option]:
        assert self.tutor.bank is not None
        count = len(self.tutor.bank.items)
        return [
            self._row("Interview", self._fitted("25 minutes, an hour, weak topics or one lesson"), "plans"),
            self._row("Find", self._fitted(f"one of {plural(count, 'item')}, by word, kind or topic"), "items"),
            self._row("Lab", self._fitted("the simulator: predict a change, lock it, run it, compare"), "lab"),
        ]

    def _packs(self) -> list[Option]:
        """A table of lessons for each pack; a number before each gives the order in which to read them."""
        from tutor.tui.screens.home_table import LessonRow, heading, lesson_row, title_width

        assert self.tutor.bank is not None
        width = self.size.width - ROW_EDGES
        far = self._far()
        rows: list[Option] = []
        for pack in self.tutor.bank.packs:
            mine = [lesson for lesson in self._lessons() if lesson.id.partition("/")[0] == pack.id]
            if not mine:
                continue
            named = title_width(width)
            rows.append(Option(join("\n", (heading(pack.title, named, width), "bold")), disabled=True))
            for number, lesson in enumerate(mine, 1):
                about = LessonRow(number, lesson.title, len(lesson.items), far.get(lesson.id), self._progress(lesson))
                rows.append(Option(lesson_row(about, named, width, self._today()), id=f"lesson:{lesson.id}"))
        return rows

    def _far(self) -> dict[str, LessonProgress]:
        from tutor.drills.mastery import lessons

        drills = self.tutor.open_drills()
        return {each.lesson_id: each for each in lessons(drills, self.tutor.clock())} if drills is not None else {}

    def _today(self) -> date:
        drills = self.tutor.open_drills()
        now = self.tutor.clock()
        return drills.today(now) if drills is not None else now.date()

    def _program(self) -> list[Option]:
        return [
            Option(Content("\nProgram"), disabled=True),
            self._row("Model", self._fitted("what grades, what else was found, how to get a better one"), "model"),
            self._row("Settings", "every setting and where it comes from", "settings"),
        ]

    def _row(self, label: str, text: str, option_id: str) -> Option:
        return Option(Content.assemble((f" {label:<{LABEL_WIDTH}}", "$secondary"), text), id=option_id)

    def _fitted(self, text: str, tail: str = "") -> str:
        """The text, cut so that it and the tail are one line beside the label."""
        return clip_cells(text, self.size.width - LABEL_WIDTH - ROW_EDGES - cell_len(tail)) + tail

    def _lessons(self) -> tuple[Lesson, ...]:
        assert self.tutor.bank is not None
        return self.tutor.bank.lessons

    def _progress(self, lesson: Lesson) -> str:
        from tutor.interview.reading import last_section
        from tutor.tui.screens.lesson import lesson_pages

        assert self.tutor.store is not None
        stopped_at = last_section(self.tutor.store, lesson.id)
        ids, count = [section.id for section in lesson.sections], len(lesson_pages(lesson))
        if stopped_at not in ids:
            return f"{count} sections"
        return f"at section {ids.index(stopped_at) + 1} of {count}"

    # --- keys ------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("start_interview", "read_lesson", "start_drills", "open_progress", "find_item"):
            return True if self.tutor.bank is not None else None
        if action == "continue_interview":
            return self._first_unfinished() is not None
        if action == "end_interview":
            return (self._highlighted_id() or "").startswith("continue:")
        return True

    @on(OptionList.OptionSelected, "#places")
    def open_row(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click on a row."""
        what, _, which = (event.option_id or "").partition(":")
        if what == "continue":
            self._continue(which)
        elif what == "plans":
            self.action_start_interview()
        elif what == "items":
            self.action_find_item()
        elif what == "lesson":
            self.tutor.open_lesson(which)
        elif what == "drills":
            self.tutor.start_drills()
        elif what == "progress":
            self.tutor.open_progress()
        elif what == "lab":
            self.tutor.action_open_lab()
        elif what == "model":
            self.tutor.action_open_model_screen()
        elif what == "settings":
            self.tutor.action_open_settings()

    def action_continue_interview(self) -> None:
        """The highlighted unfinished interview, else the newest."""
        highlighted = self._highlighted_id() or ""
        interview_id = (
            highlighted.partition(":")[2] if highlighted.startswith("continue:") else self._first_unfinished()
        )
        if interview_id:
            self._continue(interview_id)

    def action_end_interview(self) -> None:
        """The highlighted unfinished interview is not offered again."""
        what, _, which = (self._highlighted_id() or "").partition(":")
        if what == "continue":
            self.tutor.end_interview(which)
            self.show_domain()

    @on(OptionList.OptionHighlighted, "#places")
    def row_changed(self) -> None:
        """Some keys belong to some rows only."""
        self.refresh_bindings()

    def action_start_interview(self) -> None:
        """About the highlighted lesson; from any other row, the short one over everything."""
        what, _, which = (self._highlighted_id() or "").partition(":")
        if lesson_id := self._chosen_lesson():
            self.tutor.choose_plan(lesson_id, which if what == "lesson" else "screen")

    def action_find_item(self) -> None:
        """Any one item."""
        self.tutor.open_items()

    def action_start_drills(self) -> None:
        """What is due, and new items."""
        self.tutor.start_drills()

    def action_open_progress(self) -> None:
        """What the answers say."""
        self.tutor.open_progress()

    def action_read_lesson(self) -> None:
        """The highlighted lesson, else the first one."""
        if lesson_id := self._chosen_lesson():
            self.tutor.open_lesson(lesson_id)

    def _continue(self, interview_id: str) -> None:
        self.tutor.continue_interview(interview_id)

    def _highlighted_id(self) -> str | None:
        places = self.query_one("#places", OptionList)
        if places.highlighted is None:
            return None
        return places.get_option_at_index(places.highlighted).id

    def _first_unfinished(self) -> str | None:
        places = self.query_one("#places", OptionList)
        for option in places.options:
            if option.id and option.id.startswith("continue:"):
                return option.id.partition(":")[2]
        return None

    def _chosen_lesson(self) -> str | None:
        what, _, which = (self._highlighted_id() or "").partition(":")
        if what == "lesson":
            return which
        lessons = self._lessons()
        return lessons[0].id if lessons else None
