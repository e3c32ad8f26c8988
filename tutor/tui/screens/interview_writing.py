"""Writing and handing in: drafts, counts, confidence, submit."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from textual import events, on
from textual.widgets import Button, TextArea

from tutor.errors import TutorError
from tutor.tui.screens.interview_base import InterviewBase
from tutor.tui.widgets.answer_editor import MAX_BYTES, AnswerEditor
from tutor.tui.widgets.confidence import ConfidenceRow
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.widgets.title_bar import TitleBar
from tutor.tui.words import ago, plural

if TYPE_CHECKING:
    from tutor.interview import Session


class WritingPart(InterviewBase):
    """Everything typed is on the disk soon, and nothing typed is lost by handing in at the wrong moment."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.saved_text = ""
        self.draft_waits = False

    @property
    def editor(self) -> AnswerEditor | None:
        """The editor that takes text now."""
        stage, phase = self.stage, self.session.phase
        if self.session.question is None or self.session.question.kind == "checkpoint":
            return None
        if phase in ("confidence", "answering"):
            return stage.answer
        return stage.follow_answer if phase == "follow_up" else None

    @on(TextArea.Changed)
    def typed(self, event: TextArea.Changed) -> None:
        """On the disk soon: at most once in a while as one types, and surely shortly after the last key."""
        self.show_counts()
        if event.text_area is self.editor and not self.draft_waits:
            self.draft_waits = True
            self.set_timer(min(self.tutor.settings.draft_save_s, 1.0), self.keep)

    def keep(self) -> None:
        """Write the draft now."""
        self.draft_waits = False
        editor = self.editor if self.is_mounted else None
        if editor is None or editor.text == self.saved_text:
            return
        try:
            self.session.save_draft(editor.text)
        except TutorError as error:
            self.say(str(error))
            return
        self.saved_text = editor.text
        self.show_counts()

    def unsaved(self) -> str:
        editor = self.editor if self.is_mounted else None
        return editor.text if editor is not None and editor.text != self.saved_text else ""

    def tell(self, sentence: str) -> None:
        self.say(sentence)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        if isinstance(event.widget, AnswerEditor):
            self.keep()

    @on(AnswerEditor.PasteRefused)
    def paste_refused(self, message: AnswerEditor.PasteRefused) -> None:
        self.say(message.sentence())

    def show_counts(self) -> None:
        """saved 1 s ago · 38 words"""
        heading, stage = self.query_one("#answer-heading", RuledLine), self.stage
        parts = [plural(stage.answer.words, "word")]
        if self.session.phase in ("confidence", "answering"):
            saved = self.session.draft_saved_at
            if stage.answer.text != self.saved_text:
                parts.insert(0, "not saved yet")
            elif saved is not None:
                parts.insert(0, f"saved {ago(saved, self.tutor.clock())}")
        else:
            parts.insert(0, "handed in")
        heading.right = " · ".join(parts)

    def tick(self) -> None:
        """Once a second: clocks and counts, nothing that moves the layout."""
        seconds = int(monotonic() - self.opened_s)
        self.query_one(TitleBar).clock = f"{seconds // 60:02d}:{seconds % 60:02d}"
        if self.session.question is not None:
            self.show_counts()

    @on(ConfidenceRow.Chosen)
    def confidence_pressed(self, message: ConfidenceRow.Chosen) -> None:
        self.action_confidence(message.level)

    def action_confidence(self, level: int) -> None:
        """1, 2 and 3."""
        if self.attempt(lambda: self.session.set_confidence(level)):
            self.say("")
            self.show_state()

    @on(Button.Pressed, "#submit, #follow-submit")
    async def submit_pressed(self) -> None:
        await self.action_submit()

    async def action_submit(self) -> None:
        """Hand in the answer, or the follow-up's."""
        phase, question, stage = self.session.phase, self.session.question, self.stage
        if question is None or question.kind == "checkpoint" or phase == "grading":
            return
        if phase == "follow_up":
            if not stage.follow_answer.text.strip():
                self.say("The answer is blank. Write one, or F8 skips it.")
                stage.follow_answer.focus()
                return
            if self.attempt(lambda: self.session.answer_follow_up(stage.follow_answer.text)):
                await self.after_follow_up()
            return
        if phase not in ("confidence", "answering"):
            return
        if self.session.entry().confidence is None:
            self.say("Say first how sure you are: 1, 2 or 3. Your text is kept.")
            self.keep()
            self.query_one(ConfidenceRow).focus_first()
            return
        if not stage.answer.text.strip():
            self.say("The answer is blank. Write one, or F8 skips it.")
            stage.answer.focus()
            return
        if stage.answer.too_long:
            self.say(f"The answer is longer than {MAX_BYTES // 1024} KiB; shorten it, then hand it in. It is kept.")
            return
        text = stage.answer.text
        if question.kind == "recall":
            level = self.session.entry().confidence or 1
            if self.attempt(lambda: self.session.set_recall(text, level)):
                await self.action_reference()
            return
        if not self.attempt(lambda: self.session.submit(text)):
            return
        self.saved_text = ""
        self.say("")
        pending = self.session.pending_attempt
        if self.session.mode == "interview" and self.attempt(self.session.advance):
            self.load(stage.answer, "")
            await self.show_question()
        else:
            self.show_state()
        if pending is not None:
            self.queue_grading(*pending, question)
