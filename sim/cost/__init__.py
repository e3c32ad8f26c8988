"""How long one engine step takes, in ticks, and what a scenario may say about it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sim.cost.hardware import Gpu, ModelShape, gpu, gpu_names, kv_blocks, model_names, model_shape
from sim.cost.knee import MixedMaxCost, MixedMaxModel
from sim.cost.presets import Preset, PresetCost, preset, preset_names
from sim.cost.roofline import RooflineCost, RooflineModel
from sim.cost.simple import FixedCost, FixedModel, LinearCost, LinearModel
from sim.cost.work import FOREVER, CostModel, StepKind, StepWork, attention_pairs

__all__ = [
    "FOREVER",
    "CostModel",
    "FixedCost",
    "FixedModel",
    "Gpu",
    "LinearCost",
    "LinearModel",
    "MixedMaxCost",
    "MixedMaxModel",
    "ModelShape",
    "Preset",
    "PresetCost",
    "RooflineCost",
    "RooflineModel",
    "StepCost",
    "StepKind",
    "StepWork",
    "attention_pairs",
    "cost_model",
    "gpu",
    "gpu_names",
    "kv_blocks",
    "model_names",
    "model_shape",
    "preset",
    "preset_names",
]

StepCost = Annotated[FixedCost | LinearCost | MixedMaxCost | RooflineCost | PresetCost, Field(discriminator="kind")]


def cost_model(cost: StepCost) -> CostModel:
    """The model a scenario asks for."""
    return cost.build()
