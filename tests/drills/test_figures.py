"""Calibration, mastery, readiness, forecast and fit, against arithmetic by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from importlib.util import find_spec
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank.load import Bank
from question_bank.schema import Lesson, Topic
from tests.drills.conftest import SMALL_LESSON, Answer, Clock, drill_item, name
from tutor.drills import Deck, DrillError, DrillPlan, Drills, MemoryModel, Outcome, Rating
from tutor.drills import events as ev
from tutor.drills.calibration import calibration, calibration_of, wilson
from tutor.drills.forecast import LONGEST_DAYS, catch_up, due_days
from tutor.drills.history import counted, weeks
from tutor.drills.mastery import lessons, mastery, topic_prerequisites
from tutor.drills.optimise import fit, log_loss, repeats
from tutor.drills.readiness import readiness
from tutor.errors import TutorError
from tutor.store import Store

# -- calibration ------------------------------------------------------------------------------------------------------


def test_levels_brier_and_gap_by_hand() -> None:
    # 2 of 4 right at "not yet" (30 %), 3 of 6 at "getting there" (60 %), 5 of 10 at "confident" (85 %)
    found = calibration_of([(1, 1, 3, 3, 2, 2), (1, 1, 0, 0, 3, 3)])
    assert [(level.answers, level.right, level.rate) for level in found.levels] == [
        (4, 2, 0.5),
        (6, 3, 0.5),
        (10, 5, 0.5),
    ]
    stated = (4 * 0.3 + 6 * 0.6 + 10 * 0.85) / 20
    assert found.stated == pytest.approx(stated)
    assert found.observed == 0.5
    assert found.gap == pytest.approx(stated - 0.5)
    brier = (2 * 0.7**2 + 2 * 0.3**2 + 3 * 0.4**2 + 3 * 0.6**2 + 5 * 0.15**2 + 5 * 0.85**2) / 20
    assert found.brier == pytest.approx(brier)


@pytest.mark.parametrize(
    ("tally", "verdict"),
    [
        ((0, 0, 0, 0, 5, 14), None),
        ((0, 0, 0, 0, 5, 15), "overconfident"),
        ((19, 1, 0, 0, 0, 0), "underconfident"),
        ((0, 0, 0, 0, 17, 3), "in line"),
        ((0, 0, 0, 0, 14, 6), "in line"),
        ((0, 0, 0, 0, 0, 0), None),
    ],
)
def test_no_verdict_under_20_answers_and_none_that_chance_could_explain(
    tally: tuple[int, int, int, int, int, int], verdict: str | None
) -> None:
    assert calibration_of([tally]).verdict == verdict


def test_wilson_interval_by_the_formula() -> None:
    # 14 of 20: (0.7 + z²/40 ± z·√(0.21/20 + z²/1600)) / (1 + z²/20) with z = 1.96
    low, high = wilson(14, 20)
    assert (round(low, 3), round(high, 3)) == (0.481, 0.855)
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 500), st.data())
def test_the_interval_holds_the_rate(answers: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, answers))
    low, high = wilson(right, answers)
    assert 0 <= low <= right / answers + 1e-12
    assert right / answers - 1e-12 <= high <= 1


def test_calibration_by_topic_comes_from_the_answers(drills: Drills, clock: Clock, answer: Answer) -> None:
    for number in range(3):
        answer(name(number), 1 + 2 * (number > 0), confidence=3)
    clock.forward(minutes=5)
    answer(name(0), 3, confidence=1)
    answer(name(1), 3)
    everything, topics = calibration(drills)
    assert everything.answers == 4
    assert [(each.topic, each.answers, each.observed) for each in topics] == [
        ("topic-0", 2, 0.5),
        ("topic-1", 1, 1.0),
        ("topic-2", 1, 1.0),
    ]
    drills.undo(clock.forward(minutes=1))
    drills.undo(clock.forward(minutes=1))
    assert calibration(drills)[0].answers == 3


# -- mastery ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def topical(store: Store, new_id: Callable[[], str]) -> Iterator[Drills]:
    items = [drill_item(0, topic="ttft"), drill_item(1, topic="ttft"), drill_item(2, topic="kv")]
    with Drills(store, Deck(items), new_id=new_id) as drills:
        yield drills


def give(drills: Drills, clock: Clock, item_id: str, rating: int, numbers: str) -> None:
    shown = replace(drills.present(item_id, "review", clock()), numbers=numbers)
    drills.record(shown, Outcome(Rating(rating), rating > 1, "drawn"), clock())


def level(drills: Drills, clock: Clock, topic: str) -> tuple[float, str]:
    found = next(each for each in mastery(drills, clock()) if each.topic == topic)
    return round(found.mastery, 3), found.status


def test_mastery_needs_two_days_and_two_sets_of_numbers(topical: Drills, clock: Clock) -> None:
    assert level(topical, clock, "kv") == (0.0, "not begun")
    give(topical, clock, name(2), 3, "a")
    assert level(topical, clock, "kv") == (0.5, "learning")
    # The same day, other numbers; then another day, the same numbers: neither shows more.
    give(topical, clock, name(2), 3, "b")
    assert level(topical, clock, "kv") == (0.5, "learning")
    clock.forward(days=2)
    give(topical, clock, name(2), 3, "a")
    assert level(topical, clock, "kv") == (0.5, "learning")
    clock.forward(days=2)
    give(topical, clock, name(2), 3, "b")
    assert level(topical, clock, "kv") == (1.0, "mastered")
    # A miss takes it back.
    clock.forward(days=2)
    give(topical, clock, name(2), 1, "c")
    assert level(topical, clock, "kv") == (0.0, "learning")


def test_mastery_fades_with_the_chance_to_remember(topical: Drills, clock: Clock) -> None:
    for numbers in ("a", "b"):
        give(topical, clock, name(2), 3, numbers)
        clock.forward(days=2)
    clock.forward(days=-2)
    memory = topical.card(name(2)).state.memory
    assert memory is not None
    clock.forward(days=400)
    likely = MemoryModel().retrievability(memory.stability, 400)
    assert level(topical, clock, "kv") == (round(likely, 3), "fading")


def test_a_topic_is_the_mean_of_its_items_asked_or_not(topical: Drills, clock: Clock) -> None:
    give(topical, clock, name(0), 3, "a")
    assert level(topical, clock, "ttft") == (0.25, "learning")


def test_prerequisites_come_from_the_pack_and_else_from_the_lessons(
    store: Store, small_bank: Bank, clock: Clock
) -> None:
    fields = json.loads(SMALL_LESSON.read_text(encoding="utf-8"))
    later = json.loads(json.dumps(fields).replace("small/lesson", "small/later").replace('"timing"', '"tails"'))
    later["prerequisites"] = ["small/lesson"]
    lessons = (small_bank.lessons[0], Lesson.model_validate_json(json.dumps(later)))
    bank = Bank(packs=(), lessons=lessons, paths={})
    assert topic_prerequisites(Deck.from_bank(bank)) == {"timing": (), "tails": ("timing",)}
    topics = (Topic(id="timing", title="Timing"), Topic(id="tails", title="Tails", prerequisites=("timing", "none")))
    named = bank.model_copy(update={"topics": {"small": topics}})
    with Drills.open(store, named) as drills:
        tails = next(each for each in mastery(drills, clock()) if each.topic == "tails")
    assert (tails.title, tails.prerequisites, tails.missing) == ("Tails", ("timing", "none"), ("timing",))


def test_a_lesson_sums_up_its_items(topical: Drills, clock: Clock) -> None:
    give(topical, clock, name(0), 3, "a")
    give(topical, clock, name(2), 4, "a")
    (lesson,) = lessons(topical, clock())
    assert (lesson.lesson_id, lesson.items, lesson.asked) == ("pack/lesson", 3, 2)
    assert lesson.mastery == pytest.approx(1 / 3)
    assert lesson.next_due == date(2026, 3, 4)
    clock.forward(days=5)
    assert lessons(topical, clock())[0].next_due == date(2026, 3, 7)


# -- history and readiness --------------------------------------------------------------------------------------------


def test_weeks_sum_up_what_counted(drills: Drills, clock: Clock, answer: Answer) -> None:
    # Monday 2 March: three new; Wednesday: one forgotten, two remembered, and one of them twice.
    for number in range(3):
        answer(name(number), 3)
    clock.forward(days=2)
    for number in range(3):
        answer(name(number), 1 if number == 0 else 3)
    answer(name(1), 3)
    clock.forward(days=7)
    answer(name(3), 3)
    first, second = weeks(drills)
    assert (first.first_day, first.reviews, first.new, first.repeated, first.remembered) == (
        date(2026, 3, 2),
        6,
        3,
        3,
        2,
    )
    assert first.retention == pytest.approx(2 / 3)
    assert first.expected == pytest.approx(MemoryModel().retrievability(2.3065, 2))
    assert (second.first_day, second.new, second.retention) == (date(2026, 3, 9), 1, None)


def test_readiness_is_a_range_with_its_basis_and_none_too_early(drills: Drills, clock: Clock, answer: Answer) -> None:
    day = date(2026, 4, 1)
    early = readiness(drills, clock(), day)
    assert (early.low, early.high, early.asked) == (None, None, 0)
    assert "20 are needed" in " ".join(early.basis)
    for _ in range(4):
        for number in range(10):
            answer(name(number), 3)
        clock.forward(days=2)
    found = readiness(drills, clock(), day)
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < found.high <= 1
    # Half of the items were never asked, so with nothing more practised at most half can be known.
    assert found.low <= 0.5
    assert found.days_left == (day - drills.today(clock())).days
    assert any("30 repeated answers 100% were right" in sentence for sentence in found.basis)
    nearer = readiness(drills, clock(), drills.today(clock()))
    assert nearer.low is not None
    assert nearer.low > found.low
    assert nearer.high is not None
    assert nearer.high < found.high
    with pytest.raises(DrillError, match="past"):
        readiness(drills, clock(), date(2026, 3, 1))
    with pytest.raises(DrillError, match="nowhere"):
        readiness(drills, clock(), day, lessons=["nowhere"])


# -- forecast ---------------------------------------------------------------------------------------------------------


def test_due_days_are_counted_and_overdue_ones_today(drills: Drills, clock: Clock, answer: Answer) -> None:
    for number, rating in enumerate([3, 3, 4]):
        answer(name(number), rating)
    ahead = due_days(drills, clock(), 10)
    assert [each.due for each in ahead] == [0, 0, 2, 0, 0, 0, 0, 0, 1, 0]
    drills.suspend(name(1), clock.forward(minutes=1))
    drills.bury(name(0), clock.forward(minutes=1), days=4)
    assert [each.due for each in due_days(drills, clock(), 10)] == [0, 0, 0, 0, 1, 0, 0, 0, 1, 0]
    clock.forward(days=20)
    assert [each.due for each in due_days(drills, clock(), 3)] == [2, 0, 0]


def test_a_backlog_is_worked_off_the_sooner_the_more_a_day(drills: Drills, clock: Clock, answer: Answer) -> None:
    assert catch_up(drills, clock(), per_day=1).days == (0, 0, 0, 0, 0)
    for number in range(20):
        answer(name(number), 3)
    clock.forward(days=10)
    slow, quick = catch_up(drills, clock(), per_day=4), catch_up(drills, clock(), per_day=20)
    assert (slow.backlog, quick.backlog) == (20, 20)
    assert quick.days == (1, 1, 1, 1, 1)
    assert slow.days[0] >= 5
    assert not slow.never
    assert slow.left[0] == 16
    assert catch_up(drills, clock(), per_day=4) == slow
    with pytest.raises(DrillError, match="At least one"):
        catch_up(drills, clock(), per_day=0)


def test_a_backlog_that_grows_faster_than_it_is_worked_off_is_said_so(
    drills: Drills, clock: Clock, answer: Answer
) -> None:
    drills.set_plan(DrillPlan(max_interval_days=2, fuzz=False), clock())
    for number in range(20):
        answer(name(number), 3)
    clock.forward(days=10)
    found = catch_up(drills, clock(), per_day=2)
    assert found.never
    assert found.days[0] == LONGEST_DAYS + 1


# -- fitting ----------------------------------------------------------------------------------------------------------


def test_with_too_few_answers_nothing_is_fitted(drills: Drills) -> None:
    with pytest.raises(DrillError, match="512"):
        fit(drills)


def test_the_loss_of_a_log_is_that_of_its_forecasts(drills: Drills, clock: Clock, answer: Answer) -> None:
    for number, rating in ((0, 3), (1, 3)):
        answer(name(number), rating)
    clock.forward(days=3)
    answer(name(0), 3)
    answer(name(1), 1)
    likely = MemoryModel().retrievability(2.3065, 3)
    reviews = list(counted(drills.log, drills.cache.model))
    assert repeats(drills) == 2
    assert log_loss(reviews, MemoryModel()) == pytest.approx(-(log(likely) + log(1 - likely)) / 2)


def many_answers(drills: Drills, clock: Clock) -> None:
    with drills.store.writing():
        for number in range(20):
            for count in range(30):
                at = clock.now + timedelta(days=3 * count)
                review = ev.Reviewed(
                    presentation_id=f"{number}:{count}",
                    version=1,
                    seed=0,
                    day=at.date(),
                    rollover_h=4,
                    rating=Rating(1 if (number + count) % 5 == 0 else 3),
                    right=True,
                    reason="drawn",
                    mode="numbers",
                )
                drills.log.record(name(number), review, at, live=False)


def test_fitting_says_in_one_sentence_what_is_missing_or_fits_better_than_the_defaults(
    drills: Drills, clock: Clock
) -> None:
    many_answers(drills, clock)
    assert repeats(drills) == 580
    if all(find_spec(module) for module in ("torch", "pandas", "tqdm")):
        assert fit(drills).better
        return
    with pytest.raises(TutorError) as refused:
        fit(drills)
    assert refused.value.exit_code == 3
    assert "not installed" in refused.value.message
    assert "fsrs[optimizer]" in refused.value.hint


def test_other_parameters_replay_everything_and_undo_takes_them_back(
    drills: Drills, clock: Clock, answer: Answer
) -> None:
    answer(name(0), 3)
    before = drills.card(name(0))
    fitted = (*MemoryModel().parameters[:2], 7.0, *MemoryModel().parameters[3:])
    drills.log.set_parameters(fitted, "a test", clock.forward(minutes=1))
    drills.queue.refresh(clock())
    assert drills.card(name(0)).due_day == date(2026, 3, 9)
    assert drills.check() == []
    drills.undo(clock.forward(minutes=1))
    assert drills.card(name(0)) == before
    with pytest.raises(TutorError):
        drills.log.set_parameters((1.0,), "nonsense", clock())
