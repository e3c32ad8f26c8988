"""Below the question: the answer's editor, then the grade, the follow-up and the model answer in its place."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import HorizontalGroup, Vertical, VerticalScroll
from textual.widgets import Button

from tutor.tui.prose import Prose
from tutor.tui.safe import Line
from tutor.tui.widgets.answer_editor import AnswerEditor
from tutor.tui.widgets.grade_panel import GradePanel
from tutor.tui.widgets.mark_form import MarkForm
from tutor.tui.widgets.ruled_line import RuledLine


class OpenStage(Vertical):
    """What is visible of it follows from the screen's phase class; nothing is mounted or removed on the way."""

    def compose(self) -> ComposeResult:
        with HorizontalGroup(id="answer-bar"):
            yield RuledLine("Your answer", id="answer-heading")
            yield Button("Submit", id="submit", classes="-next")
        yield AnswerEditor(id="answer", placeholder="In your own words, with the steps. Enter is a new line.")
        with VerticalScroll(id="outcome", can_focus=False):
            yield GradePanel()
            yield MarkForm()
            yield Line(id="follow-question")
            with HorizontalGroup(id="follow-bar"):
                yield AnswerEditor(id="follow-answer", placeholder="A sentence or two.")
                yield Button("Answer", id="follow-submit", classes="-next")
            yield RuledLine("Model answer", id="reference-heading")
            yield Prose(id="reference")
            yield Button("Next question (n)", id="next", classes="-next")

    @property
    def answer(self) -> AnswerEditor:
        """The answer's editor."""
        return self.query_one("#answer", AnswerEditor)

    @property
    def follow_answer(self) -> AnswerEditor:
        """The follow-up's editor."""
        return self.query_one("#follow-answer", AnswerEditor)

    @property
    def panel(self) -> GradePanel:
        """The four verdicts."""
        return self.query_one(GradePanel)

    @property
    def form(self) -> MarkForm:
        """Contesting and marking."""
        return self.query_one(MarkForm)
