"""Moving through a sitting: next, skip, bury, suspend, undo, hints, notes, another way in, answering in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.widgets import Button

from tutor.checking import stated_values
from tutor.drills import DrillSession
from tutor.drills.bridge import full_answer
from tutor.tui.prose import Prose
from tutor.tui.screens.drill_answering import AnsweringPart
from tutor.tui.screens.drill_base import NOTE_PLACE
from tutor.tui.screens.drill_words import KIND_SETS, kinds_name
from tutor.tui.widgets.ruled_line import RuledLine

if TYPE_CHECKING:
    from tutor.drills import Presentation, WayIn
    from tutor.drills.queue import Why
    from tutor.interview import Session


class MovesPart(AnsweringPart):
    """Every key is a command to the sitting."""

    interview: Session | None = None
    """In which the item at hand is answered in full."""
    ways_opened = 0
    page_shows = ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted:
            return True
        phase, session = self.phase, self.session
        at_hand = phase != "over"
        noting = self.has_class("-noting")
        mode = self.shown.mode if at_hand else ""
        question = self.shown.question if at_hand else None
        match action:
            case "submit":
                return noting or (self.open and mode != "checkpoint")
            case "confidence":
                return self.open
            case "mark_recall":
                return phase == "marking"
            case "hint":
                return self.open and question is not None and bool(question.hints)
            case "simulate":
                return phase == "graded" and question is not None and question.simulation is not None
            case "in_full":
                return (self.open or phase == "full") and self.shown.item.kind in ("exercise", "probe")
            case "skip" | "bury" | "suspend":
                return self.open or phase in ("full", "marking")
            case "note" | "lesson_page":
                return at_hand
            case "way_in":
                return at_hand and self.way_at_hand() is not None
            case "kinds":
                return not session.done and (phase == "confidence" or phase == "over")
            case "undo":
                return phase != "running"
            case "next":
                return phase == "graded" or (phase == "over" and self.may_go_on)
            case "open_progress":
                return phase == "over"
            case _:
                return super().check_action(action, parameters)

    @property
    def may_go_on(self) -> bool:
        """Whether there is an item to go on with, at the end of a sitting."""
        return self.session.current is not None or self.drills.counts(self.tutor.clock()).today > 0

    # --- on and away --------------------------------------------------------------------------------------------

    @on(Button.Pressed, "#next, #option-next")
    async def next_pressed(self) -> None:
        await self.action_next()

    async def action_next(self) -> None:
        """n: the next item, or back from the end."""
        if self.phase == "over" and self.session.current is not None:
            self.stopped = False
            if self.session.answered is None:
                await self.show_item()
                return
        self.stopped = False
        if self.attempt(self.session.advance):
            await self.show_item()

    async def action_skip(self) -> None:
        """F8."""
        self.keep()
        if self.attempt(self.session.skip):
            await self.show_item()

    async def action_bury(self) -> None:
        """t."""
        await self._away(self.session.bury, "is not asked before tomorrow; u takes it back.")

    async def action_suspend(self) -> None:
        """x."""
        item_id = self.shown.item.id
        await self._away(
            self.session.suspend, f"is not asked any more; u takes it back, later 'tutor drill resume {item_id}' does."
        )

    async def _away(self, act: object, words: str) -> None:
        self.keep()
        title = self.shown.item.title
        if callable(act) and self.attempt(act):
            await self.show_item()
            self.say(f"“{title}” {words}", tone="note")

    async def action_undo(self) -> None:
        """u: the last action of all, wherever it was done."""
        self.close_note()
        self.keep()
        done = self.session.done
        found = []
        if not self.attempt(lambda: found.append(self.session.undo())):
            return
        undone = found[0]
        if undone is None:
            self.say("There is nothing to take back.", tone="note")
            return
        back = len(self.session.done) < len(done)
        self.stopped = False
        if back and (typed := done[-1].recorded.review.answer) and self.shown.mode != "checkpoint":
            # What had been typed is there again, to be changed.
            self.attempt(lambda: self.session.save_draft(typed.replace("; ", "\n") if self._fields else typed))
        await self.show_item()
        self.say(f"Taken back: {undone.words}.", tone="note")

    @property
    def _fields(self) -> bool:
        return self.shown.mode == "prediction"

    def action_open_progress(self) -> None:
        """p, at the end of a sitting."""
        self.tutor.open_progress()

    async def action_kinds(self) -> None:
        """k: the next set of kinds; nothing was answered in this sitting yet."""
        names = [kinds for _, kinds in KIND_SETS]
        at = names.index(self.kinds) if self.kinds in names else 0
        self.keep()
        self.kinds = names[(at + 1) % len(names)]
        self.stopped = False
        self.session = DrillSession(self.drills, self.tutor.clock, kinds=self.kinds)
        await self.show_item()
        self.say(f"Asked now: {kinds_name(self.kinds)}.", tone="note")

    # --- hints and notes ----------------------------------------------------------------------------------------

    def action_hint(self) -> None:
        """F3."""
        question = self.shown.question
        total = len(question.hints) if question is not None else 0
        text = self.session.hint()
        if text is None:
            self.say("There is no hint left.", tone="note")
        else:
            self.say(f"Hint {len(self.session.hints_taken)} of {total}: {text}", tone="note")
        self.refresh_bindings()

    def action_note(self) -> None:
        """o: open the note's editor; what was written before a kill is in it."""
        if self.has_class("-noting"):
            self.close_note()
            return
        kept = self.drills.store.draft(self.stream, NOTE_PLACE)
        self.load(self.note_editor, kept.text if kept is not None else self.note_text)
        self.add_class("-noting")
        self.note_editor.focus()
        self.refresh_bindings()

    @property
    def note_text(self) -> str:
        """The candidate's note on the item at hand."""
        return self.drills.card(self.shown.item.id).state.note

    def close_note(self) -> bool:
        """Keep the note and close its editor; a note that is refused stays open, with its text."""
        if not self.has_class("-noting"):
            return False
        text = self.note_editor.text.strip()
        changed = text != self.note_text
        if changed and not self.attempt(lambda: self.session.note(text)):
            return True
        if not self.attempt(lambda: self.drills.store.clear_draft(self.stream, NOTE_PLACE)):
            return True
        self.remove_class("-noting")
        self.show_state()
        if changed:
            self.say("The note is kept; u takes it back." if text else "The note is gone; u brings it back.",
                     tone="note")  # fmt: skip
        return True

    # --- another way in -----------------------------------------------------------------------------------------

    def way_at_hand(self) -> WayIn | None:
        """After a miss the one it calls for, before the answer the one for an item that keeps being forgotten."""
        answered = self.session.answered
        return answered.way_in if answered is not None else self.shown.way_in

    async def action_way_in(self) -> None:
        """w: the first way, then the others in turn."""
        way = self.way_at_hand()
        if way is None:
            return
        ways = way.choices or ((way.kind, way.target),)
        kind, target = ways[self.ways_opened % len(ways)]
        self.keep()
        self.ways_opened += 1
        match kind:
            case "worked_example":
                example = self.drills.worked_example(target)
                if example is not None:
                    text = f"{example.prompt}\n\n---\n\n{example.reference}"
                    await self.open_page("Worked example, other numbers", f"example {target}", text)
            case "easier_item":
                await self.take(self.drills.present(target, "review", self.tutor.clock()))
                self.say("The easier item; the one you came from stays due.", tone="note")
                return
            case _:
                self.tutor.open_lesson(target)
        self.show_state()

    async def take(self, presentation: Presentation) -> None:
        """Put a certain item at hand instead of the queue's."""
        session = self.session
        session.confidence, session.hints_taken, session.revealed, session.answered = None, (), False, None
        session.current = presentation
        await self.show_item()

    async def action_lesson_page(self) -> None:
        """F9: the item's lesson, or close what is open."""
        if self.close_page():
            self.show_state()
            return
        bank = self.tutor.bank
        if bank is None:
            return
        lesson = bank.lesson(self.shown.item.lesson_id)
        text = "\n\n".join(f"## {section.title}\n\n{section.text}" for section in lesson.sections)
        await self.open_page(lesson.title, lesson.id, text)

    async def open_page(self, heading: str, key: str, text: str) -> None:
        """Show a text beside the item; on a narrow terminal in its place, until Esc."""
        self.query_one("#page-heading", RuledLine).left = heading
        self.add_class("-page")
        if self.page_shows != key:
            self.page_shows = key
            await self.query_one("#page-text", Prose).show(text)
            self.query_one("#page").scroll_home(animate=False)
        self.query_one("#page").focus()
        self.refresh_bindings()

    def close_page(self) -> bool:
        """False when none is open."""
        if not self.has_class("-page"):
            return False
        self.remove_class("-page")
        return True

    # --- simulator and interview --------------------------------------------------------------------------------

    def action_simulate(self) -> None:
        """F2, after the grade: the timeline of the item's own scenario."""
        from tutor.tui.screens.simulate import SimulateScreen

        question = self.shown.question
        if question is None or question.simulation is None:
            return
        stated = {each.name: each.predicted for each in self.checked.values} if self.checked is not None else {}
        known = {name: value for name, value in stated.items() if value is not None}
        self.app.push_screen(SimulateScreen(question, known or stated_values(question, self.stage.answer.text)))

    async def action_in_full(self) -> None:
        """i: an interview of this one question; what was typed goes along."""
        from tutor.interview.session import Session
        from tutor.tui.screens.interview import InterviewScreen

        bank, store, clock = self.tutor.bank, self.drills.store, self.tutor.clock
        if bank is None:
            return
        self.keep()
        if self.interview is None or self.interview.question is None:
            why: Why = self.shown.why
            text, stream = self.stage.answer.text, self.stream
            full = self.drills.present(self.shown.item.id, why, clock(), full=True)
            interview_id, plan = full_answer(full)
            begun: list[Session] = []
            if not self.attempt(
                lambda: begun.append(Session.start(store, bank, plan, clock, interview_id=interview_id))
            ):
                return
            self.interview = begun[0]
            if text.strip() and self.attempt(lambda: begun[0].save_draft(text)):
                store.clear_draft(stream, 0)
            session = self.session
            session.confidence, session.hints_taken, session.revealed, session.answered = None, (), False, None
            session.current = full
        self.app.push_screen(InterviewScreen(self.interview))

    def back_from_interview(self) -> None:
        """Take over what the interview decided."""
        if self.phase != "full" or self.interview is None:
            return
        taken: list[object] = []
        if self.attempt(lambda: taken.append(self.session.take_full_answer())) and taken[0] is None:
            answered = bool(self.interview.state.entries) and self.interview.state.entries[0].attempt is not None
            self.say(
                "The result is not decided yet, so it does not count. i goes back to it (F7 there marks it yourself), "
                "F8 leaves it."
                if answered
                else "Not answered yet. i goes back to it, F8 leaves it.",
                tone="note",
            )
        elif taken:
            self.say("")
