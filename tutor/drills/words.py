"""One line on when an item returns and why: the same words on every face."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tutor.drills.memory import Rating

if TYPE_CHECKING:
    from tutor.drills.drills import Answered


def return_line(answered: Answered) -> str:
    """When an answered item is asked again and why, such as "wrong though confident: tomorrow, other numbers"."""
    card = answered.card
    if answered.outcome.rating is None:
        return "not counted: asked again today"
    missed = answered.outcome.rating is Rating.AGAIN
    if answered.due_day is None or answered.days is None:
        return "not counted"
    when = "tomorrow" if answered.days == 1 else f"in {answered.days} days, on {answered.due_day}"
    if answered.presentation.numbers:
        when += ", other numbers"
    if not answered.counts:
        return f"wrong: once more today, then {when}" if missed and card.unsettled_day else f"as before: {when}"
    if missed:
        return f"{'wrong though confident' if card.confident_wrong else 'wrong'}: once more today, then {when}"
    return f"right ({answered.outcome.rating.name.capitalize()}): {when}"
