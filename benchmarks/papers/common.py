"""What the experiments share: their shape, a short way to a scenario, and the search for a capacity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sim import Result, parse_scenario, simulate

GPT3: dict[str, object] = {
    "layers": 96,
    "hidden": 12288,
    "heads": 96,
    "kv_heads": 96,
    "head_dim": 128,
    "ffn": 49152,
    "vocab": 50257,
    "gated": False,
}
OPT_13B: dict[str, object] = {
    "layers": 40,
    "hidden": 5120,
    "heads": 40,
    "kv_heads": 40,
    "head_dim": 128,
    "ffn": 20480,
    "vocab": 50272,
    "gated": False,
}
YI_34B: dict[str, object] = {
    "layers": 60,
    "hidden": 7168,
    "heads": 56,
    "kv_heads": 8,
    "head_dim": 128,
    "ffn": 20480,
    "vocab": 64000,
}


@dataclass(frozen=True, slots=True)
class Claim:
    """One figure: what was published, what came out here, and whether that agrees."""

    what: str
    published: str
    got: str
    verdict: str
    """`same`, `same direction`, `differs` or `not comparable`, each with the reason where there is one."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One paper's claims under one setup."""

    name: str
    paper: str
    setup: str
    """Assumptions, in plain words."""
    claims: tuple[Claim, ...]


def run(
    classes: Mapping[str, object] | list[dict[str, object]],
    server: Mapping[str, object],
    cost: Mapping[str, object],
    seed: int = 1,
    **parts: Any,
) -> Result:
    """Simulate one class (or several) of traffic on one server."""
    listed = classes if isinstance(classes, list) else [{"name": "a", **classes}]
    return simulate(
        parse_scenario(
            {
                "name": "experiment",
                "seed": seed,
                "classes": listed,
                "server": dict(server),
                "step_cost": dict(cost),
                **parts,
            },
            "experiment",
        )
    )


def lognormal(median: float, sigma: float, longest: int) -> dict[str, object]:
    """A length distribution by its median and the sigma of its logarithm."""
    return {"dist": "lognormal", "median_tokens": round(median), "sigma": sigma, "max_tokens": longest}


def poisson(rate: float, count: int) -> dict[str, object]:
    """Poisson arrivals."""
    return {"kind": "poisson", "rate_per_s": rate, "count": count}


def capacity(meets: Callable[[float], bool], low: float, high: float, steps: int = 7) -> float:
    """The highest rate that still meets the limits, by bisection in ratios; 0 when not even `low` does."""
    if not meets(low):
        return 0.0
    if meets(high):
        return high
    for _ in range(steps):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low


def value(result: Result, name: str) -> float:
    """A metric that must exist."""
    found = result.metric(name)
    if found is None:
        raise ValueError(f"no sample for {name}")
    return found


def steady_mean(result: Result, column: str, start: float = 0.2, end: float = 0.8) -> float:
    """A column of the runs averaged over time, in this part (0 to 1) of the simulation."""
    runs = result.log.runs[0]
    chosen = (runs["start"] >= start * result.log.end) & (runs["start"] < end * result.log.end)
    steps = runs["steps"][chosen]
    ticks = steps * runs["first"][chosen] + runs["growth"][chosen] * steps * (steps - 1) // 2
    return float((ticks * runs[column][chosen]).sum() / ticks.sum())
