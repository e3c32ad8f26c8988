"""Reviews from interviews: an answered and graded question enters the log once.

The review's identity is the interview's and the question's place in it. A verdict that changes later (contested,
self-marked, graded again) amends the review; an undone review stays undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from rubrics.schema import CRITERION_IDS, CriterionId
from tutor.drills import events as ev
from tutor.drills.day import local_day
from tutor.drills.deck import numbers_of
from tutor.drills.log import standing
from tutor.drills.rating import Outcome, rating_from_choice, rating_from_grade
from tutor.interview import events as interview
from tutor.interview.state import EntryState, apply
from tutor.interview.state import State as InterviewState

if TYPE_CHECKING:
    from tutor.drills.drills import Drills, Presentation
    from tutor.interview import Plan

DRILL_PREFIX: Final = "drill-"
"""Begins the id of an interview that holds one drilled question answered in full."""
_SEEN: Final = "interviews"


def full_answer(presentation: Presentation) -> tuple[str, Plan]:
    """The id and the plan of the interview in which a presentation is answered in full."""
    from tutor.interview import single_item_plan

    return (
        f"{DRILL_PREFIX}{presentation.id}",
        single_item_plan(presentation.item.id, presentation.seed, title=presentation.item.title),
    )


def presentation_id(interview_id: str, position: int) -> str:
    """The identity of a question's review."""
    return f"interview:{interview_id}.{position}"


def take_in_interviews(drills: Drills, now: datetime) -> tuple[str, ...]:
    """Enter what interviews decided since the last look; returns a sentence for each that cannot be read."""
    store, cache = drills.store, drills.cache
    rows = store.query("SELECT seq, id FROM events ORDER BY seq DESC LIMIT 1")
    if not rows:
        return ()
    head, head_id = int(rows[0][0]), str(rows[0][1])
    seq, _, seq_id = cache.meta(_SEEN).partition(" ")
    seen = int(seq or 0)
    if seen and store.query("SELECT id FROM events WHERE seq = ?", (seen,)) != [(seq_id,)]:
        seen = 0
    if seen == head:
        return ()
    streams = (
        [
            str(row[0])
            for row in store.query(
                # The unary plus keeps SQLite on the log's own order: only what is new is looked at.
                "SELECT DISTINCT stream FROM events WHERE seq > ? AND seq <= ? AND +stream >= ? AND +stream < ?",
                (seen, head, interview.STREAM_PREFIX, "interview;"),
            )
        ]
        if seen
        else store.streams(interview.STREAM_PREFIX)
    )
    told = []
    for stream in streams:
        try:
            take_in(drills, stream.removeprefix(interview.STREAM_PREFIX), now)
        except interview.EventError as error:
            told.append(f"{stream} is left out of the drills. {error}")
    cache.set_meta(_SEEN, f"{head} {head_id}")
    return tuple(told)


def take_in(drills: Drills, interview_id: str, now: datetime) -> int:
    """Enter what one interview decided; returns how many reviews were added or amended."""
    state: InterviewState | None = None
    presented: dict[int, datetime] = {}
    chosen: dict[int, datetime] = {}
    for event in drills.store.events(f"{interview.STREAM_PREFIX}{interview_id}"):
        payload = interview.parse(event.kind, event.payload)
        after = apply(state, payload, event.at)
        if after is None:
            continue
        state = after
        if isinstance(payload, interview.Presented):
            presented[payload.position] = event.at
        elif isinstance(payload, interview.OptionChosen | interview.SimulationRecorded):
            chosen.setdefault(payload.position, event.at)
    changed = 0
    for entry in state.entries if state is not None else ():
        outcome = outcome_of(entry)
        if outcome is None:
            continue
        attempt = entry.attempt
        at = attempt.at if attempt is not None else chosen[entry.position]
        with drills.store.writing():
            changed += _enter(drills, interview_id, entry, outcome, presented[entry.position], at, now)
    return changed


def outcome_of(entry: EntryState) -> Outcome | None:
    """How a question of an interview went; None while it is not answered, or can never count."""
    if entry.skipped:
        return None
    if entry.choice is not None:
        return rating_from_choice(entry.choice.correct, confidence=entry.confidence)
    if entry.kind == "prediction" and entry.simulation is not None and entry.predictions:
        return _prediction(entry)
    attempt = entry.attempt
    if attempt is None or attempt.status != "graded":
        return None
    verdicts = {criterion: entry.effective(criterion) for criterion in CRITERION_IDS}
    marked: dict[CriterionId, Literal["self", "contested"]] = {
        criterion: "contested" if mark.kind == "contest" else "self" for criterion, mark in entry.marks.items()
    }
    return rating_from_grade(verdicts, confidence=entry.confidence, hints=entry.hints_used, marked=marked)


def _prediction(entry: EntryState) -> Outcome | None:
    values: Mapping[str, Mapping[str, float | None]] = (entry.simulation or {}).get("values", {})
    tolerances = {each["name"]: each["rel_tolerance"] for each in entry.question.get("expected", ())}
    checked = []
    for name, predicted in entry.predictions.items():
        found = values.get(name, {})
        true = found.get("simulated")
        true = found.get("reference") if true is None else true
        if true is None or name not in tolerances:
            return None
        checked.append(abs(predicted - true) <= tolerances[name] * abs(true))
    return rating_from_choice(all(checked), confidence=entry.confidence, hints=entry.hints_used)


def _enter(
    drills: Drills,
    interview_id: str,
    entry: EntryState,
    outcome: Outcome,
    presented_at: datetime,
    at: datetime,
    now: datetime,
) -> int:
    identity = presentation_id(interview_id, entry.position)
    known = drills.log.find(identity)
    if known is None:
        if outcome.rating is None:
            return 0
        rollover_h = drills.cache.settings.base.rollover_h
        minutes = float(entry.question.get("minutes", 10))
        seconds = max(0.0, (at - presented_at).total_seconds())
        review = ev.Reviewed(
            presentation_id=identity,
            version=int(entry.question.get("item_version", 1)),
            seed=int(entry.question.get("seed", 0)),
            numbers=_numbers(entry),
            day=local_day(at, rollover_h),
            rollover_h=rollover_h,
            rating=outcome.rating,
            right=outcome.right,
            reason=outcome.reason,
            confidence=entry.confidence,
            hints=entry.hints_used,
            duration_ms=round(min(seconds, 2 * minutes * 60) * 1000),
            source="drill" if interview_id.startswith(DRILL_PREFIX) else "interview",
            mode="full" if entry.attempt is not None else ("checkpoint" if entry.choice else "prediction"),
            marked=outcome.marked,
        )
        drills.log.record(entry.item_id, review, at, live=False)
        return 1
    current = next(
        (
            each.payload
            for each in standing(drills.log.entries(entry.item_id))
            if isinstance(each.payload, ev.Reviewed) and each.payload.presentation_id == identity
        ),
        None,
    )
    if current is None or (current.rating, current.right, current.marked) == (
        outcome.rating,
        outcome.right,
        outcome.marked,
    ):
        return 0
    drills.log.amend(
        entry.item_id,
        ev.Amended(
            presentation_id=identity,
            rating=outcome.rating,
            right=outcome.right,
            marked=outcome.marked,
            reason=outcome.reason,
        ),
        now,
    )
    return 1


def _numbers(entry: EntryState) -> str:
    from pydantic import ValidationError

    from question_bank.question import Question

    try:
        return numbers_of(Question.model_validate(dict(entry.question)))
    except ValidationError:
        return ""
