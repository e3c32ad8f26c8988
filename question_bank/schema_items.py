"""What an item may contain.

Formulas and templates stay text here; `question_bank.variants` fills them in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StringConstraints, model_validator

from question_bank.formula import MAX_LENGTH
from rubrics.schema import CRITERION_IDS, CriterionId

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
ItemId = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*){1,2}$", max_length=120)
]
# Strict, because YAML's `yes` would count as 1 and "5" as 5.
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Formula = Annotated[
    str | StrictInt | Number, Field(description=f"arithmetic over names, at most {MAX_LENGTH} characters")
]
Line = Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000, strip_whitespace=True)]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Parameter(Frozen):
    """A number that each seed draws anew: from `choices`, or from `range` in steps of `step`."""

    label: Line
    unit: str = ""
    default: Number
    """The value with seed 0."""
    choices: tuple[Number, ...] | None = Field(default=None, min_length=1, max_length=200)
    range: tuple[Number, Number] | None = None
    """Lowest and highest value, both included."""
    step: Number | None = Field(default=None, gt=0)
    given: bool = True
    """Whether the prompt states it."""

    @model_validator(mode="after")
    def _one_source_of_values(self) -> Parameter:
        if (self.choices is None) == (self.range is None):
            raise ValueError("give either choices or a range with a step")
        if self.range is not None:
            low, high = self.range
            if self.step is None:
                raise ValueError("a range needs a step")
            if high < low:
                raise ValueError(f"range [{low:g}, {high:g}] is empty; write the lower end first")
            if (high - low) / self.step > 100_000:
                raise ValueError("range has more than 100,000 steps; use a larger step")
        elif self.step is not None:
            raise ValueError("a step belongs to a range, not to choices")
        return self


class DerivedSpec(Frozen):
    """An intermediate value that a good derivation shows, e.g. the number of gaps."""

    formula: Formula
    label: Line
    unit: str = ""


class ExpectedSpec(Frozen):
    """A number that the answer has to give."""

    label: Line
    formula: Formula
    unit: str
    rel_tolerance: Number = Field(default=0.01, gt=0, le=0.5)
    synonyms: tuple[Line, ...] = ()


class SlipSpec(Frozen):
    """A mistake: the wrong value it gives for one or more expected results, and its diagnosis."""

    id: Slug
    values: dict[Name, Formula] = Field(min_length=1)
    """Expected result's name -> formula of the wrong value."""
    diagnosis: Text
    misconception: Slug | None = None
    """The lesson's misconception that the mistake shows; a follow-up about it then comes first."""


class CriterionSpec(Frozen):
    """What earns one criterion; all texts may hold {formulas}."""

    statement: Text
    key_points: tuple[Text, ...] = Field(min_length=1)
    not_enough: tuple[Text, ...] = ()
    met_example: Text
    nearly_example: Text


class FollowUpSpec(Frozen):
    """A question to ask next; `then` asks deeper once this one has been answered."""

    id: Slug
    criterion: CriterionId | None = None
    """Asked when this criterion was not met; those in `then` inherit it."""
    misconception: Slug | None = None
    text: Text
    good: Text | None = None
    """What a good reply holds, shown to a coach."""
    then: tuple[FollowUpSpec, ...] = Field(default=(), max_length=6)

    def walk(self) -> Iterator[FollowUpSpec]:
        """This follow-up and all below it, each before those it leads to."""
        yield self
        for child in self.then:
            yield from child.walk()


class ExampleAnswerSpec(Frozen):
    id: Slug
    text: Text
    met: tuple[CriterionId, ...]


class SimCheckSpec(Frozen):
    expected: Name
    metric: Line
    scale: Number = 1.0
    run: Literal["scenario", "baseline"] = "scenario"
    tolerance: Number = Field(default=1e-4, gt=0, le=0.5)
    """Largest accepted relative distance between the formula and the simulator's mean over `runs` seeds."""


class DirectionSpec(Frozen):
    """What the change does to a metric, held against the simulator over common seeds."""

    metric: Line
    change: Literal["lower", "higher", "same"]
    by_at_least: Number = Field(default=0.0, ge=0)
    """lower, higher: fraction of the baseline by which the mean moves at the least."""
    within: Number = Field(default=0.02, gt=0, le=0.5)
    """same: largest fraction of the baseline by which the mean may move."""


class SimulationSpec(Frozen):
    """A scenario whose strings starting with "=" are formulas over the item's names."""

    scenario: dict[str, object]
    baseline: dict[str, object] | None = None
    checks: tuple[SimCheckSpec, ...] = ()
    directions: tuple[DirectionSpec, ...] = ()
    """From the baseline to the scenario; needs a baseline."""
    runs: int = Field(default=1, ge=1, le=50)
    """How many simulator seeds are averaged; more than one where the scenario draws at random."""
    note: Text

    @model_validator(mode="after")
    def _directions_need_a_baseline(self) -> SimulationSpec:
        if self.directions and self.baseline is None:
            raise ValueError("directions compare the scenario with a baseline; add the baseline")
        return self


class _ItemBase(Frozen):
    id: ItemId
    version: int = Field(ge=1)
    title: Line
    topics: tuple[Slug, ...] = Field(min_length=1)
    difficulty: Literal[1, 2, 3]
    minutes: Number = Field(gt=0, le=120)
    section: Slug | None = None
    """The lesson's section that it belongs to, so that one can be quizzed on what was just read."""
    sources: tuple[Slug, ...] = ()
    """Ids of the sources of its facts."""
    case: Slug | None = None
    """Id of the source of the public field case that it retells."""
    prompt: Text


class _OpenItem(_ItemBase):
    """An item answered in free text and graded on the four criteria."""

    parameters: dict[Name, Parameter] = Field(default_factory=dict, max_length=30)
    constraints: tuple[Formula, ...] = ()
    """Each must be true (not 0) for a draw to be used."""
    derived: dict[Name, DerivedSpec] = Field(default_factory=dict, max_length=60)
    """Each may use parameters and the derived values above it."""
    expected: dict[Name, ExpectedSpec] = Field(default_factory=dict, max_length=12)
    slips: tuple[SlipSpec, ...] = ()
    criteria: dict[CriterionId, CriterionSpec]
    follow_ups: tuple[FollowUpSpec, ...] = ()
    weak_indicators: tuple[Line, ...] = ()
    hints: tuple[Text, ...] = Field(default=(), max_length=4)
    solution: Text
    example_answers: tuple[ExampleAnswerSpec, ...] = ()
    simulation: SimulationSpec | None = None

    @model_validator(mode="after")
    def _names_agree(self) -> _OpenItem:
        missing = [name for name in CRITERION_IDS if name not in self.criteria]
        if missing:
            raise ValueError(f"criteria lacks {', '.join(missing)}; an open item says what earns each of the four")
        names = [*self.parameters, *self.derived, *self.expected]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{twice[0]!r} is both a parameter, derived or expected; each name stands once")
        for slip in self.slips:
            for name in slip.values:
                if name not in self.expected:
                    raise ValueError(f"slip {slip.id!r} gives a value for {name!r}, which is not an expected result")
        for check in self.simulation.checks if self.simulation else ():
            if check.run == "baseline" and self.simulation and self.simulation.baseline is None:
                raise ValueError("a simulation check of the baseline, but there is no baseline scenario")
            if check.expected not in self.expected:
                raise ValueError(f"simulation check of {check.expected!r}, which is not an expected result")
        return self


class Exercise(_OpenItem):
    """A problem with numbers."""

    kind: Literal["exercise"]
    expected: dict[Name, ExpectedSpec] = Field(min_length=1, max_length=12)
    hints: tuple[Text, ...] = Field(min_length=4, max_length=4)


class Probe(_OpenItem):
    """An open interview question."""

    kind: Literal["probe"]
    weak_indicators: tuple[Line, ...] = Field(min_length=1)


class RecallLevel(Frozen):
    """One of the three confidence levels, 1 the lowest."""

    level: Literal[1, 2, 3]
    label: Line
    meaning: Line


class Recall(_OpenItem):
    """Explaining from memory, with a confidence level."""

    kind: Literal["recall"]
    levels: tuple[RecallLevel, RecallLevel, RecallLevel]


class Prediction(_OpenItem):
    """A change to a scenario whose effect is predicted before it is run."""

    kind: Literal["prediction"]
    expected: dict[Name, ExpectedSpec] = Field(min_length=1, max_length=12)
    simulation: SimulationSpec


class OptionSpec(Frozen):
    text: Line
    reason: Text


class Checkpoint(_ItemBase):
    """A multiple-choice question; options are keyed by id and shuffled when shown."""

    kind: Literal["checkpoint"]
    options: dict[Slug, OptionSpec] = Field(min_length=2, max_length=8)
    answer: Slug
    """Id of the one right option."""

    @model_validator(mode="after")
    def _answer_is_an_option(self) -> Checkpoint:
        if self.answer not in self.options:
            raise ValueError(f"answer {self.answer!r} is none of the options {', '.join(self.options)}")
        return self


Item = Annotated[Exercise | Probe | Checkpoint | Recall | Prediction, Field(discriminator="kind")]
AnyItem = Exercise | Probe | Checkpoint | Recall | Prediction
OpenItem = Exercise | Probe | Recall | Prediction
