"""What is claimed about a metric, and how far one may go to settle it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

Relation = Literal["at_most", "at_least", "within"]
Subject = Literal["value", "difference", "change"]
"""`value`: the metric on the changed side; `difference`: changed minus baseline; `change`: their ratio minus 1."""
Verdict = Literal["supported", "refuted", "undetermined"]

ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class Term:
    """One statement: the subject of a metric lies in a region."""

    metric: str
    """A name of `sim.Result.metric`, such as `chat.itl_s.p95`; values are in its own unit."""
    relation: Relation
    amount: float
    subject: Subject = "value"
    upper: float | None = None
    """Of `within`: the region is from `amount` to this."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.amount) or (self.upper is not None and not math.isfinite(self.upper)):
            raise ValueError("an amount must be a finite number")
        if (self.relation == "within") != (self.upper is not None):
            raise ValueError("`within` needs a lower and an upper amount, and only `within` does")
        if self.upper is not None and self.upper <= self.amount:
            raise ValueError("the upper amount must be above the lower one")

    @property
    def region(self) -> tuple[float, float]:
        """Lowest and highest value that the statement allows."""
        if self.relation == "at_most":
            return -math.inf, self.amount
        if self.relation == "at_least":
            return self.amount, math.inf
        assert self.upper is not None
        return self.amount, self.upper

    def verdict(self, low: float, high: float) -> Verdict:
        """Of an interval: wholly inside the region supports, wholly outside refutes."""
        least, most = self.region
        if least <= low and high <= most:
            return "supported"
        return "refuted" if high < least or low > most else "undetermined"


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop asking."""

    replications: int = 48
    seconds: float = 60.0
    """Of wall time; looked at between rounds."""
    requests: int = 20_000_000
    """Simulated on both sides together."""
    jobs: int = 0
    """Processes; 0: as many as there are cores."""

    def __post_init__(self) -> None:
        if self.replications < 2:
            raise ValueError("two replications are the fewest that have an interval")
        if self.seconds <= 0 or self.requests <= 0 or self.jobs < 0:
            raise ValueError("seconds and requests must be above 0")


def looks(most: int) -> list[int]:
    """At how many replications the interval is looked at: 4, then each time half as many again."""
    found, at = [], 4
    while at < most:
        found.append(at)
        at = max(at + 2, at * 3 // 2)
    return [*found, most]


def spent(counts: list[int], alpha: float) -> list[float]:
    """How much of `alpha` each look may use, in proportion to its replications.

    The parts add up to `alpha`, so that the chance of being wrong at any look is at most `alpha`, however the looks
    depend on each other (the union bound). This is careful: the truth is less.
    """
    total = sum(counts)
    return [alpha * count / total for count in counts]
