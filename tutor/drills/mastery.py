"""What is mastered, topic by topic.

An item is shown by right answers on two different days with different numbers, none missed since; one such day is
worth half. What was shown fades with the chance that it is still remembered. A topic is the mean over its items,
those never asked counting nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from tutor.drills.deck import Deck
from tutor.drills.fold import CardState
from tutor.drills.memory import MemoryModel
from tutor.drills.rows import CachedCard

if TYPE_CHECKING:
    from datetime import date

    from question_bank.schema import Topic
    from tutor.drills.drills import Drills

SHOWN_BY: Final = 2
"""Right answers on different days with different numbers that show an item."""
MASTERED_FROM: Final = 0.8
Status = Literal["not begun", "learning", "fading", "mastered"]


@dataclass(frozen=True, slots=True)
class TopicMastery:
    """How far one topic is mastered."""

    topic: str
    title: str
    items: int
    asked: int
    shown: int
    """Items that were shown, remembered or not."""
    mastery: float
    """0 to 1."""
    status: Status
    """`fading`: it was shown, and has to be refreshed to count as mastered."""
    prerequisites: tuple[str, ...]
    """Topics to know first."""
    missing: tuple[str, ...]
    """Of these, the ones not mastered, as far as there are items about them."""


def item_mastery(card: CardState, model: MemoryModel, today: date) -> float:
    """How far an item is mastered, 0 to 1."""
    if card.memory is None or card.last_day is None:
        return 0.0
    shown = min(card.successes, SHOWN_BY) / SHOWN_BY
    return shown * model.retrievability(card.memory.stability, (today - card.last_day).days)


def topic_prerequisites(deck: Deck) -> dict[str, tuple[str, ...]]:
    """For each topic of the deck, the topics to know first.

    As the packs say it; where a pack says nothing, the topics at home in the lessons that come before the topic's own,
    a topic being at home where it is first met.
    """
    home: dict[str, str] = {}
    for item in deck.items:
        for topic in item.topics:
            home.setdefault(topic, item.lesson_id)
    before = {lesson.id: lesson.prerequisites for lesson in deck.bank.lessons} if deck.bank is not None else {}
    named = _topics(deck)
    return {
        topic: named[topic].prerequisites
        if topic in named
        else tuple(other for other, where in home.items() if where in before.get(lesson, ()) and other != topic)
        for topic, lesson in home.items()
    }


def _topics(deck: Deck) -> Mapping[str, Topic]:
    packs = deck.bank.topics.values() if deck.bank is not None else ()
    return {topic.id: topic for topics in packs for topic in topics}


def mastery(drills: Drills, now: datetime) -> tuple[TopicMastery, ...]:
    """Every topic of the deck, in the order in which they are first met."""
    drills.cache.catch_up()
    today, model = drills.today(now), drills.cache.model
    cards = {card.state.item_id: card.state for card in drills.cache.cards()}
    values: dict[str, list[tuple[float, CardState | None]]] = {topic: [] for topic in drills.deck.topics}
    for item in drills.deck.items:
        card = cards.get(item.id)
        value = item_mastery(card, model, today) if card is not None else 0.0
        for topic in item.topics:
            values[topic].append((value, card))
    means = {topic: sum(value for value, _ in each) / len(each) for topic, each in values.items()}
    before, titles = topic_prerequisites(drills.deck), _topics(drills.deck)
    found = []
    for topic, each in values.items():
        asked = [card for _, card in each if card is not None and not card.new]
        shown = sum(card.successes >= SHOWN_BY for card in asked)
        found.append(
            TopicMastery(
                topic=topic,
                title=titles[topic].title if topic in titles else topic,
                items=len(each),
                asked=len(asked),
                shown=shown,
                mastery=means[topic],
                status=_status(means[topic], len(each), len(asked), shown),
                prerequisites=before[topic],
                missing=tuple(other for other in before[topic] if means.get(other, 1.0) < MASTERED_FROM),
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class LessonProgress:
    """How far one lesson's items are mastered."""

    lesson_id: str
    items: int
    asked: int
    mastery: float
    """0 to 1, the mean over its items."""
    next_due: date | None
    """The first day on which one of them is due; today for what is overdue."""


def lessons(drills: Drills, now: datetime) -> tuple[LessonProgress, ...]:
    """Every lesson of the deck that has items, in reading order."""
    drills.cache.catch_up()
    today, model = drills.today(now), drills.cache.model
    cards = {card.state.item_id: card for card in drills.cache.cards()}
    by_lesson: dict[str, list[CachedCard]] = {}
    for item in drills.deck.items:
        known = cards.get(item.id, CachedCard(CardState(item.id), None))
        by_lesson.setdefault(item.lesson_id, []).append(known)
    found = []
    for lesson_id, each in by_lesson.items():
        due = [card.due_day for card in each if card.due_day is not None and not card.state.suspended]
        value = sum(item_mastery(card.state, model, today) for card in each) / len(each)
        asked = sum(not card.state.new for card in each)
        found.append(LessonProgress(lesson_id, len(each), asked, value, max(today, min(due)) if due else None))
    return tuple(found)


def _status(value: float, items: int, asked: int, shown: int) -> Status:
    if not asked:
        return "not begun"
    if value >= MASTERED_FROM:
        return "mastered"
    return "fading" if shown / items >= MASTERED_FROM else "learning"
