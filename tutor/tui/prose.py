"""Markdown on the screens; apart from `safe`, since Home does without it and its parser takes 30 ms to import."""

from __future__ import annotations

from textual.widgets import Markdown

from tutor.text import sanitize


class Prose(Markdown):
    """Markdown of a question, a lesson or a model answer; links are not opened by a click."""

    def __init__(self, text: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(sanitize(text) or None, id=id, classes=classes, open_links=False)

    async def show(self, text: str) -> None:
        """Replace the text."""
        await self.update(sanitize(text))
