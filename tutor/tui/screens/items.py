"""Every item of every pack, found by typing a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.base import TutorScreen
from tutor.tui.words import clip_cells, pad, plural

if TYPE_CHECKING:
    from question_bank import Bank
    from question_bank.load import AnyItem

KIND_ORDER = ("exercise", "probe", "prediction", "recall", "checkpoint")
DIFFICULTY = {1: "basic", 2: "middle", 3: "hard"}
EDGES = 4
"""Columns of a row that hold no text."""


class ItemsScreen(TutorScreen):
    """A line to type in and what matches all of its words; Enter opens the highlighted item."""

    CSS_PATH = "items.tcss"
    PLACE = "Find an item"
    PURPOSE = (
        "Type words of the title, a kind (exercise, probe, prediction, recall, checkpoint), a topic, a lesson or a "
        "difficulty (basic, middle, hard); what matches all of them is listed. The arrow keys move the highlight while "
        "you type, Enter opens the item. It is asked alone, with numbers drawn anew."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("row-up", "row-down")

    def __init__(self, bank: Bank) -> None:
        super().__init__()
        titles = {topic.id: topic.title for topics in bank.topics.values() for topic in topics}
        self.entries: list[tuple[str, AnyItem, str]] = []
        """What is searched, the item, and its topics as shown."""
        for lesson in bank.lessons:
            for item in sorted(lesson.items, key=lambda item: KIND_ORDER.index(item.kind)):
                topics = ", ".join(one_line(titles.get(topic, topic)) for topic in item.topics)
                words = (
                    item.id,
                    item.kind,
                    item.title,
                    lesson.title,
                    topics,
                    *item.topics,
                    DIFFICULTY[item.difficulty],
                )
                self.entries.append((" ".join(words).casefold(), item, topics))

    def body(self) -> ComposeResult:
        yield Input(placeholder="words, such as: prefill probe hard", id="wanted")
        yield Line(id="found")
        yield OptionList(id="items", markup=False)

    def on_mount(self) -> None:
        self.show_items()
        self.query_one("#items", OptionList).can_focus = False
        self.query_one("#wanted", Input).focus()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.show_items()

    @on(Input.Changed, "#wanted")
    def show_items(self) -> None:
        """List what matches, keeping the highlighted item where it still does."""
        wanted = self.query_one("#wanted", Input).value.casefold().split()
        found = [entry for entry in self.entries if all(word in entry[0] for word in wanted)]
        listed = self.query_one("#items", OptionList)
        kept = listed.highlighted_option.id if listed.highlighted_option is not None else None
        listed.clear_options()
        listed.add_options([self._row(item, topics) for _, item, topics in found])
        ids = [item.id for _, item, _ in found]
        listed.highlighted = ids.index(kept) if kept in ids else (0 if ids else None)
        count = plural(len(found), "item")
        none = "Nothing has all of these words; take one away." if not found else ""
        self.query_one("#found", Line).show(none or f"{count} of {len(self.entries):,}" if wanted else count)

    def _row(self, item: AnyItem, topics: str) -> Option:
        width = self.size.width - EDGES
        title = max(16, min(48, width - 11 - 8 - 8))
        head = f" {item.kind:<10} {pad(one_line(item.title), title)} {DIFFICULTY[item.difficulty]:<6} "
        tail = f"{item.minutes:>2g} min"
        room = width - len(head) - len(tail) - 2
        return Option(
            join(head, tail, (f"  {clip_cells(topics, room)}" if room > 10 else "", "$secondary")), id=item.id
        )

    def action_move(self, by: int) -> None:
        """The highlight, while the line keeps the focus."""
        listed = self.query_one("#items", OptionList)
        if by < 0:
            listed.action_cursor_up()
        else:
            listed.action_cursor_down()

    @on(Input.Submitted, "#wanted")
    def open_highlighted(self) -> None:
        """Enter in the line."""
        option = self.query_one("#items", OptionList).highlighted_option
        if option is not None and option.id is not None:
            self.tutor.start_item(option.id)

    @on(OptionList.OptionSelected, "#items")
    def open_clicked(self, event: OptionList.OptionSelected) -> None:
        """A click on a row."""
        if event.option_id is not None:
            self.tutor.start_item(event.option_id)
