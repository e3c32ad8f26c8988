"""What a report of an interview holds. Times are seconds, moments ISO 8601 with their offset.

Every text is made safe when the model is made, so that no way of showing it can forget to.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, FiniteFloat

from question_bank.question import ItemKind
from rubrics.schema import CriterionId
from tutor.errors import TutorError
from tutor.grading.models import Decider, Verdict
from tutor.interview.plan import Mode
from tutor.text import sanitize

FORMAT: Final = "tutor-report"
VERSION: Final = 1

Safe = Annotated[str, BeforeValidator(lambda text: sanitize(text) if isinstance(text, str) else text)]
"""Text without anything that a terminal obeys or that reorders what is shown."""
Binary = Literal["met", "not_met"]
Outcome = Literal["graded", "right", "wrong", "recalled", "predicted", "skipped", "waits", "open"]
"""`waits`: handed in and not graded; `open`: not answered."""


class ReportError(TutorError):
    """A report cannot be made or written."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class QuoteReport(_Part):
    """A stretch of the answer, with its offsets in the answer as handed in."""

    text: Safe
    start: int
    end: int


class OwnVerdict(_Part):
    """What the candidate says of a criterion; it counts, and the grader's stays beside it."""

    kind: Literal["contest", "self_mark"]
    verdict: Binary
    note: Safe = ""
    judged_again: Verdict | None = None
    """The grader's second verdict on a contested criterion."""
    judged_reason: Safe = ""


class CriterionReport(_Part):
    """One criterion of one answer."""

    criterion: CriterionId
    verdict: Verdict
    """The one that counts."""
    grader_verdict: Verdict
    decided_by: Decider | None
    """Who decided the grader's verdict."""
    p_met: float | None
    quote: QuoteReport | None
    reason: Safe
    own: OwnVerdict | None = None
    comment: Safe = ""
    """What the model said about it; it decided nothing."""


class MisconceptionReport(_Part):
    """A typical mistake that the answer showed."""

    what: Safe
    """The diagnosis."""
    belief: Safe = ""
    correction: Safe = ""
    check: Safe = ""
    """What to look at, to see that the belief is wrong."""


class FollowUpReport(_Part):
    """A question that was put after the answer."""

    text: Safe
    criterion: CriterionId | None
    clarifies: bool
    """It asked what the answer means, not for more."""
    answer: Safe | None
    skipped: bool


class PredictedReport(_Part):
    """A number that was predicted, and what the simulator gave, in its unit."""

    name: Safe
    label: Safe
    unit: Safe
    predicted: FiniteFloat | None
    low: FiniteFloat | None
    high: FiniteFloat | None
    simulated: FiniteFloat | None
    interval: tuple[FiniteFloat, FiniteFloat] | None
    """Where the mean of endlessly many runs lies, with 95 %."""
    reference: FiniteFloat | None
    """What the item's formula gives."""
    inside: bool | None
    """Whether the stated range held it; None where none was stated or nothing was run."""


class DirectionReport(_Part):
    """Which way a metric was predicted to go, and went."""

    metric: Safe
    predicted: Safe
    moved: Safe | None


class SimulatorReport(_Part):
    """What the simulator said about an item."""

    ran: bool
    runs: int | None
    requests: int | None
    values: tuple[PredictedReport, ...]
    directions: tuple[DirectionReport, ...]
    explanation: Safe = ""
    """Why it came out so, in the candidate's words."""


class ScheduledReport(_Part):
    """When the item is asked again."""

    due: date | None
    days: int | None
    """From the report's day; 0 is today or overdue."""
    why: Safe
    suspended: bool = False


class ComparisonReport(_Part):
    """The same item, the last time it was answered in an interview."""

    interview_id: Safe
    at: AwareDatetime
    same_numbers: bool
    met: int | None
    of: int | None
    """Criteria; None for an item that has none."""
    right: bool | None
    """Of a checkpoint."""
    spent_s: float | None
    gained: tuple[CriterionId, ...]
    lost: tuple[CriterionId, ...]


class ProvenanceReport(_Part):
    """How a grade came about."""

    grader_version: Safe
    model: Safe | None
    model_source: Safe
    prompt_hash: Safe
    rubric_hash: Safe
    seconds: float
    prompt_tokens: int
    completion_tokens: int


class ItemReport(_Part):
    """One question of the interview."""

    number: int
    """Counted from 1."""
    item_id: Safe
    item_version: int
    seed: int
    title: Safe
    kind: ItemKind
    topics: tuple[Safe, ...]
    prompt: Safe
    """Markdown."""
    reference: Safe
    """Markdown."""
    outcome: Outcome
    answer: Safe | None
    chosen: Safe | None = None
    """The option chosen at a checkpoint."""
    chosen_reason: Safe = ""
    confidence: Literal[1, 2, 3] | None
    """1 not yet, 2 getting there, 3 confident; stated before the outcome."""
    planned_s: float | None
    spent_s: float | None
    """From being shown to being handed in."""
    hints_used: int
    hints_of: int
    attempts: int
    met: int | None
    of: int | None
    criteria: tuple[CriterionReport, ...]
    misconceptions: tuple[MisconceptionReport, ...]
    follow_ups: tuple[FollowUpReport, ...]
    simulator: SimulatorReport | None
    scheduled: ScheduledReport | None
    before: ComparisonReport | None
    provenance: ProvenanceReport | None
    waiting_reason: Safe = ""
    """Why an answer has no grade."""


class StatementReport(_Part):
    """One statement of a claim, and what the simulator said about it."""

    words: Safe
    verdict: Safe
    estimate: FiniteFloat | None
    low: FiniteFloat | None
    high: FiniteFloat | None
    level: FiniteFloat
    """Of the interval, 0 to 1; numbers are in the simulator's own unit."""


class ClaimReport(_Part):
    """A claim that was put to the test in the lab while the interview was going on."""

    id: Safe
    at: AwareDatetime
    title: Safe
    changes: tuple[Safe, ...]
    verdict: Safe
    statements: tuple[StatementReport, ...]
    replications: int
    requests: int
    first_seed: int
    probes: tuple[tuple[Safe, Safe], ...]
    """What was changed to overturn it, and the verdict then."""
    summary: Safe


class LabPredictionReport(_Part):
    """A number predicted in the lab while the interview was going on, as the lab words it."""

    id: Safe
    at: AwareDatetime
    title: Safe
    rows: tuple[tuple[Safe, Safe, Safe], ...]
    """Label, ✓ or ✗ or nothing, text."""
    explanation: Safe


class PlanBefore(_Part):
    """The same plan, the last time it was held."""

    interview_id: Safe
    at: AwareDatetime
    met: int
    of: int


class Report(_Part):
    """An interview as a person reads it afterwards."""

    format: Literal["tutor-report"] = "tutor-report"
    version: int = VERSION
    program_version: Safe
    made_at: AwareDatetime
    interview_id: Safe
    title: Safe
    plan_id: Safe
    mode: Mode
    started_at: AwareDatetime
    ended_at: AwareDatetime | None
    ended: Literal["completed", "stopped"] | None
    """None: not finished."""
    planned_s: float | None
    spent_s: float
    """Sum over the items."""
    questions_planned: int
    met: int
    of: int
    """Criteria of all graded answers."""
    items: tuple[ItemReport, ...]
    claims: tuple[ClaimReport, ...] = ()
    lab_predictions: tuple[LabPredictionReport, ...] = ()
    before: PlanBefore | None
