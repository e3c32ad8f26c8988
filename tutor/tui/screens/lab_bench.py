"""The bench: one scenario as a form and as text, run against what it was before."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, TextArea

from tutor.errors import TutorError
from tutor.lab.differences import Difference, differences
from tutor.lab.gallery import Entry, draft_of, keep_draft
from tutor.lab.runs import Pair, run_pair
from tutor.lab.scenario_text import Checked, Leaf, check, leaves, spaced, with_field
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.lab_run import RunningScreen
from tutor.tui.screens.lab_words import result_content, scenario_words
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.widgets.scenario_editor import ScenarioEditor
from tutor.tui.widgets.scenario_form import ScenarioForm

SAVE_AFTER_S = 1.0
WIDE = 120
READ_AT_ONCE = 8_000
"""Characters up to which the text is read at every key: some 20 ms."""
READ_AFTER_S = 0.4


class BenchScreen(RunningScreen):
    """Form and text are two views of the same characters; what differs from the baseline is named."""

    CSS_PATH = "lab.tcss"
    PURPOSE = (
        "One scenario. Change it in the form or in the text (F3; side by side from 120 columns): it is checked as you "
        "type, and what you changed is marked. F2, F5 or Ctrl+S runs it, and the scenario as it came beside it on the "
        "same requests. F4 first asks what you expect and locks that. F7 shows the last run as plots and tables. Your "
        "text is on the disk within two seconds; F8 puts the scenario back as it came, Ctrl+Z takes a change back."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "lab-run", "lab-view", "lab-predict", "lab-claim", "lab-plots", "lab-add", "lab-restore"
    )

    def __init__(self, entry: Entry, text: str | None = None) -> None:
        """`text` is what to go on with; None: what was left here, else the entry's own."""
        super().__init__()
        self.entry = entry
        self.given_text = text
        self.checked = Checked(None)
        self.baseline = check(entry.text, entry.folder)
        self.differences: tuple[Difference, ...] = ()
        self.leaves: list[Leaf] = []
        self.saved_text = entry.text
        self.pair: Pair | None = None
        """What the last run gave."""
        self.ran_text = ""
        """The text that it was of."""
        self.reading: Timer | None = None
        """Reads a long text once the keys rest."""

    # --- layout -------------------------------------------------------------------------------------------------

    def place(self) -> str:
        return f"Lab · {one_line(self.entry.title)}{' · changed' if self.differences else ''}"

    def body(self) -> ComposeResult:
        yield Line(self.entry.teaches, id="summary-line")
        with Horizontal(id="views"):
            with Vertical(id="form-column"):
                yield RuledLine("Form", id="form-heading")
                yield ScenarioForm(id="form")
            with Vertical(id="text-column"):
                yield RuledLine("YAML", id="text-heading")
                yield ScenarioEditor(self.entry.text, id="text")
        yield Line(id="state")
        yield RuledLine("Last run", id="result-heading")
        yield Line(id="result")
        yield Line(id="progress")

    async def on_mount(self) -> None:
        self.query_one("#progress").display = False
        self.query_one("#result-heading").display = False
        self.query_one("#result").display = False
        self.query_one("#summary-line").display = bool(self.entry.teaches)
        assert self.tutor.store is not None
        draft = draft_of(self.tutor.store, self.entry)
        begin = self.given_text if self.given_text is not None and draft is None else draft
        if begin is not None:
            with self.editor.prevent(TextArea.Changed):
                self.editor.load_text(begin)
            self.saved_text = begin
        await self.read()
        if self.checked.scenario is not None:
            from tutor.lab.known_fields import addable

            self.form.suggest(addable(self.checked.scenario, self.editor.text))
        if self.leaves:
            self.form.focus_first()
        else:
            self.show_text()
        self.set_interval(SAVE_AFTER_S, self.keep)

    @property
    def editor(self) -> ScenarioEditor:
        """The text."""
        return self.query_one("#text", ScenarioEditor)

    @property
    def form(self) -> ScenarioForm:
        """The fields."""
        return self.query_one("#form", ScenarioForm)

    # --- reading what is typed ----------------------------------------------------------------------------------

    async def read(self) -> None:
        """Check the text and make everything that is shown agree with it."""
        text = self.editor.text
        self.checked = check(text, self.entry.folder)
        found = leaves(text)
        if found is not None:
            self.leaves = found
            self.differences = differences(self.entry.text, text)
            await self.form.show(found)
        self.form.mark(self.checked.path, {one.path: one.before for one in self.differences})
        self.show_state()

    def show_state(self) -> None:
        """Whether it can be run, and what was changed; one place for both."""
        line = self.query_one("#state", Line)
        if self.checked.scenario is None:
            line.show(f"✗ {one_line(self.checked.sentence)}", tone="problem")
        else:
            line.show(self._valid_words())
        heading = self.query_one("#form-heading", RuledLine)
        heading.right = "✓ valid" if self.checked.scenario is not None else "✗ not valid"
        self.query_one("#text-heading", RuledLine).right = (
            "saved" if self.editor.text == self.saved_text else "not saved yet"
        )
        self.retitle()
        self.refresh_bindings()

    def _valid_words(self) -> Content:
        scenario = self.checked.scenario
        assert scenario is not None
        if not self.differences:
            return join(("✓ ", "$success"), scenario_words(scenario), (" · as it came: F2 runs it alone", "$secondary"))
        words = " · ".join(one_line(one.words()) for one in self.differences[:4])
        more = len(self.differences) - 4
        return join(
            ("✓ ", "$success"),
            scenario_words(scenario),
            "\n",
            ("Changed  ", "$secondary"),
            words,
            f" · {more} more" if more > 0 else "",
        )

    @on(TextArea.Changed, "#text")
    async def text_typed(self) -> None:
        """The text changed, by the person or by the form; a long one is read when the keys rest."""
        if self.reading is not None:
            self.reading.stop()
            self.reading = None
        if len(self.editor.text) <= READ_AT_ONCE:
            await self.read()
        else:
            self.checked = Checked(None, "Reading…")
            self.refresh_bindings()
            self.reading = self.set_timer(READ_AFTER_S, self.read)

    @on(ScenarioForm.Typed)
    def value_typed(self, message: ScenarioForm.Typed) -> None:
        """Put a value into the text; the text is read again then."""
        leaf = next((leaf for leaf in self.leaves if leaf.path == message.path), None)
        if leaf is None or one_line(leaf.text) == message.value:
            return
        value = spaced(self.editor.text, leaf, message.value)
        self.editor.put(leaf.start, leaf.end, value)
        # At once, since the next key of a fast typist may be handled before the text says that it changed.
        found = leaves(self.editor.text)
        if found is None:
            self._shift(leaf, len(value))
        else:
            self.leaves = found

    def _shift(self, leaf: Leaf, length: int) -> None:
        """While the text is no YAML, say an opened quote, its fields are where they were, but for what was typed."""
        from dataclasses import replace

        by = length - (leaf.end - leaf.start)
        self.leaves = [
            replace(one, end=one.start + length, text=self.editor.text[one.start : one.start + length])
            if one.path == leaf.path
            else replace(one, start=one.start + by, end=one.end + by)
            if one.start >= leaf.end
            else one
            for one in self.leaves
        ]

    @on(ScenarioForm.Added)
    async def field_added(self, message: ScenarioForm.Added) -> None:
        """Set a field that does not stand in the text."""
        text = self.editor.text
        if not message.path or not message.value:
            self.query_one("#state", Line).show("Write path = value, such as server.watermark = 0.05.", tone="problem")
            return
        try:
            made = with_field(text, message.path, message.value)
        except ValueError as error:
            self.query_one("#state", Line).show(str(error), tone="problem")
            return
        self.replace_text(made)
        self.query_one("#add-field", Input).value = ""

    def replace_text(self, text: str) -> None:
        """Another text, as one step that Ctrl+Z in the text takes back."""
        self.editor.put(0, len(self.editor.text), text)

    # --- keeping ------------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Put the text on the disk when it has changed."""
        text = self.editor.text
        if text == self.saved_text or self.tutor.store is None or self.editor.too_long:
            return
        try:
            keep_draft(self.tutor.store, self.entry, text, self.tutor.clock())
        except TutorError as error:
            self.query_one("#state", Line).show(f"Your text is not on the disk yet: {error}", tone="problem")
            return
        self.saved_text = text
        self.query_one("#text-heading", RuledLine).right = "saved"

    # --- running ------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted:
            return True
        match action:
            case "run_scenario":
                return self.checked.scenario is not None and not self.job
            case "predict" | "claim":
                return self.checked.scenario is not None and not self.job
            case "show_plots":
                return self.pair is not None
            case "restore":
                return self.editor.text != self.entry.text
            case _:
                return super().check_action(action, parameters)

    def action_run_scenario(self) -> None:
        """F2."""
        scenario, before = self.checked.scenario, self.baseline.scenario
        if scenario is None:
            return
        self.keep()
        baseline = before if self.differences else None
        self.ran_text = self.editor.text
        self.start_job("running", lambda tell, stop: run_pair(scenario, baseline, tell, stop))

    def show_progress(self, text: str) -> None:
        line = self.query_one("#progress", Line)
        line.show(text, tone="note")
        line.display = bool(text)

    def job_done(self, message: RunningScreen.Ended) -> None:
        if message.sentence:
            self.query_one("#state", Line).show(f"✗ {one_line(message.sentence)}", tone="problem")
            return
        if message.result is None:
            self.query_one("#state", Line).show("Stopped before your side was run; F2 runs it again.", tone="note")
            return
        assert isinstance(message.result, Pair)
        self.pair = message.result
        self.show_result()

    def show_result(self) -> None:
        """The main numbers of the last run."""
        if self.pair is None:
            return
        heading, line = self.query_one("#result-heading", RuledLine), self.query_one("#result", Line)
        heading.display = line.display = True
        yours = self.pair.yours
        heading.left = "Last run" if self.ran_text == self.editor.text else "Last run, of an earlier text"
        heading.right = f"{yours.submitted:,} requests, {yours.duration_s:,.1f} s simulated, F7 plots"
        line.update(result_content(self.pair, max(30, self.size.width - 2), 6 if self.size.height < 30 else 16))
        self.query_one("#summary-line").display = bool(self.entry.teaches) and self.size.height >= 30

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        if self.is_mounted:
            self.show_result()

    # --- keys ---------------------------------------------------------------------------------------------------

    def action_change_view(self) -> None:
        """F3."""
        showing_text = self.editor.has_focus if self.size.width >= WIDE else self.has_class("-text")
        if showing_text:
            self.remove_class("-text")
            self.form.focus_first()
        else:
            self.show_text()

    def show_text(self) -> None:
        """The text, at the line of the problem where there is one."""
        self.add_class("-text")
        if self.checked.line is not None:
            self.editor.show_line(self.checked.line)
        self.editor.focus()

    def action_predict(self) -> None:
        """F4."""
        from tutor.tui.screens.lab_predict import PredictScreen

        self.keep()
        text = self.editor.text
        if self.ran_text == text and self.pair is not None:
            self.query_one("#state", Line).show(
                "You have run this text, so its numbers are no prediction any more. Change something, then F4.",
                tone="problem",
            )
            return
        baseline = self.entry.text if self.differences else ""
        self.app.push_screen(PredictScreen(self.entry.title, text, baseline, entry=self.entry))

    def action_claim(self) -> None:
        """F6."""
        from tutor.tui.screens.lab_claim import ClaimScreen

        self.keep()
        self.app.push_screen(ClaimScreen(self.entry, self.editor.text))

    def action_add_field(self) -> None:
        """F9."""
        self.remove_class("-text")
        self.form.focus_add()

    def action_restore(self) -> None:
        """F8."""
        self.replace_text(self.entry.text)

    def action_show_plots(self) -> None:
        """F7."""
        from tutor.tui.screens.lab_plots import PlotsScreen

        if self.pair is not None:
            sides = {"yours": check(self.ran_text, self.entry.folder).scenario}
            if self.pair.baseline is not None:
                sides = {"baseline": self.baseline.scenario, **sides}
            self.app.push_screen(
                PlotsScreen(self.entry.title, self.pair, sides, text=self.ran_text, baseline=self.entry.text)
            )

    def action_back(self) -> None:
        """Esc: stop the run, else leave; the text is kept in every case."""
        self.keep()
        if not self.stop_job():
            super().action_back()
