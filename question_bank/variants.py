"""An item and a seed become a question with numbers. Same item, version and seed: same question."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping

from question_bank.errors import DrawError, FormulaError
from question_bank.formula import evaluate
from question_bank.question import (
    CriterionGuide,
    Direction,
    ExampleAnswer,
    Expected,
    FollowUp,
    Level,
    Option,
    Quantity,
    Question,
    SimCheck,
    SimulationPlan,
    Slip,
)
from question_bank.schema_items import (
    Checkpoint,
    Exercise,
    FollowUpSpec,
    Formula,
    OpenItem,
    Parameter,
    Prediction,
    Probe,
    Recall,
    SimulationSpec,
)

MAX_TRIES = 1000
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def format_number(value: float, decimals: int | None = None) -> str:
    """A number as prompts show it: thousands separators, no trailing zeros unless `decimals` asks for them."""
    if decimals is not None:
        return f"{value:,.{decimals}f}"
    if abs(value - round(value)) < 1e-9 * max(1.0, abs(value)):
        return f"{round(value):,}"
    size = abs(value)
    text = f"{value:,.{0 if size >= 1000 else 1 if size >= 100 else 2}f}" if size >= 1 else f"{value:.4g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def fill(template: str, values: Mapping[str, float]) -> str:
    """Replace {formula} and {formula|decimals} by numbers; {{ and }} stand for braces.

    Raises FormulaError for a formula without a value or a number of decimals that is not 0 to 6.
    """

    def replace(match: re.Match[str]) -> str:
        if match.group(1) is None:
            return match.group()[0]
        formula, bar, decimals = match.group(1).partition("|")
        if bar and decimals.strip() not in {"0", "1", "2", "3", "4", "5", "6"}:
            raise FormulaError(f"placeholder {match.group()!r} must end in |0 to |6 decimals")
        return format_number(evaluate(formula, values), int(decimals) if bar else None)

    return _PLACEHOLDER.sub(replace, template)


def _formula(formula: Formula, values: Mapping[str, float]) -> float:
    return evaluate(formula, values) if isinstance(formula, str) else float(formula)


def _draw(parameter: Parameter, rng: random.Random) -> float:
    if parameter.choices is not None:
        return rng.choice(parameter.choices)
    assert parameter.range is not None
    assert parameter.step is not None
    low, high = parameter.range
    steps = int((high - low) / parameter.step + 1e-9)
    return round(low + rng.randint(0, steps) * parameter.step, 9)


def _with_results(item: OpenItem, parameters: Mapping[str, float]) -> dict[str, float]:
    values = dict(parameters)
    for name, derived in item.derived.items():
        values[name] = _formula(derived.formula, values)
    for name, expected in item.expected.items():
        values[name] = _formula(expected.formula, values)
    return values


def draw_values(item: OpenItem, seed: int) -> dict[str, float]:
    """Parameters, derived values and expected results for a seed; seed 0 gives the defaults.

    Raises DrawError when no draw keeps all constraints, FormulaError when a formula has no value.
    """
    rng = random.Random(f"{item.id}:{seed}")
    for attempt in range(MAX_TRIES):
        default = seed == 0 and attempt == 0
        parameters = {
            name: parameter.default if default else _draw(parameter, rng) for name, parameter in item.parameters.items()
        }
        values = _with_results(item, parameters)
        broken = next((each for each in item.constraints if not _formula(each, values)), None)
        if broken is None:
            return values
        if default:
            raise DrawError(f"{item.id}: the defaults break the constraint {broken!r}")
        if not item.parameters:
            break
    raise DrawError(f"{item.id}: no values found in {MAX_TRIES} draws that keep all constraints (seed {seed})")


def fill_scenario(node: object, values: Mapping[str, float]) -> object:
    """A scenario template with its "=formula" strings replaced by numbers (whole numbers as int)."""
    if isinstance(node, str) and node.startswith("="):
        value = evaluate(node[1:], values)
        # relative, so that 0.8 ns for each pair does not count as a whole 0
        return round(value) if abs(value - round(value)) <= 1e-9 * abs(value) else value
    if isinstance(node, Mapping):
        return {str(key): fill_scenario(child, values) for key, child in node.items()}
    if isinstance(node, list | tuple):
        return [fill_scenario(child, values) for child in node]
    return node


def _simulation(spec: SimulationSpec | None, values: Mapping[str, float]) -> SimulationPlan | None:
    if spec is None:
        return None
    scenario = fill_scenario(spec.scenario, values)
    baseline = fill_scenario(spec.baseline, values) if spec.baseline is not None else None
    assert isinstance(scenario, dict)
    assert baseline is None or isinstance(baseline, dict)
    return SimulationPlan(
        scenario=scenario,
        baseline=baseline,
        checks=tuple(
            SimCheck(
                expected=check.expected,
                metric=check.metric,
                scale=check.scale,
                run=check.run,
                tolerance=check.tolerance,
            )
            for check in spec.checks
        ),
        directions=tuple(
            Direction(metric=each.metric, change=each.change, by_at_least=each.by_at_least, within=each.within)
            for each in spec.directions
        ),
        runs=spec.runs,
        note=fill(spec.note, values),
    )


def _follow_ups(spec: FollowUpSpec, above: FollowUp | None, values: Mapping[str, float]) -> Iterator[FollowUp]:
    """The follow-up and those below it, which inherit what it is asked for."""
    this = FollowUp(
        id=spec.id,
        criterion=spec.criterion or (above.criterion if above else None),
        misconception=spec.misconception or (above.misconception if above else None),
        text=fill(spec.text, values),
        after=above.id if above else None,
        good=fill(spec.good, values) if spec.good else "",
    )
    yield this
    for child in spec.then:
        yield from _follow_ups(child, this, values)


def build_question(item: Exercise | Probe | Checkpoint | Recall | Prediction, seed: int) -> Question:
    """The question that this item asks with this seed (any int; 0 gives the defaults).

    Raises DrawError or FormulaError (both ValueError) for an item that `check_bank` would refuse.
    """
    return _checkpoint(item, seed) if isinstance(item, Checkpoint) else _open(item, seed)


def _checkpoint(item: Checkpoint, seed: int) -> Question:
    options = [
        Option(id=option_id, text=option.text, reason=option.reason, correct=option_id == item.answer)
        for option_id, option in item.options.items()
    ]
    # Sorted first, so that the order does not depend on where the author put the right one.
    options.sort(key=lambda option: option.id)
    random.Random(f"{item.id}:{seed}").shuffle(options)
    right = item.options[item.answer]
    return Question(
        item_id=item.id,
        item_version=item.version,
        kind=item.kind,
        seed=seed,
        title=item.title,
        topics=item.topics,
        difficulty=item.difficulty,
        minutes=item.minutes,
        section=item.section,
        prompt=fill(item.prompt, {}),
        parameters={},
        givens=(),
        expected=(),
        slips=(),
        derived=(),
        criteria={},
        follow_ups=(),
        weak_indicators=(),
        hints=(),
        reference=f"**{right.text}**\n\n{right.reason}",
        example_answers=(),
        options=tuple(options),
        simulation=None,
    )


def _open(item: OpenItem, seed: int) -> Question:
    full = draw_values(item, seed)
    values = {name: value for name, value in full.items() if name not in item.expected}
    expected = tuple(
        Expected(
            name=name,
            label=spec.label,
            value=full[name],
            unit=spec.unit,
            rel_tolerance=spec.rel_tolerance,
            synonyms=spec.synonyms,
        )
        for name, spec in item.expected.items()
    )
    return Question(
        item_id=item.id,
        item_version=item.version,
        kind=item.kind,
        seed=seed,
        title=item.title,
        topics=item.topics,
        difficulty=item.difficulty,
        minutes=item.minutes,
        section=item.section,
        prompt=fill(item.prompt, full),
        parameters=values,
        givens=tuple(
            Quantity(name=name, label=spec.label, value=values[name], unit=spec.unit)
            for name, spec in item.parameters.items()
            if spec.given
        ),
        expected=expected,
        slips=tuple(
            Slip(
                id=slip.id,
                expected=name,
                value=_formula(formula, full),
                unit=item.expected[name].unit,
                diagnosis=fill(slip.diagnosis, full),
                misconception=slip.misconception,
            )
            for slip in item.slips
            for name, formula in slip.values.items()
        ),
        derived=tuple(
            Quantity(name=name, label=spec.label, value=values[name], unit=spec.unit)
            for name, spec in item.derived.items()
        ),
        criteria={
            criterion: CriterionGuide(
                statement=fill(spec.statement, full),
                key_points=tuple(fill(text, full) for text in spec.key_points),
                not_enough=tuple(fill(text, full) for text in spec.not_enough),
                met_example=fill(spec.met_example, full),
                nearly_example=fill(spec.nearly_example, full),
            )
            for criterion, spec in item.criteria.items()
        },
        follow_ups=tuple(each for root in item.follow_ups for each in _follow_ups(root, None, full)),
        weak_indicators=tuple(fill(text, full) for text in item.weak_indicators),
        hints=tuple(fill(text, full) for text in item.hints),
        reference=fill(item.solution, full),
        example_answers=tuple(
            ExampleAnswer(id=each.id, text=fill(each.text, full), met=each.met) for each in item.example_answers
        ),
        options=(),
        levels=tuple(Level(level=each.level, label=each.label, meaning=each.meaning) for each in item.levels)
        if isinstance(item, Recall)
        else (),
        simulation=_simulation(item.simulation, full),
    )
