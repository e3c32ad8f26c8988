"""Contesting a verdict and marking a criterion oneself."""

from __future__ import annotations

from textual import on

from rubrics import CRITERION_IDS, CriterionId, load_rubric
from tutor.tui.screens.interview_base import InterviewBase
from tutor.tui.widgets.mark_form import MarkForm


class MarkingPart(InterviewBase):
    """The row with the focus is meant, else the first that the key can do something for."""

    def undecided(self) -> list[CriterionId]:
        """Criteria that the grader left open and the candidate has not marked."""
        entry = self.session.entry()
        if entry.grade is None:
            return []
        return [
            one.criterion
            for one in entry.grade.criteria
            if one.verdict in ("unsure", "not_graded") and one.criterion not in entry.marks
        ]

    @property
    def idle_keys(self) -> tuple[str, ...]:
        """Keys that the last row leaves out: nothing is left to mark."""
        return () if self.session.question is None or self.undecided() else ("self-mark",)

    def action_contest(self) -> None:
        """F6."""
        grade = self.session.entry().grade
        if grade is None:
            return
        chosen = self.stage.panel.chosen
        decided = [one.criterion for one in grade.criteria if one.verdict in ("met", "not_met")]
        wrong = [one.criterion for one in grade.criteria if one.verdict == "not_met"]
        criterion = chosen or next(iter(wrong or decided), None)
        if criterion is None:
            self.say("Nothing was decided that could be contested; F7 marks it yourself.", tone="note")
            return
        becomes = "not met" if grade.criterion(criterion).verdict == "met" else "met"
        self.stage.form.ask_note(criterion, becomes)
        self.refresh_bindings()

    def action_self_mark(self) -> None:
        """F7."""
        grade = self.session.entry().grade
        if grade is None:
            return
        chosen = self.stage.panel.chosen
        open_ = [one.criterion for one in grade.criteria if one.verdict in ("unsure", "not_graded")]
        if chosen not in open_ and not self.undecided():
            self.say("Nothing is left to mark; F6 contests a verdict.", tone="note")
            return
        if chosen is not None and chosen not in open_:
            self.say(f"{chosen} has been decided; F6 contests the verdict.", tone="note")
            return
        self.ask_mark(chosen or self.undecided()[0])

    def ask_mark(self, criterion: CriterionId) -> None:
        """Put the rubric's question; with the main point once the model answer has been seen."""
        question = load_rubric().criterion(criterion).question
        current = self.session.question
        if current is not None and self.session.phase == "reference" and criterion in current.criteria:
            question = f"{question} It should say: {current.criteria[criterion].statement}"
        self.say("")
        self.stage.form.ask_mark(criterion, question)
        self.refresh_bindings()

    @on(MarkForm.Marked)
    def marked(self, message: MarkForm.Marked) -> None:
        """Keep it, and go on to the next criterion that is open."""
        if not self.attempt(lambda: self.session.self_mark(message.criterion, message.verdict)):
            return
        self.stage.form.close()
        self.show_state()
        following = self.undecided()
        if following:
            self.ask_mark(following[0])

    @on(MarkForm.Contested)
    def contested(self, message: MarkForm.Contested) -> None:
        """Keep the candidate's verdict beside the grader's."""
        if self.attempt(lambda: self.session.contest(message.criterion, message.note)):
            self.stage.form.close()
            self.show_state()
            self.say(
                f"Kept: your view on {message.criterion} counts; the grader's verdict stays beside it.", tone="note"
            )
            self.judge_again(message.criterion, message.note)

    def action_undo(self) -> None:
        """u: withdraw one's own verdict."""
        marks = self.session.entry().marks
        chosen = self.stage.panel.chosen
        own = [criterion for criterion in CRITERION_IDS if criterion in marks]
        criterion = chosen if chosen in own else (own[-1] if own else None)
        if criterion is not None and self.attempt(lambda: self.session.withdraw_mark(criterion)):
            self.show_state()
            self.say(f"Your verdict on {criterion} is withdrawn; the grader's counts again.", tone="note")
