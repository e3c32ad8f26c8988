"""Predict, lock, run, compare: one number of one's own change."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import HorizontalGroup, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input

from tutor import __version__
from tutor.errors import TutorError
from tutor.lab.differences import differences
from tutor.lab.events import LONGEST_EXPLANATION, Direction, Locked
from tutor.lab.gallery import STREAM_PREFIX
from tutor.lab.predictions import (
    REPLICATIONS,
    Prediction,
    explain,
    lock,
    record,
    simulate_prediction,
)
from tutor.lab.quantities import ALL, QUANTITIES, STATISTICS, Chosen, usual
from tutor.lab.scenario_text import check
from tutor.lab.surprise import read_range
from tutor.lab.topics import topics_of
from tutor.lab.words import measured
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.lab_run import RunningScreen
from tutor.tui.screens.prediction_words import outcome_content, predicted_content
from tutor.tui.widgets.choice_row import ChoiceRow
from tutor.tui.widgets.confidence import ConfidenceRow, Level
from tutor.tui.widgets.prediction_fields import parse_kept
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.words import parse_number

if TYPE_CHECKING:
    from sim import Result
    from tutor.lab.gallery import Entry

DIRECTIONS: tuple[tuple[Direction, str], ...] = (("lower", "lower"), ("higher", "higher"), ("same", "about the same"))
DRAFT_PLACE = 1
"""Where what is typed here is kept in the scenario's stream; its text is at 0."""
STEM = "-stage-"


class PredictScreen(RunningScreen):
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
        "lock", "lab-run-again", "confidence-1", "confidence-2", "confidence-3"
    )

    def __init__(
        self, title: str, text: str, baseline: str, *, entry: Entry | None = None, prediction: Prediction | None = None
    ) -> None:
        """`baseline` is the text before the change, or empty; `prediction` one that was locked before."""
        super().__init__()
        self.scenario_title, self.text, self.baseline = title, text, baseline
        self.entry = entry
        self.prediction = prediction
        self.folder = entry.folder if entry is not None else None
        self.scenario = check(text, self.folder).scenario
        self.baseline_scenario = check(baseline, self.folder).scenario if baseline else None
        self.changes = differences(baseline, text) if baseline else ()
        self.confidence: Level | None = prediction.locked.confidence if prediction is not None else None
        self.before: Result | None = None
        """One run of the baseline, for what it is now."""
        self.kept = ""

    def place(self) -> str:
        return f"Lab · {one_line(self.scenario_title)} · prediction"

    def body(self) -> ComposeResult:
        assert self.scenario is not None
        first = usual(self.scenario)
        classes = [(item.name, item.name) for item in self.scenario.classes]
        if len(classes) > 1:
            classes.append((ALL, "all together"))
        with VerticalScroll(id="page", can_focus=False):
            yield Line(self._change_words(), id="change")
            yield RuledLine("You predict", "^S locks it", id="predict-heading")
            yield ChoiceRow("Class", classes, first.class_name, id="class")
            yield ChoiceRow("Number", [(one.id, one.words) for one in QUANTITIES], first.quantity, id="quantity")
            yield ChoiceRow("Statistic", [(one, one) for one in STATISTICS], first.statistic, id="statistic")
            yield ChoiceRow("It goes", DIRECTIONS, id="direction")
            with HorizontalGroup(classes="field"):
                yield Line("to", classes="label")
                yield Input(id="value", placeholder="300", max_length=20)
                yield Line(id="unit", classes="unit")
                yield Line("range", classes="label -second")
                yield Input(id="range", placeholder="250 to 350, or ±15 %", max_length=40)
            yield Line(id="now")
            yield ConfidenceRow(id="confidence")
            yield Button("Lock and run", id="lock", classes="-next")
            yield Line(id="status")
            yield RuledLine(id="outcome-heading")
            yield Line(id="outcome")
            yield RuledLine("Why did it come out so?", "one line, Enter keeps it", id="why-heading")
            yield Input(
                id="why",
                placeholder="what you had not thought of, or why you were right",
                max_length=LONGEST_EXPLANATION,
            )
            yield Line(id="after")

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

    def _change_words(self) -> Content:
        if not self.changes:
            return join(("Nothing is changed: predict what this scenario gives as it is.", "$secondary"))
        return join(("Change  ", "$secondary"), " · ".join(one_line(one.words()) for one in self.changes))

    # --- the fields ---------------------------------------------------------------------------------------------

    @property
    def chosen(self) -> Chosen:
        """Which number."""
        return Chosen(*(self.query_one(f"#{name}", ChoiceRow).value for name in ("class", "quantity", "statistic")))

    def fill_from(self, locked: Locked) -> None:
        """Show what was locked."""
        from tutor.lab.quantities import chosen_from

        if (chosen := chosen_from(locked.metric)) is not None:
            for name, value in (
                ("class", chosen.class_name), ("quantity", chosen.quantity), ("statistic", chosen.statistic),
            ):  # fmt: skip
                self.query_one(f"#{name}", ChoiceRow).choose(value)
        self.query_one("#direction", ChoiceRow).choose(locked.direction)
        self.query_one("#value", Input).value = f"{locked.value:g}"
        self.query_one("#range", Input).value = f"{locked.low:g} to {locked.high:g}"

    def fill_from_draft(self) -> None:
        """Show what was typed before and not locked."""
        store, entry = self.tutor.store, self.entry
        draft = store.draft(STREAM_PREFIX + entry.key, DRAFT_PLACE) if store is not None and entry is not None else None
        if draft is None:
            return
        self.kept = draft.text
        values = parse_kept(draft.text)
        for name in ("class", "quantity", "statistic", "direction"):
            self.query_one(f"#{name}", ChoiceRow).choose(values.get(name, ""))
        for name in ("value", "range"):
            self.query_one(f"#{name}", Input).value = values.get(name, "")

    def keep(self) -> None:
        """Put what is typed on the disk."""
        store, entry = self.tutor.store, self.entry
        if store is None or entry is None or self.prediction is not None or not self.is_mounted:
            return
        parts = [(name, self.query_one(f"#{name}", ChoiceRow).value) for name in
                 ("class", "quantity", "statistic", "direction")]  # fmt: skip
        parts += [(name, self.query_one(f"#{name}", Input).value.strip()) for name in ("value", "range")]
        if not any(value for _, value in parts[4:]):
            return
        text = "\n".join(f"{name} = {value}" for name, value in parts)
        if text != self.kept:
            try:
                store.save_draft(STREAM_PREFIX + entry.key, DRAFT_PLACE, text, self.tutor.clock(), slot="prediction")
            except TutorError as error:
                self.say(str(error))
                return
            self.kept = text

    def say(self, text: str, *, tone: str = "problem") -> None:
        """A line where it happened; empty hides it."""
        line = self.query_one("#status", Line)
        line.show(text, tone=tone)
        line.display = bool(text)

    @on(ChoiceRow.Changed)
    def choice_made(self) -> None:
        """Another number has another unit, and perhaps no statistic."""
        self.show_number()

    def show_number(self) -> None:
        """The unit, and what the baseline gives."""
        chosen = self.chosen
        self.query_one("#statistic").display = chosen.of.statistics and self.prediction is None
        self.query_one("#unit", Line).update(chosen.of.unit)
        now = self.query_one("#now", Line)
        now.display = self.before is not None and self.prediction is None
        if self.before is not None:
            value = self.before.metric(chosen.metric)
            shown = "no sample" if value is None else f"{measured(value * chosen.of.scale)} {chosen.of.unit}"
            now.update(join(("Baseline   ", "$secondary"), f"{chosen.words()} is {shown} in one run"))

    @on(ConfidenceRow.Chosen)
    def confidence_pressed(self, message: ConfidenceRow.Chosen) -> None:
        self.action_confidence(message.level)

    def action_confidence(self, level: Level) -> None:
        """1, 2 and 3, outside the fields."""
        if self.prediction is None:
            self.confidence = level
            self.say("")
            self.show_state()
            self.query_one("#lock", Button).focus()

    @on(Input.Submitted, "#value, #range")
    def field_entered(self, event: Input.Submitted) -> None:
        """Enter goes on; only the button and ^S lock."""
        event.stop()
        if event.input.id == "range":
            self.query_one(ConfidenceRow).focus_first()
        else:
            self.query_one("#range", Input).focus()

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
            case "run_again":
                return self.prediction is not None and self.prediction.simulated is None and not self.job
            case _:
                return super().check_action(action, parameters)

    def run_baseline(self) -> None:
        """What the baseline gives, which may be known before one predicts."""
        scenario = self.baseline_scenario
        if scenario is None:
            return

        def job(tell: object, stop: object) -> Result:
            from sim import simulate

            return simulate(scenario, None, stop)  # type: ignore[arg-type]

        self.start_job("running the baseline", job)

    @on(Button.Pressed, "#lock")
    def lock_pressed(self) -> None:
        self.action_lock()

    def action_lock(self) -> None:
        """^S: store it, then run."""
        made = self._read()
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

    def _read(self) -> Locked | str:
        """What stands in the fields, or a sentence about the first that is missing, which gets the focus."""
        chosen = self.chosen
        field, between = self.query_one("#value", Input), self.query_one("#range", Input)
        value = parse_number(field.value)
        if value is None:
            field.focus()
            what = "is empty" if not field.value.strip() else "is not a number"
            return f"The number {what}; write what you expect in {chosen.of.unit}, such as 300."
        if not between.value.strip():
            between.focus()
            return "The range is empty; write between what you expect it, such as 250 to 350 or ±15 %."
        found = read_range(between.value, value)
        if isinstance(found, str):
            between.focus()
            return found
        if self.confidence is None:
            self.query_one(ConfidenceRow).focus_first()
            return "Say how sure you are that your range holds it: 1, 2 or 3."
        paths = [one.path for one in self.changes]
        known = {topic.id for topics in self.tutor.bank.topics.values() for topic in topics} if self.tutor.bank else ()
        direction = self.query_one("#direction", ChoiceRow).value if self.changes else ""
        return Locked(
            title=one_line(self.scenario_title, 80),
            scenario=self.text,
            baseline=self.baseline if self.changes else "",
            changes=tuple(one.words() for one in self.changes),
            metric=chosen.metric,
            unit=chosen.of.unit,
            scale=chosen.of.scale,
            direction=direction,
            value=value,
            low=found.low,
            high=found.high,
            confidence=self.confidence,
            topics=topics_of(paths, chosen.metric, known),
        )

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

    def job_done(self, message: RunningScreen.Ended) -> None:
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
