"""Whether the lab's statistics keep what they promise: coverage, false verdicts, power.

    python -m benchmarks.lab_statistics [--repeats 1000]

1. Coverage: 95 % intervals of ten and of thirty replications against the truth, which is the mean of many thousand
   other replications: of a mean, a quantile, a rate, goodput and a paired difference.
2. A/A: both sides are the same queue under another seed, so that no difference is real; how often is one "supported"
   at any of the looks?
3. Power: a real difference of so many per cent of the service time; how often is it found, in how many replications?
"""

from __future__ import annotations

import argparse
import math
from statistics import fmean, median

from sim import Scenario, parse_scenario
from sim.experiment import Budget, Term, compare
from sim.experiment.comparison import replicate
from sim.experiment.intervals import t_interval

METRICS = ("job.ttft_s", "job.ttft_s.p95", "requests_per_s", "goodput")
SERVICE_S = 0.1


def queue(service_s: float = SERVICE_S, name: str = "job") -> Scenario:
    """M/D/1 at 70 % load, 100 requests a run."""
    arrivals = {"kind": "poisson", "rate_per_s": 0.7 / SERVICE_S, "count": 100}
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
        held = sum(low <= truth <= high for low, high in (t_interval(block, 0.05) for block in blocks))
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
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
