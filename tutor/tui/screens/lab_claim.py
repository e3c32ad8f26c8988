"""A claim about a change: settled by replications on both sides, attacked, and saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input

from sim.experiment.terms import Budget
from tutor.errors import TutorError
from tutor.lab.report import claim_report, save
from tutor.lab.statements import words_of
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.claim_words import outcome_content, probes_content, so_far_content
from tutor.tui.screens.lab_claim_form import MOST_STATEMENTS, ClaimForm
from tutor.tui.screens.lab_run import RunningScreen, ready_for_processes
from tutor.tui.widgets.save_line import SaveLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from sim.experiment.comparison import Outcome, TermOutcome
    from tutor.lab.overturn import Probed
    from tutor.lab.sentence import Proposal

WRITING = "writing the report"
OVERTURNING = "trying to overturn it"
TESTING = "putting it to the test"


class ClaimScreen(ClaimForm):
    """The statement being written, those that are there, and what the experiment says of each."""

    CSS_PATH = "lab.tcss"
    PURPOSE = (
        "A claim about your change is put to the test. Say which number lies where: at most, at least or between, or "
        "lower or higher than the baseline; or type a sentence of your own into the line, and Enter turns it into a "
        "claim for you to correct. F9 takes the statement in and begins another; all must hold. Ctrl+S runs "
        "both sides on the same requests, again and again, until every interval decides or the budget ends: "
        "supported, refuted or undetermined. The intervals allow for looking several times and for all statements. "
        "Then o tries to overturn it by bursts, faults, other lengths and seeds, and s saves it all."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "claim-run", "claim-add", "claim-drop", "claim-overturn", "lab-see", "plot-save"
    )

    @dataclass
    class SoFar(Message):
        """One look at the intervals."""

        terms: tuple[TermOutcome, ...]
        replications: int

    def place(self) -> str:
        return f"Lab · {one_line(self.entry.title)} · claim"

    def on_mount(self) -> None:
        self.fill_from_draft()
        self.query_one("#line-problem").display = False
        self.show_state()
        self.query_one("#value" if self.query_one("#amount-field").display else "#run").focus()
        self.set_interval(1.0, self.keep)

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

    # --- keys ---------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "save_report" | "overturn" | "see_plots":
                return self.outcome is not None and not self.job
            case "put_to_test":
                return not self.job
            case "add_statement":
                return not self.job and len(self.terms) < MOST_STATEMENTS
            case "drop_statement":
                return bool(self.terms) and not self.job
            case _:
                return super().check_action(action, parameters)

    @on(Button.Pressed, "#run")
    def run_pressed(self) -> None:
        self.action_put_to_test()

    def action_put_to_test(self) -> None:
        """^S."""
        line = self.query_one("#line", Input)
        if line.has_focus and line.value.strip() and not self.take_line():
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

            ready_for_processes()

            def told(done: int, most: int, requests: int) -> None:
                tell(done, most, f"at most {most} replications")

            def looked(terms: tuple[TermOutcome, ...], replications: int) -> None:
                self.post_message(self.SoFar(terms, replications))

            return compare(baseline, scenario, terms, Budget(), progress=told, stop=stop, looked=looked)

        self.start_job(TESTING, job)

    @on(SoFar)
    def intervals_moved(self, message: SoFar) -> None:
        """The picture while more replications are run; the verdict comes with the end."""
        if self.job != TESTING:
            return
        width = max(40, min(self.size.width - 4, 100))
        for name in ("outcome-heading", "outcome"):
            self.query_one(f"#{name}").display = True
        for name in ("summary", "probes-heading", "probes"):
            self.query_one(f"#{name}").display = False
        self.query_one("#outcome", Line).update(so_far_content(message.terms, message.replications, width))
        self.bring_up("#outcome-heading")

    def action_overturn(self) -> None:
        """o."""
        outcome, scenario, baseline = self.outcome, self.scenario, self.baseline
        if outcome is None or scenario is None:
            return
        terms = [one.term for one in outcome.terms]

        def job(tell: Callable[[int, int, str], None], stop: Callable[[], bool]) -> list[Probed]:
            from tutor.lab.overturn import overturn

            ready_for_processes()
            return overturn(baseline, scenario, terms, outcome.verdict, tell, stop)

        self.start_job(OVERTURNING, job)

    def ask_about(self, sentence: str, rules: Proposal) -> bool:
        """The model's reading replaces the rules' where it leaves nothing open."""
        opened = self.tutor.model.opened
        if self.tutor.model.status != "ready" or opened is None or not opened.info.grades:
            return False
        self.say("The model reads your sentence…", tone="note")
        self.read_by_model(sentence, rules)
        return True

    @work(exclusive=True, group="sentence", exit_on_error=False)
    async def read_by_model(self, sentence: str, rules: Proposal) -> None:
        """Ask, and show the better reading; what the person typed meanwhile is not overwritten."""
        from tutor.lab.sentence import better
        from tutor.lab.sentence.asked import ask_model

        found, grader, opened = rules, self.tutor.grader, self.tutor.model.opened
        try:
            assert grader is not None
            assert opened is not None
            capabilities = await grader.capabilities() or opened.capabilities
            asked = await ask_model(
                opened.endpoint,
                capabilities,
                sentence,
                self.entry.text,
                self.entry.folder,
                changed=bool(self.changes),
                deadlines=self.tutor.settings.model.deadlines,
            )
            found = better(rules, asked)
            self.say(f"Read by {one_line(asked.source)}." if found is asked else "", tone="note")
        except TutorError as error:
            self.say(f"The model was not asked: {one_line(str(error))}", tone="note")
        if self.is_mounted and self.query_one("#line", Input).value == sentence:
            self.show_proposal(sentence, found)

    def show_progress(self, text: str) -> None:
        self.say(text, tone="note")

    def action_see_plots(self) -> None:
        """p."""
        self.plot_sides(self.entry.title, self.text, self.entry.text if self.changes else "", self.entry.folder)

    def job_done(self, message: RunningScreen.Ended) -> None:
        if self.open_plots(message):
            return
        if message.name == WRITING and message.sentence:
            self.query_one(SaveLine).refuse(message.sentence)
            return
        if message.sentence or message.result is None:
            self.show_state()  # what was shown so far is no verdict
            self.say(one_line(message.sentence) or "Stopped.")
            return
        if message.name == WRITING:
            self.report_written(message)
            return
        if message.name == OVERTURNING:
            self.probed = message.result
            self.show_state()
            self.store_attack()
            if self.halt.is_set():
                self.say("Stopped; what was tried by then is shown.", tone="note")
            self.query_one("#page").focus()
            self.bring_up("#probes-heading")
            return
        self.outcome, self.probed = message.result, []
        self.show_state()
        self.store_outcome()
        self.query_one("#page").focus()
        self.bring_up("#outcome-heading")

    def store_outcome(self) -> None:
        """Keep what came out; a claim that cannot be kept is still shown."""
        from tutor.lab.claim_log import settled

        store, outcome = self.tutor.store, self.outcome
        if store is None or outcome is None:
            return
        try:
            self.claim_id = settled(
                store, self.entry.title, self.text, self.entry.text if self.changes else "", outcome, self.tutor.clock()
            )
        except TutorError as error:
            self.say(f"It is not kept: {error}")

    def store_attack(self) -> None:
        """Keep what the attempts to overturn it gave."""
        from tutor.lab.claim_log import attacked

        store = self.tutor.store
        if store is None or not self.claim_id or not self.probed:
            return
        try:
            attacked(store, self.claim_id, self.probed, self.summary_words(), self.tutor.clock())
        except TutorError as error:
            self.say(f"It is not kept: {error}")

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
        report = claim_report(
            self.entry.title,
            self.text,
            self.entry.text if self.changes else "",
            outcome,
            self.probed,
            self.summary_words(),
            self.tutor.clock().astimezone(),
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
