"""A question's own scenario, run, and what was predicted set beside what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from tutor.lab.interval import Estimate, estimate

if TYPE_CHECKING:
    from question_bank import Question
    from question_bank.question import Direction, SimulationPlan
    from sim import Result
    from sim.timeline import TimelineRow

Moved = Literal["lower", "higher", "same"]
REPLICATIONS: Final = 12
"""Runs behind a prediction's interval, where anything in the scenario is random."""
TELLING: Final = 3
"""As many equal runs tell that nothing is."""


@dataclass(frozen=True)
class CheckedValue:
    """One expected result: what was predicted, what was simulated, and the reference."""

    name: str
    label: str
    unit: str
    predicted: float | None
    simulated: float | None
    """The mean over the runs; None where none gave a sample, or no check belongs to this result."""
    reference: float
    interval: tuple[float, float] | None = None
    """Where the mean of endlessly many runs lies, with 95 %; None where nothing is random or one run was made."""

    @property
    def ratio(self) -> float | None:
        """Predicted over simulated."""
        if self.predicted is None or not self.simulated:
            return None
        return self.predicted / self.simulated


@dataclass(frozen=True)
class CheckedDirection:
    """Which way a metric went from the scenario before the change to the one after it."""

    metric: str
    predicted: Moved | None
    moved: Moved | None
    """None where a side gave no sample."""
    before: float | None
    after: float | None
    """Both in the simulator's own unit: seconds, tokens per second, counts."""


@dataclass(frozen=True)
class CheckedRun:
    """A finished run."""

    values: tuple[CheckedValue, ...]
    rows: tuple[TimelineRow, ...]
    baseline_rows: tuple[TimelineRow, ...]
    requests: int
    seconds: float
    """Simulated seconds."""
    note: str
    runs: int = 1
    directions: tuple[CheckedDirection, ...] = ()

    def summary(self) -> dict[str, object]:
        """What the interview keeps of it."""
        return {
            "values": {
                value.name: {
                    "predicted": value.predicted,
                    "simulated": value.simulated,
                    "reference": value.reference,
                    "unit": value.unit,
                    **({} if value.interval is None else {"interval": list(value.interval)}),
                }
                for value in self.values
            },
            **({"directions": {one.metric: one.moved for one in self.directions}} if self.directions else {}),
            "runs": self.runs,
            "requests": self.requests,
            "duration_s": self.seconds,
        }


def stated_values(question: Question, answer: str) -> dict[str, float]:
    """The expected results that the answer states, in the expected units; what is not stated is absent."""
    from tutor.grading.result import find_results
    from tutor.grading.roles import quantity_unit, read_answer

    if not answer.strip() or not question.expected:
        return {}
    stated = {}
    findings, _ = find_results(question, read_answer(question, answer))
    for finding in findings:
        read = finding.read
        if read is None:
            continue
        same_kind = read.dimension not in ("none", "count")
        factor = quantity_unit(finding.expected).factor or 1.0
        stated[finding.expected.name] = round(read.canonical / factor if same_kind else read.value, 6)
    return stated


def run_checks(
    question: Question,
    predicted: Mapping[str, float],
    *,
    directions: Mapping[str, Moved] | None = None,
    replications: int | None = None,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
    stop: Callable[[], bool] = lambda: False,
) -> CheckedRun:
    """Run the question's scenario, and the one before the change where there is one, on seeds that follow each other.

    Args:
        question: must have a scenario.
        predicted: values by name of the expected result, in its unit.
        directions: predicted moves by metric.
        replications: runs of each side; None: as many as the item says its numbers take. Runs that all give the same
            need no more than three.
        progress: told the runs done and how many there are.
        stop: asked often; what is done then counts, and with nothing done it is a ValueError.

    Blocking. Raises ScenarioError when the scenario cannot be run, ValueError when the question has none.
    """
    from sim.timeline import timeline

    plan = question.simulation
    if plan is None:
        raise ValueError("this question has no scenario")
    wanted = plan.runs if replications is None else max(replications, plan.runs)
    sides: list[tuple[Result, Result | None]] = []
    numbers: list[dict[tuple[str, str], float | None]] = []
    for shift in range(wanted):
        progress(shift, wanted, "")
        pair = _run_both(question, plan, shift, stop)
        if stop():
            break
        if not sides:
            sides.append(pair)
        numbers.append(dict(_numbers(plan, pair)))
        if len(numbers) == TELLING and all(one == numbers[0] for one in numbers):
            break
    if not sides:
        raise ValueError("stopped before anything came out")
    values = []
    for expected in question.expected:
        check = next((check for check in plan.checks if check.expected == expected.name), None)
        found = None
        if check is not None:
            found = _estimate([one[check.run, check.metric] for one in numbers], check.scale)
        values.append(
            CheckedValue(
                name=expected.name,
                label=expected.label,
                unit=expected.unit,
                predicted=predicted.get(expected.name),
                simulated=None if found is None else found.mean,
                reference=expected.value,
                interval=None if found is None or found.exact else (found.low, found.high),
            )
        )
    result, baseline = sides[0]
    return CheckedRun(
        values=tuple(values),
        rows=timeline(result),
        baseline_rows=timeline(baseline) if baseline is not None else (),
        requests=result.counts.submitted,
        seconds=result.duration_s,
        note=plan.note,
        runs=len(numbers),
        directions=tuple(_moved(one, numbers, (directions or {}).get(one.metric)) for one in plan.directions),
    )


def _run_both(
    question: Question, plan: SimulationPlan, shift: int, stop: Callable[[], bool]
) -> tuple[Result, Result | None]:
    from sim import parse_scenario, simulate

    def run(data: dict[str, object], source: str) -> Result:
        scenario = parse_scenario(data, source)
        return simulate(scenario.model_copy(update={"seed": scenario.seed + shift}), None, stop)

    result = run(plan.scenario, question.item_id)
    return result, None if plan.baseline is None else run(plan.baseline, f"{question.item_id} (before)")


def _numbers(
    plan: SimulationPlan, pair: tuple[Result, Result | None]
) -> Iterator[tuple[tuple[str, str], float | None]]:
    """Every metric that a check or a direction asks for, by side and name."""
    result, baseline = pair
    wanted = {(check.run, check.metric) for check in plan.checks}
    wanted |= {(side, one.metric) for one in plan.directions for side in ("scenario", "baseline")}
    for side, metric in sorted(wanted):
        source = baseline if side == "baseline" else result
        yield (side, metric), None if source is None else source.metric(metric)


def _estimate(values: list[float | None], scale: float = 1.0) -> Estimate | None:
    return estimate([value * scale for value in values if value is not None])


def _moved(
    one: Direction, numbers: list[dict[tuple[str, str], float | None]], predicted: Moved | None
) -> CheckedDirection:
    before = _estimate([each["baseline", one.metric] for each in numbers])
    after = _estimate([each["scenario", one.metric] for each in numbers])
    moved: Moved | None = None
    if before is not None and after is not None:
        change = (after.mean - before.mean) / before.mean if before.mean else after.mean - before.mean
        moved = "same" if abs(change) <= one.within else "higher" if change > 0 else "lower"
    return CheckedDirection(
        one.metric,
        predicted,
        moved,
        None if before is None else before.mean,
        None if after is None else after.mean,
    )
