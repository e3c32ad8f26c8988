"""What every screen has: a title bar, the size notice, a footer, help, and a way back that keeps the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import Screen

from tutor.tui.bindings import bindings
from tutor.tui.widgets.key_line import KeyLine
from tutor.tui.widgets.size_notice import HEIGHT, WIDTH, SizeNotice
from tutor.tui.widgets.title_bar import TitleBar

if TYPE_CHECKING:
    from tutor.tui.app import TutorApp


WIDTHS: list[tuple[int, str]] | None = [(0, "-narrow"), (WIDTH, "-normal"), (120, "-wide"), (180, "-very-wide")]
HEIGHTS: list[tuple[int, str]] | None = [(0, "-short"), (HEIGHT, "-tall"), (34, "-roomy")]


class TutorScreen(Screen[None]):
    """A named place."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("back")
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    PLACE: ClassVar[str] = ""
    """The place's name in the title bar."""
    PURPOSE: ClassVar[str] = ""
    """What the help screen says about it."""
    told_about = ""
    """The text that could not be stored and was told about last."""

    def compose(self) -> ComposeResult:
        yield TitleBar(self.place())
        yield SizeNotice()
        with Vertical(id="body"):
            yield from self.body()
        yield KeyLine()

    def body(self) -> ComposeResult:
        """The screen's own widgets."""
        yield from ()

    def place(self) -> str:
        """place · item · mode"""
        return self.PLACE

    @property
    def tutor(self) -> TutorApp:
        """The program."""
        return cast("TutorApp", self.app)

    def retitle(self) -> None:
        """Show the place anew, after the item or the model changed."""
        for bar in self.query(TitleBar):
            bar.left = self.place()
            bar.refresh()

    def model_changed(self) -> None:
        """Called by the program whenever the model's state changes, and each second while one is loading."""
        self.retitle()

    def keep(self) -> None:
        """Write to disk what has been typed and not yet handed in."""

    def on_resize(self, event: events.Resize) -> None:
        self.query_one(SizeNotice).measure(event.size.width, event.size.height)

    def unsaved(self) -> str:
        """What has been typed and could not be stored; empty when all is on the disk."""
        return ""

    def tell(self, sentence: str) -> None:
        """Show a sentence about what could not be stored."""

    def rescued(self) -> bool:
        """Whether one may leave: all is stored; or what is not was put into a file of its own, and that was told.

        Told once for each text; leaving a second time is leaving.
        """
        text = self.unsaved()
        if not text or text == self.told_about:
            return True
        self.told_about = text
        path = self.tutor.rescue(text)
        where = f"is in {path}" if path is not None else "is only here: no folder takes a file, so copy it"
        self.tell(f"What you typed could not be stored; it {where}. Leaving again leaves.")
        return False

    def action_back(self) -> None:
        """Leave this place; the text is kept."""
        self.keep()
        if self.rescued():
            self.app.pop_screen()
