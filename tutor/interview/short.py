"""Short plans: an interview of about half an hour on a lesson, and a quiz on one of its sections.

A lesson may hold a hundred items, which is a course and not an interview. A short plan takes one item of each kind in
turn, in the order in which an interviewer would (an exercise, a probe, a checkpoint, a prediction, a recall), prefers
topics that it does not have yet, and stops where the next item would go beyond the time. What it takes depends on the
seed alone, so that a coach can ask two candidates the same.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tutor.interview.plan import Mode, Plan, PlanEntry, item_seed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from question_bank.schema import AnyItem, Lesson

KIND_ORDER = ("exercise", "probe", "checkpoint", "prediction", "recall")
MINUTES = 25.0
QUIZ_ITEMS = 3
_QUIZ_KINDS = ("checkpoint", "recall", "probe", "exercise", "prediction")


def short_plan(lesson: Lesson, seed: int, *, minutes: float = MINUTES, mode: Mode = "study") -> Plan:
    """An interview on a lesson that fits into `minutes`, by the items' own times; at least one item."""
    drawn = _shuffled(lesson.items, seed, lesson.id)
    waiting = {kind: [item for item in drawn if item.kind == kind] for kind in KIND_ORDER}
    taken: list[AnyItem] = []
    topics: set[str] = set()
    left = minutes
    while any(waiting.values()):
        before = len(taken)
        for kind in KIND_ORDER:
            fitting = [item for item in waiting[kind] if item.minutes <= left or not taken]
            if not fitting:
                waiting[kind] = []
                continue
            # Of those that fit, the first with a topic that is not there yet.
            item = next((item for item in fitting if not topics & set(item.topics)), fitting[0])
            waiting[kind].remove(item)
            taken.append(item)
            topics |= set(item.topics)
            left -= item.minutes
        if len(taken) == before:
            break
    return Plan(id=lesson.id, title=lesson.title, mode=mode, entries=_entries(taken, seed))


def quiz_plan(lesson: Lesson, section_id: str | None, seed: int) -> Plan | None:
    """Up to three quick items bound to a section; of the whole lesson where the section has none, None without any."""
    items = tuple(lesson.items_on(section_id)) if section_id else ()
    drawn = _shuffled(items or lesson.items, seed, section_id or lesson.id)
    quick = sorted(drawn, key=lambda item: _QUIZ_KINDS.index(item.kind))[:QUIZ_ITEMS]
    if not quick:
        return None
    title = next((section.title for section in lesson.sections if section.id == section_id), lesson.title)
    return Plan(id=f"{lesson.id}/{section_id or 'quiz'}", title=f"Quiz: {title}", entries=_entries(quick, seed))


def _shuffled(items: Iterable[AnyItem], seed: int, of: str) -> list[AnyItem]:
    drawn = list(items)
    random.Random(f"{seed}/{of}").shuffle(drawn)
    return drawn


def _entries(items: Iterable[AnyItem], seed: int) -> tuple[PlanEntry, ...]:
    return tuple(PlanEntry(item_id=item.id, seed=item_seed(seed, item.id)) for item in items)
