"""The editor of a scenario's text: plain, with line numbers, since errors name lines."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from tutor.lab.scenario_text import MAX_CHARS
from tutor.text import sanitize

OURS = ("f6", "f7")
"""Keys that select text in a TextArea; here they open places."""


class ScenarioEditor(TextArea, inherit_bindings=False):
    """Enter is a new line with the indent of the one before; Tab moves on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding for binding in TextArea.BINDINGS if not (isinstance(binding, Binding) and binding.key in OURS)
    ]

    def __init__(self, text: str = "", *, id: str | None = None) -> None:
        super().__init__(
            sanitize(text),
            id=id,
            compact=True,
            show_line_numbers=True,
            soft_wrap=True,
            highlight_cursor_line=False,
            tab_behavior="focus",
        )

    @property
    def too_long(self) -> bool:
        """True when the text is longer than the lab edits."""
        return len(self.text) > MAX_CHARS

    def put(self, start: int, end: int, value: str) -> None:
        """Replace a range of characters, as one step that Ctrl+Z takes back."""
        self.replace(value, self._location(start), self._location(end))

    def _location(self, index: int) -> tuple[int, int]:
        before = self.text[:index]
        line = before.count("\n")
        return line, index - (before.rfind("\n") + 1)

    def show_line(self, line: int) -> None:
        """Put the cursor on a line, counted from 1."""
        self.move_cursor((min(line, self.document.line_count) - 1, 0), center=True)
