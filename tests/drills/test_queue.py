"""The order of a day: what comes first, limits, backlog, siblings, topics, and midnight with the screen open."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank.question import ItemKind
from tests.drills.conftest import Answer, Clock, drill_item, name
from tutor.drills import Deck, DrillItem, DrillPlan, Drills, Outcome, Rating
from tutor.drills.queue import interleaved
from tutor.store import Store


def order(drills: Drills, clock: Clock) -> list[str]:
    """Today's order by the numbers of the items."""
    drills.queue.refresh(clock())
    return [row[0].rsplit("-")[-1] for row in drills.cache.rows("SELECT item_id FROM queue ORDER BY place")]


def set_limits(drills: Drills, clock: Clock, *, new: int = 10, reviews: int = 100) -> None:
    plan = drills.cache.settings.base
    drills.set_plan(plan.model_copy(update={"new_per_day": new, "reviews_per_day": reviews}), clock())


def test_a_new_deck_asks_the_first_items_up_to_the_limit(drills: Drills, clock: Clock) -> None:
    set_limits(drills, clock, new=3)
    assert order(drills, clock) == ["0", "1", "2"]
    counts = drills.counts(clock())
    assert (counts.due, counts.overdue, counts.new, counts.today, counts.today_new) == (0, 0, 20, 3, 3)


def test_due_new_and_overdue_are_counted_by_the_day(drills: Drills, clock: Clock, answer: Answer) -> None:
    for number in range(4):
        answer(name(number), 3)
    assert drills.counts(clock()).done_today == 4
    clock.forward(days=2)
    counts = drills.counts(clock())
    assert (counts.due, counts.overdue, counts.new) == (4, 0, 16)
    clock.forward(days=1)
    counts = drills.counts(clock())
    assert (counts.due, counts.overdue, counts.new) == (4, 4, 16)
    drills.suspend(name(0), clock())
    drills.bury(name(1), clock())
    counts = drills.counts(clock())
    assert (counts.due, counts.suspended, counts.buried) == (2, 1, 1)


def test_confident_and_wrong_comes_first_the_next_day(drills: Drills, clock: Clock, answer: Answer) -> None:
    set_limits(drills, clock, new=0)
    for number, (rating, confidence) in enumerate([(1, 1), (1, 2), (3, 3), (1, 3)]):
        answer(name(number), rating, confidence=confidence)
    clock.forward(days=1)
    first = drills.next(clock())
    assert first is not None
    assert (first.item.id, first.why) == (name(3), "confident_wrong")
    assert drills.counts(clock()).confident_wrong == 1
    assert set(order(drills, clock)) == {"0", "1", "3"}


def test_confident_and_wrong_comes_back_tomorrow_however_well_it_was_known(
    drills: Drills, clock: Clock, answer: Answer
) -> None:
    for item_id, confidence in ((name(0), 3), (name(1), 2)):
        clock.now = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
        for _ in range(4):
            due = answer(item_id, 4).due_day
            assert due is not None
            clock.now = datetime.combine(due, clock.now.timetz())
        missed = answer(item_id, 1, confidence=confidence)
        assert missed.days is not None
        assert (missed.days == 1) == (confidence == 3)


def test_with_a_backlog_the_least_likely_come_first_and_nothing_new(
    drills: Drills, clock: Clock, answer: Answer
) -> None:
    set_limits(drills, clock, new=5, reviews=2)
    # Stability 2.3, 1.3 and 8.3 days; after ten days the second is the least likely to be remembered.
    for number, rating in enumerate([3, 2, 4]):
        answer(name(number), rating)
    clock.forward(days=10)
    assert order(drills, clock) == ["1", "0"]
    assert drills.counts(clock()).backlog
    assert drills.counts(clock()).today_new == 0
    answer(name(1), 3)
    assert order(drills, clock) == ["0"]
    answer(name(0), 3)
    assert order(drills, clock) == []
    assert drills.counts(clock()).due == 1
    clock.forward(days=1)
    assert order(drills, clock)[0] == "2"


def test_limits_hold_over_a_restart_and_over_undo(store: Store, drills: Drills, clock: Clock, answer: Answer) -> None:
    set_limits(drills, clock, new=3)
    answer(name(0), 3)
    answer(name(1), 3)
    with Drills(store, drills.deck) as restarted:
        restarted.cache.rebuild()
        assert order(restarted, clock) == ["2"]
    drills.undo(clock.forward(minutes=1))
    assert order(drills, clock) == ["1", "2"]


def test_a_plan_for_a_lesson_has_its_own_limits(store: Store, clock: Clock) -> None:
    items = [
        DrillItem(f"{lesson}/item-{n}", "recall", 1, f"{lesson} {n}", (f"{lesson}-{n}",), lesson, 1, 5)
        for lesson in ("pack/one", "pack/two")
        for n in range(5)
    ]
    with Drills(store, Deck(items)) as drills:
        drills.set_plan(DrillPlan(new_per_day=1), clock())
        drills.set_plan(DrillPlan(name="soon", lessons=("pack/two",), new_per_day=3), clock())
        drills.queue.refresh(clock())
        asked = [row[0] for row in drills.cache.rows("SELECT item_id FROM queue ORDER BY item_id")]
        assert asked == ["pack/one/item-0", "pack/two/item-0", "pack/two/item-1", "pack/two/item-2"]


def test_one_sibling_a_day(store: Store, clock: Clock) -> None:
    items = [drill_item(0, topic="ttft"), drill_item(1, topic="ttft"), drill_item(2), drill_item(3, topic="ttft")]
    with Drills(store, Deck(items)) as drills:
        assert order(drills, clock) == ["0", "2"]
        shown = drills.next(clock())
        assert shown is not None
        drills.record(shown, Outcome(Rating.GOOD, True, "right"), clock())
        assert order(drills, clock) == ["2"]
        clock.forward(days=1)
        assert order(drills, clock) == ["1", "2"]
        # Answered from elsewhere, such as in an interview, it holds its siblings back just so.
        drills.record(drills.present(name(3), "new", clock()), Outcome(Rating.GOOD, True, "right"), clock())
        assert order(drills, clock) == ["2"]
        drills.undo(clock.forward(minutes=1))
        assert order(drills, clock) == ["1", "2"]


@given(st.lists(st.sampled_from("abc"), max_size=30))
def test_interleaving_loses_nothing_and_repeats_a_topic_only_where_it_must(topics: list[str]) -> None:
    entries = list(enumerate(topics))
    done = interleaved(entries, lambda entry: entry[1], look_ahead=len(entries) or 1)
    assert sorted(done) == entries
    for index, (one, other) in enumerate(pairwise(done)):
        if one[1] == other[1]:
            # All that is left is of this topic.
            assert {entry[1] for entry in done[index:]} == {one[1]}


def test_neighbours_differ_in_topic(store: Store, clock: Clock) -> None:
    topics = ["ttft", "ttft", "ttft", "kv", "kv", "slo"]
    items = [
        DrillItem(f"pack/lesson/item-{n}", "exercise", 1, f"{n}", (topic, f"own-{n}"), "pack/lesson", 1, 5)
        for n, topic in enumerate(topics)
    ]
    with Drills(store, Deck(items)) as drills:
        assert order(drills, clock) == ["0", "3", "1", "4", "2", "5"]


def test_missed_today_is_asked_once_more_until_right_or_the_third_try(
    drills: Drills, clock: Clock, answer: Answer
) -> None:
    set_limits(drills, clock, new=1)
    answer(name(0), 1)
    again = drills.next(clock.forward(minutes=10))
    assert again is not None
    assert (again.item.id, again.why) == (name(0), "again")
    assert drills.previews(again, clock()) == {}
    assert not answer(name(0), 1).counts
    clock.forward(minutes=10)
    assert drills.next(clock()) is not None
    answer(name(0), 1)
    assert drills.next(clock.forward(minutes=10)) is None
    drills.undo(clock())
    answer(name(0), 3)
    assert drills.next(clock.forward(minutes=10)) is None
    assert drills.counts(clock()).again == 0


def test_over_midnight_with_the_screen_open_nothing_changes_and_over_the_rollover_the_new_day_is_asked(
    drills: Drills, clock: Clock, answer: Answer
) -> None:
    set_limits(drills, clock, new=1)
    answer(name(0), 3)
    clock.now = datetime.fromisoformat("2026-03-03T23:50:00+00:00")
    assert drills.day_ends(clock()) == datetime.fromisoformat("2026-03-04T04:00:00+00:00")
    answer(name(1), 3)
    assert drills.next(clock()) is None
    clock.forward(minutes=20)
    assert drills.next(clock()) is None
    clock.now = datetime.fromisoformat("2026-03-04T03:59:00+00:00")
    assert drills.next(clock()) is None
    clock.forward(minutes=2)
    shown = drills.next(clock())
    assert shown is not None
    assert (shown.item.id, shown.why) == (name(0), "review")
    assert drills.counts(clock()).day.isoformat() == "2026-03-04"


def test_an_answer_begun_before_the_rollover_belongs_to_the_day_it_was_given(drills: Drills, clock: Clock) -> None:
    clock.now = datetime.fromisoformat("2026-03-04T03:59:30+00:00")
    shown = drills.next(clock())
    assert shown is not None
    answered = drills.record(shown, Outcome(Rating.GOOD, True, "right"), clock.forward(minutes=1))
    assert answered.recorded.review.day.isoformat() == "2026-03-04"
    assert answered.recorded.review.duration_ms == 60_000


def test_an_idle_terminal_does_not_count_as_work(drills: Drills, clock: Clock) -> None:
    shown = drills.next(clock())
    assert shown is not None
    answered = drills.record(shown, Outcome(Rating.GOOD, True, "right"), clock.forward(hours=3))
    # Twice the item's five minutes.
    assert answered.recorded.review.duration_ms == 600_000


@pytest.fixture
def mixed(store: Store) -> Iterator[Drills]:
    kinds: list[ItemKind] = ["exercise", "checkpoint", "recall", "prediction"]
    items = [
        DrillItem(f"pack/{'ab'[n % 2]}/item-{n}", kind, 1, kind, (f"t{n}",), f"pack/{'ab'[n % 2]}", 1, 5)
        for n, kind in enumerate(kinds)
    ]
    with Drills(store, Deck(items)) as drills:
        yield drills


def test_kinds_lessons_and_skipped_items_narrow_what_is_asked(mixed: Drills, clock: Clock) -> None:
    def asked(**narrowed: list[str]) -> str | None:
        found = mixed.queue.next(clock(), **narrowed)
        return None if found is None else found.item_id

    assert asked(kinds=["checkpoint"]) == "pack/b/item-1"
    assert asked(kinds=["checkpoint", "recall"], without=["pack/b/item-1"]) == "pack/a/item-2"
    assert asked(lessons=["pack/b"]) == "pack/b/item-1"
    assert asked(lessons=["pack/b"], kinds=["recall"]) is None
    mixed.queue.skip("pack/a/item-0")
    assert asked() == "pack/b/item-1"
    mixed.record(mixed.present("pack/b/item-1", "new", clock()), Outcome(Rating.AGAIN, False, "wrong"), clock())
    everything = ["pack/a/item-0", "pack/a/item-2", "pack/b/item-3"]
    assert asked(without=everything) == "pack/b/item-1"
    assert asked(without=everything, kinds=["recall"]) is None
    assert asked(without=everything, kinds=["checkpoint"], lessons=["pack/b"]) == "pack/b/item-1"


def test_a_wanted_kind_takes_the_place_of_another_within_the_limits(mixed: Drills, clock: Clock) -> None:
    mixed.set_plan(DrillPlan(new_per_day=2), clock())
    shown = mixed.next(clock(), kinds=["prediction"])
    assert shown is not None
    assert (shown.item.id, shown.why) == ("pack/b/item-3", "new")
    assert mixed.next(clock(), kinds=["probe"]) is None
    mixed.record(shown, Outcome(Rating.GOOD, True, "right"), clock())
    assert mixed.counts(clock()).today_new == 1
    mixed.record(mixed.present("pack/a/item-0", "new", clock()), Outcome(Rating.GOOD, True, "right"), clock())
    assert mixed.next(clock(), kinds=["recall"]) is None
