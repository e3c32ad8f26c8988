"""The items that can be drilled, as the schedule needs them: without their texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from question_bank.question import ItemKind
from tutor.drills.log import DrillError

if TYPE_CHECKING:
    from question_bank import Question
    from question_bank.load import Bank

_TRIES: Final = 25


@dataclass(frozen=True, slots=True)
class DrillItem:
    """One item of the bank."""

    id: str
    kind: ItemKind
    version: int
    title: str
    topics: tuple[str, ...]
    lesson_id: str
    difficulty: int
    minutes: float
    section: str = ""
    """Of its lesson; empty where it is bound to none."""

    @property
    def group(self) -> str:
        """Siblings, of which one a day is asked: items on one section of a lesson about exactly the same topics.

        One gives away what the next one asks. An item bound to no section has no siblings.
        """
        return f"{self.lesson_id}|{self.section}|{','.join(sorted(self.topics))}" if self.section else self.id


class Deck:
    """All items in reading order, with the bank they come from where there is one."""

    def __init__(self, items: Iterable[DrillItem], bank: Bank | None = None) -> None:
        self.items = tuple(items)
        self.bank = bank
        self.by_id: Mapping[str, DrillItem] = {item.id: item for item in self.items}
        self.by_lesson: dict[str, list[DrillItem]] = {}
        for item in self.items:
            self.by_lesson.setdefault(item.lesson_id, []).append(item)

    @classmethod
    def from_bank(cls, bank: Bank) -> Deck:
        """Every item of a bank."""
        return cls(
            (
                DrillItem(
                    id=item.id,
                    kind=item.kind,
                    version=item.version,
                    title=item.title,
                    topics=tuple(item.topics),
                    lesson_id=lesson.id,
                    difficulty=item.difficulty,
                    minutes=item.minutes,
                    section=item.section or "",
                )
                for lesson in bank.lessons
                for item in lesson.items
            ),
            bank,
        )

    def item(self, item_id: str) -> DrillItem:
        """The item with this id.

        Raises:
            DrillError: the bank has none.
        """
        found = self.by_id.get(item_id)
        if found is None:
            from difflib import get_close_matches

            near = get_close_matches(item_id, self.by_id, n=1, cutoff=0.4)
            hint = f"Did you mean {near[0]}?" if near else "'tutor bank list' shows what there is."
            raise DrillError(f"There is no item {item_id}.", hint=hint)
        return found

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """All topics, in the order in which they are first met."""
        return tuple(dict.fromkeys(topic for item in self.items for topic in item.topics))

    @cached_property
    def fingerprint(self) -> str:
        """Changes when an item comes, goes, moves, or changes in anything the schedule looks at."""
        digest = hashlib.sha256()
        for item in self.items:
            digest.update(f"{item.id}\x1f{item.version}\x1f{item.kind}\x1f{item.group}\n".encode())
        return digest.hexdigest()

    def draw(self, item_id: str, count: int, last_numbers: str) -> tuple[int, str, Question | None]:
        """The seed of the `count`-th presentation, its numbers' digest, and the question.

        The numbers are others than the last ones wherever the item can be drawn with others.
        """
        if self.bank is None:
            return variant_seed(item_id, count), "", None
        from question_bank.variants import build_question

        item = self.bank.item(item_id)
        first = variant_seed(item_id, count)
        question = build_question(item, first)
        for attempt in range(1, _TRIES):
            if not numbers_of(question) or numbers_of(question) != last_numbers:
                break
            question = build_question(item, variant_seed(item_id, count, attempt))
        return question.seed, numbers_of(question), question


def variant_seed(item_id: str, count: int, attempt: int = 0) -> int:
    """The seed of an item's numbers at its `count`-th presentation; never 0, which gives the lesson's own numbers."""
    digest = hashlib.sha256(f"numbers:{item_id}:{count}:{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % (2**31 - 1) + 1


def numbers_of(question: Question) -> str:
    """A digest of the numbers a question states; empty when it states none."""
    if not question.givens:
        return ""
    text = ";".join(f"{given.name}={given.value!r}" for given in sorted(question.givens, key=lambda each: each.name))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
