"""A result in the shape that `vllm bench serve --save-result` writes, so that the same tools read both.

Definitions are the tool's: a request counts when it completed, TPOT statistics leave out answers of one
token while goodput lets them pass, goodput is good requests a second under limits for TTFT, TPOT and E2E
(an ITL limit is no part of it), percentiles interpolate linearly, deviations are of the population.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sim.emission import tokens_per_bin
from sim.exact import exact_sum
from sim.goodput import misses
from sim.log import STATUS_NAMES
from sim.metrics import Summary, summarise_gaps, summarise_ticks
from sim.ticks import TICKS_PER_S
from sim.traffic import GammaArrivals, PoissonArrivals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sim.result import Result
    from sim.table import Column


def bench_result(
    result: Result, *, detailed: bool = True, date: str = "", model: str = "simulated"
) -> dict[str, object]:
    """The file's content. `detailed` adds the lists with one entry a request, as `--save-detailed` does.

    `date` is the tool's `YYYYMMDD-HHMMSS`; it is passed in, since a result knows no wall clock.
    """
    lives = result.columns
    rows = np.flatnonzero(lives.completed)
    prompt, output = exact_sum(lives["prompt_tokens"][rows]), exact_sum(lives["output_tokens"][rows])
    data: dict[str, object] = {
        "date": date,
        "endpoint_type": "simulated",
        "backend": "simulated",
        "label": result.scenario.name,
        "model_id": model,
        "tokenizer_id": model,
        "num_prompts": lives.count,
        "request_rate": _request_rate(lives["arrival"]),
        "burstiness": _burstiness(result),
        "max_concurrency": None,
        "duration": result.duration_s,
        "completed": len(rows),
        "failed": lives.count - len(rows),
        "total_input_tokens": prompt,
        "total_output_tokens": output,
        "request_throughput": result.per_second(len(rows)),
        "request_goodput": _goodput(result),
        "output_throughput": result.per_second(output),
        "total_token_throughput": result.per_second(prompt + output),
        "max_output_tokens_per_s": _peak_tokens(result, rows),
        "max_concurrent_requests": _peak_concurrency(lives["arrival"][rows], lives["last_token"][rows]),
    }
    overall = result.overall
    completed_only = lives.completed
    pool = lives.gaps.pooled(completed_only)
    ttft = lives.between("arrival", "first_token", rows)
    data |= _statistics("ttft", summarise_ticks(ttft), _deviation(ttft))
    data |= _statistics("tpot", overall.tpot, float(np.std(tpots)) if len(tpots := lives.tpot(rows)) else 0.0)
    data |= _statistics("itl", summarise_gaps(pool), pool.deviation())
    data |= _statistics("e2el", overall.e2e, _deviation(lives.between("arrival", "last_token", rows)))
    if detailed:
        data |= _details(result, lives.completed)
    return data


def _statistics(name: str, summary: Summary | None, deviation_ticks: float) -> dict[str, float]:
    """Zero where there is no sample, as the tool has it."""
    if summary is None:
        return {f"{what}_{name}_ms": 0.0 for what in ("mean", "median", "std", "p99")}
    return {
        f"mean_{name}_ms": summary.mean_s * 1000,
        f"median_{name}_ms": summary.p50_s * 1000,
        f"std_{name}_ms": deviation_ticks / TICKS_PER_S * 1000,
        f"p99_{name}_ms": summary.p99_s * 1000,
    }


def _deviation(ticks: Column) -> float:
    return float(np.std(ticks)) if len(ticks) else 0.0


def _request_rate(arrivals: Column) -> float | str:
    """Requests a second over the arrivals; "inf" when all came at once."""
    span = int(arrivals.max() - arrivals.min()) if len(arrivals) else 0
    return (len(arrivals) - 1) * TICKS_PER_S / span if span else "inf"


def _burstiness(result: Result) -> float | None:
    """The gamma shape of the gaps where every class has the same; None where the tool has no word for them."""
    shapes = set()
    for item in result.scenario.classes:
        if isinstance(item.arrivals, GammaArrivals):
            shapes.add(1 / item.arrivals.cv**2)
        else:
            shapes.add(1.0 if isinstance(item.arrivals, PoissonArrivals) else math.nan)
    shape = shapes.pop()
    return None if shapes or math.isnan(shape) else shape


def _goodput(result: Result) -> float | None:
    """Requests a second within the limits the tool knows, each of its own class; None without such limits."""
    limited = False
    good = 0
    for index, item in enumerate(result.scenario.classes):
        limited = limited or any(limit is not None for limit in (item.slo.ttft_s, item.slo.tpot_s, item.slo.e2e_s))
        kept = result.columns.completed & (result.columns["class_index"] == index)
        for name, missed in misses(result.columns, index).items():
            if name != "itl":
                kept &= ~missed
        good += int(kept.sum())
    return result.per_second(good) if limited else None


def _peak_tokens(result: Result, rows: Column) -> float:
    """Most tokens in one second, seconds counted from the first arrival of a completed request."""
    if not len(rows):
        return 0.0
    start = int(result.columns["arrival"][rows].min())
    return float(tokens_per_bin(result.columns, result.columns.completed, start).max())


def _peak_concurrency(starts: Column, ends: Column) -> int:
    """Most completed requests under way at once; one that ends as another starts does not overlap with it."""
    times = np.concatenate([ends, starts])
    change = np.concatenate([np.full(len(ends), -1), np.ones(len(starts), dtype=np.int64)])
    order = np.argsort(times, kind="stable")
    return int(np.cumsum(change[order]).max(initial=0))


def _details(result: Result, completed: NDArray[np.bool_]) -> dict[str, object]:
    lives = result.columns
    done = completed.tolist()
    first, arrival = lives["first_token"].tolist(), lives["arrival"].tolist()
    status = lives["status"].tolist()
    return {
        "input_lens": lives["prompt_tokens"].tolist(),
        "output_lens": np.where(completed, lives["output_tokens"], 0).tolist(),
        "start_times": [time / TICKS_PER_S for time in arrival],
        "ttfts": [
            (seen - begun) / TICKS_PER_S if ok else 0.0 for seen, begun, ok in zip(first, arrival, done, strict=True)
        ],
        "itls": [[gap / TICKS_PER_S for gap in lives.gaps.of(number)] if ok else [] for number, ok in enumerate(done)],
        "generated_texts": [""] * lives.count,
        "errors": ["" if ok else STATUS_NAMES[status[number]] for number, ok in enumerate(done)],
    }
