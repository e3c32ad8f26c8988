"""Hints, follow-ups, the model answer, the simulator, going on and going back."""

from __future__ import annotations

from functools import partial

from textual import on
from textual.widgets import Button

from tutor.checking import CheckedRun, stated_values
from tutor.tui.prose import Prose
from tutor.tui.screens.interview_base import InterviewBase
from tutor.tui.widgets.options_view import OptionsView

AFTER_GRADE = ("graded", "follow_up", "reference")


class MovingPart(InterviewBase):
    """From one state of the interview to the next."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted:
            return True
        session, phase, question = self.session, self.session.phase, self.session.question
        kind = question.kind if question is not None else ""
        has_grade = question is not None and kind != "checkpoint" and session.entry().grade is not None
        match action:
            case "submit":
                return (
                    question is not None and kind != "checkpoint" and phase in ("confidence", "answering", "follow_up")
                )
            case "confidence":
                return phase in ("confidence", "answering") and kind != "checkpoint"
            case "hint":
                return phase in ("confidence", "answering") and session.hints_total > 0
            case "reference":
                return kind not in ("", "checkpoint") and phase in ("graded", "follow_up") and session.grade_visible
            case "contest":
                return has_grade and phase in AFTER_GRADE
            case "self_mark":
                return has_grade and phase in AFTER_GRADE
            case "undo":
                return has_grade and bool(session.entry().marks)
            case "simulate":
                return self.may_simulate()
            case "skip":
                return phase in ("confidence", "answering", "follow_up")
            case "beside":
                return question is not None
            case "save_report":
                return question is None
            case "ask_tutor":
                return phase != "grading" and session.grade_visible and bool(session.entries)
            case "next":
                return session.may_advance and (phase in AFTER_GRADE)
            case _:
                return super().check_action(action, parameters)

    def may_simulate(self) -> bool:
        """A prediction runs before the grade, everything else after it: the run shows the results."""
        question, phase = self.session.question, self.session.phase
        if question is None or question.simulation is None:
            return False
        if question.kind == "prediction" and phase == "answering":
            return True
        return phase in AFTER_GRADE and self.session.grade_visible

    def advice(self) -> str:
        """One line on what can be done next, after the grade."""
        phase, entry, question = self.session.phase, self.session.entry(), self.session.question
        if phase not in AFTER_GRADE or question is None:
            return ""
        parts = []
        if entry.grade is not None:
            open_ = [one for one in entry.grade.criteria if one.verdict in ("unsure", "not_graded")]
            if any(one.criterion not in entry.marks for one in open_):
                parts.append("F7 mark")
            parts.append("F6 contest")
        if self.may_simulate():
            parts.append("F2 simulate")
        if phase != "reference":
            parts.append("F4 reference")
        return " · ".join(parts)

    # --- hints, follow-ups, model answer ------------------------------------------------------------------------

    def action_hint(self) -> None:
        """F3."""
        taken: list[str | None] = []
        if not self.attempt(lambda: taken.append(self.session.take_hint())):
            return
        if taken[0] is None:
            self.say("There is no hint left.", tone="note")
            return
        self.show_state()
        self.say(f"Hint {self.session.hints_used} of {self.session.hints_total}: {taken[0]}", tone="note")

    async def ask_follow_up(self) -> None:
        """The one that fits what was missing; when none fits, the model answer is next."""
        self.attempt(self.session.ask_follow_up)
        self.load(self.stage.follow_answer, self.session.draft)
        self.show_state()

    async def after_follow_up(self) -> None:
        """The model answer comes after the follow-up; a reply that only said what was meant leads on to one."""
        entry = self.session.state.current
        if entry is not None and entry.follow_ups and entry.follow_ups[-1].clarifies:
            await self.ask_follow_up()
            return
        await self.action_reference()

    async def action_reference(self) -> None:
        """F4."""
        if self.attempt(self.session.show_reference):
            self.say("")
            self.show_state()
            await self.show_reference_text()

    async def show_reference_text(self) -> None:
        """Fill in the model answer once it may be seen."""
        question = self.session.question
        if question is None or self.session.phase != "reference" or question.kind == "checkpoint":
            return
        await self.stage.query_one("#reference", Prose).show(question.reference)
        await self.show_beside("reference")

    # --- checkpoint ---------------------------------------------------------------------------------------------

    @on(OptionsView.Chosen)
    async def option_chosen(self, message: OptionsView.Chosen) -> None:
        """Right or wrong is decided by the option's id."""
        if not self.attempt(lambda: self.session.choose_option(message.option_id)):
            return
        self.show_state()

    # --- simulator ----------------------------------------------------------------------------------------------

    def action_simulate(self) -> None:
        """F2."""
        from tutor.tui.screens.simulate import SimulateScreen, Stated

        question = self.session.question
        if question is None or not self.may_simulate():
            return
        self.keep()
        position, entry = self.session.position, self.session.entry()
        predicting = question.kind == "prediction" and entry.simulation is None and not entry.predictions
        stated = dict(entry.predictions) or stated_values(question, entry.answer or self.stage.answer.text)

        def locked(made: Stated) -> None:
            if self.session.phase == "reference":
                return  # the numbers have been seen; they are compared, but they are no prediction
            for name, value in made.values.items():
                if name not in self.session.entry(position).predictions:
                    bounds = made.ranges.get(name)
                    low, high = (bounds.low, bounds.high) if bounds is not None else (None, None)
                    self.attempt(partial(self.session.predict, name, value, low, high))
            for metric, change in made.directions.items():
                self.attempt(partial(self.session.predict_direction, metric, change))

        def ran(run: CheckedRun) -> None:
            self.attempt(lambda: self.session.record_simulation(run.summary(), position))

        def explained(text: str) -> None:
            self.attempt(lambda: self.session.explain_prediction(text, position))

        self.app.push_screen(
            SimulateScreen(
                question,
                stated,
                on_locked=locked,
                on_run=ran,
                on_explained=explained,
                predicting=predicting,
                confidence=entry.confidence,
                typed=self.typed_predictions.setdefault(question.item_id, {}),
            )
        )

    async def on_screen_resume(self) -> None:
        """Back from the simulator or from help."""
        if self.is_mounted and self.session.question is not None:
            self.show_state()
            await self.show_reference_text()

    # --- on and back --------------------------------------------------------------------------------------------

    @on(Button.Pressed, "#next, #option-next")
    async def next_pressed(self) -> None:
        await self.action_next()

    async def action_next(self) -> None:
        """n."""
        if self.attempt(self.session.advance):
            await self.show_question()

    async def action_skip(self) -> None:
        """F8: the follow-up when one is asked, else the question."""
        if self.session.phase == "follow_up":
            if self.attempt(self.session.skip_follow_up):
                await self.after_follow_up()
            return
        self.keep()
        if self.attempt(self.session.skip):
            await self.show_question()

    def action_back(self) -> None:
        """Esc: close what is open, stop the grading, else leave; the text is kept in every case."""
        if self.stage.form.is_open:
            self.stage.form.close()
            self.show_state()
        elif self.close_beside():
            self.show_state()
        elif self.session.phase == "grading" and self.session.question is not None:
            self.stop_grading()
        else:
            self.keep()
            untouched = len(self.session.history) == 1 and not self.session.draft
            if untouched and self.session.question is not None:
                self.attempt(self.session.finish)  # nothing was said in it, so there is nothing to continue
            super().action_back()
