"""Below the grade, in place: contesting a verdict with a line, or marking a criterion oneself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import HorizontalGroup, Vertical
from textual.message import Message
from textual.widgets import Button, Input

from rubrics import CriterionId
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line

Mark = Literal["met", "not_met"]
MAX_NOTE = 500
"""Characters of a contesting note."""


class MarkForm(Vertical):
    """Hidden until `ask_mark` or `ask_note`; Esc on the screen closes it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("mark-met", "mark-not-met")
    DEFAULT_CSS = """
    MarkForm { height: auto; display: none; padding: 0 2; margin-top: 1; }
    MarkForm.-marking, MarkForm.-contesting { display: block; }
    MarkForm #note, MarkForm #marks { display: none; }
    MarkForm.-contesting #note { display: block; }
    MarkForm.-marking #marks { display: block; height: auto; }
    MarkForm #marks Button { margin-right: 1; }
    """

    @dataclass
    class Marked(Message):
        """The candidate decided a criterion."""

        criterion: CriterionId
        verdict: Mark

    @dataclass
    class Contested(Message):
        """The candidate says why a verdict is wrong."""

        criterion: CriterionId
        note: str

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.criterion: CriterionId = "result"

    def compose(self) -> ComposeResult:
        yield Line(id="form-question")
        yield Input(id="note", max_length=MAX_NOTE, placeholder="one line, then Enter; Esc closes")
        with HorizontalGroup(id="marks"):
            yield Button("met (m)", id="mark-met", classes="-next")
            yield Button("not met (x)", id="mark-not-met", classes="-next")

    @property
    def is_open(self) -> bool:
        """Whether something is being asked."""
        return self.has_class("-marking") or self.has_class("-contesting")

    def ask_mark(self, criterion: CriterionId, question: str) -> None:
        """Ask whether the answer earns this criterion."""
        self.criterion = criterion
        self.set_class(False, "-contesting")
        self.set_class(True, "-marking")
        self.query_one("#form-question", Line).show(f"{criterion}: {question}")
        self.query_one("#mark-met", Button).focus()
        self.scroll_visible(animate=False)

    def ask_note(self, criterion: CriterionId, becomes: str) -> None:
        """Ask for the reason, and say what the point counts as once it is given."""
        self.criterion = criterion
        self.set_class(False, "-marking")
        self.set_class(True, "-contesting")
        self.query_one("#form-question", Line).show(
            f"What is wrong with the verdict on {criterion}? Enter keeps your note and counts the point as {becomes}."
        )
        note = self.query_one("#note", Input)
        note.value = ""
        note.focus()
        self.scroll_visible(animate=False)

    def close(self) -> None:
        """Ask nothing."""
        self.remove_class("-marking", "-contesting")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.has_class("-marking") if action == "mark" else True

    def action_mark(self, verdict: Mark) -> None:
        """m and x."""
        self.post_message(self.Marked(self.criterion, verdict))

    @on(Button.Pressed)
    def pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_mark("met" if event.button.id == "mark-met" else "not_met")

    @on(Input.Submitted)
    def noted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.post_message(self.Contested(self.criterion, event.value.strip()))
