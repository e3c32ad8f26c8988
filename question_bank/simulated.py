"""An item's scenarios run by the simulator: means over seeds, and which way a change moves a metric."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from question_bank.question import Direction, SimulationPlan

if TYPE_CHECKING:
    from sim import Result

# Upper 97.5 % point of Student's t for 1 to 30 degrees of freedom.
_T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class SimulatedError(ValueError):
    """A scenario that the simulator refuses, or a metric that it does not have; `str()` is one sentence."""


class Change(NamedTuple):
    """Relative change from baseline to scenario: mean and 95 % interval over seeds."""

    mean: float
    low: float
    high: float

    def keeps(self, direction: Direction) -> bool:
        """Whether the whole interval lies where the direction says."""
        if direction.change == "higher":
            return self.low > 0 and self.mean >= direction.by_at_least
        if direction.change == "lower":
            return self.high < 0 and self.mean <= -direction.by_at_least
        return -direction.within <= self.low and self.high <= direction.within


def mean_metric(plan: SimulationPlan, run: Literal["scenario", "baseline"], metric: str) -> float:
    """The metric's mean over the plan's `runs` seeds. Raises SimulatedError."""
    return statistics.fmean(_value(plan, run, metric, shift) for shift in range(plan.runs))


def change_of(plan: SimulationPlan, metric: str, pairs: int) -> Change:
    """The relative change of a metric over `pairs` seeds, each used for both sides. Raises SimulatedError."""
    changes = []
    for shift in range(pairs):
        before, after = (_value(plan, run, metric, shift) for run in ("baseline", "scenario"))
        if before == 0:
            raise SimulatedError(f"the baseline's {metric} is 0, so that no relative change exists")
        changes.append(after / before - 1)
        # Nothing in the scenarios is drawn at random: more seeds would tell the same.
        if len(changes) == 2 and changes[0] == changes[1]:
            break
    mean = statistics.fmean(changes)
    if len(changes) < 2:
        return Change(mean, mean, mean)
    half = _T_975[min(len(changes) - 1, len(_T_975)) - 1] * statistics.stdev(changes) / math.sqrt(len(changes))
    return Change(mean, mean - half, mean + half)


def _value(plan: SimulationPlan, run: Literal["scenario", "baseline"], metric: str, shift: int) -> float:
    scenario = plan.scenario if run == "scenario" else plan.baseline
    assert scenario is not None
    try:
        value = _result(scenario, run, shift).metric(metric)
    except (KeyError, ValueError) as error:
        raise SimulatedError(f"{run}, metric {metric!r}: {error}") from error
    if value is None:
        raise SimulatedError(f"{run}: the simulator has no value for {metric!r}")
    return value


def _result(scenario: Mapping[str, object], run: str, shift: int) -> Result:
    seed = scenario.get("seed", 1)
    seeded = dict(scenario) | {"seed": (seed if isinstance(seed, int) else 1) + shift}
    return _run(json.dumps(seeded, sort_keys=True), run)


@lru_cache(maxsize=64)
def _run(scenario: str, run: str) -> Result:
    """Kept for a while, since several checks read the same result."""
    from sim import parse_scenario, simulate

    return simulate(parse_scenario(json.loads(scenario), run))
