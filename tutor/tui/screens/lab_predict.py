"""Predict, lock, run, compare: one number of one's own change."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.widgets import Button, Input

from tutor import __version__
from tutor.errors import TutorError
from tutor.lab.gallery import STREAM_PREFIX
from tutor.lab.predictions import REPLICATIONS, explain, lock, record, simulate_prediction
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, one_line
from tutor.tui.screens.lab_predict_form import DRAFT_PLACE, PredictionForm
from tutor.tui.screens.lab_run import PLOTTING, RunningScreen
from tutor.tui.screens.prediction_words import outcome_content, predicted_content
from tutor.tui.widgets.choice_row import ChoiceRow
from tutor.tui.widgets.confidence import ConfidenceRow
from tutor.tui.widgets.ruled_line import RuledLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from sim import Result


class PredictScreen(PredictionForm):
    """The fields, the lock, the outcome beside the prediction, and why."""

    CSS_PATH = "lab.tcss"
    PURPOSE = (
        "Before you run your change, say what it does: which number, which way it goes, to what value, in which range, "
        "and how sure you are that the range holds it. Ctrl+S locks that; it is stored and cannot be changed, and then "
        "both sides are run, several times, on the same requests. The outcome stands beside the prediction with its "
        "95 % interval: ratio is predicted over simulated, and bits say how much the outcome surprised (1.4 is the "
        "mean of someone whose ranges are honest). Then say in a line why it came out so. A miss brings the topic's "
        "new items to the front of your drills."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "lock", "lab-run-again", "lab-see", "confidence-1", "confidence-2", "confidence-3"
    )

    def place(self) -> str:
        return f"Lab · {one_line(self.scenario_title)} · prediction"

    def on_mount(self) -> None:
        self.query_one("#how-sure", Line).show("How sure of your range?")
        self.query_one("#direction").display = bool(self.changes)
        if self.prediction is not None:
            self.fill_from(self.prediction.locked)
        else:
            self.fill_from_draft()
            self.query_one("#value", Input).focus()
            self.run_baseline()
        self.show_state()
        self.set_interval(1.0, self.keep)

    # --- state --------------------------------------------------------------------------------------------------

    def show_state(self) -> None:
        """Make everything agree with where the prediction stands."""
        made = self.prediction
        for row in self.query(ChoiceRow):
            row.display = made is None and (row.id != "direction" or bool(self.changes))
        self.query_one(".field").display = made is None
        confidence = self.query_one(ConfidenceRow)
        if self.confidence is None:
            confidence.ask()
            self.query_one("#how-sure", Line).show("How sure of your range?")
        else:
            confidence.show_level(self.confidence)
            self.query_one("#how-sure", Line).show(
                f"How sure: {('not yet', 'getting there', 'confident')[self.confidence - 1]}", tone="note"
            )
        self.query_one("#lock").display = made is None
        confidence.display = made is None
        heading = self.query_one("#predict-heading", RuledLine)
        heading.left = "You predict" if made is None else f"You predict {self.chosen.words()}"
        heading.right = "^S locks it" if made is None else f"locked {made.at.astimezone():%Y-%m-%d %H:%M:%S}"
        done = made is not None and made.simulated is not None
        for name in ("why-heading", "why", "after"):
            self.query_one(f"#{name}").display = done
        for name in ("outcome-heading", "outcome"):
            self.query_one(f"#{name}").display = made is not None
        self.show_number()
        if made is not None:
            self.show_outcome()
        self.refresh_bindings()

    def show_outcome(self) -> None:
        """Predicted beside simulated; it stays, right or wrong."""
        made = self.prediction
        assert made is not None
        found = made.simulated
        heading = self.query_one("#outcome-heading", RuledLine)
        if found is None:
            heading.left, heading.right = "Not run yet", ""
            self.query_one("#outcome", Line).update(predicted_content(made))
            return
        heading.left = "Compared"
        heading.right = f"{found.runs} runs a side, {found.requests:,} requests, {found.seconds:.1f} s"
        self.query_one("#outcome", Line).update(outcome_content(made, max(40, min(self.size.width - 4, 100))))
        if made.explanation:
            why = self.query_one("#why", Input)
            if not why.value:
                why.value = made.explanation
            self.query_one("#why-heading", RuledLine).right = "kept"

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        if self.is_mounted and self.prediction is not None:
            self.show_outcome()

    # --- locking and running ------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "lock" | "confidence":
                return self.prediction is None
            case "see_plots":
                return self.prediction is not None and self.prediction.simulated is not None and not self.job
            case "run_again":
                return self.prediction is not None and self.prediction.simulated is None and not self.job
            case _:
                return super().check_action(action, parameters)

    def run_baseline(self) -> None:
        """What the baseline gives, which may be known before one predicts."""
        scenario = self.baseline_scenario
        if scenario is None:
            return

        def job(tell: Callable[[int, int, str], None], stop: Callable[[], bool]) -> Result:
            from sim import simulate

            return simulate(scenario, None, stop)

        self.start_job("running the baseline", job)

    @on(Button.Pressed, "#lock")
    def lock_pressed(self) -> None:
        self.action_lock()

    def action_lock(self) -> None:
        """^S: store it, then run."""
        made = self.read_form()
        if isinstance(made, str):
            self.say(made)
            return
        store = self.tutor.store
        assert store is not None
        try:
            with store.writing():
                self.prediction = lock(store, made, self.tutor.clock())
                if self.entry is not None:
                    store.clear_draft(STREAM_PREFIX + self.entry.key, DRAFT_PLACE)
        except TutorError as error:
            self.say(str(error))
            return
        self.stop_job()
        self.say("")
        self.show_state()
        self.query_one("#page").focus()
        self.action_run_again()

    def action_run_again(self) -> None:
        """After locking, and by F2 where that run was stopped or failed."""
        made = self.prediction
        if made is None or made.simulated is not None:
            return
        if self.job:
            self.call_later(self.action_run_again)
            return
        locked, folder = made.locked, self.folder
        self.start_job(
            f"running {REPLICATIONS} replications",
            lambda tell, stop: simulate_prediction(locked, tell, stop, folder=folder, version=__version__),
        )

    def show_progress(self, text: str) -> None:
        if self.prediction is not None or not text:
            self.say(text, tone="note")

    def action_see_plots(self) -> None:
        """p, once it is known."""
        self.plot_sides(self.scenario_title, self.text, self.baseline if self.changes else "", self.folder)

    def job_done(self, message: RunningScreen.Ended) -> None:
        if self.open_plots(message):
            return
        if message.name == PLOTTING:
            self.say(one_line(message.sentence) or "Stopped.", tone="note")
            return
        if message.name == "running the baseline":
            self.before = message.result
            self.show_number()
            return
        if message.sentence or message.result is None:
            self.say(f"{message.sentence or 'Stopped before it was known.'} The prediction is locked; F2 runs it.")
            return
        store = self.tutor.store
        assert store is not None
        assert self.prediction is not None
        try:
            self.prediction = record(store, self.prediction, message.result, self.tutor.clock())
        except TutorError as error:
            self.say(str(error))
            return
        self.feed_drills()
        self.show_state()
        self.query_one("#why", Input).focus()

    def feed_drills(self) -> None:
        """A miss puts the topic's new items first."""
        made = self.prediction
        assert made is not None
        after = self.query_one("#after", Line)
        if not made.missed:
            after.update("")
            return
        titles = (
            {topic.id: topic.title for topics in self.tutor.bank.topics.values() for topic in topics}
            if self.tutor.bank
            else {}
        )
        words = ", ".join(one_line(titles.get(topic, topic)) for topic in made.locked.topics)
        drills = self.tutor.open_drills()
        if drills is None or not words:
            return
        drills.queue.forget_order()
        after.show(f"A miss: new items on {words} come first in your drills for a week.", tone="note")

    @on(Input.Submitted, "#why")
    def explained(self, event: Input.Submitted) -> None:
        """Keep why."""
        event.stop()
        store = self.tutor.store
        assert store is not None
        assert self.prediction is not None
        try:
            self.prediction = explain(store, self.prediction, event.value, self.tutor.clock())
        except TutorError as error:
            self.say(str(error))
            return
        self.say("")
        self.show_outcome()

    def action_back(self) -> None:
        """Esc: stop the run, else leave; what is typed is kept, what is locked stays locked."""
        self.keep()
        self.keep_why()
        running = self.job and self.prediction is not None
        if not (running and self.stop_job()):
            super().action_back()

    def keep_why(self) -> None:
        """An explanation that was typed and not entered is kept too."""
        why, made = self.query_one("#why", Input).value.strip(), self.prediction
        if made is not None and made.simulated is not None and why and " ".join(why.split()) != made.explanation:
            assert self.tutor.store is not None
            try:
                self.prediction = explain(self.tutor.store, made, why, self.tutor.clock())
            except TutorError as error:
                self.say(str(error))
