"""What the parts of the interview screen share: the session, the line for refusals, and the two steps of showing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from textual.widgets import TextArea

from tutor.errors import TutorError
from tutor.tui.safe import Line
from tutor.tui.screens.base import TutorScreen
from tutor.tui.widgets.answer_editor import AnswerEditor
from tutor.tui.widgets.open_stage import OpenStage

if TYPE_CHECKING:
    from question_bank import Question
    from rubrics import CriterionId
    from tutor.interview import Session


class InterviewBase(TutorScreen):
    """The parts are classes of their own that meet in `InterviewScreen`."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.opened_s = monotonic()
        self.typed_predictions: dict[str, dict[str, str]] = {}
        """What was typed in the simulator's fields and not locked, by item and field."""

    @abstractmethod
    async def show_question(self) -> None:
        """Show another question, or the end."""

    @abstractmethod
    def show_state(self) -> None:
        """Show what has changed about this question."""

    # Each of these is one part's own; the others call it.

    @abstractmethod
    def show_counts(self) -> None:
        """Words and the draft's age, above the editor (writing)."""

    @abstractmethod
    def queue_grading(self, attempt_id: str, text: str, question: Question) -> None:
        """Have an answer graded (grading)."""

    @abstractmethod
    def stop_grading(self) -> None:
        """Cancel the grading that is shown (grading)."""

    @abstractmethod
    def judge_again(self, criterion: CriterionId, note: str) -> None:
        """Have a contested criterion judged once more (coach)."""

    @abstractmethod
    def advice(self) -> str:
        """What can be done next, after the grade (moves)."""

    @abstractmethod
    async def ask_follow_up(self) -> None:
        """Put the follow-up that fits the grade (moves)."""

    @abstractmethod
    async def after_follow_up(self) -> None:
        """Go on from a follow-up (moves)."""

    @abstractmethod
    async def action_reference(self) -> None:
        """Show the model answer (moves)."""

    @abstractmethod
    async def show_reference_text(self) -> None:
        """Fill in the model answer once it may be seen (moves)."""

    @abstractmethod
    async def show_beside(self, what: str, *, open_page: bool = False) -> None:
        """Turn the second column to something (beside)."""

    @abstractmethod
    def close_beside(self) -> bool:
        """Close what covers the interview on a narrow terminal; False when nothing does (beside)."""

    @abstractmethod
    def show_history(self) -> None:
        """Bring the transcript up to date (beside)."""

    @property
    def stage(self) -> OpenStage:
        """Editor, grade, follow-up and model answer."""
        return self.query_one(OpenStage)

    @staticmethod
    def load(editor: AnswerEditor, text: str) -> None:
        """Put a text into an editor without taking it for typing."""
        with editor.prevent(TextArea.Changed):
            editor.load_text(text)
            editor.move_cursor(editor.document.end)

    def say(self, text: str, *, tone: str = "problem") -> None:
        """A line in place; empty hides it."""
        notice = self.query_one("#notice", Line)
        notice.show(text, tone=tone)
        notice.display = bool(text)

    def attempt(self, command: Callable[[], object]) -> bool:
        """Run a command of the session; a refusal is a line in place, and False."""
        try:
            command()
        except (TutorError, ValueError) as error:
            self.say(str(error))
            return False
        return True
