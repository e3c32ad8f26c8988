"""Which numbers a sentence of the tutor may hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tutor.grading.chains import read_chains
from tutor.grading.markup import plain
from tutor.grading.numbers import Read, read_folded, read_quantities
from tutor.grading.quantities import Asked, alike, close, equals, quantity_unit
from tutor.grading.text import fold

if TYPE_CHECKING:
    from question_bank import Question

NEAR = 0.015
"""A number this close to a result gives it away."""


class Figures:
    """The numbers of one question, and what else was said with numbers."""

    def __init__(self, question: Question, said: Iterable[str] = ()) -> None:
        """`said` are texts whose numbers may be repeated: the candidate's own, and passages of the lesson."""
        self.question = question
        told = [read for text in (question.prompt, *said) for read in read_quantities(text)]
        self._told = tuple(told)
        stated = read_quantities(question.prompt)
        asked: tuple[Asked, ...] = (*question.expected, *question.derived)
        self._hidden = tuple(each for each in asked if not any(equals(read, each) for read in stated))

    def gives_away(self, sentence: str, also_told: Iterable[str] = ()) -> bool:
        """Whether a sentence states a result or a step of it, or a sum that comes to one.

        Numbers of `also_told`, such as the candidate's answer, give nothing away.
        """
        own = [read for text in also_told for read in read_quantities(text)]
        reads = read_quantities(sentence)
        new = [read for read in reads if not any(alike(read, each) for each in own)]
        if any(equals(read, quantity, NEAR) for read in new for quantity in self._hidden):
            return True
        folded = plain(fold(sentence))
        inner = read_folded(folded)
        for chain in read_chains(folded.text, inner):
            factors = {1.0, *(inner[index].factor for index in chain.indexes)}
            for quantity in self._hidden:
                per_unit = quantity_unit(quantity).factor
                if close(chain.value, quantity, NEAR) or any(
                    close(chain.value * factor / per_unit, quantity, NEAR) for factor in factors
                ):
                    return True
        return False

    def unknown(self, sentence: str) -> tuple[Read, ...]:
        """The numbers of a sentence that are neither the question's nor said before: nobody has checked them."""
        question = self.question
        asked: tuple[Asked, ...] = (*question.givens, *question.expected, *question.derived)
        return tuple(
            read
            for read in read_quantities(sentence)
            if not any(equals(read, quantity, NEAR) for quantity in asked)
            and not any(alike(read, told) for told in self._told)
        )


def without_numbers(text: str) -> str:
    """A text with every number, in digits or in words, replaced by an ellipsis."""
    parts, at = [], 0
    for read in sorted(read_quantities(text), key=lambda each: each.start):
        if read.start < at:
            continue
        parts += [text[at : read.start], "…"]
        at = read.end
    kept = "".join([*parts, text[at:]])
    return "".join("…" if char.isdigit() else char for char in kept)


def has_numbers(text: str) -> bool:
    """Whether a text holds a number, in digits or in words."""
    return any(char.isdigit() for char in text) or bool(read_quantities(text))
