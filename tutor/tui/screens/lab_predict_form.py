"""The fields of a prediction: which number, which way, to what, in which range, how sure; kept until it is locked."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import HorizontalGroup, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input

from tutor.errors import TutorError
from tutor.lab.differences import differences
from tutor.lab.events import LONGEST_EXPLANATION, Direction, Locked
from tutor.lab.gallery import STREAM_PREFIX
from tutor.lab.quantities import ALL, QUANTITIES, STATISTICS, Chosen, chosen_from, usual
from tutor.lab.scenario_text import check
from tutor.lab.surprise import read_range
from tutor.lab.topics import topics_of
from tutor.lab.words import measured
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.lab_run import RunningScreen
from tutor.tui.widgets.choice_row import ChoiceRow
from tutor.tui.widgets.confidence import ConfidenceRow, Level
from tutor.tui.widgets.prediction_fields import parse_kept
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.words import parse_number

if TYPE_CHECKING:
    from sim import Result
    from tutor.lab.gallery import Entry
    from tutor.lab.predictions import Prediction

DIRECTIONS: tuple[tuple[Direction, str], ...] = (("lower", "lower"), ("higher", "higher"), ("same", "about the same"))
DRAFT_PLACE = 1
"""Where what is typed here is kept in the scenario's stream; its text is at 0."""


class PredictionForm(RunningScreen):
    """What is asked before anything runs; `PredictScreen` is the rest."""

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

    def body(self) -> ComposeResult:
        assert self.scenario is not None
        first = usual(self.scenario)
        classes = [(item.name, item.name) for item in self.scenario.classes]
        if len(classes) > 1:
            classes.append((ALL, "all together"))
        with VerticalScroll(id="page", can_focus=True):
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

    def read_form(self) -> Locked | str:
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
        direction = cast("Direction", self.query_one("#direction", ChoiceRow).value if self.changes else "")
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

    @abstractmethod
    def show_state(self) -> None:
        """Make everything agree with where the prediction stands."""
