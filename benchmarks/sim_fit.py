"""How far the presets, the roofline and the fits are from the measurements, computed anew.

`python -m benchmarks.sim_fit` takes a minute; `--quick` leaves the fits of whole runs out. Exit code 1 when a
preset does not have the error it states.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from sim.cost import RooflineCost, cost_model, gpu, model_shape, preset, preset_names
from sim.cost.presets import Preset, point_errors
from sim.fit.command import FORMS
from sim.fit.compare import Comparison, compare
from sim.fit.floors import floors_of
from sim.fit.loop import fit_run
from sim.fit.replay import replay
from sim.fit.runs import MeasuredRun, load_run
from sim.vllm import EngineConfig

MEASURED = Path(__file__).parent.parent / "tests" / "sim" / "data" / "measured"
LONGEST_TOKENS = 32_768


def sizes_of(found: Preset) -> list[float]:
    """Sizes of a preset's errors, percent: of its points, or of the figures of its run."""
    if found.points:
        return [abs(error) for error in point_errors(cost_model(found.cost), found.points)]
    run, config = run_of(found)
    result = replay(run, config, cost_model(found.cost))
    measured, simulated = (run.first_token_s, run.last_token_s), (result.first_token_s, result.last_token_s)
    return [abs(e) for e in compare(run.arrival_s, run.output_tokens, measured, simulated).errors_percent.values()]


def run_of(found: Preset) -> tuple[MeasuredRun, EngineConfig]:
    """The measured run of a preset and the engine it ran on."""
    assert found.settings is not None
    config = EngineConfig(
        max_num_batched_tokens=found.settings.token_budget,
        max_num_seqs=found.settings.max_seqs,
        usable_kv_blocks=found.settings.kv_blocks,
        max_model_len=LONGEST_TOKENS,
    )
    return load_run(MEASURED / f"{found.run}.jsonl.gz"), config


def presets() -> bool:
    """Print each preset's stated and recomputed error; false when they differ."""
    print(f"{'preset':<30}{'over':>12}{'stated mean/max %':>20}{'recomputed':>16}{'roofline':>16}")
    right = True
    for name in preset_names():
        found = preset(name)
        sizes = sizes_of(found)
        mean, largest = sum(sizes) / len(sizes), max(sizes)
        over = f"{len(found.points)} points" if found.points else "8 figures"
        stated = f"{found.error.mean_percent:.2f} / {found.error.max_percent:.1f}"
        line = f"{name:<30}{over:>12}{stated:>20}{f'{mean:.2f} / {largest:.1f}':>16}"
        if found.points:
            unfitted = [abs(error) for error in point_errors(cost_model(roofline(found)), found.points)]
            line += f"{f'{sum(unfitted) / len(unfitted):.1f} / {max(unfitted):.0f}':>16}"
        print(line)
        close = abs(mean - found.error.mean_percent) < 0.02 and abs(largest - found.error.max_percent) < 0.1
        right = right and close
    print("roofline: the unfitted model of the same chips, as it comes\n")
    return right


def roofline(found: Preset) -> RooflineCost:
    """The roofline of a preset's hardware, with the default efficiencies."""
    return RooflineCost.model_validate(
        {"kind": "roofline", "model": found.model, "gpu": found.gpu, "tensor_parallel": found.tensor_parallel}
    )


def fits() -> None:
    """Fit every form to the measured runs: to all requests, and to the first half to predict the second."""
    print(f"{'run and form':<52}{'all: worst %':>13}{'TTFT %':>8}{'2nd half: worst %':>19}{'TTFT %':>8}{'CPU s':>7}")
    for name in preset_names():
        found = preset(name)
        if not found.run:
            continue
        run, config = run_of(found)
        floors = floors_of(model_shape(found.model), gpu(found.gpu), found.tensor_parallel)
        for form in FORMS:
            began = time.process_time()
            whole = fit_run(run, config, form, floors=floors)
            half = fit_run(run, config, form, floors=floors, fit_first=len(run) // 2, polish=0)
            assert half.predicted is not None
            spent_s = time.process_time() - began
            print(f"{f'{found.run} {form}':<52}{_errors(whole.fitted)}{_errors(half.predicted, 19)}{spent_s:>7.1f}")
    print("worst: largest error of TTFT mean/p50/p99, TPOT mean/p99, E2E mean/p99, makespan; TTFT: a request's, median")


def _errors(comparison: Comparison, width: int = 13) -> str:
    return f"{comparison.worst_percent:>{width}.2f}{comparison.ttft_median_error_percent:>8.2f}"


def main() -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(description="Recompute the errors of presets and fits.")
    parser.add_argument("--quick", action="store_true", help="presets only")
    options = parser.parse_args()
    right = presets()
    if not options.quick:
        fits()
    if not right:
        print("a preset does not have the error it states", file=sys.stderr)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
