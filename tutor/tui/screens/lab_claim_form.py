"""The form of a claim: statements by choosing, or all of it in a line; kept until another is written."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import HorizontalGroup, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input

from sim.experiment.terms import Term
from tutor.errors import TutorError
from tutor.lab.differences import differences
from tutor.lab.gallery import STREAM_PREFIX
from tutor.lab.quantities import ALL, QUANTITIES, STATISTICS, Chosen, usual
from tutor.lab.scenario_text import check
from tutor.lab.statements import COMPARES, NEEDS_AMOUNT, RELATIONS, term_of
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.lab_run import RunningScreen
from tutor.tui.widgets.choice_row import ChoiceRow
from tutor.tui.widgets.prediction_fields import parse_kept
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.widgets.save_line import SaveLine

if TYPE_CHECKING:
    from sim.experiment.comparison import Outcome
    from tutor.lab.gallery import Entry
    from tutor.lab.overturn import Probed
    from tutor.lab.sentence import Proposal

DRAFT_PLACE = 2
"""Where what is typed here is kept in the scenario's stream."""
LINE_PLACE = 3
"""Where the line is kept."""
LINE_EXAMPLE = "max_seqs -> 32: chat itl p95 at most 50 ms and tokens/s +5%, or a sentence of yours"
LONGEST_LINE = 500
MOST_STATEMENTS = 6
ROWS = ("class", "quantity", "statistic", "relation")


_FEWEST_WORDS = 4


def is_sentence(text: str) -> bool:
    """Whether it is meant to be read, not parsed: some words, and none of a line's signs before or after them."""
    return len(text.split()) >= _FEWEST_WORDS and (text.rstrip().endswith(".") or not re.search(r"->|→|:", text))


class ClaimForm(RunningScreen):
    """What is asked before anything runs; `ClaimScreen` is the rest."""

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
        self.claim_id = ""
        """Under which the last outcome is stored."""
        self.kept = self.kept_line = ""

    def body(self) -> ComposeResult:
        assert self.scenario is not None
        first = usual(self.scenario)
        classes = [(item.name, item.name) for item in self.scenario.classes]
        if len(classes) > 1:
            classes.append((ALL, "all together"))
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
            yield ChoiceRow("Is", RELATIONS, id="relation")
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

    def written(self) -> Term | str:
        """The statement that stands in the form, or what is wrong with it."""
        if self.relation in COMPARES and not self.changes:
            return "Nothing is changed, so there is nothing to be lower or higher than; change something first."
        return term_of(self.chosen, self.relation, self.query_one("#value", Input).value)

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
        """Read the line; False after saying what is wrong with it, or what a sentence was read as."""
        from tutor.lab.claim_line import LineError, read_line

        line, problem = self.query_one("#line", Input).value, self.query_one("#line-problem", Line)
        try:
            read = read_line(line, self.entry.text, self.entry.folder)
        except LineError as error:
            if self.propose(line):
                return False
            marked = join(
                line[: error.start], (line[error.start : error.end] or "▁", "$error underline"), line[error.end :]
            )
            word = one_line(line[error.start : error.end], 40)
            said = f"✗ {f'at “{word}”: ' if word else ''}{one_line(str(error))}"
            problem.show(Content("\n").join([marked, Content.styled(said, "$error")]))
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

    def propose(self, sentence: str) -> bool:
        """Put the line that a sentence is read as in its place, to be corrected and taken in; False when it is none.

        A line with a mistake in it is no sentence: what begins like a line, or has its signs, is complained about.
        """
        from tutor.lab.sentence import read_sentence

        if not is_sentence(sentence):
            return False
        found = read_sentence(sentence, self.entry.text, self.entry.folder, changed=bool(self.changes))
        if found.complete or not self.ask_about(sentence, found):
            self.show_proposal(sentence, found)
        return True

    def show_proposal(self, sentence: str, found: Proposal) -> None:
        """The line in its field, and below it what it was read from, what is open, and what is taken as usual."""
        field, problem = self.query_one("#line", Input), self.query_one("#line-problem", Line)
        rows = [join(("from  ", "$secondary"), one_line(sentence))]
        if found.line:
            field.value = found.line
            place = found.line.find("?")
            field.cursor_position = place if place >= 0 else len(found.line)
            rows += [join((f"✗ open: {one_line(text)}", "$error")) for text in found.missing]
            if found.unread:
                left = ", ".join(f"“{one_line(text)}”" for text in found.unread)
                rows.append(join((f"✗ not in the line: {left}", "$error")))
            rows += [join((f"  as usual: {one_line(text)}", "$secondary")) for text in found.assumed]
            todo = "Put it in the place of ?; Enter then takes the line in." if found.missing else "Enter takes it in."
            rows.append(join((f"{todo} Nothing was run.", "$secondary")))
        else:
            rows.append(join((f"✗ No claim is read in it: {one_line(found.missing[0])} is missing.", "$error")))
        problem.show(Content("\n").join(rows))
        problem.display = True
        field.focus()

    @abstractmethod
    def ask_about(self, sentence: str, rules: Proposal) -> bool:
        """Have the model read what the rules leave open; False where there is none to ask."""

    def take_text(self, text: str) -> None:
        """Another change than the bench's."""
        self.text = text
        self.scenario = check(text, self.entry.folder).scenario
        self.changes = differences(self.entry.text, text)
        self.baseline = check(self.entry.text, self.entry.folder).scenario if self.changes else None
        self.query_one("#change", Line).update(self._change_words())

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

    @abstractmethod
    def show_state(self) -> None:
        """Everything that follows from the statements and the outcome."""
