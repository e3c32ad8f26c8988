"""From the log of an interview to its report; everything that any form of the report shows is derived here, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rubrics.schema import CRITERION_IDS
from tutor import __version__
from tutor.interview import events as ev
from tutor.interview.state import EntryState, State, apply
from tutor.interview.views import read_grade
from tutor.reports import models as m
from tutor.reports.lab import claims_between, predictions_between

if TYPE_CHECKING:
    from question_bank.load import Bank
    from question_bank.schema import Misconception
    from tutor.drills import Drills
    from tutor.store import Store

_HAND_INS: Final = (ev.Submitted, ev.OptionChosen, ev.RecallGiven, ev.PredictionLocked)


@dataclass
class Log:
    """An interview as far as it can be read."""

    interview_id: str
    state: State
    ended_at: datetime | None = None
    presented: dict[int, datetime] = field(default_factory=dict)
    handed_in: dict[int, datetime] = field(default_factory=dict)

    def spent_s(self, position: int) -> float | None:
        """From showing a question to the last time something was handed in for it; None without that."""
        if position not in self.handed_in or position not in self.presented:
            return None
        return max(0.0, (self.handed_in[position] - self.presented[position]).total_seconds())


def read_log(store: Store, interview_id: str) -> Log | None:
    """Fold an interview's events; None when there is none of that id.

    Raises:
        EventError: an event cannot be understood.
    """
    state: State | None = None
    log: Log | None = None
    for event in store.events(f"{ev.STREAM_PREFIX}{interview_id}"):
        payload = ev.parse(event.kind, event.payload)
        after = apply(state, payload, event.at)
        if after is None:
            continue
        state = after
        log = log or Log(interview_id, state)
        log.state = state
        match payload:
            case ev.Presented():
                log.presented[payload.position] = event.at
            case ev.Finished():
                log.ended_at = event.at
            case _ if isinstance(payload, _HAND_INS):
                log.handed_in[payload.position] = event.at
    return log


def report_of(store: Store, interview_id: str, now: datetime, *, bank: Bank, drills: Drills | None = None) -> m.Report:
    """The report of one interview, as things stand now.

    Args:
        store: where it is kept.
        interview_id: which.
        now: the time with its offset.
        bank: for what a misconception is.
        drills: of the same store, synced, for what is scheduled; None: the report says nothing about it.

    Raises:
        ReportError: there is no such interview, or it keeps its grades back until its end.
        EventError: its log cannot be read.
    """
    log = read_log(store, interview_id)
    if log is None:
        raise m.ReportError(
            f"There is no interview {interview_id}.", hint="'tutor report --list' shows those that there are."
        )
    state = log.state
    if not state.grades_visible:
        raise m.ReportError(
            f"The interview “{state.plan.title}” is not finished, and shows its grades at the end.",
            hint="Go on with it (c on the first screen), or end it there (x).",
        )
    items = tuple(_item(store, log, entry, now, bank, drills) for entry in state.entries)
    return m.Report(
        program_version=__version__,
        made_at=now,
        interview_id=interview_id,
        title=state.plan.title,
        plan_id=state.plan.id,
        mode=state.plan.mode,
        started_at=state.started_at,
        ended_at=log.ended_at,
        ended=state.finished,
        planned_s=state.plan.minutes * 60 if state.plan.minutes is not None else None,
        spent_s=sum(item.spent_s or 0.0 for item in items),
        questions_planned=len(state.plan.entries),
        met=sum(item.met or 0 for item in items),
        of=sum(item.of or 0 for item in items),
        items=items,
        claims=claims_between(store, state.started_at, log.ended_at or now),
        lab_predictions=predictions_between(store, state.started_at, log.ended_at or now),
        before=_plan_before(store, log),
    )


# -- one item -----------------------------------------------------------------------------------------------------


def _item(store: Store, log: Log, entry: EntryState, now: datetime, bank: Bank, drills: Drills | None) -> m.ItemReport:
    question = entry.question
    planned = log.state.plan.entries[entry.position].minutes
    criteria = _criteria(entry)
    attempt = entry.attempt
    option = _option(entry)
    return m.ItemReport(
        number=entry.position + 1,
        item_id=entry.item_id,
        item_version=int(question.get("item_version", 1)),
        seed=int(question.get("seed", 0)),
        title=str(question.get("title", entry.item_id)),
        kind=entry.kind,
        topics=tuple(str(topic) for topic in question.get("topics", ())),
        prompt=str(question.get("prompt", "")),
        reference=str(question.get("reference", "")),
        outcome=_outcome(entry),
        answer=attempt.text if attempt is not None else entry.recall.text if entry.recall is not None else None,
        chosen=str(option["text"]) if option else None,
        chosen_reason=str(option.get("reason", "")) if option else "",
        confidence=entry.confidence,
        planned_s=planned * 60 if planned is not None else None,
        spent_s=log.spent_s(entry.position),
        hints_used=entry.hints_used,
        hints_of=len(question.get("hints", ())),
        attempts=len(entry.attempts),
        met=sum(one.verdict == "met" for one in criteria) if criteria else None,
        of=len(criteria) or None,
        criteria=criteria,
        misconceptions=_misconceptions(entry, bank),
        follow_ups=tuple(
            m.FollowUpReport(
                text=one.text, criterion=one.criterion, clarifies=one.clarifies, answer=one.answer, skipped=one.skipped
            )
            for one in entry.follow_ups
        ),
        simulator=_simulator(entry),
        scheduled=_scheduled(log, entry, now, drills),
        before=_before(store, log, entry),
        provenance=_provenance(entry),
        waiting_reason=attempt.stop_reason if attempt is not None and attempt.status != "graded" else "",
    )


def _outcome(entry: EntryState) -> m.Outcome:
    if entry.skipped:
        return "skipped"
    if entry.choice is not None:
        return "right" if entry.choice.correct else "wrong"
    if entry.recall is not None:
        return "recalled"
    if entry.attempt is not None:
        return "graded" if entry.attempt.status == "graded" else "waits"
    return "predicted" if entry.predictions else "open"


def _option(entry: EntryState) -> Mapping[str, Any] | None:
    if entry.choice is None:
        return None
    options: list[Mapping[str, Any]] = list(entry.question.get("options") or ())
    found = next((one for one in options if one.get("id") == entry.choice.option_id), None)
    return found or {"text": entry.choice.option_id}


def _criteria(entry: EntryState) -> tuple[m.CriterionReport, ...]:
    attempt = entry.attempt
    grade = read_grade(attempt.grade) if attempt is not None and attempt.grade is not None else None
    if grade is None:
        return ()
    found = []
    for one in grade.criteria:
        mark = entry.marks.get(one.criterion)
        own = None
        if mark is not None:
            judged = mark.judged or {}
            own = m.OwnVerdict(
                kind=mark.kind,
                verdict=mark.verdict,
                note=mark.note,
                judged_again=judged.get("verdict"),
                judged_reason=str(judged.get("reason", "")),
            )
        quote = one.quote
        found.append(
            m.CriterionReport(
                criterion=one.criterion,
                verdict=entry.effective(one.criterion),
                grader_verdict=one.verdict,
                decided_by=one.decided_by,
                p_met=one.p_met,
                quote=m.QuoteReport(text=quote.text, start=quote.start, end=quote.end) if quote else None,
                reason=one.reason,
                own=own,
                comment=entry.comments.get(one.criterion, ""),
            )
        )
    return tuple(found)


def _misconceptions(entry: EntryState, bank: Bank) -> tuple[m.MisconceptionReport, ...]:
    """What the slips of the grade diagnose."""
    lesson_id = entry.item_id.rpartition("/")[0]
    known: dict[str, Misconception] = {
        one.id: one for lesson in bank.lessons if lesson.id == lesson_id for one in lesson.misconceptions
    }
    slips = {one.get("id"): one for one in entry.question.get("slips", ())}
    seen: dict[str, m.MisconceptionReport] = {}
    attempt = entry.attempt
    for one in (attempt.grade or {}).get("criteria", ()) if attempt is not None else ():
        slip = slips.get(one.get("slip_id"))
        if slip is None:
            continue
        about = known.get(str(slip.get("misconception")))
        what = str(slip.get("diagnosis", ""))
        seen[what] = m.MisconceptionReport(
            what=what,
            belief=about.belief if about else "",
            correction=about.correction if about else "",
            check=about.check if about else "",
        )
    return tuple(seen.values())


def _simulator(entry: EntryState) -> m.SimulatorReport | None:
    run: Mapping[str, Any] = entry.simulation or {}
    if not run and not entry.predictions and not entry.directions:
        return None
    outcomes: Mapping[str, Mapping[str, Any]] = run.get("values", {})
    expected = {one["name"]: one for one in entry.question.get("expected", ())}
    values = []
    for name in dict.fromkeys((*outcomes, *entry.predictions)):
        outcome, about = outcomes.get(name, {}), expected.get(name, {})
        low, high = entry.ranges.get(name, (None, None))
        truth = outcome.get("simulated")
        truth = outcome.get("reference") if truth is None else truth
        interval = outcome.get("interval")
        values.append(
            m.PredictedReport(
                name=name,
                label=str(about.get("label", name)),
                unit=str(outcome.get("unit", about.get("unit", ""))),
                predicted=entry.predictions.get(name, outcome.get("predicted")),
                low=low,
                high=high,
                simulated=outcome.get("simulated"),
                interval=(interval[0], interval[1]) if interval else None,
                reference=outcome.get("reference"),
                inside=None if low is None or high is None or truth is None else low <= truth <= high,
            )
        )
    moved: Mapping[str, str | None] = run.get("directions", {})
    return m.SimulatorReport(
        ran=bool(run),
        runs=run.get("runs"),
        requests=run.get("requests"),
        values=tuple(values),
        directions=tuple(
            m.DirectionReport(metric=metric, predicted=change, moved=moved.get(metric))
            for metric, change in entry.directions.items()
        ),
        explanation=entry.explanation,
    )


def _provenance(entry: EntryState) -> m.ProvenanceReport | None:
    attempt = entry.attempt
    grade = read_grade(attempt.grade) if attempt is not None and attempt.grade is not None else None
    if grade is None:
        return None
    one = grade.provenance
    return m.ProvenanceReport(
        grader_version=one.grader_version,
        model=one.model,
        model_source=one.model_source,
        prompt_hash=one.prompt_hash,
        rubric_hash=one.rubric_hash,
        seconds=one.seconds,
        prompt_tokens=one.prompt_tokens,
        completion_tokens=one.completion_tokens,
    )


def _scheduled(log: Log, entry: EntryState, now: datetime, drills: Drills | None) -> m.ScheduledReport | None:
    """When the drills ask the item again, and the rule behind the review that this answer gave."""
    from tutor.drills.bridge import presentation_id

    if drills is None or entry.item_id not in drills.deck.by_id:
        return None
    card = drills.card(entry.item_id)
    review = drills.log.find(presentation_id(log.interview_id, entry.position))
    why = review.review.reason if review is not None else "This answer moved no schedule."
    if card.state.new:
        return m.ScheduledReport(due=None, days=None, why=why, suspended=card.state.suspended)
    due = card.due_day
    days = max(0, (due - drills.today(now)).days) if due is not None else None
    return m.ScheduledReport(due=due, days=days, why=why, suspended=card.state.suspended)


# -- the last time ------------------------------------------------------------------------------------------------


def _before(store: Store, log: Log, entry: EntryState) -> m.ComparisonReport | None:
    """The newest earlier answer to the same item in another interview."""
    rows = store.query(
        "SELECT stream FROM events WHERE kind = ? AND json_extract(payload, '$.item_id') = ? AND stream <> ? "
        "AND seq < (SELECT min(seq) FROM events WHERE stream = ?) ORDER BY seq DESC",
        (ev.Presented.kind, entry.item_id, *[f"{ev.STREAM_PREFIX}{log.interview_id}"] * 2),
    )
    for (stream,) in rows:
        try:
            other = read_log(store, str(stream).removeprefix(ev.STREAM_PREFIX))
        except ev.EventError:
            continue  # `tutor doctor` names it
        for known in reversed(other.state.entries if other is not None and other.state.grades_visible else ()):
            if other is not None and known.item_id == entry.item_id and _outcome(known) in _COMPARABLE:
                return _compared(log, entry, other, known)
    return None


_COMPARABLE: Final = frozenset({"graded", "right", "wrong", "recalled", "predicted"})


def _compared(log: Log, entry: EntryState, other: Log, known: EntryState) -> m.ComparisonReport:
    then = {one.criterion: one.verdict for one in _criteria(known)}
    now = {one.criterion: one.verdict for one in _criteria(entry)}
    both = [criterion for criterion in CRITERION_IDS if criterion in then and criterion in now]
    return m.ComparisonReport(
        interview_id=other.interview_id,
        at=other.handed_in.get(known.position, other.presented[known.position]),
        same_numbers=known.question.get("parameters") == entry.question.get("parameters"),
        met=sum(verdict == "met" for verdict in then.values()) if then else None,
        of=len(then) or None,
        right=known.choice.correct if known.choice is not None else None,
        spent_s=other.spent_s(known.position),
        gained=tuple(one for one in both if now[one] == "met" and then[one] != "met"),
        lost=tuple(one for one in both if then[one] == "met" and now[one] != "met"),
    )


def _plan_before(store: Store, log: Log) -> m.PlanBefore | None:
    """The newest earlier interview from the same plan that was finished and has grades."""
    rows = store.query(
        "SELECT stream FROM events WHERE kind = ? AND json_extract(payload, '$.plan.id') = ? "
        "AND seq < (SELECT min(seq) FROM events WHERE stream = ?) ORDER BY seq DESC",
        (ev.Started.kind, log.state.plan.id, f"{ev.STREAM_PREFIX}{log.interview_id}"),
    )
    for (stream,) in rows:
        try:
            other = read_log(store, str(stream).removeprefix(ev.STREAM_PREFIX))
        except ev.EventError:
            continue
        if other is None or other.state.finished is None:
            continue
        verdicts = [one.verdict for entry in other.state.entries for one in _criteria(entry)]
        if verdicts:
            return m.PlanBefore(
                interview_id=other.interview_id,
                at=other.state.started_at,
                met=verdicts.count("met"),
                of=len(verdicts),
            )
    return None


# -- which ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Held:
    """An interview of the store."""

    interview_id: str
    title: str
    mode: str
    started_at: datetime
    answered: int
    """Questions presented."""
    of: int
    finished: bool


def held(store: Store, *, drills: bool = False) -> list[Held]:
    """All interviews, the newest first; those that hold one drilled question only when asked for."""
    from tutor.drills.bridge import DRILL_PREFIX

    rows = store.query(
        """
        SELECT started.stream, json_extract(started.payload, '$.plan.title'),
               json_extract(started.payload, '$.plan.mode'), started.at,
               (SELECT count(*) FROM events WHERE kind = ? AND stream = started.stream),
               json_array_length(started.payload, '$.plan.entries'),
               EXISTS (SELECT 1 FROM events WHERE kind = ? AND stream = started.stream)
          FROM events AS started WHERE started.kind = ? ORDER BY started.seq DESC
        """,
        (ev.Presented.kind, ev.Finished.kind, ev.Started.kind),
    )
    found = [
        Held(
            interview_id=str(stream).removeprefix(ev.STREAM_PREFIX),
            title=str(title),
            mode=str(mode),
            started_at=datetime.fromisoformat(at),
            answered=int(presented),
            of=int(of),
            finished=bool(finished),
        )
        for stream, title, mode, at, presented, of, finished in rows
    ]
    return [one for one in found if drills or not one.interview_id.startswith(DRILL_PREFIX)]


def last_held(store: Store) -> Held:
    """The newest interview that a report can be made of.

    Raises:
        ReportError: there is none.
    """
    every = held(store)
    for one in every:
        if one.finished or one.mode == "study":
            return one
    if every:
        raise m.ReportError("No interview is finished so far.", hint="Its grades are shown at its end; go on with it.")
    raise m.ReportError(
        "No interview was held so far.", hint="Start the program with 'tutor' and press i, or use 'tutor ask'."
    )
