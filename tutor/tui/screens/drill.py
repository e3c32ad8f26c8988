"""Drills: confidence, answer, grade, and when it returns; at the end what was learned."""

from __future__ import annotations

from datetime import date
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button

from tutor.tui.bindings import bindings
from tutor.tui.prose import Prose
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.drill_base import MODES, PHASES
from tutor.tui.screens.drill_moves import MovesPart
from tutor.tui.screens.drill_words import (
    MODE,
    WHY,
    counts_words,
    item_content,
    outcome_content,
    sitting_content,
    summary_content,
    values_content,
    way_in_content,
)
from tutor.tui.widgets.answer_editor import AnswerEditor
from tutor.tui.widgets.confidence import ConfidenceRow
from tutor.tui.widgets.drill_stage import DrillStage
from tutor.tui.widgets.options_view import OptionsView
from tutor.tui.widgets.ruled_line import RuledLine

HEADINGS = {
    "numbers": "Only the numbers, with their units",
    "recall": "What you remember, in words or only in your head",
    "prediction": "You predict",
    "full": "In full",
}


class DrillScreen(MovesPart):
    """Shows what the sitting says; nothing moves by itself."""

    CSS_PATH = "drill.tcss"
    PLACE = "Drill"
    PURPOSE = (
        "Short answers to what is due, and a few new items. Say how sure you are (1, 2, 3), then answer: choose an "
        "option, give only the numbers, predict, or recall and hold it against the reference, which you mark with 1 to "
        "4; beside each mark stands when the item would return. i answers an exercise in full, with all four "
        "criteria. u takes back the last action, whatever it was. Esc ends the sitting and shows what it came to."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "submit", "confidence-1", "confidence-2", "confidence-3", "recall-1", "recall-2", "recall-3", "recall-4",
        "go-on", "way-in", "hint", "in-full", "drill-skip", "bury", "drill-undo", "note", "suspend", "kinds",
        "drill-lesson", "simulate", "progress",
    )  # fmt: skip
    day: date | None = None
    """The local day that is shown."""

    # --- layout -------------------------------------------------------------------------------------------------

    def place(self) -> str:
        if self.phase == "over":
            return "Drill · end of the sitting" if self.session.done else "Drill · nothing at hand"
        shown = self.shown
        return f"Drill · {shown.item.title} · {MODE[shown.mode]} · {WHY[shown.why]}"

    def body(self) -> ComposeResult:
        with Horizontal(id="columns"):
            with Vertical(id="main"):
                yield Line(id="counts")
                with VerticalScroll(id="question", can_focus=True):
                    yield Prose(id="prompt")
                yield Line(id="own-note")
                yield AnswerEditor(id="note-editor", placeholder="Your note; ^S or Esc keeps it.")
                yield Line(id="way-in")
                yield ConfidenceRow(id="confidence")
                yield Line(id="notice")
                yield Line(id="verdict")
                yield DrillStage(id="drill-stage")
                yield OptionsView(id="options-stage")
                with VerticalScroll(id="summary", can_focus=True):
                    yield Line(id="summary-text")
            with Vertical(id="side-column"):
                yield RuledLine("This item")
                yield Line(id="item-text")
                yield RuledLine("This sitting", id="sitting-heading")
                with VerticalScroll(can_focus=False):
                    yield Line(id="sitting-text")
            with Vertical(id="page-column"):
                yield RuledLine("Lesson", "Esc closes", id="page-heading")
                with VerticalScroll(id="page", can_focus=True):
                    yield Prose(id="page-text")

    async def on_mount(self) -> None:
        self.query_one("#notice").display = False
        self.query_one("#option-next", Button).label = "Next (n)"
        self.day = self.drills.today(self.tutor.clock())
        self.set_interval(1.0, self.tick)
        await self.show_item()
        told = [*self.session.told]
        if (warning := self.drills.clock_warning(self.tutor.clock())) is not None:
            told.insert(0, warning)
        if told:
            self.say(" ".join(one_line(each) for each in told), tone="note")

    async def show_item(self) -> None:
        """Another item, or the end."""
        self.say("")
        self.running, self.checked, self.interview, self.ways_opened = False, None, None, 0
        self.remove_class("-noting")
        self.close_page()
        shown = self.session.current
        if shown is not None and not self.stopped and shown.question is not None:
            await self.query_one("#prompt", Prose).show(shown.question.prompt)
            self.query_one("#question", VerticalScroll).scroll_home(animate=False)
            draft = self.session.draft
            self.saved_text = draft
            if shown.mode == "checkpoint":
                self.query_one(OptionsView).ask(shown.question.options)
            elif shown.mode == "prediction":
                await self.stage.fields.ask(shown.question, draft)
            else:
                self.load(self.stage.answer, draft)
        self.show_state()

    def show_state(self) -> None:
        """Make everything visible agree with the sitting, and put the focus where the next key belongs."""
        phase = self.phase
        for one in PHASES:
            self.set_class(one == phase, f"-{one}")
        mode = self.shown.mode if phase != "over" else ""
        for each in MODES:
            self.set_class(each == mode, f"-mode-{each}")
        self.show_counts()
        self.retitle()
        if phase == "over":
            for hidden in ("#verdict", "#way-in", "#own-note"):
                self.query_one(hidden).display = False
            self.show_summary()
        else:
            self.show_at_hand()
        self.query_one("#sitting-text", Line).update(sitting_content(self.session.done, 40))
        self.refresh_bindings()

    def show_counts(self) -> None:
        """Due, new and overdue."""
        self.query_one("#counts", Line).show(
            counts_words(self.drills.counts(self.tutor.clock()), self.kinds), tone="note"
        )

    def show_at_hand(self) -> None:
        """The item at hand in its phase."""
        shown, phase, stage = self.shown, self.phase, self.stage
        row = self.query_one(ConfidenceRow)
        if self.session.confidence is None and self.open:
            row.ask()
        else:
            answered = self.session.answered  # in full, confidence was said in the interview
            row.show_level(answered.recorded.review.confidence if answered else self.session.confidence)
        self.query_one("#answer-heading", RuledLine).left = HEADINGS.get(shown.mode, "Your answer")
        stage.answer.read_only = not self.open
        if phase == "marking":
            stage.answer.move_cursor((0, 0))
        self.show_note_and_way()
        self.show_outcome()
        self.show_draft_state()
        card = self.drills.card(shown.item.id)
        self.query_one("#item-text", Line).update(item_content(shown, card.due_day))
        self.place_focus()

    def show_note_and_way(self) -> None:
        """One's own note, and another way in for an item that keeps being forgotten."""
        note, way = self.note_text, self.way_at_hand()
        line = self.query_one("#own-note", Line)
        line.update(join(("Your note  ", "$secondary"), note.strip()))
        line.display = bool(note.strip()) and not self.has_class("-noting")
        line = self.query_one("#way-in", Line)
        if way is not None:
            line.update(way_in_content(way.words, self.ways_opened, len(way.choices)))
        line.display = way is not None

    def show_outcome(self) -> None:
        """What became of the answer, and the reference once it may be seen."""
        answered, stage, question = self.session.answered, self.stage, self.shown.question
        verdict = self.query_one("#verdict", Line)
        verdict.display = answered is not None
        if answered is not None:
            verdict.update(outcome_content(answered))
            if self.shown.mode == "checkpoint":
                chosen = answered.recorded.review.answer
                self.query_one(OptionsView).show_outcome(chosen, visible=True, verdict=False)
        if self.phase in ("marking", "graded") and question is not None:
            table = stage.query_one("#table", Line)
            table.display = self.checked is not None and self.phase == "graded"
            if self.checked is not None:
                table.update(values_content(self.checked))
            self.call_later(self.show_reference, question.reference)
        if self.phase == "marking":
            stage.marks.ask(self.recall_days())

    async def show_reference(self, text: str) -> None:
        """The reference, from its beginning."""
        await self.stage.query_one("#reference", Prose).show(text)
        self.stage.query_one("#outcome", VerticalScroll).scroll_home(animate=False)

    def show_summary(self) -> None:
        """The end of the sitting."""
        plan = self.drills.settings.base
        width = max(30, min(self.size.width - 4, 96))
        self.query_one("#summary-text", Line).update(
            summary_content(self.session.summary(), width, self.kinds, f"{plan.new_per_day} a day")
        )
        self.query_one("#summary").focus()

    def place_focus(self) -> None:
        """The editor has the focus when it should."""
        phase, mode, stage = self.phase, self.shown.mode, self.stage
        if self.has_class("-noting") or (self.has_class("-page") and self.size.width < 120):
            return
        if phase == "confidence":
            self.query_one(ConfidenceRow).focus_first()
        elif phase == "answering" and mode == "checkpoint":
            self.query_one("#option-list").focus()
        elif phase == "answering" and mode == "prediction":
            stage.fields.focus_first()
        elif phase == "answering":
            stage.answer.focus()
        elif phase in ("running", "full"):
            self.query_one("#question").focus()
        elif phase == "marking":
            stage.query_one("#recall-1", Button).focus(scroll_visible=False)
        elif mode == "checkpoint":
            self.query_one("#option-next", Button).focus(scroll_visible=False)
        else:
            stage.query_one("#next", Button).focus(scroll_visible=False)
        if self.has_class("-short") or self.has_class("-narrow"):
            self.call_after_refresh(self.show_focused)

    def show_focused(self) -> None:
        """On a terminal that is too small, scroll to where the keys go."""
        if self.focused is not None:
            self.focused.scroll_visible(animate=False)

    def key_label(self, key_id: str) -> str:
        """The last row counts the hints."""
        if key_id == "hint" and self.phase != "over" and self.shown.question is not None:
            return f"hint ({len(self.session.hints_taken)} of {len(self.shown.question.hints)})"
        return ""

    # --- time and coming back -----------------------------------------------------------------------------------

    def tick(self) -> None:
        """Once a second: the run's seconds, and the day that may have ended with the screen open."""
        self.tick_running()
        today = self.drills.today(self.tutor.clock())
        if self.day is not None and today != self.day:
            self.day = today
            if self.phase == "over":
                self.show_state()
            else:
                self.show_counts()
            left = self.drills.counts(self.tutor.clock()).today
            self.say(
                f"A new day has begun ({today}): {left} to ask. "
                + ("n goes on." if self.phase == "over" else "This item's answer counts for it."),
                tone="note",
            )

    def on_screen_resume(self) -> None:
        """Back from the interview, the simulator, a lesson or help."""
        if self.is_mounted and self.query("#summary-text"):
            self.back_from_interview()
            self.show_state()

    def action_back(self) -> None:
        """Esc: close what is open, stop the run, end the sitting, leave; the text is kept in every case."""
        self.keep()
        if self.close_note() or self.stop_running():
            return
        if self.close_page():
            self.show_state()
        elif not self.rescued():
            return
        elif self.phase != "over" and self.session.done:
            self.stopped = True
            self.say("")
            self.show_state()
        else:
            super().action_back()
