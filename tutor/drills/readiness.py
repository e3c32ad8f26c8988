"""How much of the material would be answered right on the day of an interview: a range, and what it rests on.

The lower end supposes that nothing is practised from now on, the upper end that the plan is followed. Both are scaled
by how the forecast has done so far: the 95 % interval of the share remembered among the repeated answers, over the
share that FSRS expected of them. With fewer than 20 repeated answers there is no range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from tutor.drills.calibration import ENOUGH, wilson
from tutor.drills.history import counted
from tutor.drills.log import DrillError
from tutor.drills.memory import Rating

if TYPE_CHECKING:
    from tutor.drills.drills import Drills


@dataclass(frozen=True, slots=True)
class Readiness:
    """A range for the share of the items that would be answered right."""

    interview_day: date
    days_left: int
    low: float | None
    high: float | None
    items: int
    asked: int
    basis: tuple[str, ...]
    """Sentences."""


def readiness(drills: Drills, now: datetime, interview_day: date, *, lessons: Sequence[str] = ()) -> Readiness:
    """The readiness for an interview.

    Args:
        drills: of the store.
        now: the time with its offset.
        interview_day: today or later.
        lessons: beginnings of item ids that the interview is about; none: all.

    Raises:
        DrillError: the day is past, or no item belongs to the lessons.
    """
    today = drills.queue.refresh(now)
    days_left = (interview_day - today).days
    if days_left < 0:
        raise DrillError(f"{interview_day} is past.", hint="Give today or a later day.")
    items = [item for item in drills.deck.items if not lessons or item.id.startswith(tuple(lessons))]
    if not items:
        raise DrillError(f"No item belongs to {', '.join(lessons)}.", hint="'tutor bank list' shows what there is.")
    model, settings = drills.cache.model, drills.cache.settings
    cards = {card.state.item_id: card.state for card in drills.cache.cards()}
    idle, kept, fresh = 0.0, 0.0, dict[str, int]()
    asked = 0
    for item in items:
        plan, card = settings.plan_for(item.id), cards.get(item.id)
        if card is None or card.memory is None or card.last_day is None:
            learned = fresh.get(plan.name, 0)
            if learned < plan.new_per_day * days_left and not (card and card.suspended):
                fresh[plan.name] = learned + 1
                kept += plan.desired_retention
            continue
        asked += 1
        left = model.retrievability(card.memory.stability, (interview_day - card.last_day).days)
        idle += left
        kept += left if card.suspended else max(left, plan.desired_retention)
    wanted = {item.id for item in items}
    repeated = [each for each in counted(drills.log, model) if each.expected is not None and each.item_id in wanted]
    basis = [f"{asked} of {len(items)} items were asked so far; one never asked counts as not known."]
    if len(repeated) < ENOUGH:
        basis.append(f"{len(repeated)} answers were repeats; {ENOUGH} are needed to say how well the forecast does.")
        return Readiness(interview_day, days_left, None, None, len(items), asked, tuple(basis))
    remembered = sum(each.rating is not Rating.AGAIN for each in repeated)
    expected = sum(each.expected or 0.0 for each in repeated) / len(repeated)
    low, high = wilson(remembered, len(repeated))
    fitted = "fitted to your answers" if settings.parameters is not None else "FSRS-6's defaults"
    basis += [
        f"Of {len(repeated)} repeated answers {remembered / len(repeated):.0%} were right "
        f"(95 % interval {low:.0%} to {high:.0%}), and {expected:.0%} were expected; parameters: {fitted}.",
        f"Lower end: nothing is practised in the {days_left} days left. "
        f"Upper end: the plan is followed, and {sum(fresh.values())} new items are learned.",
    ]
    return Readiness(
        interview_day,
        days_left,
        low=idle / len(items) * min(1.0, low / expected),
        high=kept / len(items) * min(1.0, high / expected),
        items=len(items),
        asked=asked,
        basis=tuple(basis),
    )
