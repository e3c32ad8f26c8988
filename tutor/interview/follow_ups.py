"""Which follow-up fits what is missing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from question_bank.question import FollowUp, Question
from rubrics.schema import CriterionId
from tutor.interview.state import CLARIFY, EntryState

_ORDER: Final = ("not_met", "unsure", "not_graded")


def choose_follow_up(question: Question, entry: EntryState) -> FollowUp | None:
    """The next follow-up, or None when none fits or enough were asked.

    First what the answer leaves open and its criterion asks about, so that the reply decides it; then one that is
    bound to the mistake found in the answer; then those of the criteria that did not earn their point, first the not
    met, then the unsure, then the not graded ones, each in the rubric's order, and a criterion that was asked about
    already after the others; last those bound to no criterion. None is asked twice.
    """
    clarifying = _clarifying(entry)
    if clarifying is not None:
        return clarifying
    if entry.follow_ups_left <= 0:
        return None
    asked = {follow_up.id for follow_up in entry.follow_ups}
    times = [follow_up.criterion for follow_up in entry.follow_ups]
    slips = _slips(entry)
    shown = {slip.misconception for slip in question.slips if slip.id in slips}

    def rank(follow_up: FollowUp) -> tuple[int, int, int] | None:
        if follow_up.id in asked:
            return None
        if follow_up.misconception is not None and follow_up.misconception in shown:
            return (0, 0, 0)
        if follow_up.criterion is None:
            return (2, 0 if follow_up.misconception is None else 1, 0)
        verdict = entry.effective(follow_up.criterion)
        if verdict == "met":
            return None
        return (1, times.count(follow_up.criterion), _ORDER.index(verdict) * 10 + _place(follow_up.criterion))

    ranked = [(key, follow_up) for follow_up in question.follow_ups if (key := rank(follow_up)) is not None]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _clarifying(entry: EntryState) -> FollowUp | None:
    """The question that settles an unsure criterion; each is put once, and none where the candidate has marked it."""
    attempt = entry.attempt
    if attempt is None or attempt.grade is None:
        return None
    put = [asked for asked in entry.follow_ups if asked.clarifies]
    for one in attempt.grade.get("criteria", ()):
        criterion, text = one["criterion"], one.get("clarify")
        if one["verdict"] == "unsure" and text and criterion not in entry.marks and text not in {a.text for a in put}:
            return FollowUp(
                id=f"{CLARIFY}{criterion}:{len(put) + 1}", criterion=criterion, misconception=None, text=text
            )
    return None


def _place(criterion: CriterionId) -> int:
    order: tuple[CriterionId, ...] = ("result", "reasoning", "failure", "verification")
    return order.index(criterion)


def _slips(entry: EntryState) -> Collection[str]:
    """The mistakes that the grader recognised, unless the candidate's own verdict overrules it."""
    if entry.attempt is None or entry.attempt.grade is None:
        return ()
    return {
        one["slip_id"]
        for one in entry.attempt.grade.get("criteria", ())
        if one.get("slip_id") and entry.effective(one["criterion"]) != "met"
    }
