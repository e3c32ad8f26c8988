"""Beside the interview: its history, and the model answer or the lesson; a column when wide, a page when narrow."""

from __future__ import annotations

from collections.abc import Iterable

from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget

from tutor.tui.prose import Prose
from tutor.tui.screens.interview_base import InterviewBase
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.widgets.transcript import Transcript

WIDE = 120
EMPTY_PAGE = "F9 puts the lesson here. After the grade the model answer comes here."


class BesidePart(InterviewBase):
    """F9 turns from one to the next. From 120 columns one stands beside, from 180 both do."""

    beside = "history"
    """What the second column shows: history, reference or lesson."""
    page_shows = ""
    """What the page column was last filled with, such as a lesson's id."""

    def beside_columns(self) -> Iterable[Widget]:
        """The second and third column."""
        yield Vertical(RuledLine("History", "F9 turns the page"), Transcript(id="history"), id="history-column")
        yield Vertical(
            RuledLine("Beside", "F9 turns the page", id="page-heading"),
            VerticalScroll(Prose(EMPTY_PAGE, id="page-text"), id="page", can_focus=True),
            id="page-column",
        )

    def show_history(self) -> None:
        """Bring the transcript up to date."""
        self.query_one("#history", Transcript).show(self.session.history)

    async def action_beside(self) -> None:
        """F9."""
        order = ["history", "lesson"]
        if self.session.phase == "reference":
            order.insert(1, "reference")
        wide = self.size.width >= WIDE
        if not wide and not self.has_class("-beside"):
            await self.show_beside("history", open_page=True)
            return
        place = order.index(self.beside) + 1 if self.beside in order else 0
        if not wide and place == len(order):
            self.close_beside()
            self.show_state()
            return
        await self.show_beside(order[place % len(order)], open_page=True)

    async def show_beside(self, what: str, *, open_page: bool = False) -> None:
        """Turn the column to `what`; on a narrow terminal the page is opened only when asked for."""
        self.beside = what
        self.set_class(what != "history", "-page")
        if what == "lesson":
            await self.fill_lesson()
        elif what == "reference" and self.session.question is not None:
            await self.fill("Model answer", f"reference {self.session.position}", self.session.question.reference)
        if open_page:
            self.add_class("-beside")
            self.query_one("#history" if what == "history" else "#page").focus()

    async def fill_lesson(self) -> None:
        """The lesson that the question belongs to."""
        question, bank = self.session.question, self.tutor.bank
        if question is None or bank is None:
            return
        try:
            lesson = bank.lesson_of(question.item_id)
        except ValueError as error:
            await self.fill("Lesson", "none", str(error))
            return
        text = "\n\n".join(f"## {section.title}\n\n{section.text}" for section in lesson.sections)
        await self.fill(lesson.title, lesson.id, text)

    async def fill(self, heading: str, key: str, text: str) -> None:
        """Put a text into the page column, unless it is there already."""
        self.query_one("#page-heading", RuledLine).left = heading
        if self.page_shows != key:
            self.page_shows = key
            await self.query_one("#page-text", Prose).show(text)
            self.query_one("#page", VerticalScroll).scroll_home(animate=False)

    def close_beside(self) -> bool:
        """Back to the interview where the page covers it."""
        if self.has_class("-beside") and self.size.width < WIDE and self.session.question is not None:
            self.remove_class("-beside")
            return True
        return False
