"""How far a simulated run is from a measured one: the figures people quote, and request by request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.fit.least_squares import Array

METRICS = (
    "ttft_mean_s",
    "ttft_p50_s",
    "ttft_p99_s",
    "tpot_mean_s",
    "tpot_p99_s",
    "e2e_mean_s",
    "e2e_p99_s",
    "makespan_s",
)
"""Percentiles interpolate between order statistics; the makespan is from the first arrival to the last token."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Measured and simulated figures of the same requests."""

    requests: int
    measured: dict[str, float]
    simulated: dict[str, float]
    ttft_median_error_percent: float
    """Median over the requests of the size of their own error."""
    e2e_median_error_percent: float

    @property
    def errors_percent(self) -> dict[str, float]:
        """Above zero where the simulation is slower. A figure measured as zero has no relative error."""
        return {name: 100 * (self.simulated[name] / value - 1) for name, value in self.measured.items() if value}

    @property
    def worst_percent(self) -> float:
        """The largest size among the figures' errors."""
        return max(abs(error) for error in self.errors_percent.values())


def compare(
    arrival_s: Array,
    output_tokens: Sequence[int],
    measured: tuple[Array, Array],
    simulated: tuple[Array, Array],
    chosen: slice = slice(None),
) -> Comparison:
    """Compare first and last token times of the `chosen` requests; times of one clock, seconds."""
    came = arrival_s[chosen]
    outputs = np.array(output_tokens[chosen])
    (first, last), (sim_first, sim_last) = ([times[chosen] for times in pair] for pair in (measured, simulated))
    return Comparison(
        len(came),
        _figures(came, outputs, first, last),
        _figures(came, outputs, sim_first, sim_last),
        _median_error(sim_first - came, first - came),
        _median_error(sim_last - came, last - came),
    )


def _figures(came: Array, outputs: Array, first: Array, last: Array) -> dict[str, float]:
    ttft, e2e = first - came, last - came
    several = outputs > 1
    values = [float(ttft.mean()), *_percentiles(ttft, 50, 99)]
    if several.any():
        tpot = (last - first)[several] / (outputs[several] - 1)
        values += [float(tpot.mean()), *_percentiles(tpot, 99)]
    values += [float(e2e.mean()), *_percentiles(e2e, 99), float(last.max() - came.min())]
    names = METRICS if several.any() else [name for name in METRICS if not name.startswith("tpot")]
    return dict(zip(names, values, strict=True))


def _percentiles(values: Array, *percents: float) -> list[float]:
    return [float(np.percentile(values, percent)) for percent in percents]


def _median_error(simulated: Array, measured: Array) -> float:
    return float(np.median(np.abs(simulated - measured) / np.maximum(measured, 1e-9))) * 100
