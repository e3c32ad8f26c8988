"""A simulator of LLM serving: what each request waits for, and what each token costs.

    from pathlib import Path
    from sim import load_scenario, simulate

    result = simulate(load_scenario(Path("my_scenario.yaml")))
    result.metric("chat.ttft_s.p95")

It knows nothing of the programs that use it and needs only SimPy, NumPy, pydantic and PyYAML.
"""

from __future__ import annotations

from sim.errors import ScenarioError
from sim.goodput import Goodput
from sim.loading import builtin_scenario, load_scenario, parse_scenario, scenarios_dir
from sim.log import Log
from sim.metrics import ClassMetrics, SloCheck, Summary
from sim.records import RequestRecord, StepRecord
from sim.result import Counts, Result, Work, simulate
from sim.scenario import Scenario

__all__ = [
    "ClassMetrics",
    "Counts",
    "Goodput",
    "Log",
    "RequestRecord",
    "Result",
    "Scenario",
    "ScenarioError",
    "SloCheck",
    "StepRecord",
    "Summary",
    "Work",
    "builtin_scenario",
    "load_scenario",
    "parse_scenario",
    "scenarios_dir",
    "simulate",
]
