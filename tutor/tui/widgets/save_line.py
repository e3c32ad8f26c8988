"""A line that asks under which name a report is to be saved."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.message import Message
from textual.widgets import Input

from tutor.tui.safe import Line


class SaveLine(VerticalGroup):
    """Hidden until asked; what is wrong with a name is said below it."""

    DEFAULT_CSS = """
    SaveLine { display: none; height: auto; padding: 0 1; background: $panel; }
    SaveLine.-open { display: block; }
    """

    @dataclass
    class Wanted(Message):
        """A name was given."""

        path: Path

    def compose(self) -> ComposeResult:
        yield Line("Save as .html (all), .svg, .png (picture) or .yaml (scenario); Enter saves", classes="-note")
        yield Input(id="save-path", max_length=1000)
        yield Line(id="save-problem")

    def ask(self, folder: Path, title: str, now: datetime) -> None:
        """Open with a name that says what it is of."""
        field = self.query_one("#save-path", Input)
        if not field.value:
            name = re.sub(r"[^A-Za-z0-9_-]+", "-", title).strip("-") or "report"
            field.value = str(folder / f"{name}-{now.astimezone():%Y-%m-%d-%H%M}.html")
        self.query_one("#save-problem", Line).update("")
        self.add_class("-open")
        field.focus()

    def refuse(self, sentence: str) -> None:
        """Say why it was not saved."""
        self.query_one("#save-problem", Line).show(sentence, tone="problem")

    def close(self) -> bool:
        """Put it away; False when it was not there."""
        was = self.has_class("-open")
        self.remove_class("-open")
        return was

    @on(Input.Submitted, "#save-path")
    def entered(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.post_message(self.Wanted(Path(event.value.strip()).expanduser()))
