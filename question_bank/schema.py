"""What a pack's files may contain: the pack itself, its lessons, further items, topics and sources."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from question_bank.schema_items import (
    AnyItem,
    Checkpoint,
    Exercise,
    Formula,
    Frozen,
    Item,
    ItemId,
    Line,
    Name,
    Number,
    OpenItem,
    Parameter,
    Prediction,
    Probe,
    Recall,
    Slug,
    Text,
)

__all__ = [
    "AnyItem",
    "Checkpoint",
    "Exercise",
    "Figure",
    "Formula",
    "Item",
    "ItemFile",
    "Lesson",
    "Misconception",
    "OpenItem",
    "Pack",
    "Parameter",
    "Prediction",
    "Probe",
    "Recall",
    "Section",
    "Source",
    "SourcesFile",
    "Topic",
    "TopicsFile",
]


_DATE = r"^\d{4}(-\d{2}(-\d{2})?)?$"


def _as_written(value: object) -> object:
    """YAML makes a number of 2024 and a date of 2024-07-23; here both are text."""
    return value.isoformat() if isinstance(value, date) else str(value) if type(value) is int else value


class Figure(Frozen):
    """A worked number of a section: it stands in the text, and a formula gives it."""

    shown: Line
    """As it stands in the text; the number in it is compared to the last digit shown."""
    formula: Formula
    """In the unit shown, over the lesson's `values`."""


class Section(Frozen):
    id: Slug
    title: Line
    text: Text
    """Markdown."""
    figures: tuple[Figure, ...] = ()
    given: tuple[Number, ...] = ()
    """Numbers that the text states without working them out: made up for teaching, or from a source."""
    sources: tuple[Slug, ...] = ()


class Misconception(Frozen):
    id: Slug
    belief: Line
    correction: Text
    check: Text
    """What to look at, to see that the belief is wrong."""


class Source(Frozen):
    id: Slug | None = None
    """By which sections and items name it; unique in its pack."""
    name: Line
    section: Line | None = None
    """Where in it: a heading, a table, a file."""
    date: Annotated[str, BeforeValidator(_as_written), StringConstraints(pattern=_DATE)] | None = None
    """When it was published, or read where it has no date: 2024, 2024-07 or 2024-07-23."""
    url: Annotated[str, StringConstraints(pattern=r"^https://[^\s]+$", max_length=300)]
    supports: Text
    """What it stands for, and what it does not."""


class Lesson(Frozen):
    id: ItemId
    """`<pack>/<lesson>`; the ids of its items begin with it."""
    title: Line
    objective: Line
    minutes: Number = Field(gt=0, le=240)
    prerequisites: tuple[ItemId, ...] = ()
    """Ids of lessons to read first."""
    evidence_class: Line
    counts: tuple[Line, ...] = Field(default=(), max_length=40)
    """Names of things counted here that may be units beside the common ones, such as `pages`."""
    values: dict[Name, Formula] = Field(default_factory=dict, max_length=100)
    """Numbers that its figures are worked out from; each may use those above it."""
    sections: tuple[Section, ...] = Field(min_length=1)
    misconceptions: tuple[Misconception, ...] = ()
    items: tuple[Item, ...] = ()
    """More may stand in files of the pack's folder `items`."""
    wrap_up: Text
    sources: tuple[Source, ...] = ()

    @model_validator(mode="after")
    def _items_belong_here(self) -> Lesson:
        _all_belong(self.items, self.id)
        return self

    def items_of(self, kind: str) -> Iterator[AnyItem]:
        """The lesson's items of one kind, in order."""
        return (item for item in self.items if item.kind == kind)

    def items_on(self, section_id: str) -> Iterator[AnyItem]:
        """The items bound to one section, in order."""
        return (item for item in self.items if item.section == section_id)


def _all_belong(items: tuple[Item, ...], lesson_id: str) -> None:
    for item in items:
        if not item.id.startswith(f"{lesson_id}/"):
            raise ValueError(f"item id {item.id!r} must begin with the lesson's id {lesson_id!r} and a slash")


class ItemFile(Frozen):
    """Further items of one lesson, in a file of their own below the pack's folder `items`."""

    lesson: ItemId
    items: tuple[Item, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _items_belong_here(self) -> ItemFile:
        _all_belong(self.items, self.lesson)
        return self


class Topic(Frozen):
    """What a question is about; practice is balanced over topics."""

    id: Slug
    title: Line
    prerequisites: tuple[Slug, ...] = ()
    """Topics to know first."""


class TopicsFile(Frozen):
    """topics.yaml of a pack: with it, items may name no other topic."""

    topics: tuple[Topic, ...] = Field(min_length=1, max_length=300)

    @model_validator(mode="after")
    def _each_once_and_in_order(self) -> TopicsFile:
        seen: set[str] = set()
        for topic in self.topics:
            if topic.id in seen:
                raise ValueError(f"topic {topic.id!r} stands twice; remove one")
            for needed in topic.prerequisites:
                if needed not in seen:
                    raise ValueError(f"topic {topic.id!r} needs {needed!r}, which does not stand above it")
            seen.add(topic.id)
        return self


class SourcesFile(Frozen):
    """sources.yaml of a pack: sources that several lessons share."""

    sources: tuple[Source, ...] = Field(min_length=1, max_length=300)


class Pack(Frozen):
    id: Slug
    """First part of the ids of its lessons."""
    title: Line
    description: Text
    licence: Line
    lessons: tuple[Slug, ...] = Field(min_length=1)
    """File names without .yaml, in reading order."""
