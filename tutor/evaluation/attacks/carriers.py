"""The answers that attacks are put into: an empty one, one that earns some points, and a right one."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from question_bank import Question

CarrierKind = Literal["empty", "partial", "right"]


class Carrier(BaseModel):
    """An answer without an attack."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: CarrierKind
    text: str


def _joined(question: Question, met: frozenset[str]) -> str:
    parts = [g.met_example if c in met else g.nearly_example for c, g in question.criteria.items()]
    return "\n".join(" ".join(part.split()) for part in parts)


def carriers_of(question: Question) -> tuple[Carrier, ...]:
    """Empty, partly right (result and reasoning as the item's examples have them, the rest nearly), and right."""
    whole = next((e.text for e in question.example_answers if len(e.met) == len(question.criteria)), "")
    return (
        Carrier(kind="empty", text=""),
        Carrier(kind="partial", text=_joined(question, frozenset({"result", "reasoning"}))),
        Carrier(kind="right", text=whole or _joined(question, frozenset(question.criteria))),
    )


def carry(carrier: Carrier, attack: str, *, before: bool = False) -> str:
    """The carrier with the attack after it, or before it; an empty carrier is the attack alone."""
    if not carrier.text:
        return attack
    return f"{attack}\n\n{carrier.text}" if before else f"{carrier.text}\n\n{attack}"
