"""Below a drilled question: where it is answered, and in its place what came of it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import HorizontalGroup, Vertical, VerticalScroll
from textual.widgets import Button

from tutor.tui.prose import Prose
from tutor.tui.safe import Line
from tutor.tui.widgets.answer_editor import AnswerEditor
from tutor.tui.widgets.prediction_fields import PredictionFields
from tutor.tui.widgets.recall_marks import RecallMarks
from tutor.tui.widgets.ruled_line import RuledLine


class DrillStage(Vertical):
    """What is visible of it follows from the screen's phase and mode classes."""

    def compose(self) -> ComposeResult:
        with HorizontalGroup(id="answer-bar"):
            yield RuledLine("Your answer", id="answer-heading")
            yield Button("Submit", id="submit", classes="-next")
        yield AnswerEditor(id="answer")
        yield PredictionFields(id="fields")
        yield RecallMarks(id="marks")
        with VerticalScroll(id="outcome", can_focus=True):
            yield Line(id="table")
            yield RuledLine("Reference", id="reference-heading")
            yield Prose(id="reference")
        yield Button("Next (n)", id="next", classes="-next")

    @property
    def answer(self) -> AnswerEditor:
        """The editor of numbers and recalls."""
        return self.query_one("#answer", AnswerEditor)

    @property
    def fields(self) -> PredictionFields:
        """The fields of a prediction."""
        return self.query_one(PredictionFields)

    @property
    def marks(self) -> RecallMarks:
        """The four marks of a recall."""
        return self.query_one(RecallMarks)
