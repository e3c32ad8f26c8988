"""What a candidate is asked: one item with its numbers filled in.

Made by `question_bank.variants.build_question`; read by grading, the interview and the screens.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from rubrics.schema import CriterionId

ItemKind = Literal["exercise", "probe", "checkpoint", "recall", "prediction"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Quantity(_Frozen):
    """A number that the prompt states, or that a good derivation shows on the way."""

    name: str
    label: str
    value: float
    unit: str


class Expected(_Frozen):
    """A number that the answer has to give."""

    name: str
    label: str
    value: float
    unit: str
    rel_tolerance: float
    """Largest accepted |answer − value| / |value|."""
    synonyms: tuple[str, ...] = ()
    """Other words by which a candidate may call it, e.g. "first token", "TTFT"."""


class Slip(_Frozen):
    """A typical wrong value and what led to it."""

    id: str
    """Unique together with `expected`: one mistake can show in several results."""
    expected: str
    """Name of the expected result that this value would be given for."""
    value: float
    unit: str
    diagnosis: str
    misconception: str | None = None
    """Id of the misconception that the mistake shows."""


class CriterionGuide(_Frozen):
    """What earns one criterion on this question."""

    statement: str
    """The main point as a full sentence: does the answer express it?"""
    key_points: tuple[str, ...]
    not_enough: tuple[str, ...]
    met_example: str
    nearly_example: str


class FollowUp(_Frozen):
    """A question to ask next, aimed at a missing criterion or at a misconception."""

    id: str
    criterion: CriterionId | None
    misconception: str | None
    text: str
    after: str | None = None
    """Id of the follow-up that this one goes deeper into; it is asked after that one only."""
    good: str = ""
    """What a good reply holds, for a coach; empty when the author gave none."""


class ExampleAnswer(_Frozen):
    """A whole answer with the criteria it meets, for anchoring and for testing a grader."""

    id: str
    text: str
    met: tuple[CriterionId, ...]


class Option(_Frozen):
    """One choice of a checkpoint."""

    id: str
    text: str
    reason: str
    correct: bool


class Level(_Frozen):
    """A confidence level of a recall, 1 the lowest."""

    level: Literal[1, 2, 3]
    label: str
    meaning: str


class SimCheck(_Frozen):
    """An expected result and the simulator's metric that should agree with it."""

    expected: str
    metric: str
    """Path for `sim.Result.metric`, e.g. "yours.ttft_s"."""
    scale: float
    """Metric × scale is in the expected result's unit (1000 from seconds to milliseconds)."""
    run: Literal["scenario", "baseline"] = "scenario"
    """Which of the plan's two scenarios gives the metric."""
    tolerance: float = 1e-4
    """Largest relative distance of the simulator's mean over the plan's `runs` seeds."""


class Direction(_Frozen):
    """Which way a metric goes from the baseline to the scenario."""

    metric: str
    change: Literal["lower", "higher", "same"]
    by_at_least: float = 0.0
    """lower, higher: fraction of the baseline."""
    within: float = 0.02
    """same: fraction of the baseline."""


class SimulationPlan(_Frozen):
    """A scenario with which the question's numbers can be checked."""

    scenario: dict[str, object]
    """Input of `sim.parse_scenario`."""
    baseline: dict[str, object] | None = None
    """The scenario before the change, where the question is about one."""
    checks: tuple[SimCheck, ...]
    directions: tuple[Direction, ...] = ()
    runs: int = 1
    """Simulator seeds to average over."""
    note: str


class Question(_Frozen):
    """One item drawn with one seed; the same item, version and seed always give the same question."""

    item_id: str
    item_version: int
    kind: ItemKind
    seed: int
    title: str
    topics: tuple[str, ...]
    difficulty: int
    minutes: float
    section: str | None = None
    """Id of the lesson's section that it belongs to."""
    prompt: str
    """Markdown with all numbers filled in; holds no result."""
    parameters: dict[str, float]
    """Drawn and derived values by name."""
    givens: tuple[Quantity, ...]
    expected: tuple[Expected, ...]
    slips: tuple[Slip, ...]
    derived: tuple[Quantity, ...]
    criteria: dict[CriterionId, CriterionGuide]
    """Empty for a checkpoint, else all four."""
    follow_ups: tuple[FollowUp, ...]
    weak_indicators: tuple[str, ...]
    hints: tuple[str, ...]
    reference: str
    """Model answer in Markdown; for a checkpoint the right option and its reason."""
    example_answers: tuple[ExampleAnswer, ...]
    options: tuple[Option, ...]
    """Checkpoint only, in the order to show them."""
    levels: tuple[Level, ...] = ()
    """Recall only, from 1 to 3."""
    simulation: SimulationPlan | None

    def option(self, option_id: str) -> Option | None:
        """The option with this id, or None."""
        return next((option for option in self.options if option.id == option_id), None)

    def expected_named(self, name: str) -> Expected | None:
        """The expected result with this name, or None."""
        return next((expected for expected in self.expected if expected.name == name), None)
