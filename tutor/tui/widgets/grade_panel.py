"""Four criteria with verdict, decider, quote and reason, each as soon as it is decided, and the total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from rubrics import CRITERION_IDS, CriterionId
from tutor.tui.safe import Line, indented, join
from tutor.tui.words import criterion_content, total_words, waiting_content

if TYPE_CHECKING:
    from tutor.grading import CriterionGrade


class CriterionRow(Static, can_focus=True):
    """One criterion; has the focus when it is the one to contest or to mark."""

    DEFAULT_CSS = """
    CriterionRow { height: auto; }
    CriterionRow:focus { background: $panel; }
    """

    def __init__(self, criterion: CriterionId) -> None:
        super().__init__(id=f"criterion-{criterion}", markup=False)
        self.criterion: CriterionId = criterion
        self.grade: CriterionGrade | None = None
        self.waiting = ""
        self.seconds = 0
        self.comment = ""

    def show_waiting(self, what: str, seconds: int) -> None:
        """Not decided yet: what is being done, since when."""
        self.waiting, self.seconds = what, seconds
        self._redraw()

    def show_grade(self, grade: CriterionGrade | None) -> None:
        """Decided, or (None) begun anew."""
        self.grade = grade
        if grade is None:
            self.comment = ""
        self._redraw()

    def show_comment(self, comment: str) -> None:
        """What the model says about it, below the verdict."""
        if comment != self.comment:
            self.comment = comment
            self._redraw()

    def on_resize(self, event: events.Resize) -> None:
        self._redraw()

    def on_focus(self) -> None:
        self._redraw()

    def on_blur(self) -> None:
        self._redraw()

    def _redraw(self) -> None:
        width = max(self.size.width, 20) - 2
        if self.grade is None:
            content = waiting_content(self.criterion, self.seconds, self.waiting or "waiting")
        else:
            content = criterion_content(self.grade, width)
            if self.comment:
                content = Content.assemble(content, "\n", (indented(f"model: {self.comment}", width, 2), "$secondary"))
        # The mark stands for the focus where there is no colour.
        self.update(Content.assemble(("› " if self.has_focus else "  ", "bold $accent"), content))


class GradePanel(Vertical):
    """The rubric's four rows in its order, and the sum below."""

    DEFAULT_CSS = """
    GradePanel { height: auto; }
    GradePanel #total { padding: 0 2; }
    """

    total = ""

    def compose(self) -> ComposeResult:
        for criterion in CRITERION_IDS:
            yield CriterionRow(criterion)
        yield Line(id="total")

    def row(self, criterion: CriterionId) -> CriterionRow:
        """The row of one criterion."""
        return self.query_one(f"#criterion-{criterion}", CriterionRow)

    def begin(self) -> None:
        """Grading starts: nothing is decided."""
        for criterion in CRITERION_IDS:
            self.row(criterion).show_grade(None)
            self.row(criterion).show_waiting("waiting", 0)
        self.query_one("#total", Line).show("")

    def tick(self, what: str, seconds: int) -> None:
        """Show the elapsed seconds at the first criterion that is not decided."""
        first = next((row for row in self.query(CriterionRow) if row.grade is None), None)
        if first is not None:
            first.show_waiting(what, seconds)
        self.query_one("#total", Line).show("Esc cancels and keeps the answer.", tone="note")

    def decided(self, grade: CriterionGrade) -> None:
        """One criterion has a verdict."""
        self.row(grade.criterion).show_grade(grade)

    def show(self, grades: Sequence[CriterionGrade]) -> None:
        """The whole grade, as it now stands."""
        for grade in grades:
            self.decided(grade)
        self.total = total_words([grade.verdict for grade in grades])
        self.advise("")

    def comment(self, comments: Mapping[CriterionId, str]) -> None:
        """What the model said about each criterion."""
        for row in self.query(CriterionRow):
            row.show_comment(comments.get(row.criterion, ""))

    def advise(self, advice: str) -> None:
        """What can be done next, on the row of the total."""
        self.query_one("#total", Line).update(join((self.total, "bold"), (f"   {advice}", "$accent")))

    @property
    def chosen(self) -> CriterionId | None:
        """The criterion whose row has the focus."""
        return next((row.criterion for row in self.query(CriterionRow) if row.has_focus), None)
