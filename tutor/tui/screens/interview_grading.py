"""Grading as seen from the interview: a queue of answers, verdicts as they come, and stopping."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from textual import on, work
from textual.worker import Worker, WorkerState

from tutor.errors import TutorError
from tutor.tui.grading import grade_in, warm_in
from tutor.tui.messages import AnswerGraded, CriterionDecided, GradingFailed, GradingMoved
from tutor.tui.screens.interview_base import InterviewBase

if TYPE_CHECKING:
    from question_bank import Question
    from tutor.grading import CriterionGrade
    from tutor.interview import Session


class GradingPart(InterviewBase):
    """One answer at a time; in interview mode answers queue up while the candidate goes on."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.grading_queue: list[tuple[str, str, Question]] = []
        self.grading_id = ""
        """The attempt that is being graded."""
        self.grading_since_s = 0.0
        self.grading_what = ""

    def on_mount_grading(self) -> None:
        """Count the seconds of what is being graded."""
        self.set_interval(1.0, self.tick_grading)

    def tick_grading(self) -> None:
        """Elapsed seconds at the criterion that is being decided."""
        if self.grading_id and self.grades_shown:
            self.stage.panel.tick(self.grading_what, int(monotonic() - self.grading_since_s))

    @property
    def grades_shown(self) -> bool:
        """Whether the question at hand is the one being graded, in sight of the candidate."""
        pending = self.session.pending_attempt
        return self.session.grade_visible and pending is not None and pending[0] == self.grading_id

    @work(exclusive=True, group="warm", exit_on_error=False)
    async def warm_model(self, question: Question) -> None:
        """Let the model read the question while the candidate writes, so that grading starts with the answer."""
        await warm_in(self.tutor, question)

    def queue_grading(self, attempt_id: str, text: str, question: Question) -> None:
        """Grade it after those that wait; the same attempt is never queued twice."""
        if attempt_id == self.grading_id or any(attempt_id == waiting[0] for waiting in self.grading_queue):
            return
        self.grading_queue.append((attempt_id, text, question))
        if not self.grading_id:
            self.grade_next()

    def grade_next(self) -> None:
        """Start on the next answer of the queue."""
        if not self.grading_queue:
            return
        attempt_id, text, question = self.grading_queue.pop(0)
        self.grading_id, self.grading_since_s, self.grading_what = attempt_id, monotonic(), "grading"
        if self.grades_shown:
            self.stage.panel.begin()
            self.stage.panel.tick(self.grading_what, 0)
        self.grade_answer(attempt_id, text, question)

    @work(exclusive=True, group="grading", exit_on_error=False)
    async def grade_answer(self, attempt_id: str, text: str, question: Question) -> None:
        """Grade one answer; every step is told by a message that names the attempt."""

        def tell(news: CriterionGrade | str) -> None:
            if isinstance(news, str):
                self.post_message(GradingMoved(attempt_id, news))
            else:
                self.post_message(CriterionDecided(attempt_id, news))

        try:
            grade = await grade_in(self.tutor, question, text, tell)
        except (TutorError, ValueError) as error:
            self.post_message(GradingFailed(attempt_id, str(error)))
            return
        self.post_message(AnswerGraded(attempt_id, grade))

    @on(Worker.StateChanged)
    def worker_changed(self, event: Worker.StateChanged) -> None:
        """A fault in the grader itself leaves the answer ungraded, never the screen waiting."""
        if event.worker.group == "grading" and event.state is WorkerState.ERROR and self.grading_id:
            name = type(event.worker.error).__name__
            self.post_message(GradingFailed(self.grading_id, f"the grader broke off ({name})"))

    @on(GradingMoved)
    def grading_moved(self, message: GradingMoved) -> None:
        if message.attempt_id == self.grading_id:
            self.grading_what = message.what
            if self.grades_shown:
                self.stage.panel.tick(message.what, int(monotonic() - self.grading_since_s))

    @on(CriterionDecided)
    def criterion_decided(self, message: CriterionDecided) -> None:
        if message.attempt_id == self.grading_id and self.grades_shown:
            self.stage.panel.decided(message.grade)

    @on(AnswerGraded)
    async def answer_graded(self, message: AnswerGraded) -> None:
        """Late results are passed over: the session takes a grade only for an attempt that still waits for one."""
        mine = message.attempt_id == self.grading_id
        if mine:
            self.grading_id = ""
        shown = self.session.position
        try:
            recorded = self.session.record_grade(message.attempt_id, message.grade)
        except TutorError as error:
            self.say(str(error))
            if mine:
                self.grade_next()
            return
        if recorded and self.session.phase == "graded" and self.session.mode == "study":
            await self.ask_follow_up()
        elif recorded:
            self.show_state()
        elif mine:
            await self.overtaken(message.attempt_id, shown)
        if mine:
            self.grade_next()

    async def overtaken(self, attempt_id: str, shown: int) -> None:
        """Another window was first: show where the interview stands now, and say what became of the answer."""
        session = self.session
        session.refresh()
        attempts = [attempt for entry in session.state.entries for attempt in entry.attempts]
        status = next((attempt.status for attempt in attempts if attempt.id == attempt_id), "")
        if status == "graded":
            sentence = "This answer was graded in another window; that grade stands."
        elif session.question is None:
            sentence = "The interview was ended in another window; the answer is kept."
        else:
            sentence = "Grading was stopped in another window; the answer is kept."
        if session.mode == "study" or session.question is None or session.position != shown:
            await self.show_question()
        self.say(sentence, tone="note")

    @on(GradingFailed)
    async def grading_failed(self, message: GradingFailed) -> None:
        if message.attempt_id != self.grading_id:
            return
        self.grading_id = ""
        shown = self.session.position
        try:
            recorded = self.session.record_ungraded(message.attempt_id, message.reason)
        except TutorError as error:
            self.say(str(error))
            self.grade_next()
            return
        if not recorded:
            await self.overtaken(message.attempt_id, shown)
            self.grade_next()
            return
        self.show_state()
        self.say(f"Not graded: {message.reason}. The answer is kept; hand it in again to try once more.")
        self.grade_next()

    def stop_grading(self) -> None:
        """Esc: the answer goes back into the editor as it was."""
        attempt_id, self.grading_id = self.grading_id, ""
        self.workers.cancel_group(self, "grading")
        pending = self.session.pending_attempt
        stopped = attempt_id or (pending[0] if pending is not None else "")
        if stopped and self.attempt(lambda: self.session.record_ungraded(stopped, "stopped by you")):
            self.load(self.stage.answer, self.session.draft)
            self.show_state()
            self.say("Grading stopped. Your answer is kept; change it or hand it in again.", tone="note")
        self.grade_next()
