"""What no step can undercut: the coefficients that the chip's own peaks give, as lower bounds of a fit.

A run whose batch is always full cannot tell a slow base from a slow context. With the model and the GPU
known, neither can be less than what its memory traffic takes, and that settles most of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sim.cost import Gpu, ModelShape
from sim.fit.forms import TERMS, FormName
from sim.fit.least_squares import Array

Floors = Mapping[str, float]
"""Seconds a coefficient is at least, by its name; `weights_s` is what reading the weights takes."""


def floors_of(model: ModelShape, gpu: Gpu, tensor_parallel: int = 1) -> Floors:
    """The least that 16-bit arithmetic and memory traffic take at the peak of so many GPUs."""
    operations_per_s = gpu.tflops * 1e12 * tensor_parallel
    bytes_per_s = gpu.bandwidth_gb_per_s * 1e9 * tensor_parallel
    weights_s = 2 * (model.active_parameters + model.head_parameters) / bytes_per_s
    return {
        "base_s": weights_s,
        "weights_s": weights_s,
        "per_prefill_token_s": 2 * model.active_parameters / operations_per_s,
        "per_token_s": 2 * model.active_parameters / operations_per_s,
        "per_prefill_pair_s": 4 * model.layers * model.heads * model.head_dim / operations_per_s,
        "per_context_token_s": model.kv_bytes_per_token() / bytes_per_s,
    }


def solve_above(
    solve: Callable[[Array, Array], Array],
    matrix: Array,
    target: Array,
    floors: Floors,
    form: FormName,
    knee_tokens: float,
) -> Array:
    """The coefficients of a form that `solve` finds, each at least its floor."""
    least = np.array(
        [0.0 if form == "mixed_max" and name == "base_s" else floors.get(name, 0.0) for name in TERMS[form]]
    )
    found = least + solve(matrix, target - matrix @ least)
    weights_s = floors.get("weights_s", 0.0)
    if form == "mixed_max" and found[0] + knee_tokens * found[1] < weights_s:
        # A step below the knee takes base and weights together; tie the latter to the knee when both are too small.
        least[1] = max(least[1], weights_s / knee_tokens)
        found = least + solve(matrix, target - matrix @ least)
    return found
