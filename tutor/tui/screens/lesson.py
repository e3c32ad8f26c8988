"""Reading a lesson section by section, from where one stopped."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tutor.errors import TutorError
from tutor.interview.reading import last_section, lesson_opened, section_read
from tutor.tui.bindings import bindings
from tutor.tui.prose import Prose
from tutor.tui.safe import one_line
from tutor.tui.screens.base import TutorScreen

if TYPE_CHECKING:
    from question_bank.schema import Lesson


class LessonScreen(TutorScreen):
    """A list of sections at the left, the section at the right; below each other when narrow."""

    CSS_PATH = "lesson.tcss"
    PLACE = "Lesson"
    PURPOSE = (
        "A lesson in sections. → and ← turn the pages, the list jumps; where you stop is remembered. After each "
        "section two or three questions on it can be asked (k) or an exercise done (e); the interview (i) is on more."
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "next-section", "previous-section", "quiz", "exercise", "interview-lesson"
    )

    def __init__(self, lesson: Lesson) -> None:
        super().__init__()
        self.lesson = lesson
        self.index = 0
        self.pages = lesson_pages(lesson)

    def place(self) -> str:
        return f"Lesson · {self.lesson.title} · {self.index + 1} of {len(self.pages)}"

    def body(self) -> ComposeResult:
        with Horizontal(id="columns"):
            yield OptionList(
                *(Option(Content(one_line(f"{n} {title}"))) for n, (title, _) in enumerate(self.pages, 1)),
                id="sections",
                markup=False,
            )
            with VerticalScroll(id="page", can_focus=True):
                yield Prose(id="text")

    async def on_mount(self) -> None:
        assert self.tutor.store is not None
        stopped_at = last_section(self.tutor.store, self.lesson.id)
        ids = [section.id for section in self.lesson.sections]
        start = ids.index(stopped_at) if stopped_at in ids else 0
        with suppress(TutorError):
            lesson_opened(self.tutor.store, self.lesson.id, self.tutor.clock())
        self.query_one("#page").focus()
        await self.show_page(start)

    async def show_page(self, index: int) -> None:
        """Turn to a page and remember it."""
        self.index = max(0, min(index, len(self.pages) - 1))
        title, text = self.pages[self.index]
        await self.query_one("#text", Prose).show(f"## {title}\n\n{text}")
        self.query_one("#page", VerticalScroll).scroll_home(animate=False)
        sections = self.query_one("#sections", OptionList)
        with sections.prevent(OptionList.OptionHighlighted):
            sections.highlighted = self.index
        self.retitle()
        self.refresh_bindings()
        assert self.tutor.store is not None
        if self.index < len(self.lesson.sections):
            section = self.lesson.sections[self.index]
            with suppress(TutorError):  # a place that cannot be remembered must not keep anyone from reading
                section_read(self.tutor.store, self.lesson.id, section.id, self.tutor.clock())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "section":
            step = parameters[0] if parameters and isinstance(parameters[0], int) else 0
            return 0 <= self.index + step < len(self.pages) or None
        if action == "quiz":
            return any(self.lesson.items_on(self.section_id))
        if action == "exercise":
            return bool(self.exercises())
        return True

    @on(OptionList.OptionSelected, "#sections")
    async def jump(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click on a section."""
        await self.show_page(event.option_index)
        self.query_one("#page").focus()

    async def action_section(self, step: int) -> None:
        """Turn the page."""
        await self.show_page(self.index + step)

    def action_quiz(self) -> None:
        """Two or three questions on the section in sight."""
        self.tutor.start_quiz(self.lesson.id, self.section_id)

    def action_exercise(self) -> None:
        """An exercise on the section in sight: one not asked yet, else the one asked longest ago."""
        from tutor.interview.past import past_of

        assert self.tutor.store is not None
        seen = past_of(self.tutor.store).seen
        exercises = self.exercises()
        fresh = [item_id for item_id in exercises if item_id not in seen]
        if exercises:
            self.tutor.start_item(fresh[0] if fresh else max(exercises, key=seen.index))

    def action_start_interview(self) -> None:
        """The plans, with the one on this lesson chosen."""
        self.tutor.choose_plan(self.lesson.id, self.lesson.id)

    @property
    def section_id(self) -> str:
        """The section in sight; empty on the pages after the last one."""
        sections = self.lesson.sections
        return sections[self.index].id if self.index < len(sections) else ""

    def exercises(self) -> list[str]:
        """Ids of the exercises bound to the section in sight."""
        return [item.id for item in self.lesson.items_on(self.section_id) if item.kind == "exercise"]


def lesson_pages(lesson: Lesson) -> list[tuple[str, str]]:
    """The sections, and at the end what is mistaken, what to keep, and where it comes from."""
    pages = [(section.title, section.text) for section in lesson.sections]
    if lesson.misconceptions:
        text = "\n\n".join(f"**“{m.belief}”**\n\n{m.correction}\n\n*Check:* {m.check}" for m in lesson.misconceptions)
        pages.append(("Misconceptions", text))
    sources = "\n".join(f"- {source.name} ({source.url}): {source.supports}" for source in lesson.sources)
    closing = [lesson.wrap_up, f"Evidence class: {lesson.evidence_class}"]
    if sources:
        closing.append(f"Sources\n\n{sources}")
    pages.append(("Wrap-up and sources", "\n\n".join(closing)))
    pages[0] = (pages[0][0], f"*{lesson.objective}*\n\n{pages[0][1]}")
    return pages
