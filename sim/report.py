"""A result as plain text tables for the command line. Times are milliseconds."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sim.metrics import METRICS, ClassMetrics, in_words
from sim.overload import overload
from sim.result import Result
from sim.timeline import render_text as render_timeline
from sim.timeline import timeline

_FEW_REQUESTS = 12
_FEW_STEPS = 12
_DEFINITIONS = (
    "TTFT: arrival to first token. ITL: every gap between tokens, pooled. TPOT: (E2E - TTFT) / (tokens - 1) of each "
    "request. E2E: arrival to last token. queue: joining it to the first step; prefill: to the first token; decode: to "
    "the last."
)
_GOODPUT = (
    "goodput: requests that completed within every limit of their class (ITL: 95 % of the request's own gaps), of all "
    "submitted."
)


def render_text(result: Result, width: int = 80) -> str:
    """Counts, rates, one table of distributions a class, limits, and for a short run its trace and bars."""
    scenario = result.scenario
    lines = [f"{scenario.name} ({scenario.server.policy}, seed {scenario.seed})"[:width]]
    if result.partial:
        lines.append("PARTIAL: stopped before its end; what was under way counts as in flight")
    lines.append("")
    for title, text in _head(result):
        lines += _wrapped(title, text, width)
    for name, group in result.classes.items():
        lines += ["", *_class_table(name, group)]
        for check in group.slo:
            verdict = "no sample" if check.p95_s is None else "held" if check.held else "missed"
            seen = "" if check.p95_s is None else f", p95 {_ms(check.p95_s)}"
            lines.append(f"  limit {in_words(check.metric)} {_ms(check.limit_s)}{seen}: {verdict}")
        if group.slo and len(result.classes) > 1:
            lines += _wrapped("  goodput", _goodput(result, group), width)
    for tenant, group in result.tenants.items():
        lines += ["", *_wrapped(f"tenant {_short(tenant, 40)}", _goodput(result, group), width)]
    lines += ["", *textwrap.wrap(_DEFINITIONS, width)]
    if any(group.slo for group in result.classes.values()):
        lines += textwrap.wrap(_GOODPUT, width)
    if any(_thin(group) for group in result.classes.values()):
        lines.append("* from fewer than 100 samples: little more than the largest value")
    if result.counts.submitted <= _FEW_REQUESTS:
        lines += ["", *render_timeline(timeline(result), width)]
        lines += ["", *_first_steps(result)]
    return "\n".join(lines) + "\n"


def _head(result: Result) -> Iterator[tuple[str, str]]:
    """The lines above the tables: title and text."""
    counts = result.counts
    yield (
        "requests",
        f"{counts.submitted:,} submitted = {counts.completed:,} completed + {counts.cancelled:,} cancelled"
        f" + {counts.rejected:,} rejected + {counts.failed:,} failed + {counts.in_flight:,} in flight",
    )
    yield (
        "rates",
        f"{_rate(result.output_tokens_per_s)} output tokens/s, {_rate(result.requests_per_s)} completed requests/s",
    )
    if (excess := overload(result.log)) is not None:
        yield "unstable", str(excess)
    if any(group.slo for group in result.classes.values()):
        yield "goodput", _goodput(result, result.overall)
    replicas = len(result.log.runs)
    on = f" on {replicas:,} replicas" if replicas > 1 else ""
    yield "duration", f"{result.duration_s:,.3f} s, {result.step_count:,} steps{on}"
    yield "work", _work(result)
    speculation, together = result.scenario.server.speculation, result.tokens_per_event
    if speculation is not None and together is not None:
        accepted = 100 * (together - 1) / speculation.draft_tokens
        yield "drafts", f"{together:.2f} tokens an event: {accepted:.1f} % of the drafts accepted"
    usage = result.metric("peak_kv_usage")
    preemptions = result.metric("preemptions") or 0
    load = [
        f"at most {result.metric('peak_waiting') or 0:,.0f} in a queue",
        f"{result.metric('peak_running') or 0:,.0f} in seats",
    ]
    load += [] if usage is None else [f"{100 * usage:.1f} % of the KV blocks held"]
    yield "load", ", ".join(load) + (f"; {preemptions:,.0f} preemptions" if preemptions else "")


def _goodput(result: Result, group: ClassMetrics) -> str:
    good = group.goodput
    if good.attainment is None:
        return "no request"
    missed = ", ".join(f"{in_words(name)} {count:,}" for name, count in good.missed.items() if count)
    return (
        f"{_rate(result.per_second(good.good))} requests/s, {_rate(result.per_second(good.good_tokens))} tokens/s; "
        f"{100 * good.attainment:.1f} % of {good.submitted:,} submitted" + (f"; missed {missed}" if missed else "")
    )


def _work(result: Result) -> str:
    work = result.work
    parts = [f"{work.prompt_tokens:,} prompt and {work.output_tokens:,} output tokens computed"]
    if work.useful_share is not None and work.useful_share < 1:
        parts.append(f"{100 * work.useful_share:.1f} % of them useful")
    if work.wasted_prompt_tokens or work.wasted_output_tokens:
        parts.append(
            f"wasted {work.wasted_prompt_tokens:,} prompt tokens of requests that ended early and "
            f"{work.wasted_output_tokens:,} output tokens that nobody received"
        )
    if work.recomputed_tokens:
        parts.append(f"{work.recomputed_tokens:,} computed again after a preemption or loss")
    if work.cached_tokens:
        parts.append(f"{work.cached_tokens:,} prompt tokens saved by the prefix cache")
    return "; ".join(parts)


def _wrapped(title: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=f"{title:<10} ", subsequent_indent=" " * 11)


def _rate(value: float | None) -> str:
    return "undefined" if value is None else f"{value:,.2f}"


def _ms(seconds: float) -> str:
    milliseconds = seconds * 1000
    if milliseconds < 1e6:
        return f"{milliseconds:,.2f}"
    return f"{milliseconds:,.0f}" if milliseconds < 1e8 else f"{milliseconds:.3e}"


def _short(name: str, length: int) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


def _thin(group: ClassMetrics) -> bool:
    return any(summary is not None and summary.p99_is_thin for summary in map(group.summary, METRICS))


def _class_table(name: str, group: ClassMetrics) -> list[str]:
    lines = [f"{_short(name, 10) + ' (ms)':<15}{'n':>9}{'mean':>11}{'p50':>11}{'p95':>11}{'p99':>11} {'max':>11}"]
    for metric in METRICS:
        summary = group.summary(metric)
        title = f"  {in_words(metric)}"
        if summary is None:
            lines.append(f"{title:<15}{0:>9}{'no sample':>11}")
            continue
        n = f"{summary.n:,}" if summary.n < 10**7 else f"{summary.n / 1e6:,.1f}M"
        mark = "*" if summary.p99_is_thin else " "
        lines.append(
            f"{title:<15}{n:>9}{_ms(summary.mean_s):>11}{_ms(summary.p50_s):>11}"
            f"{_ms(summary.p95_s):>11}{_ms(summary.p99_s):>11}{mark}{_ms(summary.max_s):>11}"
        )
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
