"""Every setting, its value and where the value comes from; changed in the file, the environment or by flags."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from tutor.tui.safe import Line, one_line
from tutor.tui.screens.base import TutorScreen


class SettingsScreen(TutorScreen):
    """A view; secrets are never spelled out."""

    CSS_PATH = "help.tcss"
    PLACE = "Settings"
    PURPOSE: ClassVar[str] = (
        "All settings. They come from the program's defaults, then config.toml, then TUTOR_… variables, then the "
        "command line; the last one wins."
    )

    def body(self) -> ComposeResult:
        rows = self.tutor.settings.explain()
        width = max((len(row.key) for row in rows), default=0)
        with VerticalScroll(id="help", can_focus=True):
            yield Line(self.PURPOSE, classes="paragraph")
            yield Line(
                Content("\n").join(
                    Content.assemble(
                        (f"{row.key:<{width}}  ", "$accent"),
                        one_line(row.value),
                        (f"  {one_line(row.source)}", "$secondary"),
                    )
                    for row in rows
                )
            )

    def on_mount(self) -> None:
        self.query_one("#help").focus()
