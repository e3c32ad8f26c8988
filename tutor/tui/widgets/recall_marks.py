"""How a recall went, held against its reference: four marks, each with the days until the item would come again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import HorizontalGroup
from textual.message import Message
from textual.widgets import Button

from tutor.tui.safe import Line

MARKS: Final[Mapping[int, str]] = {1: "missed", 2: "partly", 3: "well", 4: "easily"}


def days_words(days: int | None) -> str:
    """1 d, 11 d; a dash when the mark moves nothing."""
    return "–" if days is None else f"{days} d"


class RecallMarks(HorizontalGroup):
    """One row; below each other on a narrow terminal."""

    DEFAULT_CSS = """
    RecallMarks { height: auto; padding: 0 1; }
    RecallMarks Line { width: auto; margin-right: 1; }
    RecallMarks Button { padding: 0; min-width: 0; }
    Screen.-narrow RecallMarks { layout: vertical; }
    """

    @dataclass
    class Chosen(Message):
        """A mark was given."""

        number: int

    def compose(self) -> ComposeResult:
        yield Line("Mark:")
        for number, mark in MARKS.items():
            yield Button(f"({number}) {mark}", id=f"recall-{number}", classes="-next")

    def ask(self, days: Mapping[int, int]) -> None:
        """Show the marks with their intervals and put the focus on them.

        Args:
            days: for each number the days until the item would be due; a mark without days moves nothing.
        """
        for number, mark in MARKS.items():
            button = self.query_one(f"#recall-{number}", Button)
            button.label = f"({number}) {mark} {days_words(days.get(number))}"
            button.tooltip = (
                f"{mark.capitalize()}: it would come again in {days[number]} day{'' if days[number] == 1 else 's'}."
                if number in days
                else f"{mark.capitalize()}: it was answered today already, so its day stays."
            )
        # No mark is suggested by where the focus is: a stray Enter on the first one makes it come again soon.
        self.query_one("#recall-1", Button).focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        event.stop()
        for number in MARKS:
            if event.button.id == f"recall-{number}":
                self.post_message(self.Chosen(number))
