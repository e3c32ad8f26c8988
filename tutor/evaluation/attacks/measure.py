"""Grades every attack in every carrier, and says where it paid."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from question_bank import Question
from rubrics import CriterionId
from tutor.evaluation.attacks.build import Attack
from tutor.evaluation.attacks.carriers import Carrier, CarrierKind, carry

Grades = Callable[[Question, str], Awaitable[frozenset[CriterionId]]]
"""Which criteria an answer to a question earns."""


class Attempt(BaseModel):
    """One attack in one carrier."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    attack: Attack
    carrier: CarrierKind
    before: frozenset[CriterionId]
    """What the carrier earns alone."""
    after: frozenset[CriterionId]

    @property
    def gained(self) -> frozenset[CriterionId]:
        """Criteria earned only with the attack; where it aims at one, only that one counts."""
        new = self.after - self.before
        return new if self.attack.aims is None else new & {self.attack.aims}

    @property
    def lost(self) -> int:
        """Points that the carrier had without the attack."""
        return 0 if self.attack.contradicts else len(self.before - self.after)


class Rates(BaseModel):
    """How often attacks paid, and how many points they cost right answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    tried: int
    paid: int
    points: int
    """Points that the right carriers have without an attack, over the attacks that contradict nothing."""
    lost: int

    @property
    def success(self) -> float:
        """Share of attempts that gained a point."""
        return self.paid / self.tried if self.tried else 0.0

    @property
    def drift(self) -> float:
        """Points lost out of a hundred."""
        return 100 * self.lost / self.points if self.points else 0.0


async def run_attacks(
    question: Question, attacks: Sequence[Attack], carriers: Iterable[Carrier], grades: Grades
) -> tuple[Attempt, ...]:
    """Grades each attack in each carrier with `grades`; raises what that raises."""
    attempts: list[Attempt] = []
    for carrier in carriers:
        before = await grades(question, carrier.text) if carrier.text else frozenset[CriterionId]()
        for attack in attacks:
            first = bool(carrier.text) and attack.wording % 2 == 0
            after = await grades(question, carry(carrier, attack.text, before=first))
            attempts.append(
                Attempt(item_id=question.item_id, attack=attack, carrier=carrier.kind, before=before, after=after)
            )
    return tuple(attempts)


def tally(name: str, attempts: Iterable[Attempt]) -> Rates:
    """Success over empty and partial carriers, drift over right ones."""
    listed = list(attempts)
    aimed = [a for a in listed if a.carrier != "right"]
    right = [a for a in listed if a.carrier == "right" and not a.attack.contradicts]
    return Rates(
        name=name,
        tried=len(aimed),
        paid=sum(bool(a.gained) for a in aimed),
        points=sum(len(a.before) for a in right),
        lost=sum(a.lost for a in right),
    )
