"""How sure are you? Asked before the answer; keys 1 2 3 or the buttons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import HorizontalGroup
from textual.message import Message
from textual.widgets import Button

from tutor.tui.safe import Line
from tutor.tui.words import CONFIDENCE

Level = Literal[1, 2, 3]
LEVELS: tuple[Level, ...] = (1, 2, 3)


class ConfidenceRow(HorizontalGroup):
    """One row that stays where it is when the level has been given."""

    DEFAULT_CSS = """
    ConfidenceRow { height: auto; padding: 0 1; }
    ConfidenceRow Line { width: auto; margin-right: 1; }
    ConfidenceRow Button { margin-right: 0; padding: 0; min-width: 0; }
    ConfidenceRow.-given Button { display: none; }
    Screen.-narrow ConfidenceRow { layout: vertical; }
    """

    @dataclass
    class Chosen(Message):
        """A button was pressed."""

        level: Level

    def compose(self) -> ComposeResult:
        yield Line("How sure are you?", id="how-sure")
        for level in LEVELS:
            yield Button(f"({level}) {CONFIDENCE[level]}", id=f"sure-{level}", classes="-next")

    def ask(self) -> None:
        """Ask anew."""
        self.remove_class("-given")
        self.query_one("#how-sure", Line).show("How sure are you?")

    def show_level(self, level: int | None) -> None:
        """Show what was said; the question is not asked again."""
        self.add_class("-given")
        said = CONFIDENCE.get(level or 0, "not said")
        self.query_one("#how-sure", Line).show(f"How sure you were: {said}", tone="note")

    def focus_first(self) -> None:
        """Put the focus on the first level."""
        self.query_one("#sure-1", Button).focus()

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        event.stop()
        for level in LEVELS:
            if event.button.id == f"sure-{level}":
                self.post_message(self.Chosen(level))
