"""What an interview asks: items with the seeds of their numbers, in order."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from question_bank.schema import Lesson

Mode = Literal["study", "interview"]


class Alternative(BaseModel):
    """An item that may be asked in another's place, and the seed of its numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    item_id: Annotated[str, Field(min_length=1)]
    seed: Annotated[int, Field(ge=0)]


class PlanEntry(Alternative):
    """One question: an item with the seed of its numbers, and what may be asked in its place."""

    minutes: Annotated[float, Field(gt=0)] | None = None
    """Time for it, whichever of its items is asked; None where no time is kept."""
    easier: Alternative | None = None
    harder: Alternative | None = None

    @property
    def choices(self) -> tuple[Alternative, ...]:
        """The planned item and its alternatives."""
        return (self, *(other for other in (self.easier, self.harder) if other is not None))

    def chosen(self, item_id: str) -> Alternative | None:
        """The one with this item; None when the item is none of them."""
        return next((one for one in self.choices if one.item_id == item_id), None)


class Plan(BaseModel):
    """What is asked and how: `study` coaches after each answer, `interview` is silent until the end."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    """What it was made from, such as a lesson's or an item's id."""
    title: str
    mode: Mode = "study"
    minutes: Annotated[float, Field(gt=0)] | None = None
    """Time for the whole; None where no time is kept."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """What it was drawn with, so that it can be drawn again; None where nothing was drawn."""
    entries: Annotated[tuple[PlanEntry, ...], Field(min_length=1)]

    @property
    def planned_minutes(self) -> float:
        """Sum of the times of the questions that have one."""
        return sum(entry.minutes or 0.0 for entry in self.entries)


def item_seed(seed: int, item_id: str) -> int:
    """The seed of one item's numbers within a plan; does not depend on the other items. Seed 0 stays 0."""
    if seed == 0:
        return 0
    return int.from_bytes(hashlib.sha256(f"{seed}:{item_id}".encode()).digest()[:4], "big")


def lesson_plan(lesson: Lesson, seed: int, *, mode: Mode = "study") -> Plan:
    """All items of a lesson in their order; seed 0 gives every item its default numbers."""
    entries = tuple(PlanEntry(item_id=item.id, seed=item_seed(seed, item.id)) for item in lesson.items)
    return Plan(id=lesson.id, title=lesson.title, mode=mode, entries=entries)


def single_item_plan(item_id: str, seed: int, *, title: str | None = None, mode: Mode = "study") -> Plan:
    """One item, with exactly this seed."""
    return Plan(id=item_id, title=title or item_id, mode=mode, entries=(PlanEntry(item_id=item_id, seed=seed),))
