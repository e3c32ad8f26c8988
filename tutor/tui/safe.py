"""The one door through which text from people, models and files reaches a widget.

Textual neither strips escape sequences nor survives a stray square bracket in markup, so everything that was not
written in this package passes here: sanitised, and as `Content` or Markdown, never as markup.
"""

from __future__ import annotations

import textwrap

from textual.content import Content
from textual.widgets import Static

from tutor.text import sanitize


def plain(text: str, style: str = "") -> Content:
    """Foreign text, shown literally in one style."""
    content = Content(sanitize(text))
    return content.stylize(style) if style else content


def one_line(text: str, limit: int = 0) -> str:
    """Foreign text as a single line, cut with an ellipsis after `limit` characters (0: not cut)."""
    line = " ".join(sanitize(text).split())
    return line if not limit or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def indented(text: str, width: int, indent: int) -> str:
    """Foreign text as one paragraph, wrapped so that every line keeps the indent."""
    room = max(10, width - indent)
    return "\n".join(f"{' ' * indent}{line}" for line in textwrap.wrap(one_line(text), room)) or " " * indent


def join(*parts: str | Content | tuple[str, str]) -> Content:
    """Parts one after another; a pair is (text, style)."""
    return Content.assemble(
        *(plain(part) if isinstance(part, str) else plain(*part) if isinstance(part, tuple) else part for part in parts)
    )


def lines(*parts: Content) -> Content:
    """Parts one below the other."""
    return Content("\n").join(parts)


class Line(Static):
    """A line or paragraph of text that is set by `show`; never parsed as markup."""

    def __init__(self, text: str | Content = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(plain(text) if isinstance(text, str) else text, id=id, classes=classes, markup=False)

    def show(self, text: str | Content, *, tone: str = "") -> None:
        """Replace the text; `tone` is "", "note" or "problem" and changes the colour only."""
        self.update(plain(text) if isinstance(text, str) else text)
        self.set_class(tone == "problem", "-problem")
        self.set_class(tone == "note", "-note")
