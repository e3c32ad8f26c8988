"""A field for each predicted value, with its unit; what is typed reads as text that can be kept and put back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import HorizontalGroup, VerticalGroup
from textual.widgets import Input

from tutor.tui.safe import Line, one_line
from tutor.tui.words import parse_number

if TYPE_CHECKING:
    from question_bank.question import Expected, Question

SEPARATOR = " = "
MAX_CHARS = 20


class PredictionFields(VerticalGroup):
    """Enter goes to the next field; handing in is the screen's."""

    DEFAULT_CSS = """
    PredictionFields { height: auto; padding: 0 1; }
    PredictionFields .field { height: 1; }
    PredictionFields .label { width: 34; text-wrap: nowrap; text-overflow: ellipsis; }
    PredictionFields Input { width: 16; margin-right: 1; }
    PredictionFields .unit { width: auto; }
    Screen.-narrow PredictionFields .field { height: auto; layout: vertical; }
    Screen.-narrow PredictionFields .label { width: 1fr; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.expected: tuple[Expected, ...] = ()
        self.fields: dict[str, Input] = {}

    async def ask(self, question: Question, kept: str = "") -> None:
        """Fields for a question, filled with what was kept."""
        await self.remove_children()
        self.expected = question.expected
        values = parse_kept(kept)
        self.fields = {
            each.name: Input(values.get(each.name, ""), max_length=MAX_CHARS, name=each.name) for each in self.expected
        }
        with self.prevent(Input.Changed):
            await self.mount_all(
                HorizontalGroup(
                    Line(one_line(each.label), classes="label"),
                    self.fields[each.name],
                    Line(one_line(each.unit), classes="unit"),
                    classes="field",
                )
                for each in self.expected
            )

    @property
    def text(self) -> str:
        """What stands in the fields, one a line; empty when nothing does."""
        typed = {name: field.value.strip() for name, field in self.fields.items()}
        return "\n".join(f"{name}{SEPARATOR}{value}" for name, value in typed.items() if value)

    def values(self) -> dict[str, float] | str:
        """The predicted values by name; or a sentence about the first that is missing, whose field has the focus."""
        found: dict[str, float] = {}
        for each in self.expected:
            field = self.fields[each.name]
            value = parse_number(field.value)
            if value is None:
                field.focus()
                what = "is empty" if not field.value.strip() else "is not a number"
                return f"{each.label} {what}; write your prediction in {each.unit or 'plain numbers'}, such as 300."
            found[each.name] = value
        return found

    def close(self) -> None:
        """The prediction is in."""
        for field in self.fields.values():
            field.disabled = True

    def reopen(self) -> None:
        """It may be changed again."""
        for field in self.fields.values():
            field.disabled = False

    def focus_first(self) -> None:
        """Put the focus on the first empty field."""
        fields = list(self.fields.values())
        target = next((field for field in fields if not field.value), fields[0] if fields else None)
        if target is not None:
            target.focus()

    @on(Input.Submitted)
    def entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.focus_next()


def parse_kept(text: str) -> dict[str, str]:
    """Fields by name from kept text, one a line or divided by semicolons; what is no field is passed over."""
    rows = (row.partition(SEPARATOR.strip()) for row in text.replace(";", "\n").splitlines())
    return {name.strip(): value.strip()[:MAX_CHARS] for name, sign, value in rows if sign}
