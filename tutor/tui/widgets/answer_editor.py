"""The multi-line editor for answers: capped, sanitised on paste, and leaving the program's F-keys alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from tutor.text import sanitize

MAX_BYTES = 20 * 1024
"""Largest answer, in UTF-8 bytes. A key in a wrapped 100 KB line costs over a quarter of a second."""


class AnswerEditor(TextArea, inherit_bindings=False):
    """Plain text; Enter is a new line, Tab moves on."""

    # F6 and F7 select text in a TextArea; here they contest and mark.
    BINDINGS: ClassVar[list[BindingType]] = [
        binding for binding in TextArea.BINDINGS if not (isinstance(binding, Binding) and binding.key in ("f6", "f7"))
    ]

    @dataclass
    class PasteRefused(Message):
        """Pasted text would have made the answer too long; nothing was changed."""

        editor: AnswerEditor
        pasted_bytes: int

        @property
        def control(self) -> AnswerEditor:
            """The editor that refused."""
            return self.editor

        def sentence(self) -> str:
            """What happened and what to do."""
            return (
                f"The pasted text has {self.pasted_bytes / 1024:.0f} KiB and an answer holds "
                f"{MAX_BYTES // 1024} KiB. Nothing was inserted and your text is unchanged; paste a part of it."
            )

    def __init__(self, text: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(sanitize(text), id=id, placeholder=placeholder, compact=True, highlight_cursor_line=False)

    @property
    def words(self) -> int:
        """How many words the answer has."""
        return len(self.text.split())

    @property
    def too_long(self) -> bool:
        """True when typing has gone beyond the cap."""
        return len(self.text.encode()) > MAX_BYTES

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self._insert(event.text)

    def action_paste(self) -> None:
        """Insert the program's own clipboard."""
        self._insert(self.app.clipboard)

    def _insert(self, pasted: str) -> None:
        if self.read_only or not pasted:
            return
        text = sanitize(pasted.replace("\r\n", "\n").replace("\r", "\n"))
        pasted_bytes = len(text.encode())
        kept_bytes = len(self.text.encode()) - len(self.selected_text.encode())
        if kept_bytes + pasted_bytes > MAX_BYTES:
            self.post_message(self.PasteRefused(self, pasted_bytes))
            return
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)
