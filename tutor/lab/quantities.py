"""The numbers that can be predicted or claimed, in parts that a form can ask for one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sim import Scenario


@dataclass(frozen=True, slots=True)
class Quantity:
    """A thing that is measured."""

    id: str
    """As in the names of `sim.Result.metric`."""
    words: str
    unit: str
    scale: float
    """Metric × scale is in the unit."""
    statistics: bool = True
    """Whether it is a distribution, of which a mean or a percentile is asked."""


QUANTITIES: Final = (
    Quantity("ttft_s", "TTFT", "ms", 1000.0),
    Quantity("itl_s", "ITL", "ms", 1000.0),
    Quantity("tpot_s", "TPOT", "ms", 1000.0),
    Quantity("e2e_s", "E2E", "ms", 1000.0),
    Quantity("queue_s", "queue", "ms", 1000.0),
    Quantity("output_tokens_per_s", "tokens/s", "tokens/s", 1.0, statistics=False),
    Quantity("goodput", "goodput", "requests/s", 1.0, statistics=False),
    Quantity("attainment", "within limits", "%", 100.0, statistics=False),
)
BY_ID: Final = {quantity.id: quantity for quantity in QUANTITIES}
STATISTICS: Final = ("mean", "p50", "p90", "p95", "p99")
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A class, a quantity and a statistic of it."""

    class_name: str
    quantity: str
    statistic: str

    @property
    def of(self) -> Quantity:
        """What is measured."""
        return BY_ID[self.quantity]

    @property
    def metric(self) -> str:
        """The name for `sim.Result.metric`."""
        name = f"{self.class_name}.{self.quantity}"
        return f"{name}.{self.statistic}" if self.of.statistics else name

    def words(self) -> str:
        """chat TTFT p95"""
        return f"{self.class_name} {self.of.words}" + (f" {self.statistic}" if self.of.statistics else "")


def usual(scenario: Scenario) -> Chosen:
    """What one would ask first: the p95 of the first limit, else of the first class's TTFT."""
    for item in scenario.classes:
        for metric in ("ttft", "itl", "tpot", "e2e"):
            if getattr(item.slo, f"{metric}_s") is not None:
                return Chosen(item.name, f"{metric}_s", "p95")
    return Chosen(scenario.classes[0].name, "ttft_s", "p95")


def chosen_from(metric: str) -> Chosen | None:
    """The parts of a metric's name; None where a form has no such parts."""
    from sim.metrics import STATISTICS as KNOWN

    parts = metric.split(".")
    if not 2 <= len(parts) <= 3 or parts[1] not in BY_ID or (len(parts) == 3 and parts[2] not in KNOWN):
        return None
    return Chosen(parts[0], parts[1], parts[2] if len(parts) > 2 else "mean")
