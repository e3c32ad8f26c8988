"""The log is the only truth: each presentation counts once, undo is one step, state is what replay gives."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.drills.conftest import Answer, Clock, drill_item, name
from tutor.drills import Deck, DrillError, DrillPlan, Drills, Outcome, Rating, check_drills
from tutor.drills import events as ev
from tutor.drills.fold import CardState, LogEntry, fold
from tutor.drills.history import counted
from tutor.drills.memory import MemoryModel
from tutor.store import Store, StoreError, export_lines, import_lines, open_store, state_hash

GOOD, AGAIN = Outcome(Rating.GOOD, True, "right"), Outcome(Rating.AGAIN, False, "wrong")


def test_five_submissions_of_one_presentation_are_one_review(drills: Drills, clock: Clock) -> None:
    shown = drills.present(name(0), "new", clock())
    answers = [drills.record(shown, AGAIN if n else GOOD, clock.forward(seconds=0.01)) for n in range(5)]
    assert [each.recorded.added for each in answers] == [True, False, False, False, False]
    assert {each.outcome for each in answers} == {GOOD}
    assert len(drills.store.events(f"drill:{name(0)}")) == 1
    assert drills.card(name(0)).state.reviews == 1


def test_the_store_itself_refuses_a_second_review_of_a_presentation(drills: Drills, clock: Clock) -> None:
    shown = drills.present(name(0), "new", clock())
    recorded = drills.record(shown, GOOD, clock()).recorded
    payload = recorded.review.model_dump(mode="json")
    with pytest.raises(StoreError):
        drills.store.insert(recorded.event_id, f"drill:{name(0)}", "drill.reviewed", payload, clock())


def test_a_second_answer_on_the_same_day_is_kept_and_moves_nothing(
    drills: Drills, clock: Clock, answer: Answer
) -> None:
    first = answer(name(0), 1)
    clock.forward(minutes=5)
    second = answer(name(0), 1)
    assert (first.counts, second.counts) == (True, False)
    assert second.card.memory == first.card.memory
    assert second.card.presentations == 2
    assert second.card.lapses == 0


def test_a_lapse_is_a_miss_of_what_was_asked_before(clock: Clock, answer: Answer) -> None:
    assert answer(name(0), 1).card.lapses == 0
    for expected in (1, 2):
        clock.forward(days=1)
        assert answer(name(0), 1).card.lapses == expected
    clock.forward(days=1)
    assert answer(name(0), 3).card.lapses == 2


def test_a_leech_is_told_at_four_lapses_then_every_second_and_is_cured_by_two_right_days(
    clock: Clock, answer: Answer
) -> None:
    told = []
    for _ in range(9):
        told.append(answer(name(0), 1).leech)
        clock.forward(days=1)
    #          lapses 0, 1, 2, 3, 4, 5, 6, 7, 8
    assert told == [False, False, False, False, True, False, True, False, True]
    assert answer(name(0), 3).card.leech
    clock.forward(days=1)
    assert not answer(name(0), 3).card.leech


def test_not_graded_counts_for_nothing_and_is_kept(drills: Drills, clock: Clock) -> None:
    shown = drills.present(name(0), "new", clock())
    answered = drills.record(shown, Outcome(None, None, "not graded"), clock(), confidence=3, answer="300 ms")
    assert not answered.counts
    assert answered.due_day is None
    assert answered.card.new
    assert answered.card.tally == (0, 0, 0, 0, 0, 0)
    assert drills.store.events(f"drill:{name(0)}")[0].payload["answer"] == "300 ms"
    assert drills.counts(clock()).new == 20


def test_undo_takes_back_one_action_after_another(drills: Drills, clock: Clock, answer: Answer) -> None:
    fresh = drills.card(name(0)).state
    answer(name(0), 3)
    drills.suspend(name(1), clock.forward(seconds=1))
    drills.note(name(2), "count the gaps", clock.forward(seconds=1))
    drills.bury(name(3), clock.forward(seconds=1))
    taken = [drills.undo(clock.forward(seconds=1)) for _ in range(4)]
    assert [each.item_id for each in taken if each] == [name(3), name(2), name(1), name(0)]
    assert drills.card(name(3)).state.buried_until is None
    assert drills.card(name(2)).state.note == ""
    assert not drills.card(name(1)).state.suspended
    state = drills.card(name(0)).state
    assert (state.memory, state.reviews, state.last_day) == (fresh.memory, 0, None)
    # The answer stays in the log, and the numbers of the next presentation are others.
    assert state.presentations == 1
    assert len(drills.store.events(f"drill:{name(0)}")) == 2
    undone = drills.undo(clock.forward(seconds=1))
    assert undone is not None
    assert undone.kind == ev.PlanSet.kind
    assert drills.undo(clock.forward(seconds=1)) is None


def test_undo_rebuilds_what_the_answer_before_had_given(drills: Drills, clock: Clock, answer: Answer) -> None:
    before = answer(name(0), 3)
    clock.forward(days=2)
    answer(name(0), 1)
    drills.undo(clock.forward(minutes=1))
    after = drills.card(name(0))
    assert (after.state.memory, after.due_day) == (before.card.memory, before.due_day)
    assert answer(name(0), 3).counts


def test_a_plan_is_one_step_and_undo_brings_the_days_back(drills: Drills, clock: Clock, answer: Answer) -> None:
    for _ in range(3):
        due = answer(name(0), 3).due_day
        assert due is not None
        clock.now = datetime.combine(due, clock.now.timetz())
    then = drills.card(name(0)).due_day
    drills.set_plan(DrillPlan(desired_retention=0.95, fuzz=False), clock.forward(hours=1))
    sooner = drills.card(name(0)).due_day
    assert then is not None
    assert sooner is not None
    assert sooner < then
    drills.undo(clock.forward(minutes=1))
    assert drills.card(name(0)).due_day == then
    assert drills.cache.differences() == []


def test_a_text_edit_keeps_history_and_changed_facts_reset_it_with_a_word(
    store: Store, drills: Drills, clock: Clock, answer: Answer
) -> None:
    answer(name(0), 3)
    answer(name(1), 3)
    drills.note(name(0), "mine", clock.forward(minutes=1))
    clock.forward(days=1)
    changed = [drill_item(number, version=2 if number == 0 else 1) for number in range(20)]
    with Drills(store, Deck(changed)) as later:
        told = later.sync(clock())
        assert len(told) == 1
        assert "Item 0" in told[0]
        assert "version 1 → 2" in told[0]
        assert later.sync(clock()) == ()
        reset, kept = later.card(name(0)).state, later.card(name(1)).state
        assert reset.new
        assert reset.note == "mine"
        assert kept.reviews == 1
        assert later.next(clock(), lessons=[name(0)]) is not None
        # An older pack does not undo it.
    with Drills(store, Deck([drill_item(number) for number in range(20)])) as older:
        assert older.sync(clock()) == ()


def test_an_answer_to_the_changed_item_begins_anew_too(
    store: Store, drills: Drills, clock: Clock, answer: Answer
) -> None:
    for _ in range(3):
        answer(name(0), 3)
        clock.forward(days=20)
    with Drills(store, Deck([drill_item(0, version=2)])) as later:
        shown = later.present(name(0), "review", clock())
        state = later.record(shown, GOOD, clock()).card
        assert (state.reviews, state.version) == (1, 2)
        assert state.memory == MemoryModel().after(None, Rating.GOOD, 0)
        assert later.sync(clock()) == ()
    # The older form, answered elsewhere, neither resets nor is lost.
    clock.forward(days=2)
    with Drills(store, Deck([drill_item(0)])) as older:
        assert older.record(older.present(name(0), "review", clock()), GOOD, clock()).card.reviews == 2


def test_an_item_that_is_not_there_is_named_with_the_nearest(drills: Drills, clock: Clock) -> None:
    with pytest.raises(DrillError, match="item-7"):
        drills.suspend("pack/lesson/item7", clock())


# -- replay -----------------------------------------------------------------------------------------------------------

actions = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "3", "4", "none", "undo", "bury", "suspend", "resume", "note"]),
        st.integers(0, 3),
        st.sampled_from([0, 0, 1, 30, 600, 1500, 3000, 20_000, -600, -100_000]),
        st.sampled_from([None, 1, 2, 3]),
    ),
    max_size=25,
)


def act(drills: Drills, clock: Clock, steps: list[tuple[str, int, int, int | None]]) -> None:
    for what, number, minutes, confidence in steps:
        now, item_id = clock.forward(minutes=minutes), name(number)
        if what in "1234":
            outcome = Outcome(Rating(int(what)), what != "1", "drawn")
            drills.record(drills.present(item_id, "review", now), outcome, now, confidence=confidence)
        elif what == "none":
            drills.record(drills.present(item_id, "review", now), Outcome(None, None, "not graded"), now)
        elif what == "undo":
            drills.undo(now)
        elif what == "bury":
            drills.bury(item_id, now)
        elif what == "suspend":
            drills.suspend(item_id, now)
        elif what == "resume":
            drills.resume(item_id, now)
        else:
            drills.note(item_id, f"after {minutes}", now)


def today(drills: Drills) -> list[str]:
    return [row[0] for row in drills.cache.rows("SELECT item_id FROM queue ORDER BY place")]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=actions)
def test_whatever_happens_the_cache_is_what_replay_gives_and_an_import_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int, int | None]]
) -> None:
    folder, clock = tmp_path_factory.mktemp("replay"), Clock()
    deck = Deck([drill_item(number) for number in range(4)])
    with open_store(folder / "a.db") as store, Drills(store, deck) as drills:
        act(drills, clock, steps)
        assert drills.check() == []
        drills.queue.refresh(clock())
        cards, order = drills.cache.cards(), today(drills)
        drills.cache.rebuild()
        drills.queue.refresh(clock())
        # The order that was kept up answer by answer is the one worked out anew.
        assert (drills.cache.cards(), today(drills)) == (cards, order)
        # The history tells the same reviews as the state was made of.
        told = Counter(each.item_id for each in counted(drills.log, drills.cache.model))
        assert {card.state.item_id: card.state.reviews for card in cards if card.state.reviews} == told
        lines = list(export_lines(store))
        with open_store(folder / "b.db") as other, Drills(other, deck) as copied:
            import_lines(other, lines, source="a")
            copied.queue.refresh(clock())
            assert copied.cache.cards() == cards
            assert state_hash(other) == state_hash(store)
            again = import_lines(other, lines, source="a")
            assert again.events_added == 0
            assert state_hash(other) == state_hash(store)


@given(st.permutations(range(8)))
def test_the_order_in_which_events_are_read_does_not_matter(order: list[int]) -> None:
    start = datetime.fromisoformat("2026-03-02T09:00:00+01:00")

    def review(number: int, day: int, rating: int) -> LogEntry:
        payload = ev.Reviewed(
            presentation_id=f"p{number}",
            version=1,
            seed=number,
            day=date(2026, 3, 2) + timedelta(days=day),
            rollover_h=4,
            rating=Rating(rating),
            right=rating > 1,
            reason="drawn",
            mode="numbers",
        )
        return LogEntry(f"e{number}", start + timedelta(days=day, minutes=number), payload)

    log = [review(0, 0, 3), review(1, 2, 3), review(2, 2, 1), review(3, 13, 1), review(4, 14, 3), review(5, 20, 4)]
    log += [
        LogEntry("e6", start + timedelta(days=13, hours=1), ev.Undone(target="e3")),
        LogEntry("e7", start + timedelta(days=21), ev.Amended(
            presentation_id="p4", rating=Rating.HARD, right=True, marked="contested", reason="contested"
        )),
    ]  # fmt: skip
    model = MemoryModel()
    state = fold("x", [log[index] for index in order], model)
    assert state == fold("x", log, model)
    memory = model.after(None, Rating.GOOD, 0)
    for rating, elapsed in ((3, 2), (2, 12), (4, 6)):
        memory = model.after(memory, Rating(rating), elapsed)
    assert state.memory == memory
    assert (state.reviews, state.lapses) == (4, 0)


@pytest.mark.parametrize(
    ("kind", "payload", "words"),
    [
        ("drill.blessed", {}, "drill.blessed"),
        (ev.Buried.kind, {"until": "soon"}, "until"),
        (ev.Reviewed.kind, {"presentation_id": "p"}, "version"),
        (ev.Suspended.kind, {"why": "x"}, "why"),
    ],
)
def test_an_event_that_cannot_be_understood_is_named_and_passed_over(
    drills: Drills, clock: Clock, answer: Answer, kind: str, payload: dict[str, Any], words: str
) -> None:
    before = answer(name(0), 3)
    drills.store.append(f"drill:{name(0)}", kind, payload, clock.forward(minutes=1))
    drills.store.append("drills", kind, payload, clock.forward(minutes=1))
    problems = drills.check()
    assert len(problems) == 2
    assert all(words in problem.what for problem in problems)
    assert drills.card(name(0)).due_day == before.due_day
    clock.forward(days=2)
    assert answer(name(0), 3).counts
    undone = drills.undo(clock.forward(minutes=1))
    assert undone is not None
    assert undone.item_id == name(0)
    assert drills.card(name(0)).state.reviews == 1


# -- the cache --------------------------------------------------------------------------------------------------------


def test_a_wrong_cache_is_found_and_repaired(drills: Drills, clock: Clock, answer: Answer) -> None:
    answer(name(0), 3)
    with drills.cache.writing() as connection:
        connection.execute("UPDATE cards SET stability = 99 WHERE item_id = ?", (name(0),))
    assert [problem.what for problem in drills.check()] == [f"The drill state of {name(0)} is not what its log gives."]
    assert len(check_drills(drills.store)) == 1
    drills.check(repair=True)
    assert drills.check() == check_drills(drills.store) == []


@pytest.mark.parametrize("damage", ["delete", "garbage", "truncate"])
def test_a_cache_that_is_gone_or_damaged_is_made_again(
    store: Store, drills: Drills, clock: Clock, answer: Answer, damage: str
) -> None:
    due = answer(name(0), 3).due_day
    path: Path = drills.cache.path
    drills.close()
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)
    if damage == "delete":
        path.unlink()
    else:
        path.write_bytes(b"no database at all" * 300 if damage == "garbage" else b"")
    with Drills(store, drills.deck) as again:
        assert again.card(name(0)).due_day == due
        assert again.check() == []


def test_a_store_put_back_from_a_backup_is_read_from_the_beginning(tmp_path: Path, clock: Clock) -> None:
    deck = Deck([drill_item(number) for number in range(3)])
    with open_store(tmp_path / "tutor.db") as store, Drills(store, deck) as drills:
        for number in range(3):
            drills.record(drills.present(name(number), "new", clock()), GOOD, clock.forward(minutes=1))
        lines = list(export_lines(store))[:2]
    for file in tmp_path.glob("tutor.db*"):
        file.unlink()
    with open_store(tmp_path / "tutor.db") as store:
        import_lines(store, lines, source="backup")
        store.append("elsewhere", "x", {}, clock())
        store.append("elsewhere", "x", {}, clock())
        with Drills(store, deck) as drills:
            drills.queue.refresh(clock())
            assert [card.state.item_id for card in drills.cache.cards()] == [name(0)]


def test_two_windows_see_each_other(store: Store, drills: Drills, clock: Clock, answer: Answer) -> None:
    with Drills(store, drills.deck) as other:
        assert other.next(clock()) is not None
        answer(name(0), 3)
        # Looking at something else first takes nothing away from the order of the day.
        assert other.card(name(0)).state.reviews == 1
        upcoming = other.next(clock())
        assert upcoming is not None
        assert upcoming.item.id == name(1)
        parameters: Any = (*MemoryModel().parameters[:3], 20.0, *MemoryModel().parameters[4:])
        other.log.set_parameters(parameters, "a test", clock())
        other.queue.refresh(clock())
        drills.queue.refresh(clock())
        assert drills.cache.model.parameters == other.cache.model.parameters
        assert isinstance(drills.card(name(0)).state, CardState)
