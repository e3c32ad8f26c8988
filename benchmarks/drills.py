"""Drills at scale: 20,000 items and 1,000,000 reviews against an empty store, as ratios within one run.

Both stores have the same deck; only the log differs. A start opens the store, the cache and the deck and asks for the
next item; the pairs are interleaved, so that a busy machine slows both sides alike, and medians are compared. The
large store is made once (a few minutes) in a folder that is removed at the end.

    python -m benchmarks.drills [ITEMS] [REVIEWS] [RUNS]

`order` simulates a learner who is as FSRS has it, comes back to a backlog after 45 days away, and works it off in three
orders; it prints the mean chance to remember an item at the end, and how many are left over (means of 5 runs).

    python -m benchmarks.drills order

`days` replays the real reviews of `tests/drills/data` with local days, once counting only the first review of a day and
once all of them, and prints the mean log loss of the forecasts.

    python -m benchmarks.drills days
"""

from __future__ import annotations

import csv
import gzip
import math
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tutor.drills import Deck, DrillItem, DrillPlan, Drills, Memory, MemoryModel, Outcome, Rating
from tutor.drills import events as ev
from tutor.drills.day import local_day
from tutor.drills.log import DrillLog
from tutor.store import Store, open_store

START = datetime(2024, 1, 1, 9, 0, tzinfo=UTC)
REAL_REVIEWS = Path(__file__).parents[1] / "tests" / "drills" / "data" / "fsrs_reviews.csv.gz"
DAYS = 700
NOW = START + timedelta(days=DAYS)


def deck_of(items: int) -> Deck:
    """Items of 34 topics in lessons of 20."""
    return Deck(
        DrillItem(
            id=f"pack/lesson-{number // 20}/item-{number}",
            kind="exercise",
            version=1,
            title=f"Item {number}",
            topics=(f"topic-{number % 34}",),
            lesson_id=f"pack/lesson-{number // 20}",
            difficulty=1 + number % 3,
            minutes=5,
        )
        for number in range(items)
    )


def fill(store: Store, deck: Deck, reviews: int) -> None:
    """Reviews in the order of their days, as they would have come, every item as often as any other."""
    rng = random.Random(1)
    each = reviews // len(deck.items)
    moments = sorted((rng.randrange(DAYS), item.id, count) for item in deck.items for count in range(each))
    for begin in range(0, len(moments), 20_000):
        with store.writing():
            for number, (day, item_id, count) in enumerate(moments[begin : begin + 20_000], start=begin):
                at = START + timedelta(days=day, seconds=number % 30_000)
                rating = rng.choices((1, 2, 3, 4), (15, 10, 60, 15))[0]
                review = ev.Reviewed(
                    presentation_id=f"{item_id}:{count}",
                    version=1,
                    seed=number,
                    numbers="0123456789ab",
                    day=at.date(),
                    rollover_h=4,
                    rating=Rating(rating),
                    right=rating > 1,
                    reason="Right." if rating > 1 else "The result is wrong.",
                    confidence=rng.randrange(1, 4),
                    duration_ms=60_000,
                    mode="numbers",
                )
                payload = review.model_dump(mode="json", exclude_defaults=True)
                event_id = ev.once_id(review.kind, review.presentation_id)
                store.insert(event_id, ev.stream_of(item_id), review.kind, payload, at)


def start(path: Path, items: int, now: datetime) -> float:
    """Seconds from nothing open to the next item."""
    deck = deck_of(items)
    began = time.perf_counter()
    with open_store(path) as store, Drills(store, deck) as drills:
        drills.sync(now)
        shown = drills.next(now)
        passed = time.perf_counter() - began
        assert shown is not None
    return passed


def next_item(drills: Drills, now: datetime) -> float:
    """Seconds of asking for the next item in a program that is open."""
    began = time.perf_counter()
    drills.next(now)
    return time.perf_counter() - began


def answer(drills: Drills, now: datetime) -> float:
    """Seconds of recording an answer, on the disk when it returns."""
    shown = drills.next(now)
    assert shown is not None
    began = time.perf_counter()
    drills.record(shown, Outcome(Rating.GOOD, True, "Right."), now, confidence=2)
    return time.perf_counter() - began


def indexed_read(path: Path) -> float:
    """Seconds of reading one event of the log by its identity, the store being open."""
    with open_store(path) as store:
        (wanted,) = store.query("SELECT id FROM events ORDER BY seq DESC LIMIT 1")[0]
        began = time.perf_counter()
        store.query("SELECT payload FROM events WHERE id = ?", (wanted,))
        return time.perf_counter() - began


def show(name: str, full: list[float], empty: list[float]) -> None:
    """Print both medians and their ratio."""
    one, other = statistics.median(full) * 1000, statistics.median(empty) * 1000
    print(f"{name}: {one:.2f} ms against {other:.2f} ms, ratio {one / other:.2f} (n = {len(full)} pairs)")


def timed(words: str, work: Callable[[], object]) -> None:
    """Do something and print how long it took."""
    began = time.perf_counter()
    work()
    print(f"{words}: {time.perf_counter() - began:.1f} s")


def main(items: int, reviews: int, runs: int) -> None:
    """Make both stores and measure."""
    folder = Path(tempfile.mkdtemp(prefix="tutor-bench-"))
    try:
        large, empty = folder / "large" / "tutor.db", folder / "empty" / "tutor.db"
        deck = deck_of(items)
        plan = DrillPlan(new_per_day=1000, reviews_per_day=200)
        for path in (large, empty):
            with open_store(path) as store:
                DrillLog(store).set_plan(plan, START)
                if path == large:
                    timed(f"{reviews:,} reviews of {items:,} items written", lambda: fill(store, deck, reviews))
        timed("replay of the whole log into the cache", lambda: start(large, items, NOW))
        print(f"log {large.stat().st_size / 1e6:.0f} MB")
        start(empty, items, NOW)
        days = [(start(large, items, NOW + timedelta(days=n)), start(empty, items, NOW + timedelta(days=n)))
                for n in range(1, 6)]  # fmt: skip
        now = NOW + timedelta(days=6)
        for path in (large, empty):
            start(path, items, now)
        pairs = [(start(large, items, now), start(empty, items, now)) for _ in range(runs)]
        read = statistics.median(indexed_read(large) for _ in range(runs))
        show("start and next item", [one for one, _ in pairs], [other + read for _, other in pairs])
        show("  the first start of a day", [one for one, _ in days], [other + read for _, other in days])
        print(f"  (the empty store's times include one indexed read, {read * 1000:.2f} ms)")
        with (
            open_store(large) as one,
            open_store(empty) as other,
            Drills(one, deck) as full,
            Drills(other, deck) as bare,
        ):
            pairs = [(next_item(full, now), next_item(bare, now) + read) for _ in range(runs * 5)]
            show("next item, program open", [a for a, _ in pairs], [b for _, b in pairs])
            pairs = [(answer(full, now + timedelta(seconds=n)), answer(bare, now + timedelta(seconds=n)))
                     for n in range(1, runs * 2)]  # fmt: skip
            show("an answer recorded", [a for a, _ in pairs], [b for _, b in pairs])
            began = time.perf_counter()
            counts = full.counts(now)
            print(f"counts of {counts.due:,} due: {(time.perf_counter() - began) * 1000:.1f} ms")
    finally:
        shutil.rmtree(folder)


ORDERS = ("least likely first", "likeliest first", "no order")


def worked_off(order: str, per_day: int, days: int, seed: int, items: int = 600, away: int = 45) -> tuple[float, int]:
    """Mean chance to remember an item at the end, and how many are left over."""
    model, rng = MemoryModel(), random.Random(seed)
    memories: list[Memory] = []
    last: list[int] = []

    def answered(memory: Memory, elapsed: int) -> Memory:
        known = rng.random() < model.retrievability(memory.stability, elapsed)
        return model.after(memory, Rating.GOOD if known else Rating.AGAIN, elapsed)

    for _ in range(items):
        memory = model.after(None, Rating(rng.choices((1, 3, 4), (2, 6, 2))[0]), 0)
        for _ in range(rng.randrange(5)):
            memory = answered(memory, model.interval_days(memory.stability, 0.9))
        memories.append(memory)
        last.append(-rng.randrange(model.interval_days(memory.stability, 0.9) + 1))

    def waiting(day: int) -> list[int]:
        return [n for n in range(items) if day - last[n] >= model.interval_days(memories[n].stability, 0.9)]

    for day in range(away, away + days):
        due = waiting(day)
        rng.shuffle(due)
        if order != "no order":
            due.sort(key=lambda n: (day - last[n]) / memories[n].stability, reverse=order == "least likely first")
        for n in due[:per_day]:
            memories[n], last[n] = answered(memories[n], day - last[n]), day
    end = away + days
    known = sum(model.retrievability(memories[n].stability, end - last[n]) for n in range(items)) / items
    return known, len(waiting(end - 1))


def orders() -> None:
    """Compare the orders at several paces."""
    for per_day in (15, 25, 40):
        for days in (14, 30):
            said = []
            for order in ORDERS:
                runs = [worked_off(order, per_day, days, seed) for seed in range(5)]
                known, left = (statistics.mean(each[at] for each in runs) for at in (0, 1))
                said.append(f"{order} {known:.1%} known, {left:.0f} left")
            print(f"{per_day} a day for {days} days: {'; '.join(said)}")


def day_loss(first_only: bool) -> tuple[float, int]:
    """Mean log loss of the forecasts for the first review of each local day, and how many there are."""
    by_card: dict[str, list[tuple[datetime, int]]] = defaultdict(list)
    with gzip.open(REAL_REVIEWS, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            by_card[row["card_id"]].append((datetime.fromisoformat(row["review_time"]), int(row["review_rating"])))
    model, loss, scored = MemoryModel(), 0.0, 0
    for reviews in by_card.values():
        memory, last = None, 0
        for at, rating in sorted(reviews):
            day = local_day(at, 4).toordinal()
            elapsed = day - last if memory is not None else 0
            if memory is not None and elapsed > 0:
                chance = model.retrievability(memory.stability, elapsed)
                loss -= math.log(chance if rating > 1 else 1 - chance)
                scored += 1
            if memory is None or elapsed > 0 or not first_only:
                memory, last = model.after(memory, Rating(rating), elapsed), day
    return loss / scored, scored


if __name__ == "__main__":
    if sys.argv[1:] == ["days"]:
        for words, first_only in (("first of a day", True), ("all", False)):
            print("{}: log loss {:.3f} over {:,} forecasts".format(words, *day_loss(first_only)))
        sys.exit()
    if sys.argv[1:] == ["order"]:
        orders()
        sys.exit()
    given = [int(each) for each in sys.argv[1:]]
    main(*(given + [20_000, 1_000_000, 21][len(given) :]))
