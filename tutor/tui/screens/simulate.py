"""Check it in the simulator: predict each number, lock it, run the question's own scenario, compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import HorizontalGroup, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input

from tutor.checking import REPLICATIONS, CheckedRun, Moved, run_checks
from tutor.lab.surprise import Range, read_range
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, one_line
from tutor.tui.screens.lab_run import RunningScreen
from tutor.tui.screens.simulate_words import moves_content, ranges_content, table, timelines
from tutor.tui.widgets.choice_row import ChoiceRow
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.words import number, parse_number, plural

if TYPE_CHECKING:
    from question_bank import Question

MOVES: tuple[tuple[Moved, str], ...] = (("lower", "lower"), ("higher", "higher"), ("same", "about the same"))
UNSAID = "unsaid"


@dataclass(frozen=True)
class Stated:
    """What was locked: numbers by name, and where it is a prediction their ranges, and moves by metric."""

    values: dict[str, float]
    ranges: dict[str, Range]
    directions: dict[str, Moved]


class SimulateScreen(RunningScreen):
    """The fields hold what the answer states; what it does not state is asked for. Then they are locked."""

    CSS_PATH = "simulate.tcss"
    PLACE = "Simulator"
    PURPOSE = (
        "The simulator runs the question's own scenario. Put a number into every field (those your answer states are "
        "filled in), lock them with Ctrl+S or F5, and compare: ratio is predicted over simulated. A prediction also "
        "takes the range that you think holds each number, and which way each metric goes; after the run say in a line "
        "why it came out so. Bits say how much an outcome surprised, given your range and how sure you were: 1.4 is "
        "the mean of honest ranges. In the timeline p is preparation, · waiting in the queue, █ prefill and = decode."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "submit", "simulate", "lab-from-item", hidden=frozenset({"simulate"})
    )

    def __init__(
        self,
        question: Question,
        stated: Mapping[str, float],
        *,
        on_locked: Callable[[Stated], None] | None = None,
        on_run: Callable[[CheckedRun], None] | None = None,
        on_explained: Callable[[str], None] | None = None,
        predicting: bool = False,
        confidence: int | None = None,
        typed: dict[str, str] | None = None,
    ) -> None:
        """A screen for one question.

        Args:
            question: with its scenario.
            stated: numbers that the answer states, by name.
            on_locked: told what was locked, before it is run.
            on_run: told what came out.
            on_explained: told why it came out so; without it nothing is asked.
            predicting: ranges and moves are asked for too.
            confidence: 1 to 3 as said before, for the bits of surprise.
            typed: what was typed here before and not locked, by field; kept up to date.
        """
        super().__init__()
        self.question = question
        self.stated = dict(stated)
        self.predicting = predicting
        self.confidence = confidence
        self.typed = typed if typed is not None else {}
        self.locked_values = Stated({}, {}, {})
        self.on_explained = on_explained
        self.on_locked = on_locked
        self.on_run = on_run
        self.locked = False
        self.explained = ""
        self.result: CheckedRun | None = None
        self.started_s = 0.0

    def place(self) -> str:
        return f"Simulator · {self.question.title}"

    def body(self) -> ComposeResult:
        with VerticalScroll(id="page"):
            plan = self.question.simulation
            if plan is None:
                yield Line("This question has no scenario of its own. Esc goes back.", classes="paragraph")
                return
            if self.question.givens:
                givens = " · ".join(f"{g.label} {number(g.value, g.unit)}" for g in self.question.givens)
                yield Line(f"Scenario: {givens}", classes="paragraph -note")
            words = "number and range; ^S locks it" if self.predicting else "from your answer; ^S locks it"
            yield RuledLine("You predict", words, id="predict-heading")
            for expected in self.question.expected:
                with HorizontalGroup(classes="field"):
                    yield Line(one_line(expected.label), classes="label")
                    value = self.stated.get(expected.name)
                    kept = self.typed.get(expected.name, "" if value is None else f"{value:g}")
                    yield Input(kept, id=f"predict-{expected.name}", name=expected.name, type="text", max_length=20)
                    yield Line(expected.unit, classes="unit")
                    if self.predicting:
                        name = f"{expected.name} range"
                        yield Input(
                            self.typed.get(name, ""), id=f"range-{expected.name}", name=name, classes="range",
                            placeholder="30 to 50, or 10%", max_length=40,
                        )  # fmt: skip
            if self.predicting:
                yield from self.direction_rows()
            yield Button("Lock and run", id="lock", classes="-next")
            yield Line(id="status")
            yield Line(id="table")
            if self.predicting:
                yield RuledLine("Why did it come out so?", "one line, Enter keeps it", id="why-heading")
                yield Input(id="why", placeholder="what you had not thought of, or why you were right", max_length=500)
            yield Line(id="timeline")
            yield Line(id="closing")

    def direction_rows(self) -> ComposeResult:
        """Which way each metric goes that the item asks about."""
        from sim.metrics import name_in_words

        plan = self.question.simulation
        for number_of, one in enumerate(plan.directions if plan is not None else ()):
            name = f"move {one.metric}"
            yield ChoiceRow(
                f"{name_in_words(one.metric)} goes",
                [(UNSAID, "?"), *MOVES],
                self.typed.get(name, UNSAID),
                id=f"move-{number_of}",
                label_cells=30,
            )

    @on(ChoiceRow.Changed)
    def move_chosen(self, message: ChoiceRow.Changed) -> None:
        """Remember it, should one leave before locking."""
        plan = self.question.simulation
        if plan is not None:
            metric = plan.directions[int((message.row.id or "").rpartition("-")[2])].metric
            self.typed[f"move {metric}"] = message.value

    @on(Input.Changed, ".field Input")
    def field_typed(self, event: Input.Changed) -> None:
        """Remember it, should one leave before locking."""
        if event.input.name and not self.locked:
            self.typed[event.input.name] = event.value

    def on_mount(self) -> None:
        for widget in self.query("#why-heading, #why"):
            widget.display = False
        fields = list(self.query(".field Input").results(Input))
        empty = [field for field in fields if not field.value]
        if empty:
            empty[0].focus()
        elif fields:
            self.query_one("#lock", Button).focus()
        if not self.question.expected and self.question.simulation is not None:
            self.query_one("#predict-heading", RuledLine).display = False

    @on(Button.Pressed, "#lock")
    def lock_pressed(self) -> None:
        self.action_submit()

    @on(Input.Submitted, ".field Input")
    def field_entered(self, event: Input.Submitted) -> None:
        """Enter in a field goes to the next one; only the button, ^S and F5 lock."""
        event.stop()
        self.focus_next()

    def action_simulate(self) -> None:
        """F2 again is the same as locking."""
        self.action_submit()

    def action_submit(self) -> None:
        """Lock the predictions and run."""
        if self.question.simulation is None or self.job:
            return
        if not self.locked:
            stated = self.read_fields()
            if stated is None:
                return
            self.lock_fields(stated)
        if self.result is None:
            self.run_locked()

    def read_fields(self) -> Stated | None:
        """What stands in the fields; None after saying what is missing, where the focus is then."""
        stated = Stated({}, {}, {})
        for expected in self.question.expected:
            field = self.query_one(f"#predict-{expected.name}", Input)
            value = parse_number(field.value)
            if value is None:
                what = "is empty" if not field.value.strip() else "is not a number"
                unit = expected.unit or "plain numbers"
                self.ask(field, f"{expected.label} {what}; write your prediction in {unit}, such as 300.")
                return None
            stated.values[expected.name] = value
            if self.predicting:
                between = self.query_one(f"#range-{expected.name}", Input)
                found = read_range(between.value, value)
                if isinstance(found, str):
                    missing = f"The range of {expected.label} is empty; write 30 to 50, or 10%."
                    self.ask(between, found if between.value.strip() else missing)
                    return None
                stated.ranges[expected.name] = found
        plan = self.question.simulation
        assert plan is not None
        for row, one in zip(self.query(ChoiceRow), plan.directions, strict=False):
            if row.value == UNSAID:
                self.ask(row, f"{row.label}: say which way, with → and ←.")
                return None
            stated.directions[one.metric] = cast("Moved", row.value)
        return stated

    def ask(self, field: Widget, sentence: str) -> None:
        """Say what is missing, with the focus where it belongs."""
        self.query_one("#status", Line).show(one_line(sentence), tone="problem")
        field.focus()

    def lock_fields(self, stated: Stated) -> None:
        """From here on nothing of it changes."""
        self.locked, self.locked_values = True, stated
        for field in self.query(".field Input"):
            field.disabled = True
        for row in self.query(ChoiceRow):
            row.disabled = True
        self.query_one("#lock", Button).display = False
        heading = self.query_one("#predict-heading", RuledLine)
        heading.right = f"locked {self.tutor.clock().astimezone():%H:%M:%S}"
        if self.on_locked is not None:
            self.on_locked(stated)
        self.typed.clear()
        self.query_one("#page").focus()

    def run_locked(self) -> None:
        """Off the event loop, with progress and an end by Esc."""
        stated, question = self.locked_values, self.question
        runs = REPLICATIONS if self.predicting else None
        self.started_s = monotonic()
        self.start_job(
            "running the scenario",
            lambda tell, stop: run_checks(
                question,
                stated.values,
                directions=stated.directions,
                replications=runs,
                progress=tell,
                stop=stop,
            ),
        )
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("submit", "simulate"):
            return self.result is None and not self.job
        if action == "open_lab_here":
            return self.result is not None
        return True

    def action_open_lab_here(self) -> None:
        """b, after the run: the scenario before the change as the baseline, the one after it to go on with."""
        from tutor.lab.gallery import item_entry
        from tutor.tui.screens.lab_bench import BenchScreen

        plan = self.question.simulation
        if plan is not None:
            entry, text = item_entry(self.question.item_id, self.question.title, plan.scenario, plan.baseline)
            self.app.push_screen(BenchScreen(entry, text))

    def show_progress(self, text: str) -> None:
        self.query_one("#status", Line).show(text, tone="note")

    def job_done(self, message: RunningScreen.Ended) -> None:
        status = self.query_one("#status", Line)
        if message.result is None or message.sentence:
            stopped = self.halt.is_set()
            sentence = "Stopped" if stopped else f"The scenario could not be run: {one_line(message.sentence)}"
            status.show(f"{sentence}. What you locked is kept; F2 runs it.", tone="note" if stopped else "problem")
            return
        assert isinstance(message.result, CheckedRun)
        self.result = message.result
        if self.on_run is not None:
            self.on_run(message.result)
        status.show(
            f"{plural(message.result.requests, 'request')}, {number(message.result.seconds * 1000)} simulated ms, "
            f"run in {max(0.0, monotonic() - self.started_s):.1f} s",
            tone="note",
        )
        self.query_one("#closing", Line).show(message.result.note)
        if self.on_explained is not None and self.predicting:
            for widget in self.query(".field, ChoiceRow"):
                widget.display = False  # all of it stands beside what came out
            for widget in self.query("#why-heading, #why"):
                widget.display = True
            self.query_one("#why", Input).focus()
        self.call_after_refresh(self.draw)

    @on(Input.Submitted, "#why")
    def why_entered(self, event: Input.Submitted) -> None:
        """Keep why."""
        event.stop()
        self.keep_why()
        self.query_one("#page").focus()

    def keep_why(self) -> None:
        """Store the explanation when there is one that was not stored."""
        if not self.predicting or self.on_explained is None or self.result is None:
            return
        text = " ".join(self.query_one("#why", Input).value.split())
        if text and text != self.explained:
            self.explained = text
            self.on_explained(text)
            self.query_one("#why-heading", RuledLine).right = "kept"

    def keep(self) -> None:
        self.keep_why()

    def action_back(self) -> None:
        """Esc: stop the run, else leave."""
        if not self.stop_job():
            super().action_back()

    def on_screen_resume(self) -> None:
        self.draw()

    def draw(self) -> None:
        """The table and the timeline, to the width there is."""
        if self.result is None:
            return
        width = max(30, self.query_one("#page").size.width - 3)
        parts = [table(self.result, width)]
        if self.predicting:
            parts.append(ranges_content(self.result, self.locked_values.ranges, self.confidence))
            parts.append(moves_content(self.result))
        self.query_one("#table", Line).update(Content("\n").join(part for part in parts if part.plain))
        self.query_one("#timeline", Line).update(timelines(self.result, min(width, 140)))

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.call_after_refresh(self.draw)
