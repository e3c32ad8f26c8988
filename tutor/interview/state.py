"""The state of an interview, as a pure fold over its events.

`apply` says what an event does, or None when it does not apply where it stands: a grade for an attempt that has been
superseded, a second answer while one is being graded. The fold passes over such events, so that every log folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal

from question_bank.question import ItemKind
from rubrics.schema import CriterionId
from tutor.interview import events as ev
from tutor.interview.plan import Plan

Phase = Literal["confidence", "answering", "grading", "graded", "follow_up", "reference", "finished"]
Verdict = Literal["met", "not_met", "unsure", "not_graded"]
MAX_FOLLOW_UPS: Final = 3
CLARIFY: Final = "clarify:"
"""What the id of a clarifying question begins with, the criterion's follows; it is no follow-up and counts as none."""
_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})
_CONFIDENCE_FIRST: Final = frozenset({"exercise", "probe", "prediction"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One submitted answer."""

    id: str
    number: int
    text: str
    at: datetime
    status: Literal["pending", "stopped", "graded"] = "pending"
    """`pending`: waits for a grade; `stopped`: its grading was cancelled."""
    grade: Mapping[str, Any] | None = None
    """As recorded; a `tutor.grading` Grade."""
    stop_reason: str = ""

    @property
    def verdicts(self) -> Mapping[CriterionId, Verdict]:
        """The recorded verdict of each criterion; empty before a grade."""
        if self.grade is None:
            return _NOTHING
        return {one["criterion"]: one["verdict"] for one in self.grade.get("criteria", ())}


@dataclass(frozen=True, slots=True)
class Mark:
    """The candidate's own verdict on a criterion; the grader's stays beside it."""

    kind: Literal["contest", "self_mark"]
    verdict: ev.Binary
    note: str
    at: datetime
    judged: Mapping[str, Any] | None = None
    """The grader's second verdict, with the candidate's line as data; a `tutor.grading` CriterionGrade."""


@dataclass(frozen=True, slots=True)
class AskedFollowUp:
    """A follow-up that was put to the candidate."""

    id: str
    criterion: CriterionId | None
    text: str
    answer: str | None = None
    skipped: bool = False

    @property
    def clarifies(self) -> bool:
        """Whether it asks what the answer means, not for more."""
        return self.id.startswith(CLARIFY)

    @property
    def open(self) -> bool:
        """Whether it waits for an answer."""
        return self.answer is None and not self.skipped


@dataclass(frozen=True, slots=True)
class Choice:
    """The option chosen at a checkpoint."""

    option_id: str
    correct: bool


@dataclass(frozen=True, slots=True)
class RecallAnswer:
    """What was explained from memory, and how sure the candidate was."""

    text: str
    level: ev.Level


@dataclass(frozen=True, slots=True)
class Talk:
    """Something the candidate asked, and what was replied."""

    text: str
    at: datetime
    pieces: tuple[ev.TalkPiece, ...] = ()
    replied: bool = False
    broken_off: bool = False


@dataclass(frozen=True, slots=True)
class EntryState:
    """One question of the interview and all that happened to it."""

    position: int
    """Counted from 0."""
    item_id: str
    kind: ItemKind
    question: Mapping[str, Any]
    confidence: ev.Level | None = None
    attempts: tuple[Attempt, ...] = ()
    marks: Mapping[CriterionId, Mark] = field(default_factory=lambda: _NOTHING)
    follow_ups: tuple[AskedFollowUp, ...] = ()
    hints_used: int = 0
    reference_shown: bool = False
    choice: Choice | None = None
    recall: RecallAnswer | None = None
    predictions: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=lambda: _NOTHING)
    """Lowest and highest, of the predictions that were given a range."""
    directions: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """By metric: lower, higher or same."""
    explanation: str = ""
    """Why the simulator gave what it gave, in the candidate's words."""
    simulation: Mapping[str, Any] | None = None
    comments: Mapping[CriterionId, str] = field(default_factory=lambda: _NOTHING)
    """What the model said about each criterion of the last attempt."""
    talk: tuple[Talk, ...] = ()
    skipped: bool = False

    @property
    def attempt(self) -> Attempt | None:
        """The attempt that counts: the last one."""
        return self.attempts[-1] if self.attempts else None

    @property
    def answered(self) -> bool:
        """Whether the candidate has committed to something that hints and a new confidence would falsify."""
        return bool(self.attempts) or self.choice is not None or self.recall is not None

    @property
    def follow_ups_left(self) -> int:
        """How many follow-ups may still be asked."""
        return MAX_FOLLOW_UPS - sum(not asked.clarifies for asked in self.follow_ups)

    @property
    def phase(self) -> Phase:
        """What is to be done next with this question."""
        if self.skipped:
            return "reference"
        last = self.attempt
        if last is not None and last.status == "pending":
            return "grading"
        if self.reference_shown:
            return "reference"
        if any(asked.open for asked in self.follow_ups):
            return "follow_up"
        if self.choice is not None or (last is not None and last.status == "graded"):
            return "graded"
        if self.recall is not None or (self.kind == "prediction" and self.simulation is not None):
            return "reference"
        if self.kind in _CONFIDENCE_FIRST and self.confidence is None:
            return "confidence"
        return "answering"

    def effective(self, criterion: CriterionId) -> Verdict:
        """The verdict that counts: the candidate's where there is one, else the grader's."""
        if criterion in self.marks:
            return self.marks[criterion].verdict
        last = self.attempt
        return last.verdicts.get(criterion, "not_graded") if last is not None else "not_graded"


@dataclass(frozen=True, slots=True)
class State:
    """A whole interview."""

    plan: Plan
    started_at: datetime
    entries: tuple[EntryState, ...] = ()
    finished: Literal["completed", "stopped"] | None = None

    @property
    def current(self) -> EntryState | None:
        """The question at hand; None before the first and after the end."""
        return self.entries[-1] if self.entries and self.finished is None else None

    @property
    def phase(self) -> Phase:
        """What is to be done next."""
        current = self.current
        return current.phase if current is not None else "finished"

    @property
    def grades_visible(self) -> bool:
        """Whether the candidate may see grades now: always in study mode, else only after the end."""
        return self.plan.mode == "study" or self.finished is not None

    def entry_at(self, position: int) -> EntryState | None:
        """The question at a position, counted from 0; None when none was presented there."""
        return self.entries[position] if 0 <= position < len(self.entries) else None

    def entry_of(self, attempt_id: str) -> EntryState | None:
        """The question whose last attempt this is; None when it is unknown or superseded."""
        for entry in self.entries:
            if entry.attempt is not None and entry.attempt.id == attempt_id:
                return entry
        return None

    @property
    def may_advance(self) -> bool:
        """Whether the next question may be presented. An interview does not wait for its grades."""
        current = self.current
        if current is None:
            return self.finished is None
        if current.skipped or current.phase in {"graded", "follow_up", "reference"}:
            return True
        return current.phase == "grading" and self.plan.mode == "interview"


def fold(log: Iterable[tuple[ev.Payload, datetime]]) -> State | None:
    """The state after all of `log`; None when no interview was started in it."""
    state: State | None = None
    for payload, at in log:
        after = apply(state, payload, at)
        state = after if after is not None else state
    return state


def apply(state: State | None, payload: ev.Payload, at: datetime) -> State | None:
    """The state after one more event, or None when the event does not apply."""
    if isinstance(payload, ev.Started):
        return State(plan=payload.plan, started_at=at) if state is None else None
    if state is None:
        return None
    match payload:
        case ev.Presented():
            return _presented(state, payload)
        case ev.Finished():
            if state.finished is not None or (payload.reason == "completed" and not state.may_advance):
                return None
            return replace(state, finished=payload.reason)
        case ev.Graded() | ev.GradingStopped() | ev.GradingRestarted():
            return _graded(state, payload)
        case ev.Clarified():
            return _clarified(state, payload)
        case ev.Contested() | ev.SelfMarked() | ev.MarkWithdrawn():
            return _marked(state, payload, at)
        case ev.ContestJudged() | ev.CommentMade():
            return _said_of(state, payload)
        case ev.TalkAsked() | ev.TalkReplied():
            return _talked(state, payload, at)
        case ev.SimulationRecorded():
            return _simulated(state, payload)
    current = state.current
    position = getattr(payload, "position", None)
    if current is None or current.position != position or current.skipped:
        return None
    change = _CHANGES[type(payload)](current, payload, at)
    return None if change is None else _with(state, replace(current, **change))


def _with(state: State, entry: EntryState) -> State:
    entries = (*state.entries[: entry.position], entry, *state.entries[entry.position + 1 :])
    return replace(state, entries=entries)


def _presented(state: State, payload: ev.Presented) -> State | None:
    done = len(state.entries)
    if payload.position != done or done >= len(state.plan.entries) or not state.may_advance:
        return None
    if state.plan.entries[done].chosen(payload.item_id) is None:
        return None  # which of the prepared items was asked is the log's to say; the rule may change, the log may not
    entry = EntryState(payload.position, payload.item_id, payload.item_kind, payload.question)
    return replace(state, entries=(*state.entries, entry))


def _graded(state: State, payload: ev.Graded | ev.GradingStopped | ev.GradingRestarted) -> State | None:
    entry = state.entry_of(payload.attempt_id)
    if entry is None or entry.attempt is None:
        return None
    attempt = entry.attempt
    if isinstance(payload, ev.GradingRestarted):
        regradable = attempt.status == "stopped" or "not_graded" in attempt.verdicts.values()
        if attempt.status == "pending" or not regradable or entry.skipped:
            return None
        attempt = replace(attempt, status="pending")
    elif attempt.status != "pending":
        return None
    elif isinstance(payload, ev.Graded):
        attempt = replace(attempt, status="graded", grade=payload.grade, stop_reason="")
    else:
        status: Literal["graded", "stopped"] = "stopped" if attempt.grade is None else "graded"
        attempt = replace(attempt, status=status, stop_reason=payload.reason)
    return _with(state, replace(entry, attempts=(*entry.attempts[:-1], attempt)))


def _clarified(state: State, payload: ev.Clarified) -> State | None:
    """Only an unsure verdict of the attempt that counts is decided by a reply."""
    entry = state.entry_of(payload.attempt_id)
    if entry is None or entry.attempt is None or entry.attempt.grade is None:
        return None
    attempt = entry.attempt
    if attempt.status != "graded" or attempt.verdicts.get(payload.criterion) != "unsure":
        return None
    criteria = [
        payload.grade if one["criterion"] == payload.criterion else one for one in entry.attempt.grade["criteria"]
    ]
    attempt = replace(attempt, grade={**entry.attempt.grade, "criteria": criteria})
    return _with(state, replace(entry, attempts=(*entry.attempts[:-1], attempt)))


def _marked(state: State, payload: ev.Contested | ev.SelfMarked | ev.MarkWithdrawn, at: datetime) -> State | None:
    entry = state.entry_at(payload.position)
    if entry is None or not state.grades_visible:
        return None
    if entry.attempt is None or entry.attempt.status != "graded":
        return None
    marks = dict(entry.marks)
    match payload:
        case ev.Contested():
            marks[payload.criterion] = Mark("contest", payload.verdict, payload.note, at)
        case ev.SelfMarked():
            if entry.attempt.verdicts.get(payload.criterion) in {"met", "not_met"}:
                return None
            marks[payload.criterion] = Mark("self_mark", payload.verdict, "", at)
        case ev.MarkWithdrawn():
            if marks.pop(payload.criterion, None) is None:
                return None
    return _with(state, replace(entry, marks=marks))


def _said_of(state: State, payload: ev.ContestJudged | ev.CommentMade) -> State | None:
    """Only about the attempt that counts, once it has its grade."""
    entry = state.entry_of(payload.attempt_id)
    if entry is None or entry.attempt is None or entry.attempt.status != "graded":
        return None
    if isinstance(payload, ev.CommentMade):
        if payload.criterion in entry.comments:
            return None
        return _with(state, replace(entry, comments={**entry.comments, payload.criterion: payload.text}))
    mark = entry.marks.get(payload.criterion)
    if mark is None or mark.kind != "contest":
        return None
    marks = {**entry.marks, payload.criterion: replace(mark, judged=payload.grade)}
    return _with(state, replace(entry, marks=marks))


def _talked(state: State, payload: ev.TalkAsked | ev.TalkReplied, at: datetime) -> State | None:
    """About any question that was presented, and in an interview only after its end."""
    entry = state.entry_at(payload.position)
    if entry is None or not state.grades_visible or entry.phase == "grading":
        return None
    if isinstance(payload, ev.TalkAsked):
        return _with(state, replace(entry, talk=(*entry.talk, Talk(payload.text, at))))
    if not entry.talk or entry.talk[-1].replied:
        return None
    last = replace(entry.talk[-1], pieces=payload.pieces, replied=True, broken_off=payload.broken_off)
    return _with(state, replace(entry, talk=(*entry.talk[:-1], last)))


def _simulated(state: State, payload: ev.SimulationRecorded) -> State | None:
    entry = state.entry_at(payload.position)
    if entry is None:
        return None
    if entry.kind == "prediction":
        # Only against a value that was locked before.
        if not entry.predictions or entry.skipped or entry is not state.current:
            return None
    elif not state.grades_visible or (entry.phase in {"confidence", "answering", "grading"} and not entry.skipped):
        # The run shows the results, so it comes after the answer has been graded.
        return None
    return _with(state, replace(entry, simulation=payload.summary))


_Change = Mapping[str, Any] | None


def _confidence(entry: EntryState, payload: ev.ConfidenceSet, _: datetime) -> _Change:
    return None if entry.answered or entry.reference_shown else {"confidence": payload.level}


def _submitted(entry: EntryState, payload: ev.Submitted, at: datetime) -> _Change:
    if entry.phase != "answering" or entry.kind == "checkpoint" or entry.confidence is None:
        return None
    if payload.number != len(entry.attempts) + 1:
        return None
    attempt = Attempt(payload.attempt_id, payload.number, payload.text, at)
    return {"attempts": (*entry.attempts, attempt), "comments": _NOTHING}


def _asked(entry: EntryState, payload: ev.FollowUpAsked, _: datetime) -> _Change:
    if entry.phase != "graded" or (entry.follow_ups_left <= 0 and not payload.follow_up_id.startswith(CLARIFY)):
        return None
    if any(asked.id == payload.follow_up_id for asked in entry.follow_ups):
        return None
    asked = AskedFollowUp(payload.follow_up_id, payload.criterion, payload.text)
    return {"follow_ups": (*entry.follow_ups, asked)}


def _answered(entry: EntryState, payload: ev.FollowUpAnswered | ev.FollowUpSkipped, _: datetime) -> _Change:
    if entry.phase != "follow_up" or entry.follow_ups[-1].id != payload.follow_up_id:
        return None
    last = entry.follow_ups[-1]
    done = (
        replace(last, answer=payload.text) if isinstance(payload, ev.FollowUpAnswered) else replace(last, skipped=True)
    )
    return {"follow_ups": (*entry.follow_ups[:-1], done)}


def _hint(entry: EntryState, payload: ev.HintTaken, _: datetime) -> _Change:
    if entry.phase not in {"confidence", "answering"} or payload.number != entry.hints_used + 1:
        return None
    return {"hints_used": payload.number}


def _reference(entry: EntryState, _payload: ev.ReferenceShown, _: datetime) -> _Change:
    ready = entry.phase in {"graded", "follow_up", "reference"} and not entry.reference_shown
    return {"reference_shown": True} if ready else None


def _chosen(entry: EntryState, payload: ev.OptionChosen, _: datetime) -> _Change:
    if entry.kind != "checkpoint" or entry.choice is not None:
        return None
    return {"choice": Choice(payload.option_id, payload.correct)}


def _recalled(entry: EntryState, payload: ev.RecallGiven, _: datetime) -> _Change:
    if entry.kind != "recall" or entry.answered:
        return None
    return {"recall": RecallAnswer(payload.text, payload.level), "confidence": payload.level}


def _predicted(entry: EntryState, payload: ev.PredictionLocked, _: datetime) -> _Change:
    if entry.phase in {"confidence", "reference"} or entry.simulation is not None:
        return None
    if payload.name in entry.predictions:
        return None
    change: dict[str, Any] = {"predictions": {**entry.predictions, payload.name: payload.value}}
    if payload.low is not None and payload.high is not None and payload.low <= payload.value <= payload.high:
        change["ranges"] = {**entry.ranges, payload.name: (payload.low, payload.high)}
    return change


def _directed(entry: EntryState, payload: ev.DirectionLocked, _: datetime) -> _Change:
    if entry.phase in {"confidence", "reference"} or entry.simulation is not None:
        return None
    if payload.metric in entry.directions:
        return None
    return {"directions": {**entry.directions, payload.metric: payload.change}}


def _explained(entry: EntryState, payload: ev.PredictionExplained, _: datetime) -> _Change:
    return {"explanation": payload.text} if entry.simulation is not None else None


def _skipped(entry: EntryState, _payload: ev.Skipped, _: datetime) -> _Change:
    return None if entry.phase == "grading" else {"skipped": True}


_CHANGES: Final[Mapping[type[ev.Payload], Callable[[EntryState, Any, datetime], _Change]]] = {
    ev.ConfidenceSet: _confidence,
    ev.Submitted: _submitted,
    ev.FollowUpAsked: _asked,
    ev.FollowUpAnswered: _answered,
    ev.FollowUpSkipped: _answered,
    ev.HintTaken: _hint,
    ev.ReferenceShown: _reference,
    ev.OptionChosen: _chosen,
    ev.RecallGiven: _recalled,
    ev.PredictionLocked: _predicted,
    ev.DirectionLocked: _directed,
    ev.PredictionExplained: _explained,
    ev.Skipped: _skipped,
}
