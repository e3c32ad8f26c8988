"""Questions for the grader from texts alone, where no bank stands behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from question_bank.question import CriterionGuide, Expected, ItemKind, Quantity, Question
from rubrics import CRITERION_IDS, CriterionId
from tutor.grading.numbers import Read, read_quantities
from tutor.grading.quantities import equals

VAGUE_ANSWER = "It depends on the details; I would have to look into it."
"""Stands for an answer that nearly earns a point where the source gives none: on the matter, and empty."""
_LABEL_WORDS = 4


def plain_question(
    identity: str,
    prompt: str,
    guides: Mapping[CriterionId, CriterionGuide],
    expected: Sequence[Expected] = (),
    *,
    kind: ItemKind = "probe",
    reference: str = "",
) -> Question:
    """A question with given texts and numbers.

    The numbers of the prompt become its givens, and numbers of the guides that are neither given nor asked for
    become steps of the derivation. A criterion without a guide gets one that says nothing.
    """
    told = [g.statement for g in guides.values()]
    complete = {c: guides.get(c, EMPTY_GUIDE) for c in CRITERION_IDS}
    givens = _quantities(prompt, "given", ())
    derived = _quantities(" \n".join(told), "step", (*givens, *expected)) if expected else ()
    return Question(
        item_id=identity,
        item_version=1,
        kind=kind,
        seed=0,
        title=identity,
        topics=(),
        difficulty=1,
        minutes=5,
        prompt=prompt,
        parameters={},
        givens=givens,
        expected=tuple(expected),
        slips=(),
        derived=derived,
        criteria=complete,
        follow_ups=(),
        weak_indicators=(),
        hints=(),
        reference=reference or "\n\n".join(told),
        example_answers=(),
        options=(),
        simulation=None,
    )


def guide(statement: str, met: str = "", nearly: str = VAGUE_ANSWER, points: Sequence[str] = ()) -> CriterionGuide:
    """A criterion's guide from its reference text; the text itself is the example that earns the point."""
    return CriterionGuide(
        statement=statement,
        key_points=tuple(points) or (statement,),
        not_enough=(),
        met_example=met or statement,
        nearly_example=nearly,
    )


EMPTY_GUIDE = CriterionGuide(statement="", key_points=(), not_enough=(), met_example="", nearly_example="")


def _quantities(text: str, prefix: str, known: Sequence[Quantity | Expected]) -> tuple[Quantity, ...]:
    """Each different number that a text states and that is none of `known`, called by the words before it."""
    found: list[Quantity] = []
    for read in read_quantities(text):
        if any(equals(read, other) for other in (*known, *found)):
            continue
        label = _words_before(text, read) or f"{prefix} {len(found) + 1}"
        found.append(Quantity(name=f"{prefix}_{len(found) + 1}", label=label, value=read.value, unit=read.unit))
    return tuple(found)


def _words_before(text: str, read: Read) -> str:
    words = text[: read.start].split()[-_LABEL_WORDS:]
    return " ".join(word.strip(".,;:()") for word in words).strip()
