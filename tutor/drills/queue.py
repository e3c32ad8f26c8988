"""What is asked today, in which order.

The order is worked out once a local day and kept in the cache, so that the next item is one indexed read. An answer
takes its item and the item's siblings out of it; whatever else happens has it worked out anew.

1. Answered wrong with confidence the day before: corrected best while the surprise is fresh.
2. What is due, the least likely to be remembered first. While all of it fits into the day the order matters little;
   with a backlog more is known in the end than with the likeliest first or none (`benchmarks/drills.py order`),
   though more is still left over.
3. New items in the order of the lessons, unless there is a backlog; those of topics that are wanted come first.

Neighbours differ in topic where the next few allow it, because choosing the method is a part of the exercise.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Literal, TypeVar

from tutor.drills.cache import Cache
from tutor.drills.day import local_day
from tutor.drills.deck import Deck
from tutor.drills.fold import LEECH_AT, LEECH_CURED_BY
from tutor.drills.plan import DrillPlan
from tutor.drills.wanted import wanted_topics

Why = Literal["confident_wrong", "review", "new", "again"]
LOOK_AHEAD: Final = 8
_DUE: Final = "due_day <= :today AND suspended = 0 AND (buried_until IS NULL OR buried_until <= :today)"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Next:
    """The next item and why it is asked."""

    item_id: str
    why: Why
    """`again`: missed today and not got right since; it moves no schedule."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is, on one local day."""

    day: date
    due: int
    """All that is due, `overdue` among it."""
    overdue: int
    """Due before today."""
    new: int
    """Never asked."""
    today: int
    """Still to be asked today, within the plan's limits: reviews and new items."""
    today_new: int
    """The new ones of these."""
    confident_wrong: int
    """Of today's, those answered wrong with confidence the time before; they come first."""
    again: int
    """Missed today and not got right since."""
    done_today: int
    """Items answered today that count."""
    suspended: int
    buried: int
    leeches: int

    @property
    def backlog(self) -> bool:
        """Whether more is due than is asked today."""
        return self.due > self.today - self.today_new


class Queue:
    """Today's order, over a cache and a deck."""

    def __init__(self, cache: Cache, deck: Deck) -> None:
        self._cache, self._deck = cache, deck
        self._cache.sync_deck(deck)

    def today(self, now: datetime) -> date:
        """The local day by the plan for all items."""
        return local_day(now, self._cache.settings.base.rollover_h)

    def refresh(self, now: datetime) -> date:
        """Take in what the log holds and the day that it is; the order of the day is there afterwards."""
        self._cache.catch_up()
        self._cache.sync_deck(self._deck)
        today = self.today(now)
        key = f"{today} {self._deck.fingerprint}"
        if self._cache.meta("queue") == key:
            self._take_in(today)
        if self._cache.meta("queue") != key:
            with self._cache.writing() as connection:
                if self._cache.meta("queue") != key:
                    self._build(connection, today)
                    connection.execute("DELETE FROM touched")
                    self._cache.set_meta("queue", key)
        return today

    def next(
        self, now: datetime, *, kinds: Collection[str] = (), lessons: Sequence[str] = (), without: Collection[str] = ()
    ) -> Next | None:
        """The item to ask now; None when nothing is left today.

        Args:
            now: the time with its offset; after a rollover the new day's order is used.
            kinds: only items of these kinds; none: of all.
            lessons: only items whose id begins with one of these; none: all.
            without: items to leave out, such as skipped ones.
        """
        today = self.refresh(now)
        where, values = _narrowed(kinds, lessons, without)
        rows = self._cache.rows(f"SELECT item_id, why FROM queue WHERE {where} ORDER BY place LIMIT 1", values)
        if rows:
            return Next(str(rows[0][0]), rows[0][1])
        if (kinds or lessons) and (found := self._instead(today, kinds, lessons, without)):
            return found
        where, values = _narrowed(kinds, lessons, without, item="c.", kind="i.")
        rows = self._cache.rows(
            "SELECT c.item_id FROM cards c JOIN items i ON i.item_id = c.item_id "
            f"WHERE c.unsettled_day = ? AND c.suspended = 0 AND {where} "
            "ORDER BY c.last_at, c.item_id LIMIT 1",
            (today.toordinal(), *values),
        )
        return Next(str(rows[0][0]), "again") if rows else None

    def _instead(
        self, today: date, kinds: Collection[str], lessons: Sequence[str], without: Collection[str]
    ) -> Next | None:
        """An item of the wanted kind in place of one that the day's limits would have asked."""
        where, values = _narrowed(kinds, lessons, without, item="i.", kind="i.")
        open_now = (
            "coalesce(c.suspended, 0) = 0 AND (c.buried_until IS NULL OR c.buried_until <= ?) AND i.grouping NOT IN "
            "(SELECT o.grouping FROM cards d JOIN items o USING (item_id) WHERE d.last_day = ?)"
        )
        for why, wanted, order in (
            ("review", "c.due_day <= ?", "c.due_day, i.place"),
            ("new", "c.due_day IS NULL AND ? > 0", "i.place"),
        ):
            rows = self._cache.rows(
                "SELECT i.item_id FROM items i LEFT JOIN cards c USING (item_id) "
                f"WHERE EXISTS (SELECT 1 FROM queue WHERE (why = 'new') = ?) AND {wanted} AND {open_now} "
                f"AND {where} ORDER BY {order} LIMIT 1",
                (why == "new", *[today.toordinal()] * 3, *values),
            )
            if rows:
                return Next(str(rows[0][0]), "new" if why == "new" else "review")
        return None

    def forget_order(self) -> None:
        """Have the day's order worked out anew, after something that decides it happened outside the drills."""
        self._cache.set_meta("queue", "")

    def skip(self, item_id: str) -> None:
        """Put an item at the end of today's order; nothing is recorded."""
        with self._cache.writing() as connection:
            connection.execute(
                "UPDATE queue SET place = (SELECT max(place) + 1 FROM queue) WHERE item_id = ?", (item_id,)
            )

    def counts(self, now: datetime) -> Counts:
        """How much is due, new, overdue, and left today."""
        today = self.refresh(now)
        values = {"today": today.toordinal()}
        row = self._one(
            f"SELECT count(*), coalesce(sum(due_day < :today), 0) FROM cards WHERE {_DUE} "
            "AND item_id IN (SELECT item_id FROM items)",
            values,
        )
        due, overdue = row
        (new,) = self._one(
            "SELECT (SELECT count(*) FROM items) - (SELECT count(*) FROM cards c JOIN items i USING (item_id) "
            "WHERE c.due_day IS NOT NULL OR c.suspended = 1)",
            {},
        )
        left, left_new, wrong = self._one(
            "SELECT count(*), coalesce(sum(why = 'new'), 0), coalesce(sum(why = 'confident_wrong'), 0) FROM queue", {}
        )
        again, done, suspended, buried, leeches = self._one(
            "SELECT (SELECT count(*) FROM cards WHERE unsettled_day = :today AND suspended = 0),"
            " (SELECT count(*) FROM cards WHERE last_day = :today),"
            " (SELECT count(*) FROM cards WHERE suspended = 1),"
            " (SELECT count(*) FROM cards WHERE buried_until > :today),"
            f" (SELECT count(*) FROM cards WHERE lapses >= {LEECH_AT} AND streak < {LEECH_CURED_BY})",
            values,
        )
        return Counts(today, due, overdue, new, left, left_new, wrong, again, done, suspended, buried, leeches)

    def next_due(self, now: datetime) -> tuple[date | None, int]:
        """The first day after today on which something is due, and how many items are due then."""
        today = self.refresh(now)
        rows = self._cache.rows(
            "SELECT due_day, count(*) FROM cards WHERE due_day > ? AND suspended = 0 "
            "AND item_id IN (SELECT item_id FROM items) GROUP BY due_day ORDER BY due_day LIMIT 1",
            (today.toordinal(),),
        )
        return (date.fromordinal(rows[0][0]), int(rows[0][1])) if rows else (None, 0)

    def _one(self, sql: str, values: dict[str, int]) -> tuple[int, ...]:
        return tuple(int(value) for value in self._cache.rows_named(sql, values)[0])

    def _take_in(self, today: date) -> None:
        """Keep the order of the day where only answers came in; forget it where anything else happened."""
        if not self._cache.rows("SELECT 1 FROM touched LIMIT 1"):
            return
        with self._cache.writing() as connection:
            for (item_id,) in self._cache.rows("SELECT item_id FROM touched"):
                card = self._cache.card(str(item_id))
                answered = card.state.last_day == today
                queued = bool(self._cache.rows("SELECT 1 FROM queue WHERE item_id = ?", (item_id,)))
                due = card.due_day is not None and card.due_day <= today
                if not answered or (not queued and (due or card.state.first_day == today)):
                    self._cache.set_meta("queue", "")
                    return
                connection.execute("DELETE FROM queue WHERE item_id = ?", (item_id,))
                connection.execute(
                    "DELETE FROM queue WHERE grouping = (SELECT grouping FROM items WHERE item_id = ?)", (item_id,)
                )
            connection.execute("DELETE FROM touched")

    # -- the order of a day -----------------------------------------------------------------------------------------

    def _build(self, connection: sqlite3.Connection, today: date) -> None:
        ordinal = today.toordinal()
        groups = {
            str(row[0])
            for row in self._cache.rows(
                "SELECT DISTINCT i.grouping FROM cards c JOIN items i USING (item_id) WHERE c.last_day = ?", (ordinal,)
            )
        }
        reviews_left, new_left = self._limits(ordinal)
        chosen: list[tuple[str, str, str, Why]] = []
        # Elapsed time over stability decides how likely it is remembered; the curve is the same for all.
        due = self._cache.rows_named(
            f"SELECT c.item_id, i.grouping, i.kind, c.confident_wrong FROM cards c JOIN items i USING (item_id) "
            f"WHERE {_DUE} ORDER BY c.confident_wrong DESC, (:today - c.last_day) / c.stability DESC, i.place",
            {"today": ordinal},
        )
        backlog: set[str] = set()
        for item_id, group, kind, wrong in due:
            plan = self._plan(item_id)
            if group in groups:
                continue
            if reviews_left[plan.name] <= 0:
                backlog.add(plan.name)
                continue
            groups.add(group)
            reviews_left[plan.name] -= 1
            chosen.append((item_id, group, kind, "confident_wrong" if wrong else "review"))
        first = [each for each in chosen if each[3] == "confident_wrong"]
        rest = [each for each in chosen if each[3] != "confident_wrong"]
        fresh: list[tuple[str, str, str, Why]] = []
        if any(left > 0 for left in new_left.values()):
            rows = self._cache.rows_named(
                "SELECT i.item_id, i.grouping, i.kind FROM items i LEFT JOIN cards c USING (item_id) "
                "WHERE c.due_day IS NULL AND coalesce(c.suspended, 0) = 0 "
                "AND (c.buried_until IS NULL OR c.buried_until <= :today) ORDER BY i.place",
                {"today": ordinal},
            )
            wanted = wanted_topics(self._cache.log.store, today)
            for item_id, group, kind in sorted(rows, key=lambda row: not self._is_about(str(row[0]), wanted)):
                plan = self._plan(item_id)
                if group in groups or new_left[plan.name] <= 0 or plan.name in backlog:
                    continue
                groups.add(group)
                new_left[plan.name] -= 1
                fresh.append((item_id, group, kind, "new"))
        order = [*interleaved(first, self._topic), *interleaved(rest, self._topic), *interleaved(fresh, self._topic)]
        connection.execute("DELETE FROM queue")
        connection.executemany(
            "INSERT INTO queue VALUES (?, ?, ?, ?, ?)", ((place, *each) for place, each in enumerate(order))
        )

    def _plan(self, item_id: str) -> DrillPlan:
        return self._cache.settings.plan_for(item_id)

    def _limits(self, ordinal: int) -> tuple[dict[str, int], dict[str, int]]:
        plans = [*self._cache.settings.plans, DrillPlan()]
        reviews = {plan.name: plan.reviews_per_day for plan in reversed(plans)}
        new = {plan.name: plan.new_per_day for plan in reversed(plans)}
        for item_id, first_day in self._cache.rows(
            "SELECT item_id, first_day FROM cards WHERE last_day = ?", (ordinal,)
        ):
            left = new if first_day == ordinal else reviews
            left[self._plan(item_id).name] -= 1
        return reviews, new

    def _is_about(self, item_id: str, topics: frozenset[str]) -> bool:
        item = self._deck.by_id.get(item_id)
        return item is not None and not topics.isdisjoint(item.topics)

    def _topic(self, entry: tuple[str, str, str, Why]) -> str:
        item = self._deck.by_id.get(entry[0])
        return item.topics[0] if item is not None and item.topics else ""


def interleaved(entries: Iterable[T], topic_of: Callable[[T], str], look_ahead: int = LOOK_AHEAD) -> list[T]:
    """The entries with neighbours of different topics where one of the next few allows it; else as they are."""
    waiting = list(entries)
    waiting.reverse()
    done: list[T] = []
    last: str | None = None
    while waiting:
        window = range(1, min(look_ahead, len(waiting)) + 1)
        at = next((back for back in window if topic_of(waiting[-back]) != last), 1)
        entry = waiting.pop(-at)
        last = topic_of(entry)
        done.append(entry)
    return done


def _narrowed(
    kinds: Collection[str], lessons: Sequence[str], without: Collection[str], *, item: str = "", kind: str = ""
) -> tuple[str, list[object]]:
    """The condition for what is wanted and its values; `item` and `kind` name the tables of those columns."""
    where, values = ["1"], list[object]()
    if kinds:
        where.append(f"{kind}kind IN ({', '.join('?' * len(kinds))})")
        values += sorted(kinds)
    if lessons:
        where.append("(" + " OR ".join([f"substr({item}item_id, 1, ?) = ?"] * len(lessons)) + ")")
        for each in lessons:
            values += [len(each), each]
    if without:
        where.append(f"{item}item_id NOT IN ({', '.join('?' * len(without))})")
        values += sorted(without)
    return " AND ".join(where), values
