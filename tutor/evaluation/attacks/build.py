"""All attack strings on one question, from a seed."""

from __future__ import annotations

import random
from typing import Literal

from pydantic import BaseModel, ConfigDict

from question_bank import Question
from rubrics import CriterionId
from tutor.evaluation.attacks.on_evidence import CONTRADICTING, EVIDENCE_PATTERNS
from tutor.evaluation.attacks.patterns import CONTRADICTS, PATTERNS


class Attack(BaseModel):
    """One string. `aims` is the criterion that it must not earn, None where it must earn none at all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    family: Literal["pattern", "evidence"]
    pattern: str
    """Name of the pattern, with its number where it has one."""
    wording: int
    text: str
    aims: CriterionId | None = None
    contradicts: bool = False
    """Whether it states something else than a right answer, so that it may cost that answer a point."""


def attacks_on(question: Question, seed: int) -> tuple[Attack, ...]:
    """The strings of all patterns for one question; the same question and seed give the same strings.

    Raises nothing; a question without criteria (a checkpoint) has no attacks.
    """
    if not question.criteria:
        return ()
    found: list[Attack] = []
    for number, name, make in PATTERNS:
        rng = random.Random(f"{seed}/{number}/{question.item_id}")
        found += [
            Attack(
                family="pattern", pattern=f"{number:02} {name}", wording=n, text=text, contradicts=number in CONTRADICTS
            )
            for n, text in enumerate(make(rng, question), 1)
        ]
    for name, make_evidence in EVIDENCE_PATTERNS:
        rng = random.Random(f"{seed}/{name}/{question.item_id}")
        found += [
            Attack(family="evidence", pattern=name, wording=n, text=text, aims=aims, contradicts=name in CONTRADICTING)
            for n, (text, aims) in enumerate(make_evidence(rng, question), 1)
        ]
    return tuple(found)
