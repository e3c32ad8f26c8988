"""The report of an interview says what its log says: verdicts, times, own verdicts, the last attempt, what is next."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from question_bank.variants import build_question
from tests.reports.conftest import ANSWER, EXERCISE, PROBE, Held
from tutor.lab.events import CLAIM_PREFIX, ClaimAttacked, ClaimSettled, StatementSettled
from tutor.reports import Report, ReportError, as_html, as_markdown, last_held
from tutor.reports import held as held_interviews
from tutor.reports.words import minutes, outcome_words, total_words

SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"


def test_an_item_has_its_verdicts_quotes_reasons_times_hints_and_provenance(held: Held) -> None:
    session = held.begin()
    session.take_hint()
    quotes = {"result": "First token at 300 ms", "reasoning": "31 tokens leave 30 gaps"}
    held.answered(session, "mmux", quotes=quotes, confidence=3, seconds=130)
    held.clock.forward(seconds=1000)  # reading the grade is not answering
    session.show_reference()
    session.advance()
    report = held.report(session)
    (item,) = report.items
    assert [one.verdict for one in item.criteria] == ["met", "met", "unsure", "not_met"]
    assert [one.decided_by for one in item.criteria] == ["code", "model", "model", "model"]
    quote = item.criteria[1].quote
    assert quote is not None
    assert ANSWER[quote.start : quote.end] == quote.text == "31 tokens leave 30 gaps"
    assert item.criteria[3].reason == "the verification was looked at"
    assert (item.met, item.of, report.met, report.of) == (2, 4, 2, 4)
    assert (item.spent_s, item.planned_s, report.spent_s) == (130, 300, 130)
    assert (item.hints_used, item.hints_of, item.confidence) == (1, 4, 3)
    assert item.provenance is not None
    assert (item.provenance.model, item.provenance.prompt_hash[:2], item.provenance.seconds) == ("a-model", "pp", 6.25)
    assert report.ended == "completed"


def test_both_verdicts_are_kept_where_the_candidate_disagrees(held: Held) -> None:
    session = held.begin()
    held.answered(session, "xnmm")
    session.contest("result", "the unit was ms")
    session.self_mark("reasoning", "met")
    result, reasoning, *_ = held.report(session).items[0].criteria
    assert (result.verdict, result.grader_verdict) == ("met", "not_met")
    assert result.own is not None
    assert (result.own.kind, result.own.note) == ("contest", "the unit was ms")
    assert (reasoning.verdict, reasoning.grader_verdict) == ("met", "not_graded")
    assert reasoning.own is not None
    assert reasoning.own.kind == "self_mark"


def test_a_slip_is_told_with_its_diagnosis_and_the_misconception_behind_it(held: Held) -> None:
    slips = build_question(held.bank.item(EXERCISE), 0).slips
    slip = next(one for one in slips if one.misconception is not None)
    session = held.begin()
    held.answered(session, "xmmm", slip=slip.id)
    (seen,) = held.report(session).items[0].misconceptions
    assert seen.what == slip.diagnosis
    lesson = next(one for one in held.bank.lessons if one.id == EXERCISE.rpartition("/")[0])
    about = next(one for one in lesson.misconceptions if one.id == slip.misconception)
    assert (seen.belief, seen.correction, seen.check) == (about.belief, about.correction, about.check)


def test_no_slip_no_misconception_though_a_follow_up_was_asked(held: Held) -> None:
    session = held.begin()
    held.answered(session, "xxxx")
    follow_up = session.ask_follow_up()
    assert follow_up is not None
    session.answer_follow_up("the queue")
    item = held.report(session).items[0]
    assert item.misconceptions == ()
    assert [(one.text, one.answer) for one in item.follow_ups] == [(follow_up.text, "the queue")]


def test_the_last_attempt_of_the_item_and_of_the_plan_is_compared(held: Held) -> None:
    held.whole("mxxm", seconds=200)
    held.clock.forward(days=3)
    second = held.whole("mmxx", seed=7, seconds=100)
    report = held.report(second)
    before = report.items[0].before
    assert before is not None
    assert (before.met, before.of, before.spent_s, before.same_numbers) == (2, 4, 200, False)
    assert (before.gained, before.lost) == (("reasoning",), ("verification",))
    assert report.before is not None
    assert (report.before.met, report.before.of) == (2, 4)
    held.clock.forward(days=3)
    third = held.report(held.whole("mmmm", seed=7)).items[0].before
    assert third is not None
    assert third.interview_id == second.interview_id  # the newest, not the first
    assert third.same_numbers


def test_the_first_attempt_is_compared_with_nothing_and_not_with_later_ones(held: Held) -> None:
    first = held.whole("mxxm")
    held.clock.forward(days=1)
    held.whole("mmmm")
    report = held.report(first)
    assert report.items[0].before is None
    assert report.before is None


def test_what_is_scheduled_is_what_the_drills_say(held: Held) -> None:
    session = held.whole("mmmm")
    scheduled = held.report(session).items[0].scheduled
    assert scheduled is not None
    # A first Good comes back after 2 days (FSRS-6's defaults).
    assert scheduled.days == 2
    assert scheduled.due == date(2026, 3, 4)
    held.clock.forward(days=5)
    later = held.report(session).items[0].scheduled
    assert later is not None
    assert later.days == 0  # overdue
    assert held.report(session, drills=False).items[0].scheduled is None


def test_a_checkpoint_a_recall_and_a_skipped_question_have_their_own_outcomes(held: Held) -> None:
    checkpoint = next(item.id for item in held.bank.items if item.kind == "checkpoint")
    recall = next(item.id for item in held.bank.items if item.kind == "recall")
    session = held.begin(checkpoint, recall, PROBE)
    assert session.question is not None
    wrong = next(one for one in session.question.options if not one.correct)
    session.choose_option(wrong.id)
    session.advance()
    session.set_recall("from memory", 3)
    session.advance()
    session.skip()
    first, second, third = held.report(session).items
    assert (first.outcome, first.chosen, first.chosen_reason) == ("wrong", wrong.text, wrong.reason)
    assert (second.outcome, second.answer, second.confidence) == ("recalled", "from memory", 3)
    assert third.outcome == "skipped"
    assert [outcome_words(one) for one in (first, second, third)] == [
        "not right",
        "recalled from memory, not graded",
        "skipped",
    ]
    assert total_words(held.report(session)) == "3 questions, 0 graded: 0 of 1 checkpoint right."


def test_predictions_stand_beside_what_the_simulator_gave(held: Held) -> None:
    item_id = next(item.id for item in held.bank.items if item.kind == "prediction")
    session = held.begin(item_id)
    session.set_confidence(2)
    assert session.question is not None
    first, *others = session.question.expected
    session.predict(first.name, 10.0, 8.0, 12.0)
    for other in others:
        session.predict(other.name, 1.0)
    values = {first.name: {"predicted": 10.0, "simulated": 12.5, "reference": 12.4, "unit": first.unit,
                           "interval": [12.0, 13.0]}}  # fmt: skip
    session.record_simulation({"values": values, "runs": 12, "requests": 480, "duration_s": 3.0})
    session.explain_prediction("the queue was longer")
    item = held.report(session).items[0]
    assert item.simulator is not None
    one = item.simulator.values[0]
    assert (one.predicted, one.low, one.high, one.simulated, one.interval) == (10.0, 8.0, 12.0, 12.5, (12.0, 13.0))
    assert one.inside is False
    assert (item.simulator.runs, item.simulator.requests) == (12, 480)
    assert item.simulator.explanation == "the queue was longer"
    assert item.outcome == "predicted"


def test_claims_and_predictions_of_the_lab_during_the_interview_are_told(held: Held) -> None:
    statement = StatementSettled(
        words="chat gap p95 goes down", metric="chat.itl_s.p95", verdict="supported", estimate=-0.01, low=-0.012,
        high=-0.008, level=0.95,
    )  # fmt: skip
    claim = ClaimSettled(
        title="chunks <b>", scenario="x: 1", baseline="x: 2", changes=("server.chunk_tokens 2048 → 512",),
        statements=(statement,), verdict="supported", replications=12, requests=4800, first_seed=7, seconds=1.0,
        version="1",
    )  # fmt: skip
    attacked = ClaimAttacked(probes=(("burst × 4", "refuted"),), summary="Overturned by a burst.")
    session = held.begin()
    held.answered(session, "mmmm")
    for payload in (claim, attacked):
        stored = payload.model_dump(mode="json")
        held.store.append(f"{CLAIM_PREFIX}one", payload.kind, stored, held.clock.forward(seconds=1))
    session.show_reference()
    session.advance()
    held.store.append(f"{CLAIM_PREFIX}two", claim.kind, claim.model_dump(mode="json"), held.clock.forward(hours=1))
    report = held.report(session)
    assert [one.id for one in report.claims] == ["one"]  # the other was settled after its end
    assert report.claims[0].probes == (("burst × 4", "refuted"),)
    for form in (as_html(report), as_markdown(report)):
        assert "chat gap p95 goes down: supported" in form
        assert "To overturn it, burst × 4: refuted" in form
        assert "12 replications, 4,800 requests, first seed 7." in form
        assert "<b>" not in form.replace("\\<b\\>", "")


def test_an_interview_keeps_its_grades_back_until_its_end(held: Held) -> None:
    session = held.begin(EXERCISE, PROBE, mode="interview")
    held.answered(session, "mmmm")
    with pytest.raises(ReportError, match="not finished"):
        held.report(session)
    session.finish()
    assert held.report(session).ended == "stopped"


def test_an_answer_without_a_grade_is_said_to_wait(held: Held) -> None:
    session = held.begin()
    session.set_confidence(1)
    attempt = session.submit(ANSWER)
    session.record_ungraded(attempt, "the server went away")
    item = held.report(session).items[0]
    assert (item.outcome, item.criteria, item.waiting_reason) == ("waits", (), "the server went away")


def test_the_last_one_and_the_list(held: Held) -> None:
    with pytest.raises(ReportError, match="No interview was held"):
        last_held(held.store)
    first = held.whole("mmmm")
    held.clock.forward(hours=1)
    silent = held.begin(mode="interview")
    assert last_held(held.store).interview_id == first.interview_id
    assert [one.interview_id for one in held_interviews(held.store)] == [silent.interview_id, first.interview_id]
    assert [one.finished for one in held_interviews(held.store)] == [False, True]
    with pytest.raises(ReportError, match="no interview nowhere"):
        held.report(type("", (), {"interview_id": "nowhere"}))  # type: ignore[arg-type]


def test_the_json_form_reads_back_equal_and_its_schema_is_in_the_docs(held: Held) -> None:
    report = held.report(held.whole("mxun"))
    assert Report.model_validate_json(report.model_dump_json()) == report
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == Report.model_json_schema()


def test_a_report_changes_nothing(held: Held) -> None:
    session = held.whole("mmmm")
    before = len(held.store.events())
    held.report(session, drills=False)
    assert len(held.store.events()) == before


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (0, "0 s"),
        (59.6, "1 min"),
        (250, "4 min 10 s"),
        (3_900, "1 h 05 min"),
        (7_200, "over 2 h, with breaks"),
    ],
)
def test_times_in_words(seconds: float | None, words: str) -> None:
    assert minutes(seconds) == words


def test_time_is_counted_from_showing_to_handing_in_across_zones(held: Held) -> None:
    session = held.begin()
    session.set_confidence(2)
    held.clock.now = (held.clock.now + timedelta(seconds=90)).astimezone()
    attempt = session.submit(ANSWER)
    session.record_ungraded(attempt, "no model")
    assert held.report(session).items[0].spent_s == 90
