"""Whether the lab's statistics keep what they promise: coverage, false verdicts, power.

    python -m benchmarks.lab_statistics [--repeats 1000]

1. Coverage: 95 % intervals of ten and of thirty replications against the truth, which is the mean of many thousand
   other replications: of a mean, a quantile, a rate, goodput and a paired difference.
2. A/A: both sides are the same queue under another seed, so that no difference is real; how often is one "supported"
   at any of the looks?
3. Power: a real difference of so many per cent of the service time; how often is it found, in how many replications?
4. Measured files: intervals from one run, and from several runs a side, of 100 and 400 requests, against the truth.
"""

from __future__ import annotations

import argparse
import math
from statistics import fmean, median

from sim import Scenario, parse_scenario, simulate
from sim.experiment import Budget, Term, compare
from sim.experiment.comparison import replicate
from sim.experiment.intervals import mean_interval
from sim.ticks import TICKS_PER_S
from tutor.lab.measured import MeasuredRun, settle_measured
from tutor.measure.records import Seen

METRICS = ("job.ttft_s", "job.ttft_s.p95", "requests_per_s", "goodput")
SERVICE_S = 0.1


def queue(service_s: float = SERVICE_S, name: str = "job", load: float = 0.7, count: int = 100) -> Scenario:
    """M/D/1 at 70 % load, 100 requests a run."""
    arrivals = {"kind": "poisson", "rate_per_s": load / SERVICE_S, "count": count}
    item = {"name": name, "prompt_tokens": 1, "output_tokens": 1, "arrivals": arrivals, "slo": {"ttft_s": 0.3}}
    data = {
        "name": "A queue",
        "classes": [item],
        "server": {"policy": "vllm", "max_seqs": 1},
        "step_cost": {"kind": "linear", "base_s": service_s},
    }
    return parse_scenario(data, "benchmark")


def coverage(repeats: int, each: int = 10) -> dict[str, float]:
    """Share of intervals that hold the truth, by what they are of."""
    slow, fast = queue(), queue(0.09)
    truth_runs = 4 * repeats
    names = (*METRICS, "difference")
    values: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(truth_runs + repeats * each):
        pair = replicate(slow, fast, METRICS, False, seed)
        assert pair.baseline is not None
        for name, before, after in zip(METRICS, pair.baseline.readings, pair.changed.readings, strict=True):
            assert before.value is not None
            assert after.value is not None
            values[name].append(after.value)
            if name == METRICS[0]:
                values["difference"].append(after.value - before.value)
    found = {}
    for name in names:
        truth = fmean(values[name][:truth_runs])
        blocks = [values[name][at : at + each] for at in range(truth_runs, len(values[name]), each)]
        held = sum(low <= truth <= high for low, high in (mean_interval(block, 0.05) for block in blocks))
        found[name] = held / len(blocks)
    return found


def verdicts(repeats: int, service_s: float, budget: Budget) -> tuple[float, float, float]:
    """Shares of supported and refuted claims that the changed side is faster, and replications in the median.

    The class has another name on the changed side, so its requests are drawn anew: without common random numbers, which
    is the harder case.
    """
    counts = {"supported": 0, "refuted": 0, "undetermined": 0}
    used = []
    for number in range(repeats):
        term = Term("all.ttft_s", "at_most", 0.0, "difference")
        outcome = compare(
            queue(), queue(service_s, "other"), [term], budget, first_seed=1_000_000 + number * budget.replications
        )
        counts[outcome.verdict] += 1
        used.append(outcome.replications)
    return counts["supported"] / repeats, counts["refuted"] / repeats, median(used)


def as_measured(scenario: Scenario, seed: int) -> MeasuredRun:
    """A simulated run in the form of a measured one."""
    columns = simulate(scenario.model_copy(update={"seed": seed})).columns
    seen = [
        Seen("job", n, sent, 1, 1, sent_s=sent, events_s=[sent + took], status="completed")
        for n, (sent, took) in enumerate(
            zip(
                columns["arrival"] / TICKS_PER_S,
                (columns["first_token"] - columns["arrival"]) / TICKS_PER_S,
                strict=True,
            )
        )
    ]
    return MeasuredRun("simulated", tuple(seen), 0)


def measured_coverage(load: float, count: int, repeats: int) -> dict[str, float]:
    """Share of 95 % intervals that hold the truth: from one run, and from a difference with several runs a side."""
    runs = [as_measured(queue(load=load, count=count), seed) for seed in range(repeats)]
    others = [as_measured(queue(0.09, load=load, count=count), 100_000 + seed) for seed in range(repeats)]
    found = {}
    for metric in ("job.ttft_s.mean", "job.ttft_s.p50", "job.ttft_s.p95"):
        term = Term(metric, "at_most", 1.0)
        outcomes = [settle_measured([term], [run]).terms[0] for run in runs]
        truth = fmean(one.estimate for one in outcomes if one.estimate is not None)
        held = [one.interval is not None and one.interval[0] <= truth <= one.interval[1] for one in outcomes]
        found[f"{metric.rpartition('.')[2]}, one run"] = fmean(held)
    term = Term("job.ttft_s.mean", "at_most", 0.0, "difference")
    values = [[fmean(each.ttft_s or 0.0 for each in run.requests) for run in side] for side in (runs, others)]
    truth = fmean(values[1]) - fmean(values[0])
    for each in (1, 2, 3, 5):
        held = []
        for at in range(0, repeats - each + 1, each):
            outcome = settle_measured([term], others[at : at + each], runs[at : at + each]).terms[0]
            held.append(outcome.interval is not None and outcome.interval[0] <= truth <= outcome.interval[1])
        found[f"difference of means, {each} a side"] = fmean(held)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_statistics", description="coverage, errors, power")
    parser.add_argument("--repeats", type=int, default=1000)
    options = parser.parse_args()
    wobble = 1.96 * math.sqrt(0.95 * 0.05 / options.repeats)
    for each in (10, 30):
        print(
            f"coverage of 95 % intervals, {each} replications, {options.repeats:,} repeats (± {wobble:.1%} by chance)"
        )
        for name, share in coverage(options.repeats, each).items():
            print(f"  {name:<18} {share:.1%}", flush=True)
    budget = Budget(replications=24, seconds=1e6, jobs=1)
    print(f"\nclaims that the changed side is faster, up to 24 replications, {options.repeats:,} repeats")
    print(f"  {'service time':<14} {'supported':>10} {'refuted':>9} {'replications':>13}")
    for change in (0.0, -0.02, -0.05, -0.1, -0.2):
        repeats = options.repeats if change == 0 else max(50, options.repeats // 4)
        supported, refuted, used = verdicts(repeats, SERVICE_S * (1 + change), budget)
        print(f"  {change:>+12.0%}   {supported:>10.1%} {refuted:>9.1%} {used:>13g}", flush=True)
    repeats = max(50, options.repeats // 4)
    for load, count in ((0.5, 100), (0.7, 100), (0.7, 400)):
        print(
            f"\nmeasured files: coverage of 95 % intervals, {load:.0%} load, {count} requests a run, {repeats} repeats"
        )
        for name, share in measured_coverage(load, count, repeats).items():
            print(f"  {name:<32} {share:.1%}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
