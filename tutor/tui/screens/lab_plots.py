"""A run in plots or in tables, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content

from tutor.lab.runs import Pair, RateCurve, rate_curve
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, one_line
from tutor.tui.screens.lab_charts import curve_content, distribution_content, load_content, requests_content
from tutor.tui.screens.lab_run import RunningScreen
from tutor.tui.screens.lab_words import result_table
from tutor.tui.screens.progress import Page
from tutor.tui.widgets.plot import table_content
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.widgets.save_line import SaveLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from sim import Scenario

PAGES = ("Summary", "TTFT", "ITL", "E2E", "Requests", "Load", "Curve")
WRITING = "writing the report"
CURVE = PAGES.index("Curve")


class PlotsScreen(RunningScreen):
    """One page at a time; from 120 columns two beside each other, from 180 three."""

    CSS_PATH = "lab.tcss"
    PURPOSE = (
        "The last run, both sides on the same requests. → and ← turn the pages: all numbers; the distributions of "
        "time to first token, of the gaps between tokens and of whole answers; the bars of the first requests; queue, "
        "seats and KV blocks over time; and latency against throughput as the traffic grows, which is run when its "
        "page is first shown. t shows every page as a table and back. The dashed line is the baseline, the plain one "
        "yours; ┊ and ┄ are limits."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("plot-next", "plot-previous", "plot-table", "plot-save")

    def __init__(
        self, title: str, pair: Pair, sides: Mapping[str, Scenario | None], *, text: str = "", baseline: str = ""
    ) -> None:
        """`text` and `baseline` are the YAML texts of the sides, for the report."""
        super().__init__()
        self.text, self.baseline = text, baseline
        self.run_title = title
        self.pair = pair
        self.sides = {name: scenario for name, scenario in sides.items() if scenario is not None}
        self.curves: list[RateCurve] | None = None
        self.curve_words = ""
        """Why there is no curve."""
        self.index = 0
        self.tables = False

    def place(self) -> str:
        form = "tables" if self.tables else "plots"
        return f"Lab · {one_line(self.run_title)} · {PAGES[self.index]} · {self.index + 1} of {len(PAGES)} · {form}"

    def body(self) -> ComposeResult:
        yield Line(id="tabs")
        yield Line(id="notice")
        yield SaveLine(id="save-line")
        with Horizontal(id="columns"):
            for title in PAGES:
                with Vertical(id=f"page-{title.lower()}", classes="page"):
                    yield RuledLine(title)
                    with Page(can_focus=True):
                        yield Line(classes="text")

    def on_mount(self) -> None:
        self.query_one("#notice").display = False
        self.turn(0)

    # --- pages --------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """How many pages stand beside each other."""
        return 3 if self.size.width >= 180 else 2 if self.size.width >= 120 else 1

    def seen(self) -> range:
        """The pages that are on the screen."""
        first = min(self.index, len(PAGES) - self.columns)
        return range(first, first + self.columns)

    def turn(self, index: int, *, focus: bool = True) -> None:
        """Show a page, and those after it where there is room."""
        self.index = index % len(PAGES)
        seen, pages = self.seen(), list(self.query(".page"))
        for number, page in enumerate(pages):
            page.display = number in seen
        names = [
            Content.styled(f"[{name}]", "bold $accent") if number in seen else Content.styled(f" {name} ", "$secondary")
            for number, name in enumerate(PAGES)
        ]
        self.query_one("#tabs", Line).update(Content("").join(names))
        if focus:
            pages[self.index].query_one(Page).focus()
        if CURVE in seen:
            self.begin_curve()
        self.retitle()
        self.refresh_bindings()
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Every page that is seen, to the room there is."""
        if not self.is_mounted:
            return
        for number, page in enumerate(self.query(".page")):
            inside = page.query_one(Page)
            width, height = page.size.width - 4, inside.size.height
            if page.display and width > 0:
                height = max(height, 12) if not self.has_class("-short") else 14
                page.query_one(".text", Line).update(self.content(PAGES[number], max(24, width), height))

    def content(self, name: str, width: int, height: int) -> Content:
        """One page."""
        pair, tables = self.pair, self.tables
        if name in ("TTFT", "ITL", "E2E"):
            return distribution_content(pair, name.lower(), width, height, tables=tables)
        make: dict[str, Callable[[], Content]] = {
            "Summary": lambda: table_content(result_table(pair), min(width, 100)),
            "Requests": lambda: requests_content(pair, min(width, 160), tables=tables),
            "Load": lambda: load_content(pair, width, height, tables=tables),
            "Curve": lambda: self.curve_page(width, height),
        }
        return make[name]()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        if self.is_mounted:
            self.turn(self.index, focus=False)

    # --- the curve ----------------------------------------------------------------------------------------------

    def begin_curve(self) -> None:
        """Run the scenario at other rates, once."""
        if self.curves is not None or self.job or self.curve_words:
            return
        sides = dict(self.sides)

        def job(tell: Callable[[int, int, str], None], stop: Callable[[], bool]) -> list[RateCurve]:
            found = []
            for name, scenario in sides.items():
                one = rate_curve(scenario, name, tell, stop)
                if one is not None:
                    found.append(one)
            return found

        self.start_job("running other rates", job)

    def curve_page(self, width: int, height: int) -> Content:
        """The curve, or why there is none yet."""
        if self.curves:
            return curve_content(self.curves, width, height, tables=self.tables)
        words = self.curve_words or "The scenario is being run at other rates; this page fills when that is done."
        return Content.styled(words, "$secondary")

    def show_progress(self, text: str) -> None:
        notice = self.query_one("#notice", Line)
        notice.show(text, tone="note")
        notice.display = bool(text)

    def job_done(self, message: RunningScreen.Ended) -> None:
        if message.name == WRITING:
            self.report_written(message)
            return
        found: list[RateCurve] = [one for one in message.result or [] if one.points]
        if message.sentence:
            self.curve_words = f"The curve could not be run: {one_line(message.sentence)}"
        elif not found:
            self.curve_words = (
                "Stopped before a point was done; leave and come back to run it."
                if self.halt.is_set()
                else "No arrivals of this scenario have a rate that could be varied: they come at given times, or each "
                "user waits for the answer before. Give a class arrivals: {kind: poisson, rate_per_s: …, count: …}."
            )
        else:
            self.curves = found
        self.call_after_refresh(self.draw)

    # --- keys ---------------------------------------------------------------------------------------------------

    def action_page(self, step: int) -> None:
        """→ and ←."""
        self.turn(self.index + step)

    def action_toggle_table(self) -> None:
        """t."""
        self.tables = not self.tables
        self.retitle()
        self.draw()

    def action_save_report(self) -> None:
        """s."""
        self.query_one(SaveLine).ask(self.tutor.settings.data_dir / "reports", self.run_title, self.tutor.clock())

    @on(SaveLine.Wanted)
    def save_wanted(self, message: SaveLine.Wanted) -> None:
        """Write it, off the event loop: drawing takes a second or two."""
        if self.job:
            self.query_one(SaveLine).refuse("Something is running; Esc stops it, or wait until it is done.")
            return
        from tutor.lab.differences import differences
        from tutor.lab.report import LabReport, ReportTable, save

        table = result_table(self.pair)
        changes = differences(self.baseline, self.text) if self.baseline else ()
        report = LabReport(
            title=f"{self.run_title}: {'baseline against a change' if self.pair.baseline else 'one run'}",
            sentences=[f"Changed: {one.words()}." for one in changes],
            tables=[ReportTable("All numbers", table.header, table.rows, table.note)],
            scenario=self.text,
            baseline=self.baseline if self.pair.baseline is not None else "",
            pair=self.pair,
            curves=self.curves or (),
            made_at=self.tutor.clock().astimezone(),
        )
        path = message.path
        self.start_job(WRITING, lambda tell, stop: (path, save(report, path)))

    def report_written(self, message: RunningScreen.Ended) -> None:
        """Where it is, or why it is not."""
        line = self.query_one(SaveLine)
        if message.sentence:
            line.refuse(message.sentence)
            return
        path, told = message.result
        line.close()
        self.query_one("#notice", Line).show(" ".join([f"Saved as {path}.", *told]), tone="note")
        self.query_one("#notice").display = True
        list(self.query(".page"))[self.index].query_one(Page).focus()

    def action_back(self) -> None:
        """Esc: close the line for a name, stop the run of the curve, else leave."""
        if self.query_one(SaveLine).close():
            list(self.query(".page"))[self.index].query_one(Page).focus()
        elif not self.stop_job():
            super().action_back()
