"""Progress over weeks: every figure that the screen and the report show, derived from the log once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

from tutor.drills.calibration import ENOUGH, Calibration
from tutor.drills.forecast import CatchUpForecast, DueDay
from tutor.drills.history import Period
from tutor.drills.mastery import TopicMastery
from tutor.drills.queue import Counts
from tutor.drills.readiness import Readiness
from tutor.errors import TutorError
from tutor.lab.surprise import TopicSurprise

if TYPE_CHECKING:
    from tutor.drills import Drills

FORMAT: Final = "tutor-progress"
VERSION: Final = 1
AHEAD_DAYS: Final = 14
VERDICT: Final = {
    "overconfident": "you were more sure than the answers bear out",
    "underconfident": "you were less sure than the answers bear out",
    "in line": "what you said and what came out agree",
}


@dataclass(frozen=True)
class Figures:
    """All that progress shows."""

    made_at: datetime
    counts: Counts
    topics: tuple[TopicMastery, ...]
    everything: Calibration
    by_topic: tuple[Calibration, ...]
    weeks: tuple[Period, ...]
    ahead: tuple[DueDay, ...]
    catching: CatchUpForecast
    interview_day: date | None
    ready: Readiness | None
    surprises: tuple[TopicSurprise, ...] = ()
    """Of predictions that were run, the most surprising topic first."""


def figures(drills: Drills, now: datetime, day: date | None) -> Figures:
    """Derive everything; may take long with a long history.

    Args:
        drills: of the store.
        now: the time with its offset.
        day: of the interview; none: the plan's.

    Raises:
        DrillError: the day is past.
    """
    from tutor.drills.calibration import calibration
    from tutor.drills.forecast import catch_up, due_days
    from tutor.drills.history import weeks
    from tutor.drills.mastery import mastery
    from tutor.drills.readiness import readiness

    drills.sync(now)
    if day is None:
        planned = [plan.interview_day for plan in drills.settings.plans if plan.interview_day is not None]
        day = min((each for each in planned if each >= drills.today(now)), default=None)
    everything, by_topic = calibration(drills)
    return Figures(
        made_at=now,
        counts=drills.counts(now),
        topics=mastery(drills, now),
        everything=everything,
        by_topic=by_topic,
        weeks=weeks(drills),
        ahead=due_days(drills, now, AHEAD_DAYS),
        catching=catch_up(drills, now),
        interview_day=day,
        ready=readiness(drills, now, day) if day is not None else None,
        surprises=_surprises(drills),
    )


def _surprises(drills: Drills) -> tuple[TopicSurprise, ...]:
    from tutor.lab.predictions import past_predictions, topic_surprises

    try:
        return topic_surprises(past_predictions(drills.store, drills.deck.bank))
    except TutorError:
        return ()  # a prediction that cannot be read; `tutor doctor` names it, and the other figures stand


def as_data(found: Figures) -> dict[str, Any]:
    """The figures as JSON values, with the format's name."""
    from pydantic_core import to_jsonable_python

    data: dict[str, Any] = to_jsonable_python(found)
    return {"format": FORMAT, "version": VERSION, **data}


def schema() -> dict[str, Any]:
    """The JSON Schema of `as_data`."""
    from pydantic import TypeAdapter

    made = TypeAdapter(Figures).json_schema(mode="serialization")
    made["properties"] = {"format": {"const": FORMAT}, "version": {"const": VERSION}, **made["properties"]}
    made["required"] = ["format", "version", *made["required"]]
    return made


def verdict_words(calibration: Calibration) -> str:
    """One sentence; none about a person under 20 answers."""
    if calibration.verdict is None:
        return f"Too few answers to judge: {calibration.answers} of {ENOUGH}."
    return (
        f"{calibration.verdict.capitalize()}: {VERDICT[calibration.verdict]} "
        f"(said {calibration.stated:.0%}, right {calibration.observed:.0%}, n {calibration.answers})."
    )


def depths(topics: Sequence[TopicMastery]) -> dict[str, int]:
    """How many steps of prerequisites lie below each topic; a circle counts as far as it was followed."""
    before = {topic.topic: topic.prerequisites for topic in topics}
    found: dict[str, int] = {}

    def depth(topic: str, above: frozenset[str]) -> int:
        if topic not in found:
            inner = above | {topic}
            below = [depth(each, inner) for each in before[topic] if each in before and each not in inner]
            if above:  # not kept: inside a circle it depends on where one came in
                return max(below, default=-1) + 1
            found[topic] = max(below, default=-1) + 1
        return found[topic]

    for topic in before:
        depth(topic, frozenset())
    return found
