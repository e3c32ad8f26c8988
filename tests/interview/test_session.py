"""The rules of an interview, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from question_bank.errors import BankError
from question_bank.load import Bank
from tutor.interview import Plan, Session, SessionError, single_item_plan, unfinished
from tutor.store import Store, StoreError

if TYPE_CHECKING:
    from tests.interview.conftest import Begin, MakeGrade


def answered(session: Session, text: str = "260 ms") -> str:
    session.set_confidence(2)
    return session.submit(text)


def test_from_the_question_to_the_end(begin: Begin, grade: MakeGrade) -> None:
    session = begin()
    assert session.question is not None
    assert "Queue 100 ms, prefill 160 ms" in session.question.prompt
    phases = [session.phase]
    session.set_confidence(3)
    phases.append(session.phase)
    attempt = session.submit("260 ms")
    phases.append(session.phase)
    assert session.pending_attempt == (attempt, "260 ms")
    assert session.record_grade(attempt, grade("met", "met", "not_met"))
    phases.append(session.phase)
    assert session.grade == grade("met", "met", "not_met")
    follow_up = session.ask_follow_up()
    assert follow_up is not None
    assert follow_up.id == "ask-failure"
    phases.append(session.phase)
    session.answer_follow_up("the queue grows")
    phases.append(session.phase)
    assert session.show_reference() == "It is 260 ms."
    phases.append(session.phase)
    session.advance()
    phases.append(session.phase)
    assert phases == [
        "confidence",
        "answering",
        "grading",
        "graded",
        "follow_up",
        "graded",
        "reference",
        "finished",
    ]
    assert session.question is None
    assert [entry.kind for entry in session.history] == [
        "question",
        "confidence",
        "answer",
        "grade",
        "follow_up",
        "follow_up_answer",
        "reference",
        "finish",
    ]


def test_confidence_comes_before_the_answer_and_stands_after_it(begin: Begin) -> None:
    session = begin()
    with pytest.raises(SessionError, match="how sure you are"):
        session.submit("260 ms")
    with pytest.raises(SessionError, match="1, 2 or 3"):
        session.set_confidence(4)
    session.set_confidence(1)
    session.set_confidence(3)
    session.submit("260 ms")
    with pytest.raises(SessionError, match="confidence stands"):
        session.set_confidence(1)
    assert session.entry().confidence == 3


def test_five_submits_are_one_attempt(begin: Begin, store: Store) -> None:
    session = begin()
    session.set_confidence(2)
    ids = {session.submit(text) for text in ("260 ms", "260 ms", "261 ms", "", "260 ms")}
    assert len(ids) == 1
    assert len(store.events(kind="answer.submitted")) == 1
    assert session.entry().answer == "260 ms"


def test_submits_from_two_windows_are_one_attempt(
    begin: Begin, store: Store, bank: Bank, clock: Callable[[], datetime]
) -> None:
    one = begin()
    other = Session.resume(store, bank, one.interview_id, clock)
    one.set_confidence(2)
    assert one.submit("from one") == other.submit("from the other")
    assert other.entry().answer == "from one"
    assert other.phase == "grading"


def test_a_blank_answer_is_an_answer_and_a_huge_one_is_refused(begin: Begin) -> None:
    session = begin()
    session.set_confidence(1)
    with pytest.raises(SessionError, match="20,001 characters; at most 20,000"):
        session.submit("x" * 20_001)
    session.submit("")
    assert session.pending_attempt is not None
    assert session.pending_attempt[1] == ""


def test_what_a_terminal_would_obey_is_not_stored(begin: Begin) -> None:
    session = begin()
    session.save_draft("a\x1b]2;x\x07b\r\n")
    assert session.draft == "ab\n"
    session.set_confidence(1)
    session.submit("\x1b[31m260\x1b[0m ms\ud800")
    assert session.entry().answer == "260 ms\ufffd"


def test_a_late_grade_is_passed_over(begin: Begin, store: Store, grade: MakeGrade) -> None:
    session = begin()
    first = answered(session, "250 ms")
    assert session.record_ungraded(first, "cancelled")
    second = session.submit("260 ms")
    assert second != first
    assert not session.record_grade(first, grade("not_met"))
    assert not session.record_ungraded(first, "late")
    assert not session.record_grade("unknown", grade())
    assert session.record_grade(second, grade())
    assert not session.record_grade(second, grade("not_met"))
    assert session.effective("result") == "met"
    assert len(store.events(kind="attempt.graded")) == 1


def test_cancelled_grading_keeps_the_answer_and_goes_on_with_it(begin: Begin, grade: MakeGrade) -> None:
    session = begin()
    attempt = answered(session)
    session.record_ungraded(attempt, "cancelled")
    assert (session.phase, session.draft) == ("answering", "260 ms")
    assert session.pending_attempt == (attempt, "260 ms")
    assert not session.record_grade(attempt, grade())
    assert session.submit("260 ms") == attempt
    assert session.phase == "grading"
    session.record_ungraded(attempt, "cancelled")
    assert session.regrade() == attempt
    assert session.record_grade(attempt, grade())
    assert len(session.entry().state.attempts) == 1
    kinds = [entry.kind for entry in session.history]
    assert kinds.count("ungraded") == 2
    assert kinds.count("regrade") == 2


def test_what_was_not_graded_can_be_graded_again(begin: Begin, grade: MakeGrade) -> None:
    session = begin()
    attempt = answered(session)
    session.record_grade(attempt, grade("met", "not_graded"))
    assert session.regrade() == attempt
    session.record_ungraded(attempt, "unreachable")
    assert session.phase == "graded"
    assert session.effective("reasoning") == "not_graded"
    session.regrade()
    session.record_grade(attempt, grade())
    assert session.effective("reasoning") == "met"
    with pytest.raises(SessionError, match="has its grade"):
        session.regrade()


def test_both_verdicts_are_kept_and_the_candidates_counts(begin: Begin, grade: MakeGrade) -> None:
    session = begin()
    with pytest.raises(SessionError, match="no grade yet"):
        session.contest("failure")
    session.record_grade(answered(session), grade("met", "unsure", "not_met", "not_graded"))
    session.contest("failure", "it is in my last line")
    session.contest("result")
    session.self_mark("reasoning", "met")
    session.self_mark("verification", "not_met")
    with pytest.raises(SessionError, match="Contest it instead"):
        session.self_mark("failure", "met")
    entry = session.entry()
    assert entry.grade == grade("met", "unsure", "not_met", "not_graded")
    criteria = ("result", "reasoning", "failure", "verification")
    assert [session.effective(one) for one in criteria] == ["not_met", "met", "met", "not_met"]  # type: ignore[arg-type]
    assert entry.effective_met == 2
    mark = session.mark("failure")
    assert mark is not None
    assert (mark.kind, mark.verdict, mark.note) == ("contest", "met", "it is in my last line")
    session.withdraw_mark("failure")
    assert session.effective("failure") == "not_met"
    with pytest.raises(SessionError, match="not marked"):
        session.withdraw_mark("failure")


# -- follow-ups -------------------------------------------------------------------------------------------------


def asked_in_turn(session: Session) -> list[str]:
    ids = []
    while (follow_up := session.ask_follow_up()) is not None:
        ids.append(follow_up.id)
        assert session.ask_follow_up() == session.follow_up
        session.answer_follow_up("an answer")
    return ids


@pytest.mark.parametrize(
    ("verdicts", "slip", "expected"),
    [
        # First the mistake found, then not met before unsure, in the rubric's order; no criterion twice before
        # the others.
        (("not_met", "met", "met", "met"), "n-gaps", ["one-gap-less", "ask-result"]),
        (("not_met", "met", "not_met", "unsure"), None, ["ask-result", "ask-failure", "ask-verification"]),
        (("met", "unsure", "not_met", "met"), None, ["ask-failure", "ask-reasoning", "ask-failure-again"]),
        (("met", "unsure", "met", "not_graded"), None, ["ask-reasoning", "ask-verification", "one-gap-less"]),
        (("met", "not_met", "not_met", "not_met"), None, ["ask-reasoning", "ask-failure", "ask-verification"]),
    ],
)
def test_follow_ups_fit_what_is_missing(
    begin: Begin, grade: MakeGrade, verdicts: tuple[str, ...], slip: str | None, expected: list[str]
) -> None:
    session = begin()
    session.record_grade(answered(session), grade(*verdicts, slip=slip))  # type: ignore[arg-type]
    assert asked_in_turn(session)[: len(expected)] == expected
    assert len(session.entry().follow_ups) <= 3


def test_follow_ups_follow_the_candidates_verdict(begin: Begin, grade: MakeGrade) -> None:
    session = begin()
    session.record_grade(answered(session), grade("not_met", "met", "not_met", slip="n-gaps"))
    session.contest("result")
    assert session.follow_up is not None
    assert session.follow_up.id == "ask-failure"


def test_a_follow_up_can_be_skipped_or_cut_short_by_the_reference(begin: Begin, grade: MakeGrade) -> None:
    session = begin()
    session.record_grade(answered(session), grade("not_met", "not_met"))
    session.skip_follow_up()
    assert session.follow_up is not None
    assert session.follow_up.id == "ask-reasoning"
    session.ask_follow_up()
    session.show_reference()
    assert session.phase == "reference"
    assert session.follow_up is None
    with pytest.raises(SessionError, match="no follow-up"):
        session.answer_follow_up("too late")


def test_a_follow_ups_draft_is_its_own(begin: Begin, grade: MakeGrade) -> None:
    session = begin()
    session.record_grade(answered(session), grade("not_met", "not_met"))
    session.ask_follow_up()
    assert session.draft == ""
    session.save_draft("half a thought")
    assert session.draft == "half a thought"
    session.answer_follow_up("a whole thought")
    assert session.draft == ""


# -- hints and reference ----------------------------------------------------------------------------------------


def test_hints_are_counted_and_end(begin: Begin) -> None:
    session = begin()
    assert [session.take_hint() for _ in range(5)] == ["Hint one.", "Hint two.", "Hint three.", "Hint four.", None]
    assert (session.hints_used, session.hints_total) == (4, 4)
    answered(session)
    assert session.take_hint() is None
    assert session.hints_used == 4


def test_asking_for_the_solution_before_an_answer_gives_none(begin: Begin) -> None:
    session = begin()
    for _ in range(3):
        with pytest.raises(SessionError, match="comes after yours"):
            session.show_reference()
    assert "reference" not in [entry.kind for entry in session.history]


# -- the other kinds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("option", "right"), [("right", True), ("wrong", False)])
def test_a_checkpoint_is_decided_by_the_options_id(begin: Begin, option: str, right: bool) -> None:
    session = begin("pick")
    assert (session.phase, session.entry().confidence) == ("answering", None)
    with pytest.raises(SessionError, match="no option B"):
        session.choose_option("B")
    with pytest.raises(SessionError, match="choosing an option"):
        session.submit("the first")
    assert session.choose_option(option) is right
    assert session.phase == "graded"
    with pytest.raises(SessionError, match="chosen already"):
        session.choose_option("right")
    choice = session.entry().choice
    assert choice is not None
    assert (choice.option_id, choice.correct) == (option, right)
    assert ("(right)" in session.history[-1].text) is right


def test_recall_is_stored_with_its_level(begin: Begin) -> None:
    session = begin("memory")
    session.save_draft("from mem")
    session.set_recall("from memory", 2)
    recall = session.entry().recall
    assert recall is not None
    assert (recall.text, recall.level, session.entry().confidence) == ("from memory", 2, 2)
    assert (session.phase, session.draft) == ("reference", "")
    assert session.show_reference() == "From memory."
    session.advance()
    assert session.phase == "finished"


def test_recall_can_be_graded_as_well(begin: Begin, grade: MakeGrade) -> None:
    session = begin("memory")
    session.record_grade(answered(session), grade())
    assert session.phase == "graded"


def test_a_prediction_is_locked_before_the_run(begin: Begin) -> None:
    session = begin("guess")
    with pytest.raises(SessionError, match="Lock a prediction"):
        session.record_simulation({"y": 4.0})
    with pytest.raises(SessionError, match="not time to predict"):
        session.predict("y", 3.0)
    session.set_confidence(1)
    with pytest.raises(SessionError, match="finite"):
        session.predict("y", float("nan"))
    session.predict("y", 3.0)
    with pytest.raises(SessionError, match="is locked"):
        session.predict("y", 4.0)
    session.record_simulation({"y": 4.0})
    with pytest.raises(SessionError, match="not time"):
        session.predict("z", 4.0)
    entry = session.entry()
    assert (dict(entry.predictions), entry.simulation, session.phase) == ({"y": 3.0}, {"y": 4.0}, "reference")


def test_the_simulator_comes_after_the_grade(begin: Begin, grade: MakeGrade) -> None:
    session = begin()
    with pytest.raises(SessionError, match="after the grade"):
        session.record_simulation({"ttft": 260})
    attempt = answered(session)
    with pytest.raises(SessionError, match="after the grade"):
        session.record_simulation({"ttft": 260})
    session.record_grade(attempt, grade())
    session.predict("ttft", 260)
    session.record_simulation({"ttft": 260})
    session.record_simulation({"ttft": 261})
    assert session.entry().simulation == {"ttft": 261}
    assert session.phase == "graded"


# -- going on ---------------------------------------------------------------------------------------------------


def test_a_lesson_is_gone_through_in_order(begin: Begin, whole_lesson: Plan, grade: MakeGrade) -> None:
    session = begin(plan=whole_lesson)
    assert (session.position, session.of) == (0, 5)
    with pytest.raises(SessionError, match="not done"):
        session.advance()
    session.skip()
    assert session.entry(0).skipped
    attempt = answered(session, "because")
    with pytest.raises(SessionError, match="being graded"):
        session.skip()
    with pytest.raises(SessionError, match="Cancel the grading"):
        session.advance()
    session.record_grade(attempt, grade())
    session.advance()
    session.choose_option("right")
    session.advance()
    session.set_recall("memory", 1)
    session.advance()
    session.skip()
    assert session.phase == "finished"
    assert session.state.finished == "completed"
    assert [entry.question.kind for entry in session.entries] == [
        "exercise",
        "probe",
        "checkpoint",
        "recall",
        "prediction",
    ]
    for command in (session.advance, session.skip, lambda: session.submit("x"), lambda: session.set_confidence(1)):
        with pytest.raises(SessionError, match="finished"):
            command()
    with pytest.raises(SessionError, match="Question 6 has not been asked"):
        session.entry(5)


def test_an_interview_is_silent_until_its_end(begin: Begin, whole_lesson: Plan, grade: MakeGrade) -> None:
    session = begin(plan=whole_lesson, mode="interview")
    assert (session.mode, session.grade_visible, session.hints_total) == ("interview", False, 0)
    assert session.take_hint() is None
    first = answered(session, "100 ms")
    session.advance()  # does not wait for the grade
    second = answered(session, "because")
    assert [pending.attempt_id for pending in session.pending_attempts] == [first, second]
    assert session.record_grade(first, grade("not_met"))
    assert session.record_grade(second, grade())
    assert session.grade is None
    assert session.effective("result", 0) == "not_graded"
    assert "grade" not in [entry.kind for entry in session.history]
    for command in (lambda: session.contest("result", position=0), session.show_reference):
        with pytest.raises(SessionError, match=r"at (the|its) end"):
            command()
    session.advance()
    session.choose_option("wrong")
    assert session.entry().choice is None
    assert session.entry().chosen_option_id == "wrong"
    assert "correct" not in session.history[-1].payload
    session.finish()
    session.finish()
    assert session.grade_visible
    assert session.entry(0).grade == grade("not_met")
    session.contest("result", "a slip of the pen", position=0)
    assert session.effective("result", 0) == "met"
    assert session.show_reference(0) == "It is 260 ms."
    session.record_simulation({"ttft": 260}, 0)
    assert [entry.kind for entry in session.history].count("grade") == 2


def test_an_answer_of_an_ended_interview_can_still_be_graded(begin: Begin, grade: MakeGrade) -> None:
    session = begin(mode="interview")
    attempt = answered(session)
    session.advance()
    assert session.phase == "finished"
    assert session.pending_attempts[0].question.prompt.startswith("Queue 100 ms")
    assert session.record_grade(attempt, grade())
    assert session.entry(0).effective_met == 4


def test_unfinished_interviews_are_listed_newest_first(begin: Begin, store: Store, whole_lesson: Plan) -> None:
    one, two, done = begin(plan=whole_lesson), begin(), begin()
    done.finish()
    two.save_draft("12345")
    one.skip()
    one.save_draft("1234567")
    summaries = unfinished(store)
    assert [(s.interview_id, s.title, s.position, s.of, s.draft_chars) for s in summaries] == [
        (one.interview_id, "A small lesson", 1, 5, 7),
        (two.interview_id, "small/lesson/sum", 0, 1, 5),
    ]


def test_resuming_gives_the_same_interview(
    begin: Begin, store: Store, bank: Bank, clock: Callable[[], datetime], whole_lesson: Plan, grade: MakeGrade
) -> None:
    session = begin(plan=whole_lesson)
    session.take_hint()
    session.record_grade(answered(session), grade("not_met", "unsure", slip="n-gaps"))
    session.contest("result", "no")
    session.ask_follow_up()
    session.save_draft("half a follow-up")
    again = Session.resume(store, bank, session.interview_id, clock)
    assert again.state == session.state
    assert again.question == session.question
    assert again.history == session.history
    assert again.draft == "half a follow-up"
    assert again.follow_up == session.follow_up
    assert again.grade == session.grade


def test_resuming_shows_the_question_as_it_was_even_without_its_bank(
    begin: Begin, store: Store, clock: Callable[[], datetime], whole_lesson: Plan
) -> None:
    session = begin(plan=whole_lesson)
    empty = Bank(packs=(), lessons=(), paths={})
    again = Session.resume(store, empty, session.interview_id, clock)
    assert again.question == session.question
    with pytest.raises(BankError, match="small/lesson/why"):
        again.skip()
    assert again.position == 0
    assert not again.entry().skipped
    again.finish()
    assert again.phase == "finished"


def test_what_cannot_begin_leaves_no_trace(store: Store, bank: Bank, clock: Callable[[], datetime]) -> None:
    with pytest.raises(BankError):
        Session.start(store, bank, single_item_plan("small/lesson/none", 0), clock)
    with pytest.raises(SessionError, match="no interview nowhere"):
        Session.resume(store, bank, "nowhere", clock)
    assert store.events() == []


def test_each_seed_has_its_numbers(store: Store, bank: Bank, clock: Callable[[], datetime]) -> None:
    prompts = set()
    for seed in range(12):
        session = Session.start(store, bank, single_item_plan("small/lesson/sum", seed), clock)
        again = Session.resume(store, bank, session.interview_id, clock)
        assert session.question is not None
        assert again.question == session.question
        prompts.add(session.question.prompt)
    assert len(prompts) > 2


def test_an_answer_that_cannot_be_stored_leaves_the_draft_and_the_interview_as_they_were(
    begin: Begin, store: Store, bank: Bank, clock: Callable[[], datetime]
) -> None:
    session = begin()
    session.set_confidence(2)
    session.save_draft("the draft")
    before = session.state
    pages = store.query("SELECT page_count FROM pragma_page_count")[0][0]
    store._db.conn.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="no room left"):
        session.submit("long " * 3000)
    assert session.state == before
    assert session.draft == "the draft"
    store._db.conn.execute("PRAGMA max_page_count = 1000000")
    session.submit("long " * 3000)
    assert session.phase == "grading"
    assert Session.resume(store, bank, session.interview_id, clock).state == session.state
