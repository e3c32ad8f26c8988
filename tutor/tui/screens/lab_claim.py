"""A claim about a change: statements, settled by replications on both sides, with the interval shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import HorizontalGroup, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input

from sim.experiment.terms import Budget, Term
from tutor.errors import TutorError
from tutor.lab.differences import differences
from tutor.lab.gallery import STREAM_PREFIX
from tutor.lab.quantities import ALL, QUANTITIES, STATISTICS, Chosen, usual
from tutor.lab.report import LabReport, ReportTable, save
from tutor.lab.scenario_text import check
from tutor.lab.statements import COMPARES, NEEDS_AMOUNT, RELATIONS, term_of, words_of
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.claim_words import outcome_content, outcome_table, probes_content
from tutor.tui.screens.lab_run import RunningScreen
from tutor.tui.widgets.choice_row import ChoiceRow
from tutor.tui.widgets.prediction_fields import parse_kept
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.widgets.save_line import SaveLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from sim.experiment.comparison import Outcome
    from tutor.lab.gallery import Entry
    from tutor.lab.overturn import Probed

DRAFT_PLACE = 2
"""Where what is typed here is kept in the scenario's stream."""
LINE_PLACE = 3
"""Where the line is kept."""
LINE_EXAMPLE = "max_seqs -> 32: chat itl p95 at most 50 ms and tokens/s +5%; Enter takes it in"
LONGEST_LINE = 500
MOST_STATEMENTS = 6
WRITING = "writing the report"
OVERTURNING = "trying to overturn it"
ROWS = ("class", "quantity", "statistic", "relation")


class ClaimScreen(RunningScreen):
    """The statement being written, those that are there, and what the experiment says of each."""

    CSS_PATH = "lab.tcss"
    PURPOSE = (
        "A claim about your change is put to the test. Say which number lies where: at most, at least or between, or "
        "lower or higher than the baseline. F9 takes the statement in and begins another; all must hold. Ctrl+S runs "
        "both sides on the same requests, again and again, until every interval decides or the budget ends: "
        "supported, refuted or undetermined. The intervals allow for looking several times and for all statements. "
        "Then o tries to overturn it by bursts, faults, other lengths and seeds, and s saves it all."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "claim-run", "claim-add", "claim-drop", "claim-overturn", "plot-save"
    )

    def __init__(self, entry: Entry, text: str) -> None:
        super().__init__()
        self.entry, self.text = entry, text
        self.scenario = check(text, entry.folder).scenario
        self.changes = differences(entry.text, text)
        self.baseline = check(entry.text, entry.folder).scenario if self.changes else None
        self.terms: list[Term] = []
        """Statements that are taken in."""
        self.outcome: Outcome | None = None
        self.probed: list[Probed] = []
        """What the attempts to overturn it gave."""
        self.kept = self.kept_line = ""

    def place(self) -> str:
        return f"Lab · {one_line(self.entry.title)} · claim"

    def body(self) -> ComposeResult:
        assert self.scenario is not None
        first = usual(self.scenario)
        classes = [(item.name, item.name) for item in self.scenario.classes]
        if len(classes) > 1:
            classes.append((ALL, "all together"))
        relations = [one for one in RELATIONS if self.changes or one[0] not in COMPARES]
        yield SaveLine(id="save-line")
        with VerticalScroll(id="page", can_focus=True):
            yield Line(self._change_words(), id="change")
            yield RuledLine("You claim", "^S puts it to the test", id="claim-heading")
            with HorizontalGroup(classes="field"):
                yield Line("In a line", classes="label")
                yield Input(id="line", placeholder=LINE_EXAMPLE, max_length=LONGEST_LINE)
            yield Line(id="line-problem")
            yield Line(id="terms")
            yield ChoiceRow("Class", classes, first.class_name, id="class")
            yield ChoiceRow("Number", [(one.id, one.words) for one in QUANTITIES], first.quantity, id="quantity")
            yield ChoiceRow("Statistic", [(one, one) for one in STATISTICS], first.statistic, id="statistic")
            yield ChoiceRow("Is", relations, id="relation")
            with HorizontalGroup(classes="field", id="amount-field"):
                yield Line("amount", classes="label")
                yield Input(id="value", placeholder="50", max_length=40)
                yield Line(id="unit", classes="unit")
            yield Button("Put it to the test", id="run", classes="-next")
            yield Line(id="status")
            yield RuledLine("Verdict", id="outcome-heading")
            yield Line(id="outcome")
            yield RuledLine("Attempts to overturn it", id="probes-heading")
            yield Line(id="probes")
            yield Line(id="summary")

    def on_mount(self) -> None:
        self.fill_from_draft()
        self.query_one("#line-problem").display = False
        self.show_state()
        self.query_one("#value" if self.query_one("#amount-field").display else "#run").focus()
        self.set_interval(1.0, self.keep)

    def _change_words(self) -> Content:
        if not self.changes:
            return join(("Nothing is changed: claim what this scenario gives as it is.", "$secondary"))
        return join(("Change  ", "$secondary"), " · ".join(one_line(one.words()) for one in self.changes))

    # --- the statement ------------------------------------------------------------------------------------------

    @property
    def chosen(self) -> Chosen:
        """Which number."""
        return Chosen(*(self.query_one(f"#{name}", ChoiceRow).value for name in ROWS[:3]))

    @property
    def relation(self) -> str:
        """Where it lies."""
        return self.query_one("#relation", ChoiceRow).value

    def fill_from_draft(self) -> None:
        """Show what was typed before."""
        store = self.tutor.store
        line = store.draft(STREAM_PREFIX + self.entry.key, LINE_PLACE) if store is not None else None
        if line is not None:
            self.query_one("#line", Input).value = self.kept_line = line.text
        draft = store.draft(STREAM_PREFIX + self.entry.key, DRAFT_PLACE) if store is not None else None
        if draft is None:
            return
        self.kept = draft.text
        values = parse_kept(draft.text)
        for name in ROWS:
            self.query_one(f"#{name}", ChoiceRow).choose(values.get(name, ""))
        self.query_one("#value", Input).value = values.get("value", "")

    def keep(self) -> None:
        """Put what is typed on the disk."""
        store = self.tutor.store
        if store is None:
            return
        line = self.query_one("#line", Input).value
        if line != self.kept_line:
            try:
                store.save_draft(STREAM_PREFIX + self.entry.key, LINE_PLACE, line, self.tutor.clock(), slot="claim")
            except TutorError as error:
                self.say(str(error))
                return
            self.kept_line = line
        amount = self.query_one("#value", Input).value.strip()
        if not amount:
            return
        parts = [(name, self.query_one(f"#{name}", ChoiceRow).value) for name in ROWS]
        text = "\n".join(f"{name} = {value}" for name, value in [*parts, ("value", amount)])
        if text != self.kept:
            try:
                store.save_draft(STREAM_PREFIX + self.entry.key, DRAFT_PLACE, text, self.tutor.clock(), slot="claim")
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
        """Another number has another unit, and perhaps no statistic; some relations need no amount."""
        self.show_form()

    def show_form(self) -> None:
        """What the choices ask for."""
        chosen, relation = self.chosen, self.relation
        self.query_one("#statistic").display = chosen.of.statistics
        self.query_one("#amount-field").display = relation in NEEDS_AMOUNT
        self.query_one("#unit", Line).update("%" if relation in COMPARES else chosen.of.unit)
        self.query_one("#value", Input).placeholder = "30 to 50" if relation == "within" else "50"

    def show_state(self) -> None:
        """Everything that follows from the statements and the outcome."""
        self.show_form()
        self.say("")
        rows = [join(("and  " if number else "     ", "$secondary"), words_of(term)) for number, term in
                enumerate(self.terms)]  # fmt: skip
        terms = self.query_one("#terms", Line)
        terms.update(Content("\n").join([*rows, Content.styled("and", "$secondary")]) if rows else Content(""))
        terms.display = bool(rows)
        for name in ("outcome-heading", "outcome", "summary"):
            self.query_one(f"#{name}").display = self.outcome is not None
        for name in ("probes-heading", "probes"):
            self.query_one(f"#{name}").display = bool(self.probed)
        self.show_outcome()
        self.refresh_bindings()

    def show_outcome(self) -> None:
        """The verdict, to the width there is."""
        if self.outcome is not None:
            width = max(40, min(self.size.width - 4, 100))
            self.query_one("#outcome", Line).update(outcome_content(self.outcome, width))
            self.query_one("#probes", Line).update(probes_content(self.probed))
            self.query_one("#summary", Line).update(self.summary_words())

    def summary_words(self) -> str:
        """One line: what holds for what, and what was not shown."""
        from tutor.lab.overturn import summary

        assert self.outcome is not None
        return summary([words_of(one.term) for one in self.outcome.terms], self.outcome, self.probed)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        if self.is_mounted:
            self.show_outcome()

    def written(self) -> Term | str:
        """The statement that stands in the form, or what is wrong with it."""
        return term_of(self.chosen, self.relation, self.query_one("#value", Input).value)

    # --- keys ---------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "save_report" | "overturn":
                return self.outcome is not None and not self.job
            case "put_to_test":
                return not self.job
            case "add_statement":
                return not self.job and len(self.terms) < MOST_STATEMENTS
            case "drop_statement":
                return bool(self.terms) and not self.job
            case _:
                return super().check_action(action, parameters)

    @on(Input.Submitted, "#value")
    def amount_entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one("#run", Button).focus()

    @on(Input.Submitted, "#line")
    def line_entered(self, event: Input.Submitted) -> None:
        """Take in what it says; a mistake is shown below it, with the words that it is about."""
        event.stop()
        if self.take_line():
            self.query_one("#run", Button).focus()

    def take_line(self) -> bool:
        """Read the line; False after saying what is wrong with it."""
        from tutor.lab.claim_line import LineError, read_line

        line, problem = self.query_one("#line", Input).value, self.query_one("#line-problem", Line)
        try:
            read = read_line(line, self.entry.text)
        except LineError as error:
            marked = join(
                line[: error.start], (line[error.start : error.end] or "▁", "$error underline"), line[error.end :]
            )
            problem.show(Content("\n").join([marked, Content.styled(f"✗ {one_line(str(error))}", "$error")]))
            problem.display = True
            return False
        problem.display = False
        if len(read.terms) > MOST_STATEMENTS:
            self.say(f"A claim has at most {MOST_STATEMENTS} statements.")
            return False
        if read.text != self.entry.text or not self.changes:
            self.take_text(read.text)
        self.terms = list(read.terms)
        self.query_one("#value", Input).value = ""
        self.outcome, self.probed = None, []
        self.show_state()
        return True

    def take_text(self, text: str) -> None:
        """Another change than the bench's."""
        self.text = text
        self.scenario = check(text, self.entry.folder).scenario
        self.changes = differences(self.entry.text, text)
        self.baseline = check(self.entry.text, self.entry.folder).scenario if self.changes else None
        self.query_one("#change", Line).update(self._change_words())

    @on(Button.Pressed, "#run")
    def run_pressed(self) -> None:
        self.action_put_to_test()

    def action_add_statement(self) -> None:
        """F9: take the statement in and begin another."""
        term = self.written()
        if isinstance(term, str):
            self.say(term)
            self.query_one("#value", Input).focus()
            return
        if term not in self.terms:
            self.terms.append(term)
        self.query_one("#value", Input).value = ""
        self.show_state()
        self.query_one("#quantity").focus()

    def action_drop_statement(self) -> None:
        """F8: leave the last one out."""
        self.terms.pop()
        self.show_state()

    def action_put_to_test(self) -> None:
        """^S."""
        if self.query_one("#line", Input).has_focus and not self.take_line():
            return
        term = self.written()
        if isinstance(term, str) and not (self.terms and not self.query_one("#value", Input).value.strip()):
            self.say(term)
            self.query_one("#value", Input).focus()
            return
        terms = [*self.terms]
        if not isinstance(term, str) and term not in terms:
            terms.append(term)
        self.keep()
        scenario, baseline = self.scenario, self.baseline
        assert scenario is not None

        def job(tell: Callable[[int, int, str], None], stop: Callable[[], bool]) -> Outcome:
            from sim.experiment.comparison import compare

            def told(done: int, most: int, requests: int) -> None:
                tell(done, most, f"at most {most} replications")

            return compare(baseline, scenario, terms, Budget(), progress=told, stop=stop)

        self.start_job("putting it to the test", job)

    def action_overturn(self) -> None:
        """o."""
        outcome, scenario, baseline = self.outcome, self.scenario, self.baseline
        if outcome is None or scenario is None:
            return
        terms = [one.term for one in outcome.terms]

        def job(tell: Callable[[int, int, str], None], stop: Callable[[], bool]) -> list[Probed]:
            from tutor.lab.overturn import overturn

            return overturn(baseline, scenario, terms, outcome.verdict, tell, stop)

        self.start_job(OVERTURNING, job)

    def show_progress(self, text: str) -> None:
        self.say(text, tone="note")

    def job_done(self, message: RunningScreen.Ended) -> None:
        if message.name == WRITING and message.sentence:
            self.query_one(SaveLine).refuse(message.sentence)
            return
        if message.sentence or message.result is None:
            self.say(f"It could not be settled: {one_line(message.sentence)}")
            return
        if message.name == WRITING:
            self.report_written(message)
            return
        if message.name == OVERTURNING:
            self.probed = message.result
            self.show_state()
            if self.halt.is_set():
                self.say("Stopped; what was tried by then is shown.", tone="note")
            self.query_one("#page").focus()
            self.bring_up("#probes-heading")
            return
        self.outcome, self.probed = message.result, []
        self.show_state()
        self.query_one("#page").focus()
        self.bring_up("#outcome-heading")

    def bring_up(self, selector: str) -> None:
        """Scroll so that this part is the first one in sight."""
        page = self.query_one("#page", VerticalScroll)
        self.call_after_refresh(page.scroll_to_widget, self.query_one(selector), animate=False, top=True)

    # --- saving -------------------------------------------------------------------------------------------------

    def action_save_report(self) -> None:
        """s."""
        self.query_one(SaveLine).ask(
            self.tutor.settings.data_dir / "reports", f"{self.entry.title}-claim", self.tutor.clock()
        )

    @on(SaveLine.Wanted)
    def save_wanted(self, message: SaveLine.Wanted) -> None:
        """Write it, off the event loop."""
        outcome = self.outcome
        if outcome is None or self.job:
            return
        table = outcome_table(outcome)
        probe_rows = [
            (one.name, f"not tried: {one.note}" if one.outcome is None else one.outcome.verdict) for one in self.probed
        ]
        report = LabReport(
            title=f"{self.entry.title}: {outcome.verdict}",
            sentences=[
                *(f"Changed: {one.words()}." for one in self.changes),
                *(f"Claimed: {words_of(one.term)}: {one.verdict}." for one in outcome.terms),
                self.summary_words(),
            ],
            tables=[
                ReportTable("Statements", table.header, table.rows, table.note),
                *([ReportTable("Attempts to overturn it", ("under", "verdict"), probe_rows)] if probe_rows else []),
            ],
            scenario=self.text,
            baseline=self.entry.text if self.changes else "",
            pair=None,
            curves=(),
            made_at=self.tutor.clock().astimezone(),
            outcome=outcome,
        )
        path = message.path
        self.start_job(WRITING, lambda tell, stop: (path, save(report, path)))

    def report_written(self, message: RunningScreen.Ended) -> None:
        """Where it is."""
        path, told = message.result
        self.query_one(SaveLine).close()
        self.say(" ".join([f"Saved as {path}.", *told]), tone="note")
        self.query_one("#page").focus()

    def action_back(self) -> None:
        """Esc: close the line for a name, stop the test, else leave; what is typed is kept."""
        self.keep()
        if self.query_one(SaveLine).close():
            self.query_one("#page").focus()
        elif not self.stop_job():
            super().action_back()
