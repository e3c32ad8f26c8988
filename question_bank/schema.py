"""What a pack and a lesson file may contain.

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


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Parameter(_Frozen):
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


class DerivedSpec(_Frozen):
    """An intermediate value that a good derivation shows, e.g. the number of gaps."""

    formula: Formula
    label: Line
    unit: str = ""


class ExpectedSpec(_Frozen):
    """A number that the answer has to give."""

    label: Line
    formula: Formula
    unit: str
    rel_tolerance: Number = Field(default=0.01, gt=0, le=0.5)
    synonyms: tuple[Line, ...] = ()


class SlipSpec(_Frozen):
    """A mistake: the wrong value it gives for one or more expected results, and its diagnosis."""

    id: Slug
    values: dict[Name, Formula] = Field(min_length=1)
    """Expected result's name -> formula of the wrong value."""
    diagnosis: Text
    misconception: Slug | None = None
    """The lesson's misconception that the mistake shows; a follow-up about it then comes first."""


class CriterionSpec(_Frozen):
    """What earns one criterion; all texts may hold {formulas}."""

    statement: Text
    key_points: tuple[Text, ...] = Field(min_length=1)
    not_enough: tuple[Text, ...] = ()
    met_example: Text
    nearly_example: Text


class FollowUpSpec(_Frozen):
    id: Slug
    criterion: CriterionId | None = None
    misconception: Slug | None = None
    text: Text


class ExampleAnswerSpec(_Frozen):
    id: Slug
    text: Text
    met: tuple[CriterionId, ...]


class SimCheckSpec(_Frozen):
    expected: Name
    metric: Line
    scale: Number = 1.0
    run: Literal["scenario", "baseline"] = "scenario"


class SimulationSpec(_Frozen):
    """A scenario whose strings starting with "=" are formulas over the item's names."""

    scenario: dict[str, object]
    baseline: dict[str, object] | None = None
    checks: tuple[SimCheckSpec, ...] = ()
    note: Text


class _ItemBase(_Frozen):
    id: ItemId
    version: int = Field(ge=1)
    title: Line
    topics: tuple[Slug, ...] = Field(min_length=1)
    difficulty: Literal[1, 2, 3]
    minutes: Number = Field(gt=0, le=120)
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


class RecallLevel(_Frozen):
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


class OptionSpec(_Frozen):
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
OpenItem = Exercise | Probe | Recall | Prediction


class Section(_Frozen):
    id: Slug
    title: Line
    text: Text
    """Markdown."""


class Misconception(_Frozen):
    id: Slug
    belief: Line
    correction: Text
    check: Text
    """What to look at, to see that the belief is wrong."""


class Source(_Frozen):
    name: Line
    url: Annotated[str, StringConstraints(pattern=r"^https://[^\s]+$", max_length=300)]
    supports: Text
    """What it stands for, and what it does not."""


class Lesson(_Frozen):
    id: ItemId
    """`<pack>/<lesson>`; the ids of its items begin with it."""
    title: Line
    objective: Line
    minutes: Number = Field(gt=0, le=240)
    prerequisites: tuple[ItemId, ...] = ()
    """Ids of lessons to read first."""
    evidence_class: Line
    sections: tuple[Section, ...] = Field(min_length=1)
    misconceptions: tuple[Misconception, ...] = ()
    items: tuple[Item, ...] = Field(min_length=1)
    wrap_up: Text
    sources: tuple[Source, ...] = ()

    @model_validator(mode="after")
    def _items_belong_here(self) -> Lesson:
        for item in self.items:
            if not item.id.startswith(f"{self.id}/"):
                raise ValueError(f"item id {item.id!r} must begin with the lesson's id {self.id!r} and a slash")
        return self

    def items_of(self, kind: str) -> Iterator[Exercise | Probe | Checkpoint | Recall | Prediction]:
        """The lesson's items of one kind, in order."""
        return (item for item in self.items if item.kind == kind)


class Pack(_Frozen):
    id: Slug
    """First part of the ids of its lessons."""
    title: Line
    description: Text
    licence: Line
    lessons: tuple[Slug, ...] = Field(min_length=1)
    """File names without .yaml, in reading order."""
