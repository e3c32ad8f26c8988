"""A line of text at the left, a rule, and text at the right: title bars and headings."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tutor.tui.safe import one_line


class RuledLine(Widget):
    """One row; when it is too narrow for both, the right text stays and the left one is cut."""

    DEFAULT_CSS = """
    RuledLine { height: 1; width: 1fr; color: $text-muted; }
    """

    left: reactive[str] = reactive("")
    """What this is."""
    right: reactive[str] = reactive("")
    """Its state, such as a word count."""

    def __init__(self, left: str = "", right: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, markup=False)
        self.set_reactive(RuledLine.left, left)
        self.set_reactive(RuledLine.right, right)

    def texts(self) -> tuple[str, str]:
        """Left and right text as they are now."""
        return self.left, self.right

    def render(self) -> Content:
        left, right = (one_line(text) for text in self.texts())
        width = self.size.width
        if cell_len(right) > width // 2 and cell_len(left) + cell_len(right) + 5 > width:
            right = cut(right, max(width // 2, width - cell_len(left) - 5))
        room = width - cell_len(right) - (3 if right else 1)
        left = cut(left, room)
        rule = "─" * max(0, width - cell_len(left) - cell_len(right) - (2 if right else 1))
        return Content.assemble((left, "bold $foreground"), (f" {rule} ", "$border"), right)


def cut(text: str, cells: int) -> str:
    """Text in at most so many cells, ending in an ellipsis when it was longer."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, max(cells - 1, 0)).rstrip() + "…" if cells > 0 else ""
