"""How long one engine step takes, in ticks, and what a scenario may say about it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sim.cost.simple import FixedCost, FixedModel, LinearCost, LinearModel
from sim.cost.work import FOREVER, CostModel, StepKind, StepWork, attention_pairs

__all__ = [
    "FOREVER",
    "CostModel",
    "FixedCost",
    "FixedModel",
    "LinearCost",
    "LinearModel",
    "StepCost",
    "StepKind",
    "StepWork",
    "attention_pairs",
    "cost_model",
]

StepCost = Annotated[FixedCost | LinearCost, Field(discriminator="kind")]


def cost_model(cost: StepCost) -> CostModel:
    """The model a scenario asks for."""
    return cost.model()
