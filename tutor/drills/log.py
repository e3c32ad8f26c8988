"""The review log: what happened to drill items, appended to the store and never changed.

A review is identified by its presentation, so that it is recorded once however often it is submitted and whoever
submits it; the store itself refuses a second one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from tutor.drills import events as ev
from tutor.drills.day import not_before
from tutor.drills.fold import LogEntry
from tutor.drills.memory import MemoryModel
from tutor.drills.plan import DEFAULT_PLAN, DrillPlan, plan_for
from tutor.errors import TutorError
from tutor.store import Event, Problem, Store
from tutor.text import sanitize

MAX_NOTE_CHARS: Final = 2_000
_UNDO_LOOKS_AT: Final = 2_000


class DrillError(TutorError):
    """Something that cannot be done with a drill item now."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A review in the log."""

    event_id: str
    review: ev.Reviewed
    at: datetime
    added: bool
    """False: this presentation was recorded before, and nothing was changed."""


@dataclass(frozen=True, slots=True)
class Undo:
    """An action that was taken back."""

    item_id: str
    """Empty for a plan or for parameters."""
    kind: str
    words: str
    """What it was, for a person."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Settings:
    """Plans and parameters as they stand, folded from their events."""

    plans: tuple[DrillPlan, ...] = ()
    parameters: tuple[float, ...] | None = None

    def plan_for(self, item_id: str) -> DrillPlan:
        """The plan that fits an item most closely."""
        return plan_for(self.plans, item_id)

    @property
    def base(self) -> DrillPlan:
        """The plan for all items; the defaults when none was set."""
        return next((plan for plan in self.plans if plan.name == DEFAULT_PLAN), DrillPlan())

    def model(self) -> MemoryModel:
        """FSRS with the parameters in use."""
        return MemoryModel() if self.parameters is None else MemoryModel(self.parameters)


class DrillLog:
    """The drill events of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    # -- reading --------------------------------------------------------------------------------------------------

    def entries(self, item_id: str) -> list[LogEntry]:
        """All events of an item that can be understood; `faults` names the others."""
        return _understood(self.store.events(ev.stream_of(item_id)))

    def faults(self) -> list[Problem]:
        """The drill events that cannot be understood, and are passed over because nothing can be taken away."""
        problems = []
        for stream in (*map(ev.stream_of, self.item_ids()), ev.SETTINGS_STREAM):
            for event in self.store.events(stream):
                try:
                    ev.parse(event.kind, event.payload)
                except ev.DrillEventError as error:
                    problems.append(Problem(f"{stream}: {error.message} It is passed over.", error.hint))
        return problems

    def item_ids(self) -> list[str]:
        """All items that have events, in alphabetical order."""
        return [ev.item_of(stream) for stream in self.store.streams(ev.STREAM_PREFIX)]

    def reviews(self) -> Iterator[tuple[str, LogEntry]]:
        """Every review that stands, as it counts now (undone ones left out, amendments applied), item by item."""
        for item_id in self.item_ids():
            for entry in standing(self.entries(item_id)):
                yield item_id, entry

    def settings(self) -> Settings:
        """Plans and parameters as they stand."""
        entries = sorted(_understood(self.store.events(ev.SETTINGS_STREAM)), key=lambda entry: (entry.at, entry.id))
        undone = {entry.payload.target for entry in entries if isinstance(entry.payload, ev.Undone)}
        plans: dict[str, DrillPlan] = {}
        parameters: tuple[float, ...] | None = None
        for entry in entries:
            if entry.id in undone:
                continue
            match entry.payload:
                case ev.PlanSet(plan=plan):
                    plans[plan.name] = plan
                case ev.PlanDropped(name=name):
                    plans.pop(name, None)
                case ev.ParametersSet(parameters=given):
                    parameters = given
        return Settings(tuple(plans[name] for name in sorted(plans)), parameters)

    def find(self, presentation_id: str) -> Recorded | None:
        """The review of a presentation, if there is one; undone ones are found too."""
        rows = self.store.query(
            "SELECT id, payload, at FROM events WHERE id = ?", (ev.once_id(ev.Reviewed.kind, presentation_id),)
        )
        if not rows:
            return None
        event_id, payload, at = rows[0]
        review = ev.parse(ev.Reviewed.kind, json.loads(payload))
        assert isinstance(review, ev.Reviewed)
        return Recorded(event_id, review, datetime.fromisoformat(at), added=False)

    # -- writing --------------------------------------------------------------------------------------------------

    def record(self, item_id: str, review: ev.Reviewed, now: datetime, *, live: bool = True) -> Recorded:
        """Add a review, or give back the one that this presentation has already.

        Args:
            item_id: whose stream it goes to.
            review: its `day` is kept no earlier than that of the item's last review when `live`.
            now: when it was answered.
            live: it happens now, so that a clock that has moved back is put right; else it is a true time of the
                past, such as of an interview.

        Raises:
            StoreError: it could not be stored.
        """
        with self.store.writing():
            known = self.find(review.presentation_id)
            if known is not None:
                return known
            if live:
                review, now = self._in_order(item_id, review, now)
            event_id = ev.once_id(ev.Reviewed.kind, review.presentation_id)
            self.store.insert(
                event_id, ev.stream_of(item_id), review.kind, review.model_dump(mode="json", exclude_defaults=True), now
            )
        return Recorded(event_id, review, now, added=True)

    def _in_order(self, item_id: str, review: ev.Reviewed, now: datetime) -> tuple[ev.Reviewed, datetime]:
        entries = self.entries(item_id)
        last = max((entry.at for entry in entries), default=None)
        at, behind = not_before(now, last)
        if behind:
            days = [entry.payload.day for entry in entries if isinstance(entry.payload, ev.Reviewed)]
            review = review.model_copy(update={"clock_behind": True, "day": max([review.day, *days])})
        return review, at

    def amend(self, item_id: str, amended: ev.Amended, now: datetime) -> None:
        """Record that a review's outcome is seen anew."""
        self._append(ev.stream_of(item_id), amended, now)

    def bury(self, item_id: str, until: date, now: datetime) -> None:
        """Do not ask an item before a local day."""
        self._append(ev.stream_of(item_id), ev.Buried(until=until), now)

    def suspend(self, item_id: str, now: datetime) -> None:
        """Do not ask an item until it is resumed."""
        self._append(ev.stream_of(item_id), ev.Suspended(), now)

    def resume(self, item_id: str, now: datetime) -> None:
        """Ask an item again that was suspended or buried."""
        self._append(ev.stream_of(item_id), ev.Resumed(), now)

    def note(self, item_id: str, text: str, now: datetime) -> None:
        """Keep the candidate's own note on an item, in place of the one before; empty takes it away.

        Raises:
            DrillError: it is too long.
        """
        text = sanitize(text).strip()
        if len(text) > MAX_NOTE_CHARS:
            raise DrillError(f"The note has {len(text):,} characters; at most {MAX_NOTE_CHARS:,} are kept.")
        self._append(ev.stream_of(item_id), ev.Noted(text=text), now)

    def reset(self, item_id: str, from_version: int, to_version: int, now: datetime) -> bool:
        """Record that an item's facts changed; False when that is recorded already."""
        event_id = ev.once_id(ev.Reset.kind, item_id, str(to_version))
        with self.store.writing():
            if self.store.query("SELECT 1 FROM events WHERE id = ?", (event_id,)):
                return False
            payload = ev.Reset(from_version=from_version, to_version=to_version)
            at = self._after_last(ev.stream_of(item_id), now)
            self.store.insert(
                event_id,
                ev.stream_of(item_id),
                payload.kind,
                payload.model_dump(mode="json", exclude_defaults=True),
                at,
            )
        return True

    def set_plan(self, plan: DrillPlan, now: datetime) -> None:
        """Put a plan in place of the one with its name."""
        self._append(ev.SETTINGS_STREAM, ev.PlanSet(plan=plan), now)

    def drop_plan(self, name: str, now: datetime) -> None:
        """Forget a plan.

        Raises:
            DrillError: there is none of this name.
        """
        if all(plan.name != name for plan in self.settings().plans):
            raise DrillError(f"There is no plan {name}.", hint="'tutor drill plan' lists the plans.")
        self._append(ev.SETTINGS_STREAM, ev.PlanDropped(name=name), now)

    def set_parameters(self, parameters: tuple[float, ...] | None, basis: str, now: datetime) -> None:
        """Use other parameters of FSRS from now on, for all that has been answered too.

        Raises:
            TutorError: they are out of bounds.
        """
        if parameters is not None:
            parameters = MemoryModel(parameters).parameters
        self._append(ev.SETTINGS_STREAM, ev.ParametersSet(parameters=parameters, basis=basis), now)

    def undo(self, now: datetime) -> Undo | None:
        """Take back the last action that still counts, by one event; None when there is none.

        An action is what a person did: an answer, burying, suspending, resuming, a note, a plan, parameters.
        What followed from it (an item due again, siblings held back, a leech) goes with it.
        """
        with self.store.writing():
            target = self._last_action()
            if target is None:
                return None
            event_id, stream, action, at = target
            self._append(stream, ev.Undone(target=event_id), now)
        item_id = ev.item_of(stream) if stream != ev.SETTINGS_STREAM else ""
        return Undo(item_id, action.kind, _words(action), at)

    def _last_action(self) -> tuple[str, str, ev.Payload, datetime] | None:
        undone: set[str] = set()
        # The unary plus keeps SQLite on the log's own order, from its end: no index is sorted.
        rows = self.store.query(
            "SELECT id, stream, kind, payload, at FROM events "
            f"WHERE +kind IN ({', '.join('?' * (len(ev.UNDOABLE) + 1))}) ORDER BY seq DESC LIMIT ?",
            (*ev.UNDOABLE, ev.Undone.kind, _UNDO_LOOKS_AT),
        )
        for event_id, stream, kind, payload, at in rows:
            try:
                action = ev.parse(kind, json.loads(payload))
            except ev.DrillEventError:
                continue
            if isinstance(action, ev.Undone):
                undone.add(action.target)
            elif event_id not in undone and not (isinstance(action, ev.Reviewed) and action.source == "anki"):
                return event_id, stream, action, datetime.fromisoformat(at)
        return None

    def _append(self, stream: str, payload: ev.Payload, now: datetime) -> Event:
        with self.store.writing():
            at = self._after_last(stream, now)
            return self.store.append(stream, payload.kind, payload.model_dump(mode="json"), at)

    def _after_last(self, stream: str, now: datetime) -> datetime:
        last = max((event.at for event in self.store.events(stream)), default=None)
        return not_before(now, last)[0]


def standing(entries: list[LogEntry]) -> list[LogEntry]:
    """The reviews among an item's events as they count now, in order of time; undone ones left out."""
    undone = {entry.payload.target for entry in entries if isinstance(entry.payload, ev.Undone)}
    ordered = sorted(entries, key=lambda entry: (entry.at, entry.id))
    amended = {e.payload.presentation_id: e.payload for e in ordered if isinstance(e.payload, ev.Amended)}
    found = []
    for entry in ordered:
        review = entry.payload
        if not isinstance(review, ev.Reviewed) or entry.id in undone:
            continue
        change = amended.get(review.presentation_id)
        if change is not None:
            review = review.model_copy(
                update={
                    "rating": change.rating,
                    "right": change.right,
                    "marked": change.marked,
                    "reason": change.reason,
                }
            )
        found.append(LogEntry(entry.id, entry.at, review))
    return found


def _understood(events: list[Event]) -> list[LogEntry]:
    entries = []
    for event in events:
        try:
            entries.append(LogEntry(event.id, event.at, ev.parse(event.kind, event.payload)))
        except ev.DrillEventError:
            continue
    return entries


def _words(payload: ev.Payload) -> str:
    match payload:
        case ev.Reviewed():
            return f"the answer rated {payload.rating.name.capitalize()}" if payload.rating else "the uncounted answer"
        case ev.Buried():
            return f"burying until {payload.until}"
        case ev.Suspended():
            return "suspending"
        case ev.Resumed():
            return "resuming"
        case ev.Noted():
            return "the note"
        case ev.PlanSet():
            return f"the plan {payload.plan.name}"
        case ev.PlanDropped():
            return f"dropping the plan {payload.name}"
    return "the scheduling parameters"
