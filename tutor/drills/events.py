"""What can happen to a drill item, as typed payloads; the kind is the event's name in the store.

Each item has a stream of its own. A review carries all that replay needs, so that it needs no bank. A later event
may correct an earlier one by naming it; nothing is ever changed in place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from tutor.drills.memory import Rating
from tutor.drills.plan import DrillPlan
from tutor.errors import TutorError
from tutor.store.payloads import read_payload

STREAM_PREFIX: Final = "drill:"
STREAM_END: Final = "drill;"
"""The first name after all that begin with the prefix."""
SETTINGS_STREAM: Final = "drills"
"""Plans and parameters; not an item's."""

Source = Literal["drill", "interview", "anki"]
Mode = Literal["checkpoint", "recall", "numbers", "prediction", "full"]
Marked = Literal["", "self", "contested"]
Level = Annotated[int, Field(ge=1, le=3)]


class DrillEventError(TutorError):
    """A stored drill event cannot be understood."""


class Payload(BaseModel):
    """The base of all; `kind` names the event."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: ClassVar[str]


class Reviewed(Payload):
    """One answer to one presentation of an item."""

    kind: ClassVar[str] = "drill.reviewed"
    presentation_id: Annotated[str, Field(min_length=1, max_length=200)]
    version: Annotated[int, Field(ge=1)]
    """Of the item's content."""
    seed: Annotated[int, Field(ge=0)]
    """Of its numbers."""
    numbers: str = ""
    """A digest of the numbers; empty for an item that has none."""
    day: date
    """The local day it counts for."""
    rollover_h: int
    """The hour at which that day began."""
    rating: Rating | None
    """None: not decided, so it counts for nothing."""
    right: bool | None
    reason: str
    """Why this rating, or why none."""
    confidence: Level | None = None
    """Stated before the outcome was seen."""
    hints: Annotated[int, Field(ge=0)] = 0
    duration_ms: Annotated[int, Field(ge=0)] | None = None
    """Time spent, cut off where nobody can have been answering any more."""
    source: Source = "drill"
    mode: Mode
    marked: Marked = ""
    """Who decided: the program, or the candidate by marking or by contesting a grade."""
    answer: str = ""
    clock_behind: bool = False
    """The clock had moved back, so the time was put just after the item's last record."""


class Amended(Payload):
    """The outcome of a review seen anew, such as after a grade was contested."""

    kind: ClassVar[str] = "drill.amended"
    presentation_id: str
    rating: Rating | None
    right: bool | None
    marked: Marked
    reason: str


class Undone(Payload):
    kind: ClassVar[str] = "drill.undone"
    target: str
    """Id of the event that no longer counts."""


class Buried(Payload):
    kind: ClassVar[str] = "drill.buried"
    until: date
    """The first local day on which it is asked again."""


class Suspended(Payload):
    kind: ClassVar[str] = "drill.suspended"


class Resumed(Payload):
    kind: ClassVar[str] = "drill.resumed"


class Noted(Payload):
    kind: ClassVar[str] = "drill.noted"
    text: Annotated[str, Field(max_length=2_000)]


class Reset(Payload):
    """The facts of the item changed, so that what is remembered may be wrong: it is new again."""

    kind: ClassVar[str] = "drill.reset"
    from_version: int
    to_version: int


class PlanSet(Payload):
    kind: ClassVar[str] = "drill.plan_set"
    plan: DrillPlan


class PlanDropped(Payload):
    kind: ClassVar[str] = "drill.plan_dropped"
    name: str


class ParametersSet(Payload):
    kind: ClassVar[str] = "drill.parameters_set"
    parameters: tuple[float, ...] | None
    """None: FSRS's defaults."""
    basis: str
    """What they were fitted to."""


KINDS: Final[Mapping[str, type[Payload]]] = {
    model.kind: model
    for model in (
        Reviewed,
        Amended,
        Undone,
        Buried,
        Suspended,
        Resumed,
        Noted,
        Reset,
        PlanSet,
        PlanDropped,
        ParametersSet,
    )
}
UNDOABLE: Final = tuple(kind for kind in KINDS if kind not in (Undone.kind, Reset.kind, Amended.kind))


def parse(kind: str, payload: Mapping[str, Any]) -> Payload:
    """The typed payload of a stored event.

    Raises:
        DrillEventError: the kind is unknown, or the payload is not of its form.
    """
    return parse_with(KINDS, kind, payload)


def parse_with(kinds: Mapping[str, type[Payload]], kind: str, payload: Mapping[str, Any]) -> Payload:
    """As `parse`, among other kinds than those of an item's stream."""
    return read_payload(kinds, kind, payload, DrillEventError, "a drill event")


def stream_of(item_id: str) -> str:
    """The stream of an item's events."""
    return f"{STREAM_PREFIX}{item_id}"


def item_of(stream: str) -> str:
    """The item whose events a stream holds."""
    return stream.removeprefix(STREAM_PREFIX)


def once_id(kind: str, *parts: str) -> str:
    """The identity of an event that may happen once only: the store refuses a second one, here and on import."""
    return hashlib.sha256("\x1f".join((kind, *parts)).encode()).hexdigest()[:24]
