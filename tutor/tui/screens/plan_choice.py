"""Choosing what an interview asks: a screen, a loop, weak topics, or a lesson; by seed where a coach wants it again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar, get_args

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from tutor.errors import TutorError
from tutor.interview.plan import Mode, Plan
from tutor.tui.bindings import bindings
from tutor.tui.safe import Line, one_line
from tutor.tui.screens.base import TutorScreen
from tutor.tui.words import clip_cells, pad, plural

if TYPE_CHECKING:
    from tutor.interview.past import Past

TITLE_WIDTH = 42
BESIDE_TITLE = 26
"""Columns of a row that are not the title: count and minutes, padding, the space before."""
MAX_SEED_DIGITS = 9


class PlanScreen(TutorScreen):
    """A list of plans; what the highlighted one asks stands below."""

    CSS_PATH = "plan_choice.tcss"
    PLACE = "Interview plans"
    PURPOSE = (
        "Choose what the interview asks; Enter begins it. A plan is balanced over topics and difficulty, fits its "
        "time, and leaves out what was asked lately. With a seed (Tab leads to it) it is the same for everyone: the "
        "same questions with the same numbers, whatever was asked before and however the answers go. Without one, two "
        "good answers in a row make the next question harder, two poor ones easier."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings("start-plan", "plan-mode")

    def __init__(self, lesson_id: str, chosen: str) -> None:
        """`lesson_id` says from which pack; `chosen` is the plan that is highlighted first."""
        super().__init__()
        self.lesson_id = lesson_id
        self.chosen = chosen
        self.mode: Mode = "study"
        self.drawn_seed = 0
        self.past: Past | None = None
        self.plans: dict[str, Plan] = {}

    def place(self) -> str:
        return f"{self.PLACE} · {self.mode} mode"

    def body(self) -> ComposeResult:
        yield OptionList(id="plans", markup=False)
        yield Line(id="asks")
        yield Input(
            placeholder="Seed (empty: drawn; a number: the same for everyone)",
            type="integer",
            restrict=r"\d*",
            max_length=MAX_SEED_DIGITS,
            id="seed",
        )

    def on_mount(self) -> None:
        from tutor.interview.past import past_of
        from tutor.tui.app import new_seed

        assert self.tutor.store is not None
        self.mode = self.tutor.settings.mode
        self.drawn_seed = new_seed()
        self.past = past_of(self.tutor.store)
        self.show_plans()
        self.query_one("#plans").focus()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        if self.past is not None:
            self.show_plans()

    # --- what is shown ----------------------------------------------------------------------------------------

    def show_plans(self) -> None:
        """Draw all plans anew, keeping the highlighted one."""
        from tutor.interview.past import Past
        from tutor.interview.plans import make_plan, plan_names

        bank, seed = self.tutor.bank, self.seed
        assert bank is not None
        assert self.past is not None
        options, self.plans = [], {}
        title_width = max(10, min(TITLE_WIDTH, self.size.width - BESIDE_TITLE))
        pack_id = self.lesson_id.split("/")[0]
        for name in plan_names(bank):
            # What was weak is the person's own; all else is the same for everyone when a seed is given.
            past = self.past if seed is None or name == "weak" else Past()
            try:
                self.plans[name] = make_plan(
                    bank, name, self.drawn_seed if seed is None else seed, past=past, mode=self.mode,
                    adaptive=seed is None, pack_id=pack_id,
                )  # fmt: skip
            except TutorError as error:
                label = "Weak topics" if name == "weak" else name
                text = clip_cells(f" {label}: {one_line(error.message)}", max(20, self.size.width - 8))
                options.append(Option(Content.assemble((text, "$secondary")), id=name, disabled=True))
                continue
            plan = self.plans[name]
            counts = f"{plural(len(plan.entries), 'item'):>9} {plan.planned_minutes:>4g} min"
            options.append(Option(Content(f" {pad(one_line(plan.title, title_width), title_width)}{counts}"), id=name))
        plans = self.query_one("#plans", OptionList)
        with plans.prevent(OptionList.OptionHighlighted):
            plans.clear_options()
            plans.add_options(options)
            plans.highlighted = next((n for n, one in enumerate(options) if one.id == self.chosen), 0)
        self.retitle()
        self.show_asks()

    def show_asks(self) -> None:
        """The kinds of the highlighted plan's items; its topics are for the interview to say."""
        plan = self.plans.get(self.chosen)
        if plan is None or self.tutor.bank is None:
            self.query_one("#asks", Line).show("", tone="note")
            return
        kinds = Counter(self.tutor.bank.item(entry.item_id).kind for entry in plan.entries)
        asked = ", ".join(plural(count, kind) for kind, count in kinds.items())
        manner = "silent until the end" if self.mode == "interview" else "coached after each answer"
        if self.seed is not None:
            how = f"seed {self.seed}: the same for everyone."
        elif any(len(entry.choices) > 1 for entry in plan.entries):
            how = "two good or poor answers in a row change the difficulty."
        else:
            how = "the questions are fixed."
        self.query_one("#asks", Line).show(f"Asks {asked}; {manner}; {how}", tone="note")

    @property
    def seed(self) -> int | None:
        """The one that was typed."""
        typed = self.query_one("#seed", Input).value
        return int(typed) if typed.isdecimal() else None

    # --- keys -------------------------------------------------------------------------------------------------

    @on(OptionList.OptionHighlighted, "#plans")
    def another_plan(self, event: OptionList.OptionHighlighted) -> None:
        """Say what it asks."""
        self.chosen = event.option_id or self.chosen
        self.show_asks()

    @on(Input.Changed, "#seed")
    def another_seed(self) -> None:
        """Draw anew."""
        self.show_plans()

    @on(OptionList.OptionSelected, "#plans")
    @on(Input.Submitted, "#seed")
    def begin(self) -> None:
        """Enter, in the list or after the seed."""
        self.action_start()

    def action_start(self) -> None:
        """Begin the highlighted plan; Esc then leads back to where one came from."""
        plan = self.plans.get(self.chosen)
        if plan is not None:
            self.app.pop_screen()
            self.tutor.start_plan(plan)

    def action_change_mode(self) -> None:
        """Coached or silent."""
        modes: tuple[Mode, ...] = get_args(Mode)
        self.mode = modes[(modes.index(self.mode) + 1) % len(modes)]
        self.show_plans()
