"""Answering a drilled item: confidence, draft, handing in, the simulator's run, marking a recall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.message import Message
from textual.widgets import Button, Input, TextArea
from textual.worker import Worker, WorkerState

from sim import ScenarioError
from tutor.drills.rating import rating_from_self_mark
from tutor.errors import TutorError
from tutor.tui.safe import Line
from tutor.tui.screens.drill_base import NOTE_PLACE, DrillBase
from tutor.tui.widgets.answer_editor import MAX_BYTES, AnswerEditor
from tutor.tui.widgets.confidence import ConfidenceRow
from tutor.tui.widgets.options_view import OptionsView
from tutor.tui.widgets.recall_marks import MARKS, RecallMarks
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.words import plural

if TYPE_CHECKING:
    from question_bank import Question
    from tutor.checking import CheckedRun


class AnsweringPart(DrillBase):
    """Everything typed is on the disk soon; an answer is in the log before its outcome is shown."""

    draft_waits = False
    run_id = 0
    running_since_s = 0.0
    checked: CheckedRun | None = None
    """What the simulator gave for the prediction at hand."""

    @dataclass
    class Ran(Message):
        """A prediction's scenario was run, or could not be."""

        run_id: int
        values: dict[str, float]
        run: CheckedRun | None
        sentence: str = ""

    # --- drafts -------------------------------------------------------------------------------------------------

    @property
    def typed_text(self) -> str:
        """What has been typed for the item at hand."""
        stage = self.stage
        return stage.fields.text if self.shown.mode == "prediction" else stage.answer.text

    @on(TextArea.Changed)
    @on(Input.Changed)
    def typed(self) -> None:
        """On the disk soon: at most once in a while as one types, and surely shortly after the last key."""
        self.show_draft_state()
        if not self.draft_waits:
            self.draft_waits = True
            self.set_timer(min(self.tutor.settings.draft_save_s, 1.0), self.keep)

    def keep(self) -> None:
        """Write what was typed now: the answer, and a note that is being written."""
        self.draft_waits = False
        if not self.is_mounted or self.phase == "over":
            return
        store, text = self.drills.store, self.typed_text
        try:
            if self.has_class("-noting"):
                store.save_draft(self.stream, NOTE_PLACE, self.note_editor.text, self.tutor.clock())
                self.saved_note = self.note_editor.text
            if self.open and self.shown.mode != "checkpoint" and text != self.saved_text:
                if text:
                    self.session.save_draft(text)
                else:
                    store.clear_draft(self.stream, 0)
                self.saved_text = text
        except TutorError as error:
            self.say(str(error))
            return
        self.show_draft_state()

    def unsaved(self) -> str:
        if not self.is_mounted or self.phase == "over":
            return ""
        parts = []
        if self.open and self.shown.mode != "checkpoint" and self.typed_text != self.saved_text:
            parts.append(self.typed_text)
        if self.has_class("-noting") and self.note_editor.text != self.saved_note:
            parts.append(self.note_editor.text)
        return "\n\n".join(part for part in parts if part)

    def tell(self, sentence: str) -> None:
        self.say(sentence)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        if isinstance(event.widget, AnswerEditor | Input):
            self.keep()

    @on(AnswerEditor.PasteRefused)
    def paste_refused(self, message: AnswerEditor.PasteRefused) -> None:
        self.say(message.sentence())

    def show_draft_state(self) -> None:
        """saved · 12 words"""
        if self.phase == "over":
            return
        heading = self.query_one("#answer-heading", RuledLine)
        parts = [] if self.shown.mode == "prediction" else [plural(self.stage.answer.words, "word")]
        if not self.open:
            parts.insert(0, "handed in")
        elif self.typed_text:
            parts.insert(0, "saved" if self.typed_text == self.saved_text else "not saved yet")
        heading.right = " · ".join(parts)

    # --- confidence ---------------------------------------------------------------------------------------------

    @on(ConfidenceRow.Chosen)
    def confidence_pressed(self, message: ConfidenceRow.Chosen) -> None:
        self.action_confidence(message.level)

    def action_confidence(self, level: int) -> None:
        """1, 2 and 3."""
        if self.attempt(lambda: self.session.set_confidence(level)):
            self.say("")
            self.show_state()

    # --- handing in ---------------------------------------------------------------------------------------------

    @on(Button.Pressed, "#submit")
    def submit_pressed(self) -> None:
        self.action_submit()

    def action_submit(self) -> None:
        """Hand in what was typed; or keep the note that is being written."""
        if self.close_note() or not self.open or self.shown.mode == "checkpoint":
            return
        if self.session.confidence is None:
            self.say("Say first how sure you are: 1, 2 or 3. Your text is kept.")
            self.keep()
            self.query_one(ConfidenceRow).focus_first()
            return
        self.keep()
        match self.shown.mode:
            case "numbers":
                self.hand_in_numbers()
            case "prediction":
                self.hand_in_prediction()
            case _:
                if self.fits() and self.attempt(self.session.reveal):
                    self.say("")
                    self.show_state()

    def fits(self) -> bool:
        """Whether the text may be handed in as long as it is."""
        if self.stage.answer.too_long:
            self.say(f"The answer is longer than {MAX_BYTES // 1024} KiB; shorten it, then hand it in. It is kept.")
        return not self.stage.answer.too_long

    def hand_in_numbers(self) -> None:
        """Code reads and decides them."""
        text = self.stage.answer.text
        if not text.strip():
            self.say("No number is given. Write the numbers with their units, or F8 skips the item.")
            self.stage.answer.focus()
        elif self.fits() and self.attempt(lambda: self.session.give_numbers(text)):
            self.answer_recorded()

    def hand_in_prediction(self) -> None:
        """The scenario is run, off the event loop; then the prediction is recorded beside what came out."""
        values, question = self.stage.fields.values(), self.shown.question
        if isinstance(values, str) or question is None:
            self.say(values if isinstance(values, str) else "The question cannot be shown without its bank.")
            return
        if question.simulation is None:
            self.predicted(values, None)
            return
        self.running, self.run_id, self.running_since_s = True, self.run_id + 1, monotonic()
        self.stage.fields.close()
        self.say("Running the scenario, 0 s; Esc stops and keeps your numbers.", tone="note")
        self.show_state()
        self.run_scenario(self.run_id, question, values)

    @work(thread=True, exclusive=True, group="scenario", exit_on_error=False)
    def run_scenario(self, run_id: int, question: Question, values: dict[str, float]) -> None:
        """Off the event loop."""
        from tutor.checking import run_checks

        try:
            run = run_checks(question, values)
        except (ScenarioError, ValueError) as error:
            self.post_message(self.Ran(run_id, values, None, str(error)))
            return
        self.post_message(self.Ran(run_id, values, run))

    @on(Ran)
    def scenario_ran(self, message: Ran) -> None:
        """A run that was stopped meanwhile is passed over."""
        if not self.running or message.run_id != self.run_id:
            return
        self.running = False
        self.checked = message.run
        found = {each.name: each.simulated for each in message.run.values} if message.run is not None else None
        self.predicted(message.values, found)
        if message.sentence:
            self.say(f"The scenario could not be run: {message.sentence} The reference decided.", tone="note")

    @on(Worker.StateChanged)
    def worker_changed(self, event: Worker.StateChanged) -> None:
        """A fault in the simulator never leaves the screen waiting."""
        if event.worker.group == "scenario" and event.state is WorkerState.ERROR and self.stop_running():
            self.say(f"The simulator broke off ({type(event.worker.error).__name__}). Your numbers are kept.")

    def predicted(self, values: Mapping[str, float], found: Mapping[str, float | None] | None) -> None:
        """Record a prediction."""
        if self.attempt(lambda: self.session.predict(values, found)):
            self.answer_recorded()
        else:
            self.stage.fields.reopen()
            self.show_state()

    def stop_running(self) -> bool:
        """Esc while the scenario runs: the numbers stay, nothing is recorded."""
        if not self.running:
            return False
        self.running = False
        self.stage.fields.reopen()
        self.show_state()
        self.say("Stopped. Your numbers are kept; change them or hand them in again.", tone="note")
        return True

    @on(OptionsView.Chosen)
    def option_chosen(self, message: OptionsView.Chosen) -> None:
        """Right or wrong is decided by the option's id."""
        if self.session.confidence is None:
            self.say("Say first how sure you are: 1, 2 or 3.")
            self.query_one(ConfidenceRow).focus_first()
        elif self.attempt(lambda: self.session.choose(message.option_id)):
            self.answer_recorded()

    # --- a recall against its reference ------------------------------------------------------------------------

    def recall_days(self) -> dict[int, int]:
        """For each mark the days until the item would be due, the hints taken counted."""
        previews, hints = self.session.previews(), len(self.session.hints_taken)
        days = {}
        for number, mark in MARKS.items():
            rating = rating_from_self_mark(mark, hints=hints).rating
            if rating is not None and rating in previews:
                days[number] = previews[rating]
        return days

    @on(RecallMarks.Chosen)
    def recall_pressed(self, message: RecallMarks.Chosen) -> None:
        self.action_mark_recall(message.number)

    def action_mark_recall(self, number: int) -> None:
        """1 to 4."""
        text = self.stage.answer.text
        if self.attempt(lambda: self.session.mark(MARKS[number], text)):
            self.answer_recorded()

    def answer_recorded(self) -> None:
        """It is in the log."""
        self.saved_text = ""
        self.say("")
        self.show_state()

    def tick_running(self) -> None:
        """Seconds of the run."""
        if self.running:
            seconds = int(monotonic() - self.running_since_s)
            self.query_one("#notice", Line).show(
                f"Running the scenario, {seconds} s; Esc stops and keeps your numbers.", tone="note"
            )
