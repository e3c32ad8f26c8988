"""A step cost from measured steps: what each computed and how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sim.cost import LinearCost, MixedMaxCost, StepKind, StepWork, attention_pairs
from sim.cost.presets import FitError
from sim.errors import ScenarioError
from sim.fit.floors import Floors, solve_above
from sim.fit.forms import TERMS, FormName, Works, cost_of, knees, rounded
from sim.fit.least_squares import Array, nonnegative, robust
from sim.fit.runs import number_of, read_rows
from sim.ticks import to_seconds

CLOCKS = ("seconds", "first_step_s")
"""Columns that tell how long a step took. A row of our own tables is a run of steps, of which the first is taken."""


@dataclass(frozen=True, slots=True)
class StepFit:
    """A fitted step cost and how far each step is from it."""

    form: FormName
    cost: LinearCost | MixedMaxCost
    errors_percent: tuple[float, ...]
    """Above zero where the fit is slower than the measurement."""

    @property
    def error(self) -> FitError:
        """Mean and largest of the errors' sizes."""
        sizes = np.abs(self.errors_percent)
        return FitError(mean_percent=rounded(float(sizes.mean()), 3), max_percent=rounded(float(sizes.max()), 3))


def works_of(steps: Sequence[StepWork]) -> Works:
    """The steps as columns."""
    rows = np.array([step[1:] for step in steps], dtype=np.float64).reshape(-1, 4)
    return Works(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3])


def fit_steps(
    steps: Sequence[StepWork],
    seconds: Sequence[float],
    form: FormName = "linear",
    *,
    outliers: bool = True,
    floors: Floors | None = None,
) -> StepFit:
    """Fit a form by least squares of relative errors; with `outliers`, steps far off weigh less (Huber).

    No coefficient comes out below its floor.

    Raises ValueError for fewer steps than the form has coefficients, or a step without a time above zero.
    """
    if len(steps) < len(TERMS[form]):
        raise ValueError(
            f"{len(steps)} steps cannot tell the {len(TERMS[form])} coefficients of the form {form!r}; "
            "measure more, or choose a simpler form"
        )
    took = np.array(seconds, dtype=np.float64)
    if not (took > 0).all():
        raise ValueError(f"step {int(np.argmax(took <= 0)) + 1} has no time above zero; remove it")
    works = works_of(steps)
    solve = robust if outliers else nonnegative
    best: tuple[float, Array, float] | None = None
    for knee in knees(form):
        matrix = works.matrix(form, knee) / took[:, None]
        found = solve_above(solve, matrix, np.ones(len(took)), floors or {}, form, knee)
        misses = np.abs(matrix @ found - 1)
        # With outliers the sum of sizes is what Huber's weights come to, without them the squares are.
        loss = float(misses.sum() if outliers else (misses**2).sum())
        if best is None or loss < best[0]:
            best = (loss, found, knee)
    assert best is not None
    cost = cost_of(form, best[1], best[2])
    model = cost.build()
    errors = tuple(
        100 * (to_seconds(model.ticks(step)) / second - 1) for step, second in zip(steps, seconds, strict=True)
    )
    return StepFit(form, cost, errors)


def load_steps(path: Path) -> tuple[list[StepWork], list[float]]:
    """Measured steps and their seconds, from CSV or JSONL.

    Columns: seconds (or first_step_s, as this simulator's own table of steps has it), prefill_tokens,
    decode_seqs, context_tokens, and optionally prefill_pairs; without it each step's prompt tokens count as one
    prompt from its start. Raises ScenarioError, naming file and line.
    """
    steps: list[StepWork] = []
    seconds: list[float] = []
    for line, row in read_rows(path):
        prefill, seqs, context = (
            int(number_of(path, line, row, name)) for name in ("prefill_tokens", "decode_seqs", "context_tokens")
        )
        clock = next((name for name in CLOCKS if name in row), CLOCKS[0])
        took = number_of(path, line, row, clock)
        if not took:
            raise ScenarioError(f"{path}, line {line}: {clock} must be above zero; remove the row")
        if not prefill and not seqs:
            raise ScenarioError(f"{path}, line {line}: a step without prompt tokens and sequences; remove the row")
        given = row.get("prefill_pairs") not in (None, "")
        pairs = int(number_of(path, line, row, "prefill_pairs")) if given else attention_pairs(prefill, 0)
        kind: StepKind = "mixed" if prefill and seqs else "prefill" if prefill else "decode"
        steps.append(StepWork(kind, prefill, seqs, context, pairs))
        seconds.append(took)
    return steps, seconds
