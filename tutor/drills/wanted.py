"""Topics whose new items are asked first for a while, because something outside the drills showed a gap in them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from pydantic import Field

from tutor.drills.events import Payload, parse_with

if TYPE_CHECKING:
    from tutor.store import Store

STREAM: Final = "drill-topics"
DAYS: Final = 7
"""How long new items of a wanted topic come first."""


class TopicsWanted(Payload):
    """A prediction missed, say; `until` is the last local day on which it counts."""

    kind: ClassVar[str] = "drill.topics_wanted"
    topics: Annotated[tuple[str, ...], Field(min_length=1)]
    until: date
    reason: str


def want_topics(store: Store, topics: Sequence[str], reason: str, at: datetime) -> None:
    """Have new items of these topics asked first for a week; without a topic nothing is stored. Raises StoreError."""
    if topics:
        wanted = TopicsWanted(topics=tuple(topics), until=at.date() + timedelta(days=DAYS), reason=reason)
        store.append(STREAM, wanted.kind, wanted.model_dump(mode="json"), at)


def wanted_topics(store: Store, today: date) -> frozenset[str]:
    """Topics that are wanted on a local day.

    Raises:
        DrillEventError: an event cannot be understood.
    """
    found: set[str] = set()
    for event in store.events(STREAM):
        payload = parse_with({TopicsWanted.kind: TopicsWanted}, event.kind, event.payload)
        if isinstance(payload, TopicsWanted) and today <= payload.until:
            found.update(payload.topics)
    return frozenset(found)
