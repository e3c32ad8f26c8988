"""Check it in the simulator: predict each number, lock it, run the question's own scenario, compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import HorizontalGroup, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input

from sim import ScenarioError
from tutor.checking import CheckedRun, run_checks
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, one_line
from tutor.tui.screens.base import TutorScreen
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.words import number, pad, plural

if TYPE_CHECKING:
    from question_bank import Question

TIMELINE_ROWS = 24


class SimulateScreen(TutorScreen):
    """The fields hold what the answer states; what it does not state is asked for. Then they are locked."""

    CSS_PATH = "simulate.tcss"
    PLACE = "Simulator"
    PURPOSE = (
        "The simulator runs the question's own scenario. Put a number into every field (those your answer states are "
        "filled in), lock them with Ctrl+S or F5, and compare: ratio is predicted over simulated. In the timeline "
        "p is preparation, · waiting in the queue, █ prefill and = decode."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("submit", "simulate", hidden=frozenset({"simulate"}))

    @dataclass
    class RunFinished(Message):
        """The scenario was run."""

        run: CheckedRun

    @dataclass
    class RunFailed(Message):
        """The scenario could not be run."""

        sentence: str

    def __init__(
        self,
        question: Question,
        stated: Mapping[str, float],
        *,
        on_locked: Callable[[dict[str, float]], None] | None = None,
        on_run: Callable[[CheckedRun], None] | None = None,
    ) -> None:
        super().__init__()
        self.question = question
        self.stated = dict(stated)
        self.on_locked = on_locked
        self.on_run = on_run
        self.locked = False
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
            yield RuledLine("You predict", "from your answer; ^S locks it", id="predict-heading")
            for expected in self.question.expected:
                with HorizontalGroup(classes="field"):
                    yield Line(one_line(expected.label), classes="label")
                    value = self.stated.get(expected.name)
                    yield Input(
                        "" if value is None else f"{value:g}", id=f"predict-{expected.name}", type="text", max_length=20
                    )
                    yield Line(expected.unit, classes="unit")
            yield Button("Lock and run", id="lock", classes="-next")
            yield Line(id="status")
            yield Line(id="table")
            yield Line(id="timeline")
            yield Line(id="closing")

    def on_mount(self) -> None:
        fields = list(self.query(Input))
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

    @on(Input.Submitted)
    def field_entered(self, event: Input.Submitted) -> None:
        """Enter in a field goes to the next one; only the button, ^S and F5 lock."""
        event.stop()
        self.focus_next()

    def action_simulate(self) -> None:
        """F2 again is the same as locking."""
        self.action_submit()

    def action_submit(self) -> None:
        """Lock the predictions and run."""
        if self.locked or self.question.simulation is None:
            return
        predicted: dict[str, float] = {}
        for expected in self.question.expected:
            field = self.query_one(f"#predict-{expected.name}", Input)
            value = parse_number(field.value)
            if value is None:
                what = "is empty" if not field.value.strip() else "is not a number"
                self.query_one("#status", Line).show(
                    f"{expected.label} {what}; write your prediction in {expected.unit or 'plain numbers'}, "
                    "such as 300.",
                    tone="problem",
                )
                field.focus()
                return
            predicted[expected.name] = value
        self.locked = True
        for field in self.query(Input):
            field.disabled = True
        self.query_one("#lock", Button).display = False
        heading = self.query_one("#predict-heading", RuledLine)
        heading.right = f"locked {self.tutor.clock().astimezone():%H:%M:%S}"
        if self.on_locked is not None:
            self.on_locked(predicted)
        self.started_s = monotonic()
        self.query_one("#status", Line).show("Running the scenario…", tone="note")
        self.simulate(predicted)
        self.query_one("#page").focus()
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not self.locked if action in ("submit", "simulate") else True

    @work(thread=True, exclusive=True, group="simulation", exit_on_error=False)
    def simulate(self, predicted: dict[str, float]) -> None:
        """Run off the event loop."""
        try:
            run = run_checks(self.question, predicted)
        except (ScenarioError, ValueError) as error:
            self.post_message(self.RunFailed(str(error)))
            return
        self.post_message(self.RunFinished(run))

    @on(RunFailed)
    def run_failed(self, message: RunFailed) -> None:
        self.query_one("#status", Line).show(f"The scenario could not be run: {message.sentence}", tone="problem")

    @on(RunFinished)
    def run_finished(self, message: RunFinished) -> None:
        self.result = message.run
        if self.on_run is not None:
            self.on_run(message.run)
        self.query_one("#status", Line).show(
            f"{plural(message.run.requests, 'request')}, {number(message.run.seconds * 1000)} simulated ms, "
            f"run in {max(0.0, monotonic() - self.started_s):.1f} s",
            tone="note",
        )
        self.query_one("#closing", Line).show(message.run.note)
        self.call_after_refresh(self.draw)

    def on_screen_resume(self) -> None:
        self.draw()

    def draw(self) -> None:
        """The table and the timeline, to the width there is."""
        if self.result is None:
            return
        width = max(30, self.query_one("#page").size.width - 3)
        self.query_one("#table", Line).update(table(self.result, width))
        self.query_one("#timeline", Line).update(timelines(self.result, min(width, 140)))

    def on_resize(self, event: object) -> None:
        self.call_after_refresh(self.draw)


def parse_number(text: str) -> float | None:
    """A number as people type it, with or without thousands separators; None when it is none."""
    cleaned = text.strip().replace(",", "").replace(" ", "").replace("_", "")
    try:
        value = float(cleaned)
    except ValueError:
        return None
    return value if abs(value) < 1e15 else None


def table(run: CheckedRun, width: int) -> Content:
    """Numbers right-aligned, the unit beside them; the labels give way, then the reference column."""
    shown = [
        [value.label]
        + ["–" if one is None else number(one) for one in (value.predicted, value.simulated, value.reference)]
        + [value.unit, "–" if value.ratio is None else f"{value.ratio:.2f}", verdict(value.ratio)]
        for value in run.values
    ]
    rows = [["", "predicted", "simulated", "reference", "unit", "ratio", ""], *shown]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(7)]

    def room() -> int:
        return width - sum(widths[1:]) - sum(1 for one in widths[1:] if one)

    if room() < min(widths[0], 12):
        rows, widths[3] = [[*row[:3], "", *row[4:]] for row in rows], 0
    widths[0] = min(widths[0], max(8, room()))
    made = []
    for number_of, row in enumerate(rows):
        cells = [pad(row[0], widths[0])]
        cells += [f"{row[n]:>{widths[n]}}" for n in (1, 2, 3) if widths[n]]
        text = " ".join([*cells, pad(row[4], widths[4]), f"{row[5]:>{widths[5]}}"])
        made.append(
            Content.assemble(text, (f" {row[6]}", "$secondary")) if number_of else Content.styled(text, "$secondary")
        )
    return Content("\n").join(made)


def verdict(ratio: float | None) -> str:
    """The ratio in words."""
    if ratio is None:
        return ""
    if abs(ratio - 1) <= 0.005:
        return "agrees"
    return "too high" if ratio > 1 else "too low"


def timelines(run: CheckedRun, width: int) -> Content:
    """Bars of each request; letters and glyphs tell the stages apart without colour."""
    from sim.timeline import render_text

    parts: list[str] = []
    if run.baseline_rows:
        parts += ["before the change", *render_text(run.baseline_rows, width, TIMELINE_ROWS), "", "after the change"]
    parts += render_text(run.rows, width, TIMELINE_ROWS)
    return Content("\n".join(parts))
