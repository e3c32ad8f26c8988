"""The interview so far, as one long text: cheap to keep however long it gets."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual.containers import VerticalScroll
from textual.content import Content

from tutor.text import unmarked
from tutor.tui.safe import Line, one_line, plain
from tutor.tui.words import CONFIDENCE, SYMBOLS, WORDS, number

if TYPE_CHECKING:
    from tutor.interview.history import Entry

NAMES = {
    "question": "Question",
    "answer": "You",
    "follow_up": "Follow-up",
    "follow_up_answer": "You",
    "grade": "Grade",
    "hint": "Hint",
    "reference": "Reference",
    "recall": "You",
    "choice": "You",
    "simulation": "Simulator",
    "explanation": "You",
    "talk": "You",
    "talk_reply": "Tutor",
}


class Transcript(VerticalScroll, can_focus=True):
    """Scrolls by itself to the newest entry, unless one has scrolled up."""

    DEFAULT_CSS = """
    Transcript { height: 1fr; padding: 0 1; }
    """

    def compose(self) -> Iterable[Line]:
        yield Line(id="transcript-text")

    def show(self, entries: Iterable[Entry], *, summary: Content | None = None) -> None:
        """Show these entries; an empty history says what would be here. A summary stands first and in sight."""
        blocks = [entry_content(entry) for entry in entries]
        if summary is not None:
            blocks.insert(0, summary)
        at_end = self.max_scroll_y - self.scroll_y <= 1
        text = Content("\n\n").join(blocks) if blocks else Content("What is asked and answered is kept here.")
        self.query_one("#transcript-text", Line).update(text)
        if summary is not None:
            self.call_after_refresh(self.scroll_home, animate=False)
        elif at_end:
            self.call_after_refresh(self.scroll_end, animate=False)


def entry_content(entry: Entry) -> Content:
    """Who, when, and what was said."""
    name = NAMES.get(entry.kind, "")
    stamp = local(entry.at)
    if not name:
        text = f"confidence: {CONFIDENCE[entry.payload['level']]}" if entry.kind == "confidence" else entry.text
        return Content.assemble((f"{stamp}  {one_line(text)}", "$secondary"))
    head = Content.assemble((name, "bold $accent" if name == "You" else "bold"), (f"  {stamp}", "$secondary"))
    return Content("\n").join([head, body(entry)])


def body(entry: Entry) -> Content:
    """The text of an entry, or the lines made from its payload."""
    if entry.kind == "grade":
        return grade_lines(entry.payload)
    if entry.kind == "simulation":
        return simulation_lines(entry.payload.get("summary", {}))
    if entry.kind == "talk_reply":
        return reply_lines(entry.payload.get("pieces", ()))
    if entry.kind in ("question", "reference"):
        return plain(unmarked(entry.text))
    return plain(entry.text)


def grade_lines(payload: Any) -> Content:
    """Symbol, criterion, word, decider and reason, a line each."""
    rows = []
    for one in payload.get("criteria", ()):
        verdict = one["verdict"]
        decider = f", {one['decided_by']}" if one.get("decided_by") else ""
        rows.append(
            plain(f"{SYMBOLS[verdict]} {one['criterion']}: {WORDS[verdict]}{decider}. {one_line(one['reason'])}")
        )
    return Content("\n").join(rows)


def simulation_lines(summary: Any) -> Content:
    """Predicted against simulated."""
    rows = []
    for name, value in dict(summary.get("values", {})).items():
        unit = value.get("unit", "")
        predicted, simulated = value.get("predicted"), value.get("simulated")
        rows.append(
            plain(
                f"{name.replace('_', ' ')}: predicted {'–' if predicted is None else number(predicted, unit)}, "
                f"simulated {'–' if simulated is None else number(simulated, unit)}"
            )
        )
    return Content("\n").join(rows) if rows else plain("simulated")


def reply_lines(pieces: Any) -> Content:
    """What the tutor said: a line a piece, with where it is from, and the numbers nobody checked."""
    rows = []
    for piece in pieces:
        head = {"hint": "Hint: ", "lesson": "From the lesson: "}.get(piece["source"], "")
        tail = f"  (unchecked: {', '.join(piece['unchecked'])})" if piece.get("unchecked") else ""
        rows.append(plain(f"{head}{piece['text']}{tail}", "" if piece["source"] != "code" else "$secondary"))
    return Content("\n").join(rows)


def local(at: datetime) -> str:
    """Local wall time."""
    return f"{at.astimezone():%H:%M}"
