"""What an interview asks: items with the seeds of their numbers, in order."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from question_bank.schema import Lesson

Mode = Literal["study", "interview"]


class PlanEntry(BaseModel):
    """One item and the seed of its numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    item_id: Annotated[str, Field(min_length=1)]
    seed: Annotated[int, Field(ge=0)]


class Plan(BaseModel):
    """What is asked and how: `study` coaches after each answer, `interview` is silent until the end."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    """What it was made from, such as a lesson's or an item's id."""
    title: str
    mode: Mode = "study"
    entries: Annotated[tuple[PlanEntry, ...], Field(min_length=1)]


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
