"""The lab's first page: which scenario, and what was predicted before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from sim import ScenarioError
from tutor.errors import TutorError
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, join, one_line
from tutor.tui.screens.base import TutorScreen
from tutor.tui.words import clip_cells, pad

if TYPE_CHECKING:
    from tutor.lab.gallery import Entry
    from tutor.lab.predictions import Prediction

NAME_CELLS = 26
EDGES = 4
"""Columns of a row that hold no text."""
ABOUT_OTHERS = (
    "Say how sure you are, give number and range for each value and which way each metric goes, lock it, and run it. "
    "What you miss comes back in the drills with other numbers."
)
WIDE = 120
"""From this many columns what a scenario teaches stands beside the list, on two fifths of them."""


class LabScreen(TutorScreen):
    """A list; from 120 columns the highlighted scenario's own words beside it."""

    CSS_PATH = "lab.tcss"
    PLACE = "Lab"
    PURPOSE = (
        "The lab puts what you think to the test. Enter opens a scenario: change it as a form or as text, predict what "
        "the change does and lock that, run both sides on the same requests, and compare them in plots and tables. n "
        "begins a scenario of your own, o opens a file. What you change is kept; • marks it."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("lab-new", "lab-file", "lab-past")

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, Entry] = {}
        self.waiting: dict[str, Prediction] = {}

    def body(self) -> ComposeResult:
        yield Line(id="notice")
        yield Input(placeholder="path of a scenario in YAML; Enter opens it, Esc closes", id="path")
        with Horizontal(id="columns"):
            with Vertical(id="main"):
                yield OptionList(id="scenarios", markup=False)
            with VerticalScroll(id="about", can_focus=False):
                yield Line(id="about-text")

    def on_mount(self) -> None:
        self.query_one("#path").display = False
        self.show_scenarios()
        self.query_one("#scenarios", OptionList).focus()

    def on_screen_resume(self) -> None:
        if self.is_mounted:
            self.show_scenarios()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        if self.is_mounted:
            self.show_scenarios()

    def say(self, text: str, *, tone: str = "problem") -> None:
        """A line in place; empty hides it."""
        notice = self.query_one("#notice", Line)
        notice.show(text, tone=tone)
        notice.display = bool(text)

    # --- the list -----------------------------------------------------------------------------------------------

    def show_scenarios(self) -> None:
        """Fill the list anew, keeping the highlighted row."""
        from tutor.lab.gallery import begun, builtin_entries, new_entry

        assert self.tutor.store is not None
        listed = self.query_one("#scenarios", OptionList)
        kept = listed.highlighted_option.id if listed.highlighted_option is not None else None
        try:
            drafts = begun(self.tutor.store)
        except TutorError as error:
            drafts = {}
            self.say(str(error))
        else:
            self.say("Predict, lock, run, compare: Enter opens a scenario; what you change in it is kept.", tone="note")
        options = self._waiting()
        own, files = new_entry(), self._files(drafts)
        builtin = builtin_entries()
        self.entries = {entry.key: entry for entry in (own, *files, *builtin)}
        mine = [self._row(own, begun_too=True, teaches="the scenario you began")] if own.key in drafts else []
        mine += [self._row(entry, begun_too=entry.key in drafts) for entry in files]
        options += [self._heading("Your own"), *(mine or [self._teaching("none yet; n begins one, o opens a file")])]
        options.append(self._heading(f"Built in ({len(builtin)})"))
        options += [self._row(entry, begun_too=entry.key in drafts) for entry in builtin]
        options += self._items()
        listed.clear_options()
        listed.add_options(options)
        first = next(number for number, option in enumerate(options) if not option.disabled)
        wanted = next((number for number, option in enumerate(options) if kept and option.id == kept), first)
        listed.highlighted = wanted
        self.show_about()

    def _waiting(self) -> list[Option]:
        """Predictions that are locked and were not run yet."""
        from tutor.lab.predictions import predictions

        assert self.tutor.store is not None
        try:
            self.waiting = {f"prediction:{one.id}": one for one in predictions(self.tutor.store) if not one.simulated}
        except TutorError as error:
            self.say(str(error))
            return []
        if not self.waiting:
            return []
        rows = [
            Option(join((" ▸ ", "$accent"), clip_cells(f"{one.locked.title}: {one.locked.metric}", 70)), id=key)
            for key, one in self.waiting.items()
        ]
        return [self._heading("Locked, to be run"), *rows]

    def _files(self, drafts: dict[str, str]) -> list[Entry]:
        """Files of one's own with changes that are kept; one that has gone is passed over."""
        from tutor.lab.gallery import file_entry

        found = []
        for key in sorted(drafts):
            if key.startswith("file/"):
                try:
                    found.append(file_entry(Path(key.removeprefix("file/"))))
                except ScenarioError as error:
                    self.say(f"{error}. Your changes to it are kept.")
        return found

    def _items(self) -> list[Option]:
        """The bank's prediction items: the same flow, with the author's question."""
        bank = self.tutor.bank
        found = [item for item in bank.items if item.kind == "prediction"] if bank is not None else []
        if bank is None or not found:
            return []
        titles = {topic.id: topic.title for topics in bank.topics.values() for topic in topics}
        rows = []
        for item in found:
            topics = ", ".join(one_line(titles.get(topic, topic)) for topic in item.topics)
            rows.append(self._line(item.title, topics, f"item:{item.id}"))
        return [self._heading(f"Predictions to make, from the question bank ({len(found)})"), *rows]

    def _heading(self, text: str) -> Option:
        return Option(Content(f" {text}"), disabled=True)

    def _teaching(self, text: str) -> Option:
        return Option(Content.styled(f"   {text}", "$secondary"), disabled=True)

    def _row(self, entry: Entry, *, begun_too: bool, teaches: str = "") -> Option:
        return self._line(entry.title, teaches or entry.teaches, entry.key, "•" if begun_too else " ")

    def _line(self, title: str, about: str, key: str, mark: str = " ") -> Option:
        width = self.size.width * 3 // 5 if self.size.width >= WIDE else self.size.width
        room = width - NAME_CELLS - EDGES - 3
        return Option(
            join(
                (f" {mark} ", "$accent"),
                pad(one_line(title), NAME_CELLS),
                " ",
                (clip_cells(one_line(about), max(room, 10)), "$secondary"),
            ),
            id=key,
        )

    @on(OptionList.OptionHighlighted, "#scenarios")
    def show_about(self) -> None:
        """What the highlighted scenario teaches, in its own words."""
        option = self.query_one("#scenarios", OptionList).highlighted_option
        entry = self.entries.get(option.id or "") if option is not None else None
        about = self.query_one("#about-text", Line)
        if entry is None:
            about.update(Content.styled(ABOUT_OTHERS, "$secondary"))
        else:
            about.update(
                join(
                    (one_line(entry.title), "bold"),
                    "\n\n",
                    entry.about,
                    "\n\n",
                    (entry.text_after_comment, "$secondary"),
                )
            )

    # --- opening ------------------------------------------------------------------------------------------------

    @on(OptionList.OptionSelected, "#scenarios")
    def row_chosen(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click."""
        waiting = self.waiting.get(event.option_id or "")
        if waiting is not None:
            from tutor.tui.screens.lab_predict import PredictScreen

            made = waiting.locked
            self.app.push_screen(PredictScreen(made.title, made.scenario, made.baseline, prediction=waiting))
        elif (event.option_id or "").startswith("item:"):
            self.tutor.start_item((event.option_id or "").partition(":")[2])
        elif event.option_id in self.entries:
            self.open_entry(self.entries[event.option_id])

    def open_entry(self, entry: Entry) -> None:
        """To its bench."""
        from tutor.tui.screens.lab_bench import BenchScreen

        self.app.push_screen(BenchScreen(entry))

    def action_new_scenario(self) -> None:
        """n."""
        self.open_entry(self.entries["new"])

    def action_open_file(self) -> None:
        """o."""
        field = self.query_one("#path", Input)
        field.display = True
        field.focus()

    @on(Input.Submitted, "#path")
    def path_entered(self, event: Input.Submitted) -> None:
        """Open it, or say why not where it was typed."""
        from tutor.lab.gallery import file_entry

        if not event.value.strip():
            self.close_path()
            return
        try:
            entry = file_entry(Path(event.value.strip()))
        except ScenarioError as error:
            self.say(str(error))
            return
        self.close_path()
        self.open_entry(entry)

    def action_past(self) -> None:
        """p."""
        from tutor.tui.screens.lab_past import PastScreen

        self.app.push_screen(PastScreen())

    def close_path(self) -> bool:
        """Put the line for a path away; False when it was not there."""
        field = self.query_one("#path", Input)
        was = bool(field.display)
        field.display = False
        if was:
            self.query_one("#scenarios", OptionList).focus()
        return was

    def action_back(self) -> None:
        """Esc: close the line for a path, else leave."""
        if not self.close_path():
            super().action_back()
