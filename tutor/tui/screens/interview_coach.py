"""What the model says beside the grade: a comment a criterion, a second verdict where one is contested, and talk."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from textual import work

from tutor.errors import TutorError
from tutor.tui.screens.interview_base import InterviewBase

if TYPE_CHECKING:
    from question_bank import Question
    from rubrics import CriterionId
    from tutor.grading import Grade
    from tutor.interview import Session
    from tutor.llm.types import Endpoint


class CoachPart(InterviewBase):
    """None of it changes a grade; all of it may fail without a word lost."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.commented_id = ""
        """The attempt whose comments were asked for."""

    def speaking_model(self) -> Endpoint | None:
        """The model that may word things; None while there is none, or it is too small to."""
        opened = self.tutor.model.opened
        if self.tutor.model.status != "ready" or opened is None or not opened.info.grades:
            return None
        try:
            return opened.endpoint
        except TutorError:
            return None

    def comment_on_grade(self) -> None:
        """Ask for the comments on the grade in sight, once an attempt."""
        entry = self.session.entry()
        attempt = entry.state.attempt
        if attempt is None or entry.grade is None or attempt.id == self.commented_id or entry.comments:
            return
        if self.session.mode != "study" or self.speaking_model() is None or entry.grade.not_graded_count:
            return
        self.commented_id = attempt.id
        self.fetch_comments(attempt.id, entry.question, attempt.text, entry.grade)

    @work(exclusive=True, group="comments", exit_on_error=False)
    async def fetch_comments(self, attempt_id: str, question: Question, answer: str, grade: Grade) -> None:
        """Show each comment as it comes, and keep it; a model that fails leaves the grade as it stands."""
        from tutor.coach.feedback import feedback
        from tutor.llm.errors import LlmError

        endpoint = self.speaking_model()
        if endpoint is None:
            return
        with suppress(LlmError):
            async for one in feedback(question, answer, grade, endpoint, self.tutor.settings.model.deadlines):
                if not self.session.record_comment(attempt_id, one.criterion, one.text, endpoint.model):
                    return
                entry = self.session.entry() if self.session.question is not None else None
                if entry is not None and entry.attempt_id == attempt_id:
                    self.stage.panel.comment(entry.comments)
                    self.show_history()

    def judge_again(self, criterion: CriterionId, note: str) -> None:
        """With the candidate's line as data; what the candidate says goes on counting."""
        attempt = self.session.entry().state.attempt
        question = self.session.question
        if attempt is not None and question is not None and self.tutor.grader is not None:
            self.fetch_second_verdict(attempt.id, question, attempt.text, criterion, note)

    @work(group="second", exit_on_error=False)
    async def fetch_second_verdict(
        self, attempt_id: str, question: Question, answer: str, criterion: CriterionId, note: str
    ) -> None:
        """Judge and keep it, and say what came out."""
        assert self.tutor.grader is not None
        try:
            second = await self.tutor.grader.judge_again(question, answer, criterion, note)
            kept = self.session.record_second_verdict(attempt_id, second)
        except TutorError as error:
            self.say(f"Not judged once more: {error}")
            return
        if kept and self.session.question is not None and self.session.entry().attempt_id == attempt_id:
            self.show_state()
            verdict = second.verdict.replace("_", " ")
            self.say(f"Judged once more, {criterion} is {verdict}; your view counts, all are kept.", tone="note")

    def action_ask_tutor(self) -> None:
        """Ctrl+T."""
        from tutor.tui.screens.talk import TalkScreen

        self.keep()
        self.app.push_screen(TalkScreen(self.session, self.session.position), self.talked)

    def talked(self, _result: None = None) -> None:
        """Back from the talk: a hint may have been given there."""
        self.session.refresh()
        self.show_state()
