"""The interview: question in sight, confidence, answer, grade with evidence, follow-up, model answer, next."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button

from rubrics import CRITERION_IDS
from tutor.tui.bindings import bindings
from tutor.tui.grading import with_mark
from tutor.tui.prose import Prose
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.interview_beside import BesidePart
from tutor.tui.screens.interview_coach import CoachPart
from tutor.tui.screens.interview_grading import GradingPart
from tutor.tui.screens.interview_marks import MarkingPart
from tutor.tui.screens.interview_moves import MovingPart
from tutor.tui.screens.interview_report import ReportPart
from tutor.tui.screens.interview_writing import WritingPart
from tutor.tui.widgets.confidence import ConfidenceRow
from tutor.tui.widgets.open_stage import OpenStage
from tutor.tui.widgets.options_view import OptionsView
from tutor.tui.widgets.transcript import Transcript
from tutor.tui.words import CONFIDENCE, pad, plural, total_words

if TYPE_CHECKING:
    from question_bank import Question
    from tutor.interview import Session

PHASES = ("confidence", "answering", "grading", "graded", "follow_up", "reference", "finished")


class InterviewScreen(WritingPart, GradingPart, CoachPart, MarkingPart, MovingPart, BesidePart, ReportPart):
    """Shows what the session says; every key is a command to the session."""

    CSS_PATH = "interview.tcss"
    PLACE = "Interview"
    PURPOSE = (
        "Say how sure you are (1, 2, 3), then answer in your own words; Enter is a new line and Ctrl+S or F5 hands "
        "in. What you type is on the disk within a second. After the grade: a follow-up on what was missing, then the "
        "model answer. Esc goes back at any time; everything is kept."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "submit", "confidence-1", "confidence-2", "confidence-3", "hint", "reference", "contest", "self-mark",
        "simulate", "skip", "ask-tutor", "beside", "undo", "next", "save-report", hidden=frozenset({"undo"}),
    )  # fmt: skip

    # --- layout -----------------------------------------------------------------------------------------------

    def place(self) -> str:
        question = self.session.question
        if question is None:
            return f"Interview · {self.session.plan.title} · done"
        at = f" {self.session.position + 1} of {self.session.of}" if self.session.of > 1 else ""
        minutes = self.session.plan.entries[self.session.position].minutes
        time = f" · {minutes:g} min" if minutes is not None else ""
        return f"Interview{at} · {question.title} · {question.kind}{time} · {self.session.mode} mode"

    def body(self) -> ComposeResult:
        with Horizontal(id="columns"):
            with Vertical(id="main"):
                with VerticalScroll(id="question", can_focus=True):
                    yield Prose(id="prompt")
                yield ConfidenceRow(id="confidence")
                yield Line(id="notice")
                yield OpenStage(id="open-stage")
                yield OptionsView(id="options-stage")
            yield from self.beside_columns()

    async def on_mount(self) -> None:
        self.opened_s = monotonic()
        self.set_interval(1.0, self.tick)
        self.on_mount_grading()
        await self.show_question()

    async def show_question(self) -> None:
        """Another question, or the end."""
        question = self.session.question
        self.say("")
        stage = self.stage
        stage.form.close()
        if self.beside == "reference":
            await self.show_beside("history")
        if question is not None:
            await self.query_one("#prompt", Prose).show(question.prompt)
            self.query_one("#question", VerticalScroll).scroll_home(animate=False)
            in_follow_up = self.session.phase in ("graded", "follow_up")
            answer = (self.session.entry().answer or "") if in_follow_up else self.session.draft
            self.load(stage.answer, answer or self.session.entry().answer or "")
            self.load(stage.follow_answer, self.session.draft if in_follow_up else "")
            self.saved_text = self.session.draft
            if question.kind == "checkpoint":
                self.query_one(OptionsView).ask(question.options)
            if question.kind != "checkpoint" and not in_follow_up:
                self.warm_model(question)
        self.show_state()
        await self.show_reference_text()
        for waiting in self.session.pending_attempts:
            attempt = self.session.state.entries[waiting.position].attempt
            if attempt is not None and attempt.status == "pending":
                self.queue_grading(waiting.attempt_id, waiting.text, waiting.question)

    def show_state(self) -> None:
        """Make everything visible agree with the session, and put the focus where the next key belongs."""
        phase, question = self.session.phase, self.session.question
        for one in PHASES:
            self.set_class(one == phase, f"-{one.replace('_', '-')}")
        kind = question.kind if question is not None else "none"
        self.set_class(kind == "checkpoint", "-options")
        self.retitle()
        if question is None:
            self.show_finished()
            self.refresh_bindings()
            return
        self.show_history()
        if kind == "checkpoint":
            self.show_checkpoint()
        else:
            self.show_open(question)
        self.refresh_bindings()

    def show_open(self, question: Question) -> None:
        """An exercise, a probe, a recall or a prediction."""
        phase, entry, stage = self.session.phase, self.session.entry(), self.stage
        row = self.query_one(ConfidenceRow)
        if entry.confidence is None and phase in ("confidence", "answering"):
            row.ask()
        else:
            row.show_level(entry.confidence)
        handed_in = phase not in ("confidence", "answering")
        if handed_in and not stage.answer.read_only:
            stage.answer.move_cursor((0, 0))
        stage.answer.read_only = handed_in
        grade = entry.grade
        self.set_class(grade is not None or phase == "grading", "-has-grade")
        if grade is not None:
            stage.panel.show([with_mark(one, entry.marks.get(one.criterion)) for one in grade.criteria])
            stage.panel.comment(entry.comments)
            self.comment_on_grade()
        follow_up = self.session.follow_up if phase == "follow_up" else None
        if follow_up is not None:
            stage.query_one("#follow-question", Line).update(join(("Follow-up: ", "bold"), follow_up.text))
        stage.panel.advise(self.advice())
        last = self.session.position + 1 == self.session.of
        stage.query_one("#next", Button).label = "Finish (n)" if last else "Next question (n)"
        self.show_counts()
        self.place_focus()

    def key_label(self, key_id: str) -> str:
        """The footer counts the hints."""
        if key_id == "hint":
            return f"hint ({self.session.hints_used} of {self.session.hints_total})"
        return ""

    def show_checkpoint(self) -> None:
        """A multiple-choice question."""
        view, entry = self.query_one(OptionsView), self.session.entry()
        chosen = entry.chosen_option_id
        if chosen is not None:
            view.show_outcome(chosen, visible=self.session.grade_visible)

    def show_finished(self) -> None:
        """The end: the transcript is the summary."""
        self.set_class(True, "-beside")
        self.set_class(False, "-page")
        self.say(self.finished_words(), tone="note")
        history = self.query_one("#history", Transcript)
        history.show(self.session.history, summary=summary_content(self.session))
        history.focus()

    def finished_words(self) -> str:
        """Totals over the questions that have a grade."""
        entries = self.session.entries
        graded = [entry for entry in entries if entry.grade is not None]
        met = sum(entry.effective_met for entry in graded)
        waiting = len(self.session.pending_attempts)
        words = f"Done. {plural(len(entries), 'item')}, {len(graded)} graded: {met} of {4 * len(graded)} criteria met."
        if waiting:
            words += f" {plural(waiting, 'answer')} not graded yet."
        return f"{words} Below is all that was said; s saves a report of it, Esc goes back."

    def place_focus(self) -> None:
        """The editor has the focus when it should."""
        phase, stage = self.session.phase, self.stage
        if stage.form.is_open:
            return
        asked = self.session.entry().confidence is None
        if phase == "confidence" or (phase == "answering" and asked):  # a recall has no phase for it
            self.query_one(ConfidenceRow).focus_first()
        elif phase == "answering":
            stage.answer.focus()
        elif phase == "follow_up":
            stage.follow_answer.focus()
            self.call_after_refresh(stage.query_one("#follow-bar").scroll_visible, animate=False)
        elif phase == "grading":
            stage.panel.row("result").focus()
        elif phase in ("graded", "reference"):
            stage.query_one("#next", Button).focus(scroll_visible=False)
            if phase == "reference":
                outcome, heading = stage.query_one("#outcome"), stage.query_one("#reference-heading")
                self.call_after_refresh(outcome.scroll_to_widget, heading, top=True, animate=False)
        if self.has_class("-short") or self.has_class("-narrow"):
            self.call_after_refresh(self.show_focused)

    def show_focused(self) -> None:
        """On a terminal that is too small, scroll to where the keys go."""
        if self.focused is not None:
            self.focused.scroll_visible(animate=False)


def summary_content(session: Session) -> Content:
    """One row an item: what it was, how it went, how sure one had been."""
    rows = []
    for entry in session.entries:
        if entry.grade is not None:
            outcome = total_words([entry.effective(criterion) for criterion in CRITERION_IDS])
        elif entry.choice is not None:
            outcome = "right" if entry.choice.correct else "not right"
        elif entry.skipped:
            outcome = "skipped"
        elif entry.recall is not None:
            outcome = "recalled"
        else:
            outcome = "not graded yet" if entry.answer is not None else "–"
        sure = CONFIDENCE.get(entry.confidence or 0, "")
        rows.append(
            Content.assemble(
                f"{entry.position + 1:>2} {pad(one_line(entry.question.title), 22)} {entry.question.kind:<11}",
                (f"{sure:<14}", "$secondary"),
                outcome,
            )
        )
    return Content("\n").join(rows)
