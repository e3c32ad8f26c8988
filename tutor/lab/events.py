"""What can happen to a prediction or a claim in the lab, as typed payloads; each of them is a stream.

Locked comes first and cannot be changed. The texts of both scenarios stand in it, so that it can be run again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from tutor.errors import TutorError
from tutor.store.payloads import read_payload

STREAM_PREFIX: Final = "prediction:"

Direction = Literal["lower", "higher", "same", ""]
"""Of the metric, from the baseline to the change; empty where there is no baseline."""
LONGEST_EXPLANATION: Final = 500


class PredictionEventError(TutorError):
    """A stored event cannot be understood."""


class Payload(BaseModel):
    """The base of all; `kind` names the event."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: ClassVar[str]


class Locked(Payload):
    """What was predicted, before it was run."""

    kind: ClassVar[str] = "lab.prediction_locked"
    title: str
    """What the scenario is called in the lab."""
    scenario: str
    """Its text with the change."""
    baseline: str
    """Its text before; empty where nothing was changed."""
    changes: tuple[str, ...]
    """In words, such as "server.kv_blocks 1400 → 4000"."""
    metric: str
    """Of `sim.Result.metric`."""
    unit: str
    scale: FiniteFloat
    """Metric × scale is in the unit."""
    direction: Direction
    value: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    confidence: Literal[1, 2, 3]
    topics: tuple[str, ...]

    @model_validator(mode="after")
    def _holds_itself(self) -> Locked:
        if not self.low <= self.value <= self.high:
            raise ValueError("the range does not hold the number")
        return self


class Simulated(Payload):
    """What came out, in the unit of the prediction."""

    kind: ClassVar[str] = "lab.simulated"
    value: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    """Both: the 95 % interval of the mean over the runs."""
    baseline: FiniteFloat | None
    difference_low: FiniteFloat | None
    difference_high: FiniteFloat | None
    """The 95 % interval of the mean difference, change minus baseline, run by run on the same requests."""
    runs: Annotated[int, Field(ge=1)]
    requests: Annotated[int, Field(ge=0)]
    seconds: FiniteFloat
    """How long it took here."""
    version: str
    """Of the program."""


class Explained(Payload):
    """Why it came out so, in the candidate's own words; the last one counts."""

    kind: ClassVar[str] = "lab.explained"
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_EXPLANATION)]


class StatementSettled(BaseModel):
    """One statement of a claim and what became of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    words: str
    """chat ITL p95 is at most 50 ms"""
    metric: str
    verdict: Literal["supported", "refuted", "undetermined"]
    estimate: FiniteFloat | None
    low: FiniteFloat | None
    high: FiniteFloat | None
    """All three in the simulator's own unit, or as parts of the baseline."""
    level: FiniteFloat
    """Confidence of the interval."""


class ClaimSettled(Payload):
    """A claim that was put to the test, with what it takes to do that again."""

    kind: ClassVar[str] = "lab.claim_settled"
    title: str
    scenario: str
    baseline: str
    """Empty where nothing was changed."""
    changes: tuple[str, ...]
    statements: tuple[StatementSettled, ...]
    verdict: Literal["supported", "refuted", "undetermined"]
    replications: Annotated[int, Field(ge=0)]
    requests: Annotated[int, Field(ge=0)]
    first_seed: Annotated[int, Field(ge=0)]
    seconds: FiniteFloat
    version: str
    files: tuple[str, ...] = ()
    """Of a claim about measured runs: each file's name and SHA-256, the baseline's first; there is no scenario then."""


class ClaimAttacked(Payload):
    """What the attempts to overturn it gave, by name: the verdict there, or why it was not tried."""

    kind: ClassVar[str] = "lab.claim_attacked"
    probes: tuple[tuple[str, str], ...]
    summary: str


KINDS: Final[Mapping[str, type[Payload]]] = {model.kind: model for model in (Locked, Simulated, Explained)}
CLAIM_KINDS: Final[Mapping[str, type[Payload]]] = {model.kind: model for model in (ClaimSettled, ClaimAttacked)}
CLAIM_PREFIX: Final = "claim:"
"""Begins the streams of claims."""


def parse(kind: str, payload: Mapping[str, Any]) -> Payload:
    """The typed payload of a stored event.

    Raises:
        PredictionEventError: the kind is unknown, or the payload is not of its form.
    """
    return read_payload({**KINDS, **CLAIM_KINDS}, kind, payload, PredictionEventError, "an event of the lab")
