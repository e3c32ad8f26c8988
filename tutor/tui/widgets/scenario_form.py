"""A scenario's fields as a form: one line a value, changed in the text as one types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import HorizontalGroup, VerticalGroup, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.suggester import SuggestFromList
from textual.widgets import Input

from tutor.tui.safe import Line, one_line

if TYPE_CHECKING:
    from tutor.lab.scenario_text import Leaf

MAX_VALUE = 400
LABEL_CELLS = 33


class ScenarioForm(VerticalGroup):
    """Rows for the values that stand in the text, and a line that adds one."""

    DEFAULT_CSS = """
    ScenarioForm { height: 1fr; }
    ScenarioForm VerticalScroll { height: 1fr; }
    ScenarioForm .field { height: 1; padding: 0 1; }
    ScenarioForm .label { width: 34; text-wrap: nowrap; }
    ScenarioForm .value { width: 24; margin-right: 1; }
    ScenarioForm .state { width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; color: $text-muted; }
    ScenarioForm .add { height: 1; padding: 0 1; background: $panel; }
    ScenarioForm .add Line { width: 12; color: $text-muted; }
    ScenarioForm .add Input { width: 1fr; }
    """

    @dataclass
    class Typed(Message):
        """A value was changed."""

        path: str
        value: str

    @dataclass
    class Added(Message):
        """A field that does not stand in the text is to be set."""

        path: str
        value: str

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.paths: tuple[str, ...] = ()
        self.inputs: dict[str, Input] = {}
        self.states: dict[str, Line] = {}

    def compose(self) -> ComposeResult:
        yield VerticalScroll(id="rows", can_focus=False)
        with HorizontalGroup(classes="add"):
            yield Line("Add a field")
            yield Input(placeholder="path = value, such as server.watermark = 0.05; Enter", id="add-field")

    async def show(self, leaves: Sequence[Leaf]) -> None:
        """Fields for these values; those that are there already keep their place and the cursor."""
        paths = tuple(leaf.path for leaf in leaves)
        values = {leaf.path: one_line(leaf.text, MAX_VALUE) for leaf in leaves}
        if paths != self.paths:
            await self._build(leaves, values)
            return
        for path, field in self.inputs.items():
            if field.value != values[path] and not field.has_focus:
                with field.prevent(Input.Changed):
                    field.value = values[path]

    async def _build(self, leaves: Sequence[Leaf], values: dict[str, str]) -> None:
        rows = self.query_one("#rows", VerticalScroll)
        focused = next((path for path, field in self.inputs.items() if field.has_focus), "")
        self.paths = tuple(leaf.path for leaf in leaves)
        self.inputs = {
            leaf.path: Input(values[leaf.path], classes="value", name=leaf.path, max_length=MAX_VALUE)
            for leaf in leaves
        }
        self.states = {leaf.path: Line(classes="state") for leaf in leaves}
        with self.prevent(Input.Changed):
            await rows.remove_children()
            await rows.mount_all(
                HorizontalGroup(
                    Line(label(leaf.path, LABEL_CELLS), classes="label"),
                    self.inputs[leaf.path],
                    self.states[leaf.path],
                    classes="field",
                )
                for leaf in leaves
            )
        if focused in self.inputs:
            self.inputs[focused].focus()

    def mark(self, problem_path: str, changed: dict[str, str | None]) -> None:
        """Say beside each field whether it is wrong, or what it was before."""
        for path, line in self.states.items():
            if path == problem_path:
                line.update(Content.styled("✗ see below", "$error"))
            elif path in changed:
                was = changed[path]
                line.update(Content.styled("• added" if was is None else f"• was {one_line(was, 30)}", "$accent"))
            else:
                line.update("")

    def suggest(self, paths: Sequence[str]) -> None:
        """What may be added."""
        self.query_one("#add-field", Input).suggester = SuggestFromList([f"{path} = " for path in paths])

    def focus_add(self) -> None:
        """Put the cursor where fields are added."""
        self.query_one("#add-field", Input).focus()

    def focus_first(self) -> None:
        """Put the cursor into the first field that a person would change."""
        usual = ("name", "description", "seed")
        path = next((path for path in self.paths if path not in usual), None)
        if path is not None:
            self.inputs[path].focus()

    @on(Input.Changed, ".value")
    def value_typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input.name:
            self.post_message(self.Typed(event.input.name, event.value))

    @on(Input.Submitted, ".value")
    def value_entered(self, event: Input.Submitted) -> None:
        """Enter goes to the next field."""
        event.stop()
        self.screen.focus_next()

    @on(Input.Submitted, "#add-field")
    def field_added(self, event: Input.Submitted) -> None:
        event.stop()
        path, sign, value = event.value.partition("=")
        if not sign:
            path, sign, value = event.value.partition(":")
        self.post_message(self.Added(path.strip(), value.strip()))


def label(path: str, cells: int) -> Content:
    """The path, its last part plain and what leads there stepped back; too long a one loses its beginning."""
    if cell_len(path) > cells:
        path = "…" + path[-(cells - 1) :]
    way, dot, last = path.rpartition(".")
    return Content.assemble((f"{way}{dot}", "$secondary"), last) if way else Content(last)
