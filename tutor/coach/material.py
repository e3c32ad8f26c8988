"""What the tutor may draw on: the paragraphs of the lessons, found by the words of a question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tutor.grading.text import content_words

if TYPE_CHECKING:
    from question_bank import Bank

COVERED_FROM: Final = 0.5
"""Share of a question's content, weighted by rarity, that a passage must hold to answer it."""
HOME_BONUS: Final = 1.15
"""Passages of the lesson at hand come before equally good ones of others."""
_ASKING: Final = frozenset(
    content_words(
        "mean meant explain tell please help understand know give difference example question answer term word "
        "concept define definition describe show work exactly again simple simply quickly lesson section hint result "
        "solution number value correct right wrong guess check just stuck compute calculate grandmother pretend"
    )
)
"""Words of asking, which say nothing about the matter."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One paragraph, table or list of a lesson."""

    lesson_id: str
    lesson_title: str
    section_id: str
    section_title: str
    text: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Found:
    """A passage and how much of the question it holds, 0 to 1."""

    passage: Passage
    share: float


class Material:
    """The passages of a bank's lessons."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)

    @classmethod
    def of(cls, bank: Bank) -> Material:
        """All lessons of all packs."""
        blocks = (
            (lesson, section, block.strip())
            for lesson in bank.lessons
            for section in lesson.sections
            for block in section.text.split("\n\n")
        )
        return cls(
            Passage(lesson.id, lesson.title, section.id, section.title, block, words)
            for lesson, section, block in blocks
            if (words := matter(f"{section.title} {block}"))
        )

    @cached_property
    def _rarity(self) -> dict[str, float]:
        counts = Counter(word for passage in self.passages for word in passage.words)
        total = len(self.passages)
        return {word: math.log((total + 1) / count) for word, count in counts.items()}

    def find(self, asked: str, lesson_id: str, most: int = 3) -> list[Found]:
        """The passages that hold most of what is asked, best first; those below `COVERED_FROM` are left out.

        A word that no lesson has counts as much as the rarest one, so that a question about something else finds
        nothing.
        """
        words = matter(asked) - _ASKING
        if not words:
            return []
        unknown = math.log(len(self.passages) + 1)
        weights = {word: self._rarity.get(word, unknown) for word in words}
        total = sum(weights.values())
        ranked: list[tuple[float, int, Found]] = []
        for number, passage in enumerate(self.passages):
            share = sum(weight for word, weight in weights.items() if word in passage.words) / total
            if share >= COVERED_FROM:
                order = share * (HOME_BONUS if passage.lesson_id == lesson_id else 1.0)
                ranked.append((-order, number, Found(passage, share)))
        return [found for _, _, found in sorted(ranked, key=lambda each: each[:2])[:most]]


def matter(text: str) -> frozenset[str]:
    """The stems of a text's content words."""
    return frozenset(content_words(text))
