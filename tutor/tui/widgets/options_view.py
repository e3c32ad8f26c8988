"""A checkpoint: options with letters in the question's shuffled order, then a reason for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, OptionList
from textual.widgets.option_list import Option as Row

from tutor.tui.safe import Line, indented, one_line, plain
from tutor.tui.words import SYMBOLS

if TYPE_CHECKING:
    from question_bank.question import Option

LETTERS = "ABCDEFGH"


class OptionsView(VerticalScroll, can_focus=False):
    """Letters choose; so do arrows with Enter, and a click."""

    DEFAULT_CSS = """
    OptionsView { height: 1fr; padding: 0 1; }
    OptionsView #option-list { height: auto; max-height: 100%; }
    OptionsView #reasons { margin-top: 0; }
    OptionsView #option-next { margin-top: 1; }
    """

    @dataclass
    class Chosen(Message):
        """An option was chosen, by its id."""

        option_id: str

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.options: tuple[Option, ...] = ()
        self.open = False
        self.outcome = ""
        """The chosen option's id once its outcome is shown."""
        self.says_verdict = True

    def compose(self) -> ComposeResult:
        yield OptionList(id="option-list", markup=False)
        yield Line(id="reasons")
        yield Button("Next question (n)", id="option-next", classes="-next")

    def ask(self, options: tuple[Option, ...]) -> None:
        """Show the options; none is chosen yet."""
        self.options, self.open, self.outcome = options, True, ""
        rows = self.query_one("#option-list", OptionList)
        rows.clear_options()
        rows.add_options(
            Row(Content.assemble((f"{letter}  ", "bold $accent"), one_line(option.text)), id=option.id)
            for letter, option in zip(LETTERS, options, strict=False)
        )
        rows.highlighted = 0
        rows.display = True
        self.query_one("#reasons").display = False
        self.query_one("#option-next").display = False
        rows.focus()

    def show_outcome(self, chosen: str, *, visible: bool, verdict: bool = True) -> None:
        """Right or wrong by id, with the reason for each option; or only that the choice is kept.

        Without `verdict` for a screen that says right or not right itself.
        """
        self.open, self.says_verdict = False, verdict
        self.query_one("#option-list").display = False
        reasons = self.query_one("#reasons", Line)
        reasons.display = True
        self.outcome = chosen if visible else ""
        if visible:
            self.call_after_refresh(self._draw)
        else:
            reasons.show("Your choice is kept; the outcome is shown at the end.")
        following = self.query_one("#option-next", Button)
        following.display = True
        following.focus()

    def _draw(self) -> None:
        if self.outcome:
            width = max(20, self.size.width - 3)
            rows = list(outcome_lines(self.options, self.outcome, width))
            self.query_one("#reasons", Line).update(Content("\n").join(rows if self.says_verdict else rows[1:]))

    def on_resize(self) -> None:
        self._draw()

    @on(OptionList.OptionSelected)
    def selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._choose(event.option_index)

    def on_key(self, event: events.Key) -> None:
        letter = (event.character or "").upper()
        if self.open and letter and letter in LETTERS[: len(self.options)]:
            event.stop()
            self._choose(LETTERS.index(letter))

    def _choose(self, index: int) -> None:
        if self.open and index < len(self.options):
            self.post_message(self.Chosen(self.options[index].id))


def outcome_lines(options: tuple[Option, ...], chosen: str, width: int) -> Iterable[Content]:
    """A block for each option."""
    picked = next((option for option in options if option.id == chosen), None)
    right = picked is not None and picked.correct
    yield Content.styled(
        f"{SYMBOLS['met']} right" if right else f"{SYMBOLS['not_met']} not right",
        "bold $success" if right else "bold $error",
    )
    for letter, option in zip(LETTERS, options, strict=False):
        mark = SYMBOLS["met"] if option.correct else SYMBOLS["not_met"]
        yours = "  (your choice)" if option.id == chosen else ""
        yield Content.assemble(
            (f"{mark} {letter}  ", "$success" if option.correct else "$secondary"),
            (one_line(option.text) + yours, "bold" if option.correct or yours else ""),
        )
        yield plain(indented(option.reason, width, 5), "$secondary")
