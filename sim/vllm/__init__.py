"""vLLM's v1 engine: `Scheduler` decides steps without a clock, `Replica` takes them in time."""

from __future__ import annotations

from sim.vllm.plan import PrefixStats, Queue, StepPlan
from sim.vllm.request import Engine, EngineConfig, EngineRequest
from sim.vllm.scheduler import Scheduler

__all__ = ["Engine", "EngineConfig", "EngineRequest", "PrefixStats", "Queue", "Scheduler", "StepPlan"]
