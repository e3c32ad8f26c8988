"""Predicted beside measured: the same scenario simulated with a fitted step cost, class by class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from sim import Scenario, parse_scenario, simulate
from tutor.measure.records import Seen

QUANTITIES: Final = ("ttft", "itl", "e2e")
POINTS: Final = (50, 95)


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of one class; times in seconds."""

    class_name: str
    quantity: str
    percent: int
    n: int
    """Measured samples."""
    measured_s: float
    predicted_s: float

    @property
    def error_percent(self) -> float:
        """Above zero where the prediction is slower."""
        return 100 * (self.predicted_s / self.measured_s - 1) if self.measured_s else 0.0


@dataclass(frozen=True, slots=True)
class Engine:
    """What of the server a simulation has to know."""

    slots: int
    batch_tokens: int
    """Most tokens in one step: llama.cpp's `-b`, vLLM's --max-num-batched-tokens."""
    step_cost: dict[str, object]
    preprocess_s: float = 0.0
    """From sending until the engine has the request."""

    def plain(self) -> dict[str, object]:
        """As JSON and YAML have it."""
        return asdict(self)


def scenario_on(scenario: Scenario, engine: Engine) -> Scenario:
    """The scenario's traffic on the measured server.

    llama.cpp schedules as vLLM does without prefix cache: each step takes one token of every active slot and fills
    its batch with prompt tokens, slots are seats, and who finds none waits in order.
    """
    data = scenario.model_dump(mode="json", exclude_unset=True)
    data["server"] = {
        "policy": "vllm",
        "max_seqs": engine.slots,
        "token_budget": engine.batch_tokens,
        "prefix_cache": False,
        "reserve_full_prompt": False,
    }
    data["step_cost"] = engine.step_cost
    for item in data["classes"]:
        item["preprocess_s"] = engine.preprocess_s
    for name in ("fleet", "faults"):
        data.pop(name, None)
    return parse_scenario(data, scenario.name)


def forecast(scenario: Scenario, engine: Engine, seen: Sequence[Seen]) -> list[Row]:
    """Simulate the load that was measured, and set the two side by side."""
    result = simulate(scenario_on(scenario, engine))
    rows: list[Row] = []
    for name in (item.name for item in scenario.classes):
        mine = [each for each in seen if each.class_name == name and each.status == "completed"]
        for quantity in QUANTITIES:
            values = measured_values(mine, quantity)
            if not values:
                continue
            for percent in POINTS:
                predicted = result.metric(f"{name}.{quantity}_s.p{percent}")
                if predicted is not None:
                    measured = float(np.percentile(values, percent))
                    rows.append(Row(name, quantity, percent, len(values), measured, predicted))
    return rows


def lines(rows: Sequence[Row]) -> list[str]:
    """A table, times in milliseconds."""
    width = max([5, *(len(row.class_name) for row in rows)])
    found = [f"{'class':<{width}}  {'figure':<9} {'n':>6} {'measured ms':>12} {'predicted ms':>13} {'error %':>8}"]
    for row in rows:
        figure = f"{row.quantity.upper()} p{row.percent}"
        found.append(
            f"{row.class_name:<{width}}  {figure:<9} {row.n:>6,} {row.measured_s * 1000:>12,.1f} "
            f"{row.predicted_s * 1000:>13,.1f} {row.error_percent:>+8.1f}"
        )
    return found


def measured_values(seen: Sequence[Seen], quantity: str) -> list[float]:
    """Samples in seconds."""
    reading: dict[str, Callable[[Seen], list[float]]] = {
        "ttft": lambda each: [] if each.ttft_s is None else [each.ttft_s],
        "itl": lambda each: each.gaps_s,
        "e2e": lambda each: [] if each.e2e_s is None else [each.e2e_s],
    }
    return [value for each in seen for value in reading[quantity](each)]
