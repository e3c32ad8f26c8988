"""The first row of every screen: where one is, and which model grades."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.reactive import reactive

from tutor.tui.widgets.ruled_line import RuledLine

if TYPE_CHECKING:
    from tutor.tui.app import TutorApp


class TitleBar(RuledLine):
    """place · item · mode ──── elapsed · model or "no model"."""

    DEFAULT_CSS = """
    TitleBar { dock: top; background: $panel; padding: 0 1; }
    """

    clock: reactive[str] = reactive("")
    """Elapsed time of the interview, or nothing."""

    def texts(self) -> tuple[str, str]:
        app = cast("TutorApp", self.app)
        model = app.model.label()
        return self.left, f"{self.clock} · {model}" if self.clock else model
