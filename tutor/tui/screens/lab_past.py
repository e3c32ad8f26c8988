"""All predictions with their outcomes, right and wrong, and how much each topic surprised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message

from tutor.errors import TutorError
from tutor.lab.words import measured
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.base import TutorScreen
from tutor.tui.screens.claim_words import MARKS
from tutor.tui.widgets.plot import Table, table_content
from tutor.tui.widgets.ruled_line import RuledLine
from tutor.tui.words import CONFIDENCE, clip_cells, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tutor.lab.claim_log import SettledClaim
    from tutor.lab.predictions import Past
    from tutor.lab.surprise import TopicSurprise

ENOUGH = 5
"""Predictions of a topic below which its mean is marked as thin."""


class PastScreen(TutorScreen):
    """Topics first, then every prediction and every claim, the newest first."""

    CSS_PATH = "lab.tcss"
    PLACE = "Lab · predictions and claims"
    PURPOSE = (
        "Every prediction that was run: those of the lab, and those of prediction items in interviews where a range "
        "was stated. Surprise is in bits, read from your number, range and confidence: 0 is hit, 1 is as far off as "
        "you thought likely one time in two, and 1.4 is the mean of someone whose ranges hold the truth as often as "
        "they say. A topic with more surprises you more than you think: drill it, or state wider ranges. Below stand "
        "the claims that were put to the test."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("progress")

    @dataclass
    class Read(Message):
        """The log was read."""

        past: Sequence[Past]
        topics: Sequence[TopicSurprise]
        claims: Sequence[SettledClaim]
        sentence: str = ""

    def __init__(self) -> None:
        super().__init__()
        self.found: PastScreen.Read | None = None

    def body(self) -> ComposeResult:
        with VerticalScroll(id="page", can_focus=True):
            yield RuledLine("Surprise by topic", id="topics-heading")
            yield Line("Reading the log…", id="topics")
            yield RuledLine("Predictions", id="past-heading")
            yield Line(id="past")
            yield RuledLine("Claims", id="claims-heading")
            yield Line(id="claims")

    def on_mount(self) -> None:
        self.query_one("#page").focus()
        self.derive()

    @work(thread=True, exclusive=True, group="past", exit_on_error=False)
    def derive(self) -> None:
        """Read the log, off the event loop."""
        from tutor.lab.claim_log import settled_claims
        from tutor.lab.predictions import past_predictions, topic_surprises

        store = self.tutor.store
        assert store is not None
        try:
            past, claims = past_predictions(store, self.tutor.bank), settled_claims(store)
        except TutorError as error:
            self.post_message(self.Read((), (), (), str(error)))
            return
        self.post_message(self.Read(past, topic_surprises(past), claims))

    @on(Read)
    def was_read(self, message: Read) -> None:
        self.found = message
        self.draw()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        if self.is_mounted:
            self.draw()

    def action_open_progress(self) -> None:
        """p."""
        self.tutor.open_progress()

    def draw(self) -> None:
        """Both tables, to the width there is."""
        found = self.found
        if found is None:
            return
        width = max(40, self.size.width - 3)
        if found.sentence:
            self.query_one("#topics", Line).show(found.sentence, tone="problem")
            return
        bank = self.tutor.bank
        titles = {topic.id: topic.title for topics in bank.topics.values() for topic in topics} if bank else {}
        self.query_one("#topics", Line).update(topics_content(found.topics, titles, width))
        self.query_one("#past-heading", RuledLine).right = plural(len(found.past), "number")
        self.query_one("#past", Line).update(past_content(found.past, width))
        self.query_one("#claims-heading", RuledLine).right = plural(len(found.claims), "claim")
        self.query_one("#claims", Line).update(claims_content(found.claims))


def topics_content(rows: Sequence[TopicSurprise], titles: Mapping[str, str], width: int) -> Content:
    """A row a topic, the most surprising first."""
    if not rows:
        return Content.styled(
            "Nothing was predicted and run so far. Open a scenario in the lab, change something and press F4; or "
            "answer a prediction item with a range. Here it will say which topics surprise you.",
            "$secondary",
        )
    table = Table(
        ("topic", "n", "inside", "you said", "bits, mean", "most"),
        [
            (
                one_line(titles.get(row.topic, row.topic)) + ("" if row.predictions >= ENOUGH else "*"),
                f"{row.predictions}",
                f"{row.inside} of {row.predictions}",
                f"{row.stated:.0%}",
                f"{row.mean_bits:.1f}",
                f"{row.most_bits:.1f}",
            )
            for row in rows
        ],
        f"1.4 bits is the mean of honest ranges. * under {ENOUGH} predictions: a mean that says little.",
    )
    return table_content(table, min(width, 100))


def past_content(past: Sequence[Past], width: int) -> Content:
    """Every prediction: what, when, predicted, simulated, and why it came out so."""
    parts: list[Content] = []
    for one in reversed(past):
        head = f"{one.at.astimezone():%Y-%m-%d}  {one_line(one.title)}: {one_line(one.what)}"
        parts.append(
            join(
                ("✗ " if one.missed else "✓ ", "$error" if one.missed else "$success"),
                clip_cells(head, width - 2),
                "\n  ",
                (
                    f"predicted {measured(one.value)} [{measured(one.stated.low)}, {measured(one.stated.high)}] "
                    f"{one.unit}, {CONFIDENCE[one.confidence]}; simulated {measured(one.outcome)}; "
                    f"{one.bits:.1f} bits",
                    "$secondary",
                ),
                *(["\n  “", one_line(one.explanation), "”"] if one.explanation else []),
            )
        )
    return Content("\n").join(parts)


def claims_content(claims: Sequence[SettledClaim]) -> Content:
    """Every claim that was put to the test, the newest first."""
    if not claims:
        return Content.styled("No claim was put to the test so far; F6 on a scenario does.", "$secondary")
    parts: list[Content] = []
    for one in reversed(claims):
        mark, tone = MARKS[one.settled.verdict]
        head = f"{one.at.astimezone():%Y-%m-%d}  {one_line(one.settled.title)}"
        changes = f": {'; '.join(map(one_line, one.settled.changes))}" if one.settled.changes else ""
        words = " and ".join(one_line(each.words) for each in one.settled.statements)
        tail = f"\n  {one_line(one.summary)}" if one.summary else ""
        parts.append(
            join(
                (f"{mark} ", tone),
                f"{head}{changes}",
                f"\n  {words}: ",
                (one.settled.verdict, tone),
                (tail, "$secondary"),
            )
        )
    return Content("\n").join(parts)
