"""`python -m sim fit FILE`: a step cost from measured steps, or from the request times of a measured run.

Exit codes: 0 done, 2 the file or the command line cannot be used.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sim.errors import ScenarioError

if TYPE_CHECKING:
    from sim.cost import LinearCost, MixedMaxCost
    from sim.fit.compare import Comparison
    from sim.fit.floors import Floors
    from sim.fit.forms import FormName
    from sim.fit.loop import RunFit
    from sim.fit.steps import StepFit
    from sim.vllm import EngineConfig

FORMS: tuple[FormName, ...] = ("linear", "quadratic", "split", "full", "mixed_max")

_LABELS = {
    "ttft_mean_s": "TTFT mean",
    "ttft_p50_s": "TTFT p50",
    "ttft_p99_s": "TTFT p99",
    "tpot_mean_s": "TPOT mean",
    "tpot_p99_s": "TPOT p99",
    "e2e_mean_s": "E2E mean",
    "e2e_p99_s": "E2E p99",
    "makespan_s": "makespan",
}


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a command line the arguments that `run_command` reads."""
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="CSV or JSONL: steps with a column `seconds`, or requests with first_token_s and last_token_s",
    )
    parser.add_argument(
        "--form",
        choices=[*FORMS, "auto"],
        default="linear",
        help="form of the step cost; auto takes the one that predicts a run's second half best",
    )
    parser.add_argument("--json", action="store_true", help="print the fit as JSON")
    chip = parser.add_argument_group("hardware", "with it no coefficient is below what the chip's peaks allow")
    chip.add_argument("--model", help="a name of the data file, such as llama-3.1-8b")
    chip.add_argument("--gpu", help="a name of the data file, such as h100-sxm")
    chip.add_argument("--tensor-parallel", type=_positive, default=1, metavar="N", help="GPUs that share the model")
    engine = parser.add_argument_group("engine", "settings of the engine whose requests were measured")
    engine.add_argument("--max-seqs", type=_positive, default=256, metavar="N", help="seats (256)")
    engine.add_argument("--token-budget", type=_positive, default=2048, metavar="N", help="tokens a step (2,048)")
    engine.add_argument(
        "--kv-blocks",
        type=_positive,
        metavar="N",
        help="blocks requests can hold; without it what the GPU's memory leaves, or no limit",
    )
    engine.add_argument("--block-tokens", type=_positive, default=16, metavar="N", help="tokens a block (16)")
    engine.add_argument("--no-prefix-cache", action="store_true", help="the engine shared no prefixes")
    engine.add_argument("--engine", choices=["0.33", "0.11"], default="0.33", help="the vLLM version to follow")
    engine.add_argument(
        "--fit-first", type=_positive, metavar="N", help="fit to the first N requests and predict the others"
    )


def run_command(options: argparse.Namespace) -> int:
    """Fit, print the result and return the exit code 0. Raises ScenarioError for input that cannot be used."""
    from sim.fit.runs import read_rows
    from sim.fit.steps import CLOCKS

    try:
        floors = _floors(options)
        first = next(read_rows(options.file), None)
        if first is None:
            raise ScenarioError(f"{options.file}: holds no rows; give a CSV with a header, or JSONL")
        if any(name in first[1] for name in CLOCKS):
            text, data = _fit_steps(options, floors)
        else:
            text, data = _fit_run(options, floors)
    except ScenarioError:
        raise
    except ValueError as error:
        raise ScenarioError(f"{options.file}: {error}") from None
    if options.json:
        json.dump(data, sys.stdout, allow_nan=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(text)
    return 0


def _floors(options: argparse.Namespace) -> Floors:
    from sim.cost import gpu, model_shape
    from sim.fit.floors import floors_of

    if (options.model is None) != (options.gpu is None):
        raise ScenarioError("--model and --gpu belong together; give both or neither")
    if options.model is None:
        return {}
    try:
        return floors_of(model_shape(options.model), gpu(options.gpu), options.tensor_parallel)
    except ValueError as error:
        raise ScenarioError(str(error)) from None


# ---- measured steps ---------------------------------------------------------------------------------


def _fit_steps(options: argparse.Namespace, floors: Floors) -> tuple[str, dict[str, object]]:
    from sim.fit.steps import fit_steps, load_steps

    steps, seconds = load_steps(options.file)
    forms = FORMS if options.form == "auto" else (options.form,)
    fits = [fit_steps(steps, seconds, form, floors=floors) for form in forms]
    fit: StepFit = min(fits, key=lambda item: item.error.mean_percent)
    error = fit.error
    text = (
        f"{len(steps):,} steps, form {fit.form}\n\n{_yaml(fit.cost)}\n"
        f"error of a step: mean {error.mean_percent:.2f} %, largest {error.max_percent:.2f} %\n"
    )
    data = {
        "fitted_to": "steps",
        "steps": len(steps),
        "form": fit.form,
        "step_cost": _plain(fit.cost),
        "error": error.model_dump(),
        "errors_percent": list(fit.errors_percent),
    }
    return text, data


# ---- measured runs ----------------------------------------------------------------------------------


def _fit_run(options: argparse.Namespace, floors: Floors) -> tuple[str, dict[str, object]]:
    from sim.fit.loop import best_form, fit_run
    from sim.fit.runs import load_run

    run = load_run(options.file, options.block_tokens)
    config = _config(options)
    form: FormName = options.form if options.form != "auto" else best_form(run, config, FORMS, floors, options.engine)
    fit = fit_run(run, config, form, engine=options.engine, fit_first=options.fit_first, floors=floors)
    data: dict[str, object] = {
        "fitted_to": "run",
        "requests": len(run),
        "form": fit.form,
        "step_cost": _plain(fit.cost),
        "steps": fit.steps,
        "preemptions": fit.preemptions,
        "fitted": _comparison(fit.fitted),
        "predicted": None if fit.predicted is None else _comparison(fit.predicted),
    }
    return _run_text(run.name, fit, config), data


def _config(options: argparse.Namespace) -> EngineConfig:
    from sim.cost import gpu, kv_blocks, model_shape
    from sim.fields import MAX_LENGTH_TOKENS
    from sim.lane import NO_LIMIT_BLOCKS
    from sim.vllm import EngineConfig

    blocks = options.kv_blocks
    if blocks is None and options.gpu is not None:
        blocks = kv_blocks(
            model_shape(options.model),
            gpu(options.gpu),
            tensor_parallel=options.tensor_parallel,
            block_tokens=options.block_tokens,
        )
    return EngineConfig(
        max_num_batched_tokens=options.token_budget,
        max_num_seqs=options.max_seqs,
        block_size=options.block_tokens,
        usable_kv_blocks=blocks or NO_LIMIT_BLOCKS,
        enable_prefix_caching=not options.no_prefix_cache,
        max_model_len=MAX_LENGTH_TOKENS,
    )


def _run_text(name: str, fit: RunFit, config: EngineConfig) -> str:
    from sim.lane import NO_LIMIT_BLOCKS

    blocks = config.usable_kv_blocks
    cache = "no limit of KV blocks" if blocks == NO_LIMIT_BLOCKS else f"{blocks:,} KV blocks"
    parts = [
        f"{name}: form {fit.form}; {config.max_num_seqs:,} seats, {config.max_num_batched_tokens:,} tokens a step, "
        f"{cache}\nsimulated with the fit: {fit.steps:,} steps, {fit.preemptions:,} preemptions\n\n{_yaml(fit.cost)}",
        _table(f"fitted to {fit.fitted.requests:,} requests", fit.fitted),
    ]
    if fit.predicted is not None:
        parts.append(_table(f"predicted for the other {fit.predicted.requests:,}", fit.predicted))
    return "\n".join(parts)


def _table(title: str, comparison: Comparison) -> str:
    lines = [f"{title:<32}{'measured s':>12}{'simulated s':>13}{'error %':>9}"]
    errors = comparison.errors_percent
    for name, measured in comparison.measured.items():
        simulated = comparison.simulated[name]
        error = f"{errors[name]:+.2f}" if name in errors else "-"
        lines.append(f"  {_LABELS[name]:<30}{measured:>12.4f}{simulated:>13.4f}{error:>9}")
    lines.append(f"  {'a request, median: TTFT':<55}{comparison.ttft_median_error_percent:>9.2f}")
    lines.append(f"  {'a request, median: E2E':<55}{comparison.e2e_median_error_percent:>9.2f}")
    return "\n".join(lines) + "\n"


def _comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "requests": comparison.requests,
        "measured": comparison.measured,
        "simulated": comparison.simulated,
        "errors_percent": comparison.errors_percent,
        "ttft_median_error_percent": comparison.ttft_median_error_percent,
        "e2e_median_error_percent": comparison.e2e_median_error_percent,
    }


# ---- step costs -------------------------------------------------------------------------------------


def _plain(cost: LinearCost | MixedMaxCost) -> dict[str, object]:
    return {name: value for name, value in cost if name == "kind" or value}


def _yaml(cost: LinearCost | MixedMaxCost) -> str:
    """As it goes into a scenario."""
    lines = [f"  {name}: {value}\n" for name, value in _plain(cost).items()]
    return "step_cost:\n" + "".join(lines)
