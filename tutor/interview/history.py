"""An interview as a transcript."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from tutor.interview import events as ev
from tutor.interview.state import State

EntryKind = Literal[
    "question",
    "confidence",
    "answer",
    "grade",
    "ungraded",
    "regrade",
    "contest",
    "self_mark",
    "mark_withdrawn",
    "follow_up",
    "follow_up_answer",
    "follow_up_skipped",
    "clarified",
    "hint",
    "reference",
    "choice",
    "recall",
    "prediction",
    "explanation",
    "simulation",
    "judged_again",
    "comment",
    "talk",
    "talk_reply",
    "skip",
    "finish",
]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the transcript."""

    kind: EntryKind
    position: int
    """Of the question it belongs to, counted from 0."""
    text: str
    """What was said, as plain text or, for questions and references, Markdown."""
    payload: Mapping[str, Any]
    """The event's fields; for a question the whole question, for a grade the grade."""
    at: datetime


_PLAIN: Mapping[type[ev.Payload], EntryKind] = {
    ev.ConfidenceSet: "confidence",
    ev.Submitted: "answer",
    ev.GradingStopped: "ungraded",
    ev.GradingRestarted: "regrade",
    ev.Contested: "contest",
    ev.SelfMarked: "self_mark",
    ev.MarkWithdrawn: "mark_withdrawn",
    ev.FollowUpAsked: "follow_up",
    ev.FollowUpAnswered: "follow_up_answer",
    ev.FollowUpSkipped: "follow_up_skipped",
    ev.Clarified: "clarified",
    ev.HintTaken: "hint",
    ev.OptionChosen: "choice",
    ev.RecallGiven: "recall",
    ev.PredictionLocked: "prediction",
    ev.DirectionLocked: "prediction",
    ev.PredictionExplained: "explanation",
    ev.SimulationRecorded: "simulation",
    ev.ContestJudged: "judged_again",
    ev.CommentMade: "comment",
    ev.TalkAsked: "talk",
    ev.TalkReplied: "talk_reply",
    ev.Skipped: "skip",
    ev.Finished: "finish",
}


def transcript(state: State, applied: Iterable[tuple[ev.Payload, datetime]]) -> tuple[Entry, ...]:
    """The transcript of the events that were applied; without what an interview keeps back until its end."""
    positions = {attempt.id: entry.position for entry in state.entries for attempt in entry.attempts}
    lines = (_line(state, payload, at, positions) for payload, at in applied)
    return tuple(line for line in lines if line is not None)


def _line(state: State, payload: ev.Payload, at: datetime, positions: Mapping[str, int]) -> Entry | None:
    match payload:
        case ev.Started():
            return None
        case ev.Presented():
            prompt = str(payload.question.get("prompt", ""))
            return Entry("question", payload.position, prompt, payload.question, at)
        case ev.Graded():
            if not state.grades_visible:
                return None
            position = positions[payload.attempt_id]
            return Entry("grade", position, _grade_text(payload.grade), payload.grade, at)
        case ev.Clarified() if not state.grades_visible:
            return None
        case ev.ReferenceShown():
            text = str(state.entries[payload.position].question.get("reference", ""))
            return Entry("reference", payload.position, text, {}, at)
        case ev.OptionChosen():
            chosen = _option_text(state, payload)
            fields = payload.model_dump(mode="json")
            if not state.grades_visible:
                del fields["correct"]
            elif payload.correct:
                chosen += " (right)"
            else:
                chosen += " (not right)"
            return Entry("choice", payload.position, chosen, fields, at)
    fields = payload.model_dump(mode="json")
    position = fields.get("position", positions.get(fields.get("attempt_id", ""), max(0, len(state.entries) - 1)))
    return Entry(_PLAIN[type(payload)], position, _text(payload), fields, at)


def _text(payload: ev.Payload) -> str:
    match payload:
        case ev.ConfidenceSet():
            return f"confidence {payload.level} of 3"
        case ev.GradingStopped():
            return f"not graded: {payload.reason}"
        case ev.GradingRestarted():
            return "graded once more"
        case ev.Contested():
            note = f": {payload.note}" if payload.note else ""
            return f"{payload.criterion} contested, {_words(payload.verdict)} in your view{note}"
        case ev.SelfMarked():
            return f"{payload.criterion} marked {_words(payload.verdict)} by you"
        case ev.MarkWithdrawn():
            return f"{payload.criterion}: your verdict withdrawn"
        case ev.Clarified():
            return f"{payload.criterion} after your reply: {_words(str(payload.grade.get('verdict', '')))}"
        case ev.ContestJudged():
            return f"{payload.criterion} judged once more: {_words(str(payload.grade.get('verdict', '')))}"
        case ev.CommentMade():
            return f"{payload.criterion}: {payload.text}"
        case ev.TalkReplied():
            return " ".join(piece.text for piece in payload.pieces)
        case ev.PredictionLocked():
            between = "" if payload.low is None else f", between {payload.low:g} and {payload.high:g}"
            return f"predicted {payload.name} = {payload.value:g}{between}"
        case ev.DirectionLocked():
            return f"predicted {payload.metric}: {payload.change}"
        case ev.SimulationRecorded():
            return "simulated"
        case ev.Skipped() | ev.FollowUpSkipped():
            return "skipped"
        case ev.Finished():
            return "finished" if payload.reason == "completed" else "stopped before the end"
    return str(getattr(payload, "text", ""))


def _grade_text(grade: Mapping[str, Any]) -> str:
    verdicts = [one["verdict"] for one in grade.get("criteria", ())]
    parts = [f"{verdicts.count('met')} of {len(verdicts)} met"]
    parts += [f"{verdicts.count(kind)} {_words(kind)}" for kind in ("unsure", "not_graded") if kind in verdicts]
    return ", ".join(parts)


def _words(verdict: str) -> str:
    return verdict.replace("_", " ")


def _option_text(state: State, payload: ev.OptionChosen) -> str:
    options = state.entries[payload.position].question.get("options") or ()
    return next((str(one["text"]) for one in options if one.get("id") == payload.option_id), payload.option_id)
