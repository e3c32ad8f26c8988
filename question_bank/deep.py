"""`tutor bank check --deep`: every number of a bank worked out a second time, and every text held to a standard.

Slower than `check_bank` (about a minute for a large pack), so it runs before a pack is published and in CI.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from question_bank.check import check_item, check_lesson, longest_key_bias, with_places
from question_bank.errors import BankError
from question_bank.figures import check_figures
from question_bank.load import Bank
from question_bank.problem import Problem
from question_bank.question import Question
from question_bank.schema import AnyItem, Checkpoint, Exercise, Lesson, OpenItem, Prediction
from question_bank.simulated import SimulatedError, change_of, mean_metric
from question_bank.variants import build_question
from question_bank.wording import check_keys, check_lesson_wording, check_question_wording

Reference = Callable[[Mapping[str, float]], Mapping[str, float]]
"""From an item's drawn parameters to its expected results, by name; written without the pack's formulas."""

SEEDS = 200
FEWEST_VARIANTS = 12
SIM_DRAWS = 12
DIRECTION_DRAWS = 4
DIRECTION_PAIRS = 8
KEY_SEEDS = 10
# Two ways to the same number agree to rounding; anything beyond is another number.
_SAME = 1e-6
_UNDRAWABLE = frozenset({"unsatisfiable", "formula", "zero-division"})


@dataclass(frozen=True, slots=True)
class DeepReport:
    """What the deep check found, and how many items were proven in which way."""

    problems: tuple[Problem, ...]
    by_reference: int
    """Items with expected results recomputed by a reference."""
    by_simulator: int
    """Items whose scenario was run and agreed with (some of them by reference too)."""
    directions: int
    """Directions of change held against the simulator."""


def collector(into: dict[str, Reference], lesson_id: str) -> Callable[[str], Callable[[Reference], Reference]]:
    """A decorator that registers references by the last part of their item's id."""

    def named(name: str) -> Callable[[Reference], Reference]:
        def register(function: Reference) -> Reference:
            key = f"{lesson_id}/{name}"
            if key in into:
                raise ValueError(f"two references for {key}")
            into[key] = function
            return function

        return register

    return named


def load_references(folder: Path) -> dict[str, Reference]:
    """All REFERENCES of the Python files in a folder, by item id.

    This runs the files, which are part of one's own tests and never of a pack. Raises BankError.
    """
    found: dict[str, Reference] = {}
    paths = sorted(folder.glob("*.py"))
    if not paths:
        raise BankError(f"{folder}: holds no Python file with REFERENCES")
    for path in paths:
        spec = importlib.util.spec_from_file_location(f"references_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        references: dict[str, Reference] = getattr(module, "REFERENCES", {})
        for item_id, reference in references.items():
            if item_id in found:
                raise BankError(f"{path}: another file has a reference for {item_id!r} already")
            found[item_id] = reference
    return found


def check_deep(
    bank: Bank,
    references: Mapping[str, Reference],
    seeds: Sequence[int] = range(SEEDS),
    only: Collection[str] | None = None,
    on_item: Callable[[str], None] = lambda item_id: None,
) -> DeepReport:
    """Everything `check_bank` looks at over these seeds, and the second opinions. `only` limits it to these items."""
    problems: list[Problem] = []
    tally = _Tally()
    drawn: list[Question] = []
    for lesson in bank.lessons:
        if only is None:
            problems += check_lesson(bank, lesson)
            problems += check_figures(lesson)
            problems += check_lesson_wording(lesson)
            problems += _sources(lesson)
        for item in lesson.items:
            if only is not None and item.id not in only:
                continue
            on_item(item.id)
            found, questions = check_item(lesson, item, seeds)
            problems += found
            problems += _sourced(lesson, item)
            if any(problem.code in _UNDRAWABLE for problem in found):
                continue
            if isinstance(item, Checkpoint):
                questions = [build_question(item, seed) for seed in range(KEY_SEEDS)]
                drawn += questions
            else:
                problems += _recomputed(item, questions, references.get(item.id), tally)
                problems += _degenerate(item, questions)
                problems += _directions(item, questions, tally)
            problems += check_question_wording(questions[0])
    checkpoints = [item for item in bank.items if isinstance(item, Checkpoint) and (only is None or item.id in only)]
    problems += longest_key_bias(checkpoints)
    problems += check_keys(drawn, checkpoints)
    known = {item.id for item in bank.items}
    problems += [
        Problem(item_id, "dead-link", "a reference for an item that the bank does not have")
        for item_id in references
        if item_id not in known and only is None
    ]
    return DeepReport(tuple(with_places(bank, problems)), tally.by_reference, tally.by_simulator, tally.directions)


@dataclass(slots=True)
class _Tally:
    by_reference: int = 0
    by_simulator: int = 0
    directions: int = 0


# ---- results -------------------------------------------------------------------------------------------------


def _recomputed(
    item: OpenItem, questions: Sequence[Question], reference: Reference | None, tally: _Tally
) -> Iterator[Problem]:
    proven: set[str] = set()
    if reference is not None:
        tally.by_reference += 1
        proven |= set(item.expected)
        problem = next(_against_reference(item, questions, reference), None)
        if problem is not None:
            yield problem
    if item.simulation is not None:
        tally.by_simulator += 1
        proven |= {check.expected for check in item.simulation.checks}
        # A scenario that draws at random is averaged over several runs, so fewer draws of it are tried.
        draws = max(2, SIM_DRAWS // item.simulation.runs)
        problem = next((each for question in questions[:draws] for each in _against_simulator(question)), None)
        if problem is not None:
            yield problem
    unproven = [name for name in item.expected if name not in proven]
    if unproven and isinstance(item, Exercise | Prediction):
        yield Problem(
            item.id,
            "no-reference",
            f"nothing recomputes {', '.join(unproven)}; register a reference for it, or let a scenario check it",
        )


def _against_reference(item: OpenItem, questions: Sequence[Question], reference: Reference) -> Iterator[Problem]:
    for question in questions:
        given = {name: question.parameters[name] for name in item.parameters}
        try:
            results = reference(given)
        except (KeyError, ZeroDivisionError, ValueError) as error:
            yield Problem(item.id, "reference", f"its reference fails: {error!r} (seed {question.seed})")
            return
        for expected in question.expected:
            if expected.name not in results:
                yield Problem(item.id, "reference", f"its reference does not give {expected.name!r}")
            elif not math.isclose(results[expected.name], expected.value, rel_tol=_SAME):
                yield Problem(
                    item.id,
                    "reference",
                    f"{expected.name} is {expected.value:g} {expected.unit} by the pack and "
                    f"{results[expected.name]:g} by its reference (seed {question.seed})",
                )


def _against_simulator(question: Question) -> Iterator[Problem]:
    plan = question.simulation
    for check in plan.checks if plan else ():
        assert plan is not None
        expected = question.expected_named(check.expected)
        assert expected is not None
        if check.tolerance > expected.rel_tolerance:
            yield Problem(
                question.item_id,
                "tolerance",
                f"{expected.name} is graded within {expected.rel_tolerance:g}, but its scenario is only held to "
                f"{check.tolerance:g}",
            )
        try:
            value = mean_metric(plan, check.run, check.metric) * check.scale
        except SimulatedError as error:
            yield Problem(question.item_id, "scenario", f"{error} (seed {question.seed})")
            return
        if not math.isclose(value, expected.value, rel_tol=max(check.tolerance, 1e-9), abs_tol=1e-9):
            yield Problem(
                question.item_id,
                "contradicted",
                f"{expected.name} should be {expected.value:g} {expected.unit}, but the simulator's {check.metric} "
                f"is {value:g} (seed {question.seed})",
            )


def _degenerate(item: OpenItem, questions: Sequence[Question]) -> Iterator[Problem]:
    for name in item.expected:
        found = {question.seed: _value(question, name) for question in questions}
        for seed, value in found.items():
            if not math.isfinite(value) or value == 0:
                yield Problem(item.id, "degenerate", f"{name} is {value:g}, which no tolerance fits (seed {seed})")
                break
        if len(questions) > 1 and len(set(found.values())) < 3:
            yield Problem(item.id, "degenerate", f"{name} is nearly always {found[questions[0].seed]:g}; vary more")
    prompts = {question.prompt for question in questions}
    if isinstance(item, Exercise | Prediction) and len(prompts) < min(FEWEST_VARIANTS, len(questions)):
        yield Problem(item.id, "degenerate", f"only {len(prompts)} different questions come of {len(questions)} seeds")


def _value(question: Question, name: str) -> float:
    expected = question.expected_named(name)
    assert expected is not None
    return expected.value


def _directions(item: OpenItem, questions: Sequence[Question], tally: _Tally) -> Iterator[Problem]:
    if isinstance(item, Prediction) and item.simulation.baseline is not None and not item.simulation.directions:
        yield Problem(item.id, "no-direction", "it has a baseline, but says of no metric which way it goes")
    if item.simulation is None:
        return
    for position, spec in enumerate(item.simulation.directions):
        tally.directions += 1
        for question in questions[:DIRECTION_DRAWS]:
            plan = question.simulation
            assert plan is not None
            try:
                change = change_of(plan, spec.metric, DIRECTION_PAIRS)
            except SimulatedError as error:
                yield Problem(item.id, "scenario", f"{error} (seed {question.seed})")
                break
            if not change.keeps(plan.directions[position]):
                yield Problem(
                    item.id,
                    "direction",
                    f"{spec.metric} should go {spec.change}, but the simulator finds {change.mean:+.1%} "
                    f"({change.low:+.1%} to {change.high:+.1%}, seed {question.seed})",
                )
                break


# ---- sources -------------------------------------------------------------------------------------------------


def _sources(lesson: Lesson) -> Iterator[Problem]:
    for source in lesson.sources:
        lacking = [name for name in ("id", "section", "date") if getattr(source, name) is None]
        if lacking:
            yield Problem(lesson.id, "source", f"the source {source.name!r} lacks {', '.join(lacking)}")
    for section in lesson.sections:
        if section.figures and not section.sources:
            yield Problem(lesson.id, "source", f"section {section.id!r} has figures but names no source")


def _sourced(lesson: Lesson, item: AnyItem) -> Iterator[Problem]:
    if not item.sources:
        yield Problem(item.id, "source", f"it names no source; {lesson.id} or sources.yaml has them by id")
