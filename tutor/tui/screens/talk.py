"""Asking the tutor: the question stays in sight, the reply comes sentence by sentence, all of it is kept."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input

from tutor.errors import TutorError
from tutor.interview.events import TalkPiece
from tutor.tui.bindings import bindings
from tutor.tui.prose import Prose
from tutor.tui.safe import Line, plain
from tutor.tui.screens.base import TutorScreen
from tutor.tui.widgets.transcript import reply_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tutor.coach.material import Material
    from tutor.interview import Session
    from tutor.interview.state import Talk


class TalkScreen(TutorScreen):
    """One line to ask in; above it what was said about this question."""

    CSS_PATH = "talk.tcss"
    PLACE = "Ask the tutor"
    PURPOSE = (
        "Ask about the question instead of answering it; Enter asks. Before your answer the tutor explains what the "
        "lesson says and gives the next hint, never the result, and checks no guess. After the grade it explains "
        "everything. A number that could not be held against the question's own is marked as unchecked."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings()

    def __init__(self, session: Session, position: int) -> None:
        super().__init__()
        self.session = session
        self.at = position
        self.coming: list[TalkPiece] = []
        """The reply that is under way."""
        self.since_s = 0.0
        self.material: Material | None = None

    def place(self) -> str:
        return f"{self.PLACE} · {self.session.entry(self.at).question.title}"

    def body(self) -> ComposeResult:
        with VerticalScroll(id="question", can_focus=True):
            yield Prose(id="prompt")
        with VerticalScroll(id="talk", can_focus=True):
            yield Line(id="said")
        yield Line(id="waiting")
        yield Input(placeholder="Your question to the tutor; Enter asks", max_length=2_000, id="asked")

    async def on_mount(self) -> None:
        await self.query_one("#prompt", Prose).show(self.session.entry(self.at).question.prompt)
        self.set_interval(1.0, self.tick)
        self.show_talk()
        self.query_one("#asked", Input).focus()

    def tick(self) -> None:
        """Seconds of a reply that has not begun."""
        if self.since_s and not self.coming:
            self.query_one("#waiting", Line).show(f"asking, {monotonic() - self.since_s:.0f} s, Esc stops", tone="note")

    def show_talk(self) -> None:
        """All turns, the newest in sight."""
        turns = self.session.entry(self.at).talk
        blocks = [self._turn(turn, turn.pieces) for turn in turns]
        if turns and not turns[-1].replied:
            blocks[-1] = self._turn(turns[-1], self.coming)
        empty = "What you ask and what is replied stays here, with the interview."
        self.query_one("#said", Line).update(Content("\n\n").join(blocks) if blocks else plain(empty, "$secondary"))
        talk = self.query_one("#talk", VerticalScroll)
        self.call_after_refresh(talk.scroll_end, animate=False)

    def _turn(self, turn: Talk, pieces: Sequence[TalkPiece]) -> Content:
        parts = [Content.assemble(("You  ", "bold $accent"), plain(turn.text))]
        if pieces:
            parts.append(reply_lines([piece.model_dump() for piece in pieces]))
        if turn.broken_off:
            parts.append(plain("(stopped)", "$secondary"))
        return Content("\n").join(parts)

    @on(Input.Submitted, "#asked")
    def ask(self, event: Input.Submitted) -> None:
        """Keep the question, then have it replied to."""
        waiting = self.query_one("#waiting", Line)
        if self.since_s:
            waiting.show("The reply to your last question is still coming; Esc stops it.", tone="note")
            return
        try:
            message = self.session.ask(event.value, self.at)
        except TutorError as error:
            waiting.show(str(error), tone="problem")
            return
        event.input.value = ""
        waiting.show("")
        self.coming, self.since_s = [], monotonic()
        self.show_talk()
        self.answer(message)

    @work(exclusive=True, group="talk", exit_on_error=False)
    async def answer(self, message: str) -> None:
        """Stream the reply; what came is kept, also when it is stopped."""
        from tutor.coach.talk import Asked, reply

        entry = self.session.entry(self.at)
        graded = entry.grade is not None or entry.phase == "reference" or entry.chosen_option_id is not None
        answer = (entry.answer or entry.chosen_option_id or "") if graded else None
        bank, grader = self.tutor.bank, self.tutor.grader
        assert bank is not None
        lesson = bank.lesson_of(entry.state.item_id).id
        asked = Asked(entry.question, message, lesson, answer, entry.grade)
        endpoint = None
        model = self.tutor.model.opened
        if grader is not None and model is not None and self.tutor.model.status == "ready" and model.info.grades:
            endpoint = model.info.endpoint if model.server is None else model.endpoint
        done = False
        try:
            pieces = reply(asked, self._material(), endpoint, self._take_hint, self.tutor.settings.model.deadlines)
            async for said in pieces:
                self.coming.append(TalkPiece(text=said.text, source=said.source, unchecked=said.unchecked))
                self.show_talk()
            done = True
        except TutorError as error:
            self.query_one("#waiting", Line).show(str(error), tone="problem")
        finally:
            name = endpoint.model if endpoint is not None else ""
            self.session.record_reply(self.coming, name, broken_off=not done, position=self.at)
            self.coming, self.since_s = [], 0.0
            if self.is_mounted:
                if done:
                    self.query_one("#waiting", Line).show("")
                self.show_talk()

    def _material(self) -> Material:
        from tutor.coach.material import Material

        assert self.tutor.bank is not None
        if self.material is None:
            self.material = Material.of(self.tutor.bank)
        return self.material

    def _take_hint(self) -> str | None:
        return self.session.take_hint() if self.at == self.session.position else None

    def action_back(self) -> None:
        """Esc stops a reply first, then leaves."""
        if self.since_s:
            self.workers.cancel_group(self, "talk")
            return
        self.dismiss(None)
