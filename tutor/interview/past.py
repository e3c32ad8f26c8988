"""What was asked before and how it went: what a plan avoids, and which topics are weak."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tutor.interview import events as ev
from tutor.interview.adaptive import Outcome, outcome
from tutor.interview.state import fold

if TYPE_CHECKING:
    from question_bank.load import Bank
    from tutor.store import Store

JUST_SEEN: Final = 40
"""So many different items back count as just seen: about two long loops."""
WEAK_BELOW: Final = 0.6
"""A topic is weak when its estimated share of good answers is below this."""
MAX_WEAK_TOPICS: Final = 5
_WORTH: Final[Mapping[Outcome, float]] = {"good": 1.0, "fair": 0.5, "poor": 0.0}


@dataclass(frozen=True)
class Past:
    """The interviews so far; empty for a plan that is to be the same for everybody."""

    seen: tuple[str, ...] = ()
    """Ids of the items that were asked, each once, the last one first."""
    results: Mapping[str, tuple[Outcome, ...]] = field(default_factory=dict)
    """Per item how its answers went, the oldest first; items without a known outcome are absent."""

    @property
    def just_seen(self) -> frozenset[str]:
        """Items that a plan asks again only when nothing else is left."""
        return frozenset(self.seen[:JUST_SEEN])


def past_of(store: Store) -> Past:
    """Read all interviews of a store; one that cannot be read is left out (`tutor doctor` names it)."""
    asked: dict[str, int] = {}
    results: dict[str, list[tuple[int, Outcome]]] = {}
    for stream in store.streams(ev.STREAM_PREFIX):
        events = store.events(stream)
        try:
            log = [(event.seq, ev.parse(event.kind, event.payload), event.at) for event in events]
        except ev.EventError:
            continue
        state = fold((payload, at) for _, payload, at in log)
        at_position: dict[int, int] = {}
        for seq, payload, _ in log:
            if isinstance(payload, ev.Presented):
                at_position.setdefault(payload.position, seq)
        for entry in state.entries if state is not None else ():
            seq = at_position[entry.position]
            asked[entry.item_id] = max(seq, asked.get(entry.item_id, 0))
            if (found := outcome(entry)) is not None:
                results.setdefault(entry.item_id, []).append((seq, found))
    return Past(
        seen=tuple(sorted(asked, key=lambda item_id: asked[item_id], reverse=True)),
        results={item_id: tuple(one for _, one in sorted(each)) for item_id, each in results.items()},
    )


def weak_topics(bank: Bank, past: Past) -> tuple[str, ...]:
    """Topics in which answers went badly, the weakest first, at most five.

    Each answer counts 1 (good), 0.5 (fair) or 0 (poor) for every topic of its item. A topic's share is estimated as
    (sum + 1) / (n + 2), the mean of a beta distribution that began as uniform, so that one bad answer is not taken
    for certainty; below 0.6 a topic is weak unless every answer in it was good. Topics that were never asked about are
    unknown, not weak.
    """
    total: defaultdict[str, float] = defaultdict(float)
    count: Counter[str] = Counter()
    for item in bank.items:
        for found in past.results.get(item.id, ()):
            for topic in item.topics:
                total[topic] += _WORTH[found]
                count[topic] += 1
    share = {topic: (total[topic] + 1) / (count[topic] + 2) for topic in count}
    weak = [topic for topic in count if share[topic] < WEAK_BELOW and total[topic] < count[topic]]
    return tuple(sorted(weak, key=lambda topic: (share[topic], topic))[:MAX_WEAK_TOPICS])
