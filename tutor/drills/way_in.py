"""Another way in, for an item that keeps being forgotten: asking the same once more does not help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tutor.drills.deck import Deck, DrillItem
from tutor.drills.fold import CardState

WayInKind = Literal["worked_example", "easier_item", "prerequisite", "lesson"]


@dataclass(frozen=True, slots=True)
class WayIn:
    """What to look at before the item is asked again."""

    kind: WayInKind
    target: str
    """The item whose solution is to be read or that is to be answered, or the lesson to be read."""
    words: str
    """One sentence for the candidate."""
    choices: tuple[tuple[WayInKind, str], ...] = ()
    """All there are, this one first."""


def way_in(item: DrillItem, card: CardState, deck: Deck) -> WayIn:
    """Another way into an item; a different one each time it is told, as far as there are several.

    A worked example (the item's own solution, with other numbers than the next to be asked), an easier item of
    its lesson that shares a topic, a lesson that is a prerequisite, the lesson itself.
    """
    ways: list[tuple[WayInKind, str, str]] = []
    times = f"This was forgotten {card.lapses} times"
    if item.kind in ("exercise", "prediction", "probe"):
        ways.append(("worked_example", item.id, f"{times}: read its worked example before it is asked again."))
    shared = set(item.topics)
    easier = [
        each
        for each in deck.by_lesson[item.lesson_id]
        if each.difficulty < item.difficulty and shared & set(each.topics)
    ]
    if easier:
        near = max(easier, key=lambda each: (len(shared & set(each.topics)), each.difficulty))
        ways.append(("easier_item", near.id, f"{times}: take the easier “{near.title}” first."))
    if deck.bank is not None:
        ways += [
            ("prerequisite", lesson_id, f"{times}: it builds on “{_title(deck, lesson_id)}”; read that.")
            for lesson_id in deck.bank.lesson_of(item.id).prerequisites
        ]
    ways.append(("lesson", item.lesson_id, f"{times}: read its lesson once more."))
    at = max(0, (card.lapses - 4) // 2) % len(ways)
    ways = [*ways[at:], *ways[:at]]
    kind, target, words = ways[0]
    return WayIn(kind, target, words, tuple((each[0], each[1]) for each in ways))


def _title(deck: Deck, lesson_id: str) -> str:
    assert deck.bank is not None
    return next((lesson.title for lesson in deck.bank.lessons if lesson.id == lesson_id), lesson_id)
