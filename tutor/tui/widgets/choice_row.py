"""One of a few, on one line: all of them in sight, the chosen one marked by a sign, not by colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tutor.tui.safe import one_line
from tutor.tui.words import pad

LABEL_CELLS = 11
ON, OFF = "●", "○"


class ChoiceRow(Widget, can_focus=True):
    """← and → choose, Enter goes on; where the line is too short what is around the chosen one is shown."""

    DEFAULT_CSS = """
    ChoiceRow { height: 1; padding: 0 1; }
    ChoiceRow:focus { background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "before", show=False),
        Binding("right,space", "move(1)", "next", show=False),
        Binding("enter", "screen.focus_next", "on", show=False),
    ]

    @dataclass
    class Changed(Message):
        """Another one was chosen."""

        row: ChoiceRow
        value: str

        @property
        def control(self) -> ChoiceRow:
            """The row."""
            return self.row

    def __init__(
        self,
        label: str,
        options: Sequence[tuple[str, str]],
        value: str = "",
        *,
        id: str,
        label_cells: int = LABEL_CELLS,
        classes: str | None = None,
    ) -> None:
        """`options` are values with their words; `value` is chosen, or the first one."""
        super().__init__(id=id, classes=classes, markup=False)
        self.label, self.label_cells = one_line(label), label_cells
        self.options = [(key, one_line(words)) for key, words in options]
        self.value = value if any(key == value for key, _ in options) else self.options[0][0]
        self._ends: list[tuple[int, int, str]] = []

    def choose(self, value: str) -> None:
        """Choose one of the values; another is passed over."""
        if value != self.value and any(key == value for key, _ in self.options):
            self.value = value
            self.refresh()
            self.post_message(self.Changed(self, value))

    def action_move(self, step: int) -> None:
        """← and →."""
        keys = [key for key, _ in self.options]
        if not self.disabled:
            self.choose(keys[(keys.index(self.value) + step) % len(keys)])

    def render(self) -> Content:
        at = next(number for number, (key, _) in enumerate(self.options) if key == self.value)
        room = self.size.width - self.label_cells
        sizes = [cell_len(words) + 3 for _, words in self.options]
        first, last, used = at, at, sizes[at]
        while first > 0 or last < len(sizes) - 1:
            right = last < len(sizes) - 1 and used + sizes[last + 1] <= room - 4
            left = first > 0 and used + sizes[first - 1] <= room - 4
            if right and (last - at <= at - first or not left):
                last += 1
                used += sizes[last]
            elif left:
                first -= 1
                used += sizes[first]
            else:
                break
        parts: list[Content | tuple[str, str] | str] = [(pad(self.label, self.label_cells - 1) + " ", "$secondary")]
        column = self.label_cells
        self._ends = []
        if first > 0:
            parts.append(("… ", "$secondary"))
            column += 2
        for number in range(first, last + 1):
            key, words = self.options[number]
            on = number == at
            text = f"{ON if on else OFF}{words}"
            parts.append((text, "bold $accent" if on and not self.disabled else "bold" if on else "$secondary"))
            parts.append("  ")
            self._ends.append((column, column + cell_len(text), key))
            column += cell_len(text) + 2
        if last < len(sizes) - 1:
            parts.append(("…", "$secondary"))
        return Content.assemble(*parts)

    def on_click(self, event: events.Click) -> None:
        """Choose what is under the pointer."""
        at = event.get_content_offset(self)
        for begin, end, key in self._ends:
            if at is not None and begin <= at.x < end and not self.disabled:
                self.choose(key)
