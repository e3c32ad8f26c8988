"""How much is asked, how often, and until when: a plan for all items or for some lessons."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tutor.drills.day import MAX_ROLLOVER_H
from tutor.drills.memory import MAX_INTERVAL_DAYS, Memory, MemoryModel, fuzzed, spread_days

DEFAULT_PLAN: Final = "all"


class DrillPlan(BaseModel):
    """A plan; the one with the longest fitting prefix counts for an item."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=60)] = DEFAULT_PLAN
    lessons: tuple[Annotated[str, Field(min_length=1, max_length=120)], ...] = ()
    """Packs or lessons it is for, as beginnings of item ids (`serving/prefill-decode`); none: all items."""
    desired_retention: Annotated[float, Field(ge=0.7, le=0.97)] = 0.9
    """The chance to remember at which an item is asked again; work rises steeply towards 0.97."""
    interview_day: date | None = None
    """Every item met before it comes back before it, however long its interval would be."""
    new_per_day: Annotated[int, Field(ge=0, le=1000)] = 10
    reviews_per_day: Annotated[int, Field(ge=1, le=10_000)] = 100
    max_interval_days: Annotated[int, Field(ge=1, le=MAX_INTERVAL_DAYS)] = 90
    """An interview is weeks or months away, not years."""
    fuzz: bool = True
    """Whether intervals are spread a little within FSRS's bounds."""
    rollover_h: Annotated[int, Field(ge=0, le=MAX_ROLLOVER_H)] = 4
    """Hour at which a day begins. Only the plan for all items decides it."""

    @model_validator(mode="after")
    def _is_for_something(self) -> DrillPlan:
        if (self.name == DEFAULT_PLAN) != (not self.lessons):
            raise ValueError(
                f"the plan {DEFAULT_PLAN!r} is for all items, and every other says which lessons it is for"
            )
        return self

    def covers(self, item_id: str) -> int:
        """How closely the plan fits an item: the length of the fitting prefix, 0 for all items, −1 for not at all."""
        if not self.lessons:
            return 0
        fitting = [len(each) for each in self.lessons if item_id == each or item_id.startswith(each.rstrip("/") + "/")]
        return max(fitting, default=-1)

    def interval_days(
        self, model: MemoryModel, memory: Memory, item_id: str, count: int, last_day: date, *, tomorrow: bool = False
    ) -> int:
        """Days from the review on `last_day` until the item is due.

        Args:
            model: FSRS with the parameters in use.
            memory: after that review.
            item_id: seeds the fuzz, with
            count: the number of reviews so far.
            last_day: of the review.
            tomorrow: it was wrong with confidence, so it comes back at once.
        """
        if tomorrow:
            return 1
        days = model.interval_days(memory.stability, self.desired_retention, self.max_interval_days)
        if self.fuzz:
            days = min(fuzzed(days, item_id, count), self.max_interval_days)
        if self.interview_day is not None:
            left = (self.interview_day - last_day).days - 1
            if left >= 1:
                days = min(days, left - (spread_days(left, item_id, count) if self.fuzz else 0))
        return days


def plan_for(plans: Iterable[DrillPlan], item_id: str) -> DrillPlan:
    """The plan that fits an item most closely; the defaults where none does."""
    best, fit = DrillPlan(), -1
    for plan in plans:
        covers = plan.covers(item_id)
        if covers > fit:
            best, fit = plan, covers
    return best
