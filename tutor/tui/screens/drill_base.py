"""What the parts of the drill screen share: the sitting, its phase, and the line for refusals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from textual.content import Content
from textual.widgets import Input, TextArea

from tutor.drills.events import stream_of
from tutor.errors import TutorError
from tutor.tui.safe import Line
from tutor.tui.screens.base import TutorScreen
from tutor.tui.widgets.answer_editor import AnswerEditor
from tutor.tui.widgets.drill_stage import DrillStage

if TYPE_CHECKING:
    from tutor.drills import Drills, DrillSession, Presentation

Phase = Literal["confidence", "answering", "running", "marking", "graded", "full", "over"]
PHASES: tuple[Phase, ...] = ("confidence", "answering", "running", "marking", "graded", "full", "over")
MODES = ("checkpoint", "recall", "numbers", "prediction", "full")
NOTE_PLACE = 1
"""Where a note being written is kept in an item's stream; the answer is at 0."""


class DrillBase(TutorScreen):
    """The parts are classes of their own that meet in `DrillScreen`."""

    def __init__(self, session: DrillSession, *, kinds: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.session = session
        self.kinds = kinds
        self.stopped = False
        """The sitting was ended by Esc: what it came to is shown."""
        self.running = False
        """A prediction is in the simulator."""
        self.saved_text = ""
        self.saved_note = ""
        """The note being written, as it is on the disk."""

    @property
    def drills(self) -> Drills:
        """The drills of the store."""
        return self.session.drills

    @property
    def phase(self) -> Phase:
        """Where the item at hand stands."""
        session = self.session
        if self.stopped or session.current is None:
            return "over"
        if session.answered is not None:
            return "graded"
        if session.current.mode == "full":
            return "full"
        if session.confidence is None:
            return "confidence"
        if session.revealed:
            return "marking"
        return "running" if self.running else "answering"

    @property
    def open(self) -> bool:
        """Whether an answer can still be given or changed."""
        return self.phase in ("confidence", "answering")

    @property
    def shown(self) -> Presentation:
        """The item at hand; only while there is one."""
        assert self.session.current is not None
        return self.session.current

    @property
    def stage(self) -> DrillStage:
        """Where it is answered."""
        return self.query_one(DrillStage)

    @property
    def note_editor(self) -> AnswerEditor:
        """Where a note is written."""
        return self.query_one("#note-editor", AnswerEditor)

    @property
    def stream(self) -> str:
        """The stream of the item at hand."""
        return stream_of(self.shown.item.id)

    @abstractmethod
    async def show_item(self) -> None:
        """Show another item, or the end."""

    @abstractmethod
    def show_state(self) -> None:
        """Show what has changed about this item."""

    @abstractmethod
    def show_draft_state(self) -> None:
        """How much is typed, and whether it is on the disk (answering)."""

    @abstractmethod
    def stop_running(self) -> bool:
        """Give up waiting for the simulator; False when nothing runs (answering)."""

    @abstractmethod
    def close_note(self) -> bool:
        """Keep the note being written and close its editor; False when it is not open (moves)."""

    @staticmethod
    def load(editor: AnswerEditor, text: str) -> None:
        """Put a text into an editor without taking it for typing."""
        with editor.prevent(TextArea.Changed, Input.Changed):
            editor.load_text(text)
            editor.move_cursor(editor.document.end)

    def say(self, text: str | Content, *, tone: str = "problem") -> None:
        """A line in place; empty hides it."""
        notice = self.query_one("#notice", Line)
        notice.show(text, tone=tone)
        notice.display = bool(text)

    def attempt(self, command: Callable[[], object]) -> bool:
        """Run a command of the sitting; a refusal is a line in place, and False."""
        try:
            command()
        except (TutorError, ValueError) as error:
            self.say(str(error))
            return False
        return True
