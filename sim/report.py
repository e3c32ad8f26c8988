"""A result as plain text tables for the command line. Times are milliseconds."""

from __future__ import annotations

from sim.metrics import METRICS, ClassMetrics
from sim.result import Result
from sim.timeline import render_text as render_timeline
from sim.timeline import timeline

_NAMES = {
    "ttft": "TTFT",
    "itl": "ITL",
    "tpot": "TPOT",
    "e2e": "E2E",
    "queue": "queue",
    "prefill": "prefill",
    "decode": "decode",
    "max_gap": "longest gap",
}
_FEW_REQUESTS = 12
_FEW_STEPS = 12


def render_text(result: Result, width: int = 80) -> str:
    """Counts, rates, one table of distributions a class, limits, and for a short run its trace and bars."""
    scenario = result.scenario
    counts = result.counts
    lines = [
        f"{scenario.name} ({scenario.server.policy}, seed {scenario.seed})"[:width],
        "",
        f"requests   {counts.submitted:,} submitted = {counts.completed:,} completed"
        f" + {counts.cancelled:,} cancelled + {counts.rejected:,} rejected + {counts.in_flight:,} in flight",
        f"duration   {result.duration_s:,.3f} s, {result.step_count:,} steps",
        f"rates      {_rate(result.output_tokens_per_s)} output tokens/s,"
        f" {_rate(result.requests_per_s)} completed requests/s",
    ]
    work = result.work
    if work.wasted_prompt_tokens or work.wasted_output_tokens:
        lines.append(
            f"wasted     {work.wasted_prompt_tokens:,} prompt and {work.wasted_output_tokens:,} output tokens"
            " for clients that had left"
        )
    thin = False
    for name, group in result.classes.items():
        lines += ["", *_class_table(name, group)]
        thin = thin or any(
            summary is not None and summary.p99_is_thin for summary in (group.summary(metric) for metric in METRICS)
        )
    if thin:
        lines += ["", "* from fewer than 100 samples: little more than the largest value"]
    if result.counts.submitted <= _FEW_REQUESTS:
        lines += ["", *render_timeline(timeline(result), width)]
        lines += ["", *_first_steps(result)]
    return "\n".join(lines) + "\n"


def _rate(value: float | None) -> str:
    return "undefined" if value is None else f"{value:,.2f}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.2f}"


def _class_table(name: str, group: ClassMetrics) -> list[str]:
    lines = [f"{name + ' (ms)':<16}{'n':>8}{'mean':>11}{'p50':>11}{'p95':>11}{'p99':>11} {'max':>11}"]
    for metric in METRICS:
        summary = group.summary(metric)
        title = f"  {_NAMES[metric]}"
        if summary is None:
            lines.append(f"{title:<16}{0:>8}{'no sample':>11}")
            continue
        mark = "*" if summary.p99_is_thin else " "
        lines.append(
            f"{title:<16}{summary.n:>8,}{_ms(summary.mean_s):>11}{_ms(summary.p50_s):>11}"
            f"{_ms(summary.p95_s):>11}{_ms(summary.p99_s):>11}{mark}{_ms(summary.max_s):>11}"
        )
    for check in group.slo:
        verdict = "no sample" if check.p95_s is None else "held" if check.held else "missed"
        seen = "" if check.p95_s is None else f", p95 {_ms(check.p95_s)}"
        lines.append(f"  limit {_NAMES[check.metric]} {_ms(check.limit_s)}{seen}: {verdict}")
    return lines


def _first_steps(result: Result) -> list[str]:
    lines = [f"{'step at ms':>11}{'takes ms':>11}  kind     prompt tokens  decoding"]
    lines += [
        f"{_ms(step.start_s):>11}{_ms(step.duration_s):>11}  {step.kind:<8}"
        f"{step.prefill_tokens:>14,}{step.decode_seqs:>10,}"
        for step in result.steps[:_FEW_STEPS]
    ]
    if len(result.steps) > _FEW_STEPS:
        lines.append(f"{len(result.steps) - _FEW_STEPS:,} more steps")
    return lines
