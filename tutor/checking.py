"""A question's own scenario, run, and what was predicted set beside what came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from question_bank import Question
    from sim.timeline import TimelineRow


@dataclass(frozen=True)
class CheckedValue:
    """One expected result: what was predicted, what was simulated, and the reference."""

    name: str
    label: str
    unit: str
    predicted: float | None
    simulated: float | None
    """None where the run gave no sample, or no check belongs to this result."""
    reference: float

    @property
    def ratio(self) -> float | None:
        """Predicted over simulated."""
        if self.predicted is None or not self.simulated:
            return None
        return self.predicted / self.simulated


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

    def summary(self) -> dict[str, object]:
        """What the interview keeps of it."""
        return {
            "values": {
                value.name: {
                    "predicted": value.predicted,
                    "simulated": value.simulated,
                    "reference": value.reference,
                    "unit": value.unit,
                }
                for value in self.values
            },
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


def run_checks(question: Question, predicted: Mapping[str, float]) -> CheckedRun:
    """Run the question's scenario, and the one before the change where there is one.

    Blocking. Raises ScenarioError when the scenario cannot be run, ValueError when the question has none.
    """
    from sim import parse_scenario, simulate
    from sim.timeline import timeline

    plan = question.simulation
    if plan is None:
        raise ValueError("this question has no scenario")
    result = simulate(parse_scenario(plan.scenario, question.item_id))
    baseline = (
        simulate(parse_scenario(plan.baseline, f"{question.item_id} (before)")) if plan.baseline is not None else None
    )
    values = []
    for expected in question.expected:
        check = next((check for check in plan.checks if check.expected == expected.name), None)
        source = baseline if check is not None and check.run == "baseline" else result
        metric = source.metric(check.metric) if check is not None and source is not None else None
        values.append(
            CheckedValue(
                name=expected.name,
                label=expected.label,
                unit=expected.unit,
                predicted=predicted.get(expected.name),
                simulated=metric * check.scale if metric is not None and check is not None else None,
                reference=expected.value,
            )
        )
    return CheckedRun(
        values=tuple(values),
        rows=timeline(result),
        baseline_rows=timeline(baseline) if baseline is not None else (),
        requests=result.counts.submitted,
        seconds=result.duration_s,
        note=plan.note,
    )
