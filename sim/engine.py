"""Chooses how a scenario is run: straight through one engine, or as a fleet with all that stands around it."""

from __future__ import annotations

from struct import error as StructError

from sim.arrivals import generate
from sim.errors import ScenarioError
from sim.fleet.client import Client
from sim.lane import Lane, Progress, Stop, fits_lane
from sim.log import Log
from sim.scenario import Scenario
from sim.traffic import ClosedLoop


def run(
    scenario: Scenario,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> Log:
    """Simulate a scenario to its end or horizon, or until `stop` returns true; then the log is marked partial.

    Raises ScenarioError for a request that can never be served, and for a run that outlasts the clock.
    """
    try:
        return _run(scenario, progress, stop)
    except StructError:
        # A column of ticks holds 64 bits.
        raise ScenarioError(
            f"{scenario.name}: the simulation goes on beyond 9,000,000 s, which is as far as the clock reaches; "
            "give fewer requests, a higher rate or a horizon_s"
        ) from None


def _run(scenario: Scenario, progress: Progress | None, stop: Stop | None) -> Log:
    if _nobody_interferes(scenario) and fits_lane(scenario):
        return Lane(scenario, generate(scenario)).run(progress, stop)
    # SimPy is needed here only, and takes its time to import.
    from sim.fleet.driver import run_fleet

    return run_fleet(scenario, progress, stop)


def _nobody_interferes(scenario: Scenario) -> bool:
    """Whether one replica gets open arrivals and nobody changes their mind."""
    return scenario.fleet.is_plain and all(
        item.client == Client() and not isinstance(item.arrivals, ClosedLoop) for item in scenario.classes
    )
