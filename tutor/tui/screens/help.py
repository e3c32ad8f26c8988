"""F1: what the screen below is for, and all its keys, from the one list of keys."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen

from tutor.tui.bindings import key_for
from tutor.tui.safe import Line
from tutor.tui.screens.base import TutorScreen

VERDICTS = (
    "✓ met    ✗ not met    ? unsure: the evidence does not decide it    – not graded, with the reason",
    "code: decided from the numbers in the text · model: asked once per criterion · self: marked by you",
)


class HelpScreen(TutorScreen):
    """Reads the live bindings of the screen that was open."""

    CSS_PATH = "help.tcss"
    PLACE = "Help"

    def __init__(self, place: str, purpose: str, groups: dict[str, list[tuple[str, str]]]) -> None:
        super().__init__()
        self.about_place = place
        self.purpose = purpose
        self.groups = groups

    @classmethod
    def about(cls, screen: Screen[Any]) -> HelpScreen:
        """Help for this screen."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for active in screen.active_bindings.values():
            key = key_for(active.binding)
            if key is not None and active.binding.id == key.id:
                display = screen.app.get_key_display(active.binding)
                groups.setdefault(key.group, []).append((display, key.tooltip))
        place = screen.place() if isinstance(screen, TutorScreen) else "this place"
        purpose = screen.PURPOSE if isinstance(screen, TutorScreen) else ""
        return cls(place, purpose, groups)

    def place(self) -> str:
        return f"Help · {self.about_place}"

    def body(self) -> ComposeResult:
        with VerticalScroll(can_focus=True, id="help"):
            if self.purpose:
                yield Line(self.purpose, classes="paragraph")
            for group, rows in self.groups.items():
                yield Line(Content.styled(group, "bold"))
                yield Line(
                    Content("\n").join(
                        Content.assemble((f"  {display:<8}", "$accent"), tooltip) for display, tooltip in rows
                    ),
                    classes="paragraph",
                )
            yield Line(Content.styled("Verdicts", "bold"))
            yield Line("\n".join(f"  {line}" for line in VERDICTS), classes="paragraph")

    def on_mount(self) -> None:
        self.query_one("#help").focus()
