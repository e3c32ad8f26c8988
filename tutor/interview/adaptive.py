"""Which of a question's prepared items is asked, from how the last answers went.

The plan is fixed when the interview begins: each entry holds the planned item and perhaps an easier and a harder one.
When a question is about to be asked, the last two answers *whose outcome is in the log by then* decide: both good, the
harder one; both poor, the easier one; else the planned one. A grade that arrives later (an interview does not wait for
its grades) counts for the questions after it. The rule reads nothing but the log, so the same log gives the same
questions.
"""

from __future__ import annotations

from typing import Final, Literal

from tutor.interview.plan import Alternative
from tutor.interview.state import EntryState, State

Outcome = Literal["good", "fair", "poor"]
GOOD_FROM: Final = 0.75
"""Share of the decided criteria that are met, from which an answer is good."""
POOR_TO: Final = 0.25
"""Share up to which it is poor."""
FEW_HINTS: Final = 1
"""With more hints than this no answer is better than fair."""
LOOK_BACK: Final = 2
"""Answers that have to agree before the difficulty changes."""


def outcome(entry: EntryState) -> Outcome | None:
    """How an answer went; None when that is not known: nothing is graded, or it is a recall or prediction.

    Skipping is poor. A checkpoint is good or poor. Of a graded answer the criteria that were decided count, the
    candidate's own verdicts before the grader's.
    """
    if entry.skipped:
        return "poor"
    if entry.choice is not None:
        return "good" if entry.choice.correct else "poor"
    attempt = entry.attempt
    if attempt is None or attempt.status != "graded":
        return None
    verdicts = [entry.effective(criterion) for criterion in attempt.verdicts]
    decided = [verdict for verdict in verdicts if verdict in ("met", "not_met")]
    if not decided:
        return None
    share = decided.count("met") / len(decided)
    if share <= POOR_TO:
        return "poor"
    return "good" if share >= GOOD_FROM and entry.hints_used <= FEW_HINTS else "fair"


def next_item(state: State) -> Alternative:
    """The item to ask after the questions asked so far, by the rule above; the plan must have one more entry."""
    planned = state.plan.entries[len(state.entries)]
    known = [found for entry in state.entries if (found := outcome(entry)) is not None][-LOOK_BACK:]
    if len(known) == LOOK_BACK and len(set(known)) == 1:
        if known[0] == "good" and planned.harder is not None:
            return planned.harder
        if known[0] == "poor" and planned.easier is not None:
            return planned.easier
    return planned
