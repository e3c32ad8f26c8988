"""A clarifying question is put first, its reply decides the result, and both verdicts stay in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tutor.grading import grade_result
from tutor.grading.models import Grade
from tutor.interview import Session

if TYPE_CHECKING:
    from tests.interview.conftest import Begin, MakeGrade

ANSWER = "The first token is out at 260 ms. The first token takes 360 ms."
ASKED = "Which is your final first token: 260 ms or 360 ms?"


def graded(session: Session, grade: MakeGrade) -> Session:
    """An answer that says two things, with the other criteria not met."""
    session.set_confidence(2)
    attempt = session.submit(ANSWER)
    assert session.question is not None
    rest = grade("unsure", "not_met", "not_met", "not_met")
    result = grade_result(session.question, ANSWER)
    assert result.clarify == ASKED
    session.record_grade(attempt, Grade(criteria=(result, *rest.criteria[1:]), provenance=rest.provenance))
    return session


@pytest.mark.parametrize(("reply", "verdict"), [("260 ms", "met"), ("360 ms", "not_met"), ("who knows", "unsure")])
def test_the_reply_decides_the_result(begin: Begin, grade: MakeGrade, reply: str, verdict: str) -> None:
    session = graded(begin(), grade)
    first = session.ask_follow_up()
    assert first is not None
    assert (first.text, first.criterion) == (ASKED, "result")
    session.answer_follow_up(reply)
    assert session.grade is not None
    assert session.grade.criterion("result").verdict == verdict
    assert session.effective("result") == verdict
    assert [one.verdict for one in session.grade.criteria[1:]] == ["not_met"] * 3
    following = session.ask_follow_up()
    assert following is not None
    assert following.text != ASKED


def test_both_verdicts_are_kept_and_replay(begin: Begin, grade: MakeGrade) -> None:
    session = graded(begin(), grade)
    session.ask_follow_up()
    session.answer_follow_up("260 ms")
    kinds = [entry.kind for entry in session.history]
    assert kinds[-4:] == ["grade", "follow_up", "follow_up_answer", "clarified"]
    told = {entry.kind: entry for entry in session.history}
    assert told["clarified"].text == "result after your reply: met"
    assert told["grade"].payload["criteria"][0]["verdict"] == "unsure"
    again = Session.resume(session._store, session._bank, session.interview_id, session._clock)
    assert again.grade == session.grade


def test_it_counts_as_no_follow_up(begin: Begin, grade: MakeGrade) -> None:
    session = graded(begin(), grade)
    texts = []
    while (follow_up := session.ask_follow_up()) is not None:
        texts.append(follow_up.text)
        session.answer_follow_up("260 ms")
    assert texts[0] == ASKED
    assert len(texts) == 4


def test_who_has_marked_the_result_is_not_asked(begin: Begin, grade: MakeGrade) -> None:
    session = graded(begin(), grade)
    session.self_mark("result", "met")
    follow_up = session.ask_follow_up()
    assert follow_up is not None
    assert follow_up.text != ASKED
    assert session.effective("result") == "met"


def test_skipping_it_leaves_the_verdict(begin: Begin, grade: MakeGrade) -> None:
    session = graded(begin(), grade)
    session.ask_follow_up()
    session.skip_follow_up()
    assert session.effective("result") == "unsure"
    following = session.ask_follow_up()
    assert following is not None
    assert following.text != ASKED


def test_an_interview_keeps_the_verdict_back(begin: Begin, grade: MakeGrade) -> None:
    session = graded(begin(mode="interview"), grade)
    session.ask_follow_up()
    session.answer_follow_up("260 ms")
    assert session.grade is None
    assert "clarified" not in [entry.kind for entry in session.history]
    session.finish()
    assert session.entry(0).effective("result") == "met"
    assert "clarified" in [entry.kind for entry in session.history]
