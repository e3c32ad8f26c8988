"""A sitting as both faces hold it, and reviews that come out of interviews."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest

from question_bank.load import Bank
from tests.drills.conftest import Clock
from tutor.drills import (
    Answered,
    Deck,
    DrillError,
    Drills,
    DrillSession,
    Outcome,
    Presentation,
    Rating,
    return_line,
)
from tutor.drills import events as ev
from tutor.drills.bridge import full_answer
from tutor.errors import TutorError
from tutor.grading.models import CRITERIA, CriterionGrade, Grade, Provenance, Verdict
from tutor.interview import Session, single_item_plan
from tutor.store import Store, export_lines, import_lines, open_store, state_hash

SUM, WHY, PICK, MEMORY, GUESS = (f"small/lesson/{each}" for each in ("sum", "why", "pick", "memory", "guess"))


@pytest.fixture
def bank(small_bank: Bank) -> Bank:
    return small_bank


@pytest.fixture
def small(store: Store, bank: Bank, new_id: Callable[[], str]) -> Iterator[Drills]:
    with Drills(store, Deck.from_bank(bank), new_id=new_id) as drills:
        yield drills


def only(drills: Drills, clock: Clock, item_id: str, *, full: bool = False) -> DrillSession:
    return DrillSession(drills, clock, lessons=[item_id], full=full)


def numbers(shown: Presentation | None, factor: float = 1) -> str:
    assert shown is not None
    assert shown.question is not None
    return f"{shown.question.expected[0].value * factor:g} ms"


def test_the_quick_kinds_without_a_model(small: Drills, clock: Clock) -> None:
    session = DrillSession(small, clock)
    modes = {}
    while session.current is not None:
        shown = session.current
        assert shown.question is not None
        session.set_confidence(2)
        match shown.mode:
            case "checkpoint":
                answered = session.choose("right")
            case "numbers":
                answered = session.give_numbers(f"{shown.question.expected[0].value:g} ms")
            case "prediction":
                answered = session.predict({each.name: each.value for each in shown.question.expected})
            case _:
                assert session.reveal() == shown.question.reference
                answered = session.mark("well", "in my words")
        modes[shown.item.id] = shown.mode
        assert answered.outcome.rating is Rating.GOOD
        assert answered.due_day == date(2026, 3, 4)
        session.advance()
    assert modes == {SUM: "numbers", WHY: "recall", PICK: "checkpoint", MEMORY: "recall", GUESS: "prediction"}
    summary = session.summary()
    assert (summary.answered, summary.right, summary.wrong, summary.left_today) == (5, 5, 0, 0)
    assert [each.item_id for each in summary.learned] == [SUM, WHY, PICK, MEMORY, GUESS]
    assert (summary.next_due, summary.due_then) == (date(2026, 3, 4), 5)
    assert small.check() == []


def test_a_wrong_number_says_which_slip_it_is(small: Drills, clock: Clock) -> None:
    session = only(small, clock, SUM)
    shown = session.current
    assert shown is not None
    assert shown.question is not None
    session.set_confidence(3)
    queue_ms = shown.question.parameters["queue_ms"]
    answered = session.give_numbers(f"The first token is out after {queue_ms:g} ms.")
    assert answered.outcome.rating is Rating.AGAIN
    assert "left the prefill out" in answered.outcome.reason
    assert session.summary().confident_misses[0].item_id == SUM


def test_a_hedged_number_is_kept_and_not_counted(small: Drills, clock: Clock) -> None:
    session = only(small, clock, SUM)
    session.set_confidence(3)
    right = numbers(session.current)
    answered = session.give_numbers(f"The first token is out at {right}. The first token is out at 17 ms.")
    assert (answered.outcome.rating, answered.counts) == (None, False)
    assert session.summary().not_counted == 1
    session.advance()
    assert session.current is not None


def test_numbers_are_others_at_every_repeat(small: Drills, clock: Clock) -> None:
    seen = []
    for _ in range(12):
        shown = small.present(SUM, "review", clock())
        assert shown.question is not None
        seen.append((shown.numbers, shown.question.prompt))
        session = only(small, clock, SUM)
        session.set_confidence(2)
        session.give_numbers(numbers(session.current))
        due = small.card(SUM).due_day
        assert due is not None
        clock.forward(days=(due - small.today(clock())).days)
    assert all(one != other for one, other in pairwise(seen))


def test_confidence_comes_before_the_answer_and_stands(small: Drills, clock: Clock) -> None:
    session = only(small, clock, PICK)
    with pytest.raises(DrillError, match="how sure"):
        session.choose("right")
    with pytest.raises(DrillError, match="1, 2 or 3"):
        session.set_confidence(4)
    session.set_confidence(1)
    session.set_confidence(3)
    with pytest.raises(DrillError, match="no option"):
        session.choose("neither")
    answered = session.choose("wrong")
    with pytest.raises(DrillError, match="stands"):
        session.set_confidence(1)
    assert answered.recorded.review.confidence == 3
    assert answered.card.confident_wrong


def test_submitting_five_times_is_one_answer(small: Drills, clock: Clock) -> None:
    session = only(small, clock, PICK)
    session.set_confidence(2)
    answers = [session.choose("right" if n else "wrong") for n in range(5)]
    assert {id(each) for each in answers} == {id(answers[0])}
    assert len(session.done) == 1
    assert len(small.store.events(f"drill:{PICK}")) == 1


def test_the_reference_comes_before_the_mark_and_after_the_confidence(small: Drills, clock: Clock) -> None:
    session = only(small, clock, MEMORY)
    with pytest.raises(DrillError, match="how sure"):
        session.reveal()
    session.set_confidence(2)
    with pytest.raises(DrillError, match="after the reference"):
        session.mark("well")
    session.reveal()
    assert session.hint() is None
    with pytest.raises(DrillError, match="no mark"):
        session.mark("brilliantly")
    assert session.mark("partly").outcome.rating is Rating.HARD


def test_hints_are_counted(small: Drills, clock: Clock) -> None:
    session = only(small, clock, SUM)
    hints = [session.hint() for _ in range(5)]
    assert hints[4] is None
    assert len(set(hints)) == 5
    session.set_confidence(3)
    answered = session.give_numbers(numbers(session.current))
    assert (answered.recorded.review.hints, answered.outcome.rating) == (4, Rating.HARD)


def test_skip_bury_suspend_note_and_undo(small: Drills, clock: Clock) -> None:
    session = DrillSession(small, clock)
    session.note("mine")
    assert session.skip() is not None
    assert session.current is not None
    assert session.current.item.id == WHY
    session.bury()
    assert session.current.item.id == PICK
    session.suspend()
    assert session.current.item.id == MEMORY
    session.set_confidence(2)
    session.reveal()
    session.mark("missed")
    clock.forward(minutes=1)
    undone = session.undo()
    assert undone is not None
    assert (undone.item_id, session.done) == (MEMORY, ())
    assert session.current.item.id == MEMORY
    assert session.confidence is None
    session.undo()
    session.undo()
    session.undo()
    assert session.current.item.id == WHY
    assert small.card(SUM).state.note == ""
    assert not small.card(PICK).state.suspended
    assert session.undo() is None


def test_a_draft_is_there_again_with_the_same_numbers_and_gone_with_the_answer(
    small: Drills, bank: Bank, store: Store, clock: Clock
) -> None:
    session = only(small, clock, SUM)
    assert session.current is not None
    session.save_draft("260 m")
    with Drills.open(store, bank) as reopened:
        again = only(reopened, clock, SUM)
        assert again.current is not None
        assert again.current.question == session.current.question
        assert again.draft == "260 m"
        again.set_confidence(2)
        again.give_numbers(numbers(again.current))
        assert again.draft == ""
        again.save_draft("too late")
        assert store.drafts() == []


def test_with_no_room_for_the_cache_what_was_done_is_in_the_log_and_taken_in_later(small: Drills, clock: Clock) -> None:
    small.counts(clock())
    with small.cache.writing() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    kept = [SUM, WHY, PICK]

    def note_all() -> None:
        for item_id in kept:
            small.note(item_id, "x" * 2_000, clock.forward(minutes=1))

    with pytest.raises(TutorError) as refused:
        note_all()
    assert "no room left" in refused.value.message
    assert str(small.cache.path) in refused.value.message
    noted = [item_id for item_id in kept if small.store.events(f"drill:{item_id}")]
    assert noted
    connection.execute("PRAGMA max_page_count = 100000")
    assert [item_id for item_id in kept if small.card(item_id).state.note] == noted
    assert small.check() == []


def test_a_sitting_ends_after_its_limit_and_when_nothing_is_left(small: Drills, clock: Clock) -> None:
    session = DrillSession(small, clock, limit=1, kinds=["checkpoint"])
    session.set_confidence(2)
    session.choose("right")
    assert session.advance() is None
    assert session.summary().left_today == 4
    with pytest.raises(DrillError, match="Nothing is left"):
        session.choose("right")


def test_the_preview_is_what_then_happens(small: Drills, clock: Clock) -> None:
    for option, rating in (("right", Rating.GOOD), ("wrong", Rating.AGAIN), ("right", Rating.GOOD)):
        session = only(small, clock, PICK)
        session.set_confidence(3)
        promised = session.previews()
        answered = session.choose(option)
        assert answered.days == promised[rating]
        assert answered.due_day is not None
        clock.forward(days=(answered.due_day - small.today(clock())).days)


def test_one_line_says_when_an_item_returns_and_why(small: Drills, clock: Clock) -> None:
    def line(item_id: str, option: str, confidence: int) -> str:
        session = only(small, clock, item_id)
        session.set_confidence(confidence)
        if item_id == SUM:
            text = "The first token is out after 5 ms." if option == "wrong" else numbers(session.current)
            return return_line(session.give_numbers(text))
        return return_line(session.choose(option))

    assert line(SUM, "wrong", 3) == "wrong though confident: once more today, then tomorrow, other numbers"
    assert line(SUM, "wrong", 3) == "wrong: once more today, then tomorrow, other numbers"
    assert line(SUM, "right", 2) == "as before: tomorrow, other numbers"
    assert line(PICK, "right", 2) == "right (Good): in 2 days, on 2026-03-04"
    clock.forward(days=2)
    assert line(PICK, "wrong", 1) == "wrong: once more today, then tomorrow"
    shown = small.present(MEMORY, "new", clock())
    nothing = small.record(shown, Outcome(None, None, "not graded"), clock())
    assert return_line(nothing) == "not counted: asked again today"


def test_a_leech_comes_with_another_way_in_and_other_numbers_than_it_is_asked_with(small: Drills, clock: Clock) -> None:
    ways = []
    for _ in range(7):
        session = only(small, clock, SUM)
        session.set_confidence(3)
        answered = session.give_numbers("The first token is out after 5 ms.")
        ways.append(answered.way_in.kind if answered.way_in else None)
        clock.forward(days=1)
    # At the fourth lapse the worked example, at the sixth the next way.
    assert ways == [None, None, None, None, "worked_example", None, "lesson"]
    shown = only(small, clock, SUM).current
    assert shown is not None
    assert shown.way_in is not None
    assert "forgotten 6 times" in shown.way_in.words
    example = small.worked_example(SUM)
    assert example is not None
    assert shown.question is not None
    assert example.seed != shown.seed
    assert example.reference


def test_an_interview_that_cannot_be_read_is_named_and_holds_up_no_other(
    small: Drills, bank: Bank, clock: Clock
) -> None:
    small.store.append("interview:broken", "interview.rewound", {}, clock())
    session = interview(small.store, bank, clock)
    session.record_grade(session.submit("260 ms"), grade("met", "met", "met", "met"))
    (told,) = small.sync(clock())
    assert "interview:broken" in told
    assert "interview.rewound" in told
    assert len(reviews(small)) == 1
    assert small.sync(clock()) == ()


# -- interviews -------------------------------------------------------------------------------------------------------


def grade(*verdicts: Verdict) -> Grade:
    return Grade(
        criteria=tuple(
            CriterionGrade(criterion=criterion, verdict=verdict, decided_by="code", reason="because")
            for criterion, verdict in zip(CRITERIA, verdicts, strict=True)
        ),
        provenance=Provenance(item_id=SUM, item_version=1, seed=0, answer_hash="a"),
    )


def interview(store: Store, bank: Bank, clock: Clock, item_id: str = SUM, seed: int = 7) -> Session:
    session = Session.start(store, bank, single_item_plan(item_id, seed), clock, interview_id=f"i{seed}")
    session.set_confidence(3)
    return session


def reviews(drills: Drills, item_id: str = SUM) -> list[ev.Reviewed]:
    found = [entry.payload for of, entry in drills.log.reviews() if of == item_id]
    return [payload for payload in found if isinstance(payload, ev.Reviewed)]


def test_a_graded_answer_of_an_interview_enters_the_log_once(small: Drills, bank: Bank, clock: Clock) -> None:
    session = interview(small.store, bank, clock)
    clock.forward(minutes=2)
    attempt = session.submit("260 ms")
    small.sync(clock())
    assert reviews(small) == []
    clock.forward(minutes=1)
    session.record_grade(attempt, grade("met", "met", "met", "met"))
    for _ in range(3):
        small.sync(clock())
    (review,) = reviews(small)
    assert (review.rating, review.confidence, review.source, review.mode) == (Rating.EASY, 3, "interview", "full")
    # From the question to the answer, not to the grade.
    assert review.duration_ms == 120_000
    assert (review.seed, review.numbers != "") == (7, True)
    assert small.card(SUM).state.reviews == 1


def test_what_is_not_graded_never_counts(small: Drills, bank: Bank, clock: Clock) -> None:
    session = interview(small.store, bank, clock)
    attempt = session.submit("about 260")
    session.record_grade(attempt, grade("not_graded", "met", "met", "met"))
    small.sync(clock())
    assert reviews(small) == []
    session.self_mark("result", "met")
    small.sync(clock.forward(minutes=5))
    (review,) = reviews(small)
    assert (review.rating, review.marked) == (Rating.EASY, "self")


def test_a_contested_grade_counts_as_the_candidate_says_and_is_marked(small: Drills, bank: Bank, clock: Clock) -> None:
    session = interview(small.store, bank, clock)
    attempt = session.submit("260 ms")
    session.record_grade(attempt, grade("not_met", "met", "met", "not_met"))
    small.sync(clock())
    assert reviews(small)[0].rating is Rating.AGAIN
    assert small.card(SUM).state.confident_wrong
    session.contest("result", "it is right")
    small.sync(clock.forward(minutes=1))
    (review,) = reviews(small)
    assert (review.rating, review.right, review.marked) == (Rating.GOOD, True, "contested")
    assert not small.card(SUM).state.confident_wrong
    session.withdraw_mark("result")
    small.sync(clock.forward(minutes=1))
    assert reviews(small)[0].rating is Rating.AGAIN
    assert small.check() == []


def test_an_undone_review_of_an_interview_stays_undone(small: Drills, bank: Bank, clock: Clock) -> None:
    session = interview(small.store, bank, clock)
    session.record_grade(session.submit("260 ms"), grade("not_met", "met", "met", "met"))
    small.sync(clock())
    small.undo(clock.forward(minutes=1))
    session.contest("result")
    small.sync(clock.forward(minutes=1))
    assert reviews(small) == []
    assert small.card(SUM).state.new


def test_checkpoints_and_predictions_count_and_recalls_without_a_mark_do_not(
    small: Drills, bank: Bank, clock: Clock
) -> None:
    interview(small.store, bank, clock, PICK, 1).choose_option("wrong")
    prediction = interview(small.store, bank, clock, GUESS, 2)
    assert prediction.question is not None
    true = prediction.question.expected[0].value
    prediction.predict("y", true)
    values = {"y": {"predicted": true, "simulated": true, "reference": true, "unit": "ms"}}
    prediction.record_simulation({"values": values})
    recall = Session.start(small.store, bank, single_item_plan(MEMORY, 3), clock, interview_id="i3")
    recall.set_recall("all of it", 3)
    small.sync(clock())
    assert [each.rating for each in reviews(small, PICK)] == [Rating.AGAIN]
    assert [each.rating for each in reviews(small, GUESS)] == [Rating.GOOD]
    assert reviews(small, MEMORY) == []


def test_a_drill_answered_in_full_takes_its_grade_from_an_interview(small: Drills, bank: Bank, clock: Clock) -> None:
    drilled = only(small, clock, SUM, full=True)
    shown = drilled.current
    assert shown is not None
    assert shown.mode == "full"
    interview_id, plan = full_answer(shown)
    session = Session.start(small.store, bank, plan, clock, interview_id=interview_id)
    session.set_confidence(2)
    attempt = session.submit("260 ms")
    assert drilled.take_full_answer() is None
    session.record_grade(attempt, grade("met", "met", "not_met", "unsure"))
    answered = drilled.take_full_answer()
    assert isinstance(answered, Answered)
    assert (answered.outcome.rating, answered.counts) == (Rating.GOOD, True)
    assert drilled.take_full_answer() is answered
    assert drilled.advance() is None
    assert len(reviews(small)) == 1


def test_export_and_import_carry_drills_and_interviews_to_the_same_state(
    small: Drills, bank: Bank, clock: Clock, store: Store, tmp_path: Path
) -> None:
    session = interview(small.store, bank, clock)
    session.record_grade(session.submit("260 ms"), grade("not_met", "met", "met", "met"))
    small.sync(clock())
    drilled = only(small, clock, PICK)
    drilled.note("mine")
    drilled.set_confidence(2)
    drilled.choose("right")
    lines = list(export_lines(store))
    with open_store(tmp_path / "other" / "tutor.db") as other:
        import_lines(other, lines, source="export")
        assert state_hash(other) == state_hash(store)
        with Drills.open(other, bank) as copied:
            copied.sync(clock())
            # The interview's review came along, so looking at the interview again adds nothing.
            assert state_hash(other) == state_hash(store)
            assert copied.cache.cards() == small.cache.cards()
            assert copied.counts(clock()) == small.counts(clock())
        assert import_lines(other, lines, source="export").events_added == 0


def test_two_stores_that_met_the_same_interview_agree_after_merging(
    small: Drills, bank: Bank, clock: Clock, store: Store, tmp_path: Path
) -> None:
    session = interview(store, bank, clock)
    session.record_grade(session.submit("260 ms"), grade("met", "met", "met", "met"))
    before = list(export_lines(store))
    small.sync(clock())
    with (
        open_store(tmp_path / "other" / "tutor.db") as other,
        Drills.open(other, bank) as copied,
    ):
        import_lines(other, before, source="export")
        copied.sync(clock.forward(hours=1))
        report = import_lines(store, list(export_lines(other)), source="merge")
        # The same interview gave the same review, with the same identity.
        assert report.events_added == 0
        assert copied.cache.cards() == small.cache.cards()
