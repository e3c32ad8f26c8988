"""A trace in a dozen numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sim.ticks import TICKS_PER_S
from sim.traces.prefixes import shareable_tokens
from sim.traces.trace import Trace

WINDOW_S = 60


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """Tokens; percentiles by linear interpolation between the two nearest values."""

    mean: float
    p50: float
    p95: float
    p99: float
    largest: int


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """What a trace looks like. A number that so few requests do not have is None."""

    source: str
    requests: int
    duration_s: float
    rate_per_s: float | None
    """Gaps over duration."""
    gap_cv: float | None
    """Standard deviation of the gaps over their mean: 1 for Poisson, more for clumps."""
    dispersion: float | None
    """Variance over mean of the requests in windows of 60 s (the last, unfinished one left out): 1 for Poisson."""
    prompt_tokens: LengthSummary
    output_tokens: LengthSummary
    correlation: float | None
    """Pearson's, between prompt and output tokens."""
    shareable_share: float
    """Share of the prompt tokens that repeat the start of an earlier prompt."""
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """As plain data for JSON."""
        return asdict(self)


def _lengths(values: Sequence[int]) -> LengthSummary:
    import numpy as np

    column = np.asarray(values, dtype=np.float64)
    p50, p95, p99 = (float(value) for value in np.percentile(column, [50, 95, 99]))
    return LengthSummary(float(column.mean()), p50, p95, p99, int(column.max()))


def summarize(trace: Trace) -> TraceSummary:
    """The statistics of a trace."""
    import numpy as np

    times_s = np.asarray(trace.times, dtype=np.float64) / TICKS_PER_S
    gaps = np.diff(times_s)
    cv = float(gaps.std() / gaps.mean()) if len(gaps) > 1 and gaps.any() else None
    windows = int(times_s[-1] // WINDOW_S)
    dispersion = None
    if windows > 1:
        counts = np.bincount((times_s // WINDOW_S).astype(np.int64))[:windows]
        dispersion = float(counts.var() / counts.mean())
    prompts = np.asarray(trace.prompt_tokens, dtype=np.float64)
    outputs = np.asarray(trace.output_tokens, dtype=np.float64)
    varied = len(prompts) > 1 and prompts.std() > 0 and outputs.std() > 0
    return TraceSummary(
        source=trace.source,
        requests=len(trace),
        duration_s=trace.duration_s,
        rate_per_s=len(gaps) / trace.duration_s if trace.duration_s else None,
        gap_cv=cv,
        dispersion=dispersion,
        prompt_tokens=_lengths(trace.prompt_tokens),
        output_tokens=_lengths(trace.output_tokens),
        correlation=float(np.corrcoef(prompts, outputs)[0, 1]) if varied else None,
        shareable_share=shareable_tokens(trace.prefixes) / float(prompts.sum()),
        notes=trace.notes,
    )


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def render(summary: TraceSummary) -> str:
    """The summary as a few lines of text."""
    lines = [
        f"{summary.source}: {summary.requests:,} requests in {summary.duration_s:,.1f} s",
        f"  arrivals  {_number(summary.rate_per_s, 3)} a second, CV of gaps {_number(summary.gap_cv, 2)}, "
        f"dispersion in {WINDOW_S} s windows {_number(summary.dispersion, 2)}",
        "  tokens    " + "".join(f"{head:>12}" for head in ("mean", "p50", "p95", "p99", "largest")),
    ]
    for name, lengths in (("prompt", summary.prompt_tokens), ("output", summary.output_tokens)):
        values = (lengths.mean, lengths.p50, lengths.p95, lengths.p99)
        cells = "".join(f"{value:>12,.1f}" for value in values) + f"{lengths.largest:>12,}"
        lines.append(f"    {name}  {cells}")
    lines.append(
        f"  correlation of prompt and output {_number(summary.correlation, 2)}, "
        f"prompt tokens an earlier prompt starts with {100 * summary.shareable_share:.1f} %"
    )
    lines += [f"  note: {note}" for note in summary.notes]
    return "\n".join(lines) + "\n"
