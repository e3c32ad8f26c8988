"""Traffic: how long requests are, when they arrive, and what their clients expect."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from sim.fields import (
    MAX_REQUESTS,
    Part,
    Positive,
    PositiveSeconds,
    Rate,
    RequestCount,
    Seconds,
    Share,
    Tokens,
    plain_number,
    whole_number,
)
from sim.fleet.client import Client
from sim.lengths import Duration, Length, Lengths, mean_s
from sim.traces.spec import FromFile

RateOrZero = Annotated[float, BeforeValidator(plain_number), Field(ge=0, le=1e9, allow_inf_nan=False)]
Priority = Annotated[int, BeforeValidator(whole_number), Field(ge=-(2**31), le=2**31 - 1)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]

MAX_QUIET_CYCLES = 1_000_000
"""On-off cycles that a class may be expected to go through; more would take longer to draw than to simulate."""

# ---- arrivals --------------------------------------------------------------------------------------


class ArrivalTimes(Part):
    """Requests arrive at exactly these times, in any order."""

    kind: Literal["times"]
    times_s: Annotated[tuple[Seconds, ...], Field(min_length=1, max_length=MAX_REQUESTS)]


class DeterministicArrivals(Part):
    """`count` requests, the first at `start_s`, then one every `1 / rate_per_s` seconds."""

    kind: Literal["deterministic"]
    rate_per_s: Rate
    count: RequestCount
    start_s: Seconds = 0.0


class PoissonArrivals(Part):
    """`count` requests with independent exponential gaps of mean `1 / rate_per_s`, from `start_s` on."""

    kind: Literal["poisson"]
    rate_per_s: Rate
    count: RequestCount
    start_s: Seconds = 0.0


class GammaArrivals(Part):
    """`count` requests with independent gamma gaps of mean `1 / rate_per_s` and coefficient of variation `cv`.

    The shape is `1 / cv²`: below 1 steadier than Poisson, above 1 in clumps, at 1 Poisson.
    """

    kind: Literal["gamma"]
    rate_per_s: Rate
    cv: Annotated[float, BeforeValidator(plain_number), Field(ge=0.01, le=100, allow_inf_nan=False)]
    count: RequestCount
    start_s: Seconds = 0.0


class BurstArrivals(Part):
    """`count` requests at once, at `start_s`."""

    kind: Literal["burst"]
    count: RequestCount
    start_s: Seconds = 0.0


class OnOffArrivals(Part):
    """Poisson whose rate switches: `on_rate_per_s` for `on_s`, then `off_rate_per_s` for `off_s`, and again.

    With exponential durations this is the two-state Markov-modulated Poisson process.
    """

    kind: Literal["bursts"]
    on_rate_per_s: Rate
    on_s: Duration
    off_rate_per_s: RateOrZero = 0.0
    off_s: Duration
    count: RequestCount
    start_s: Seconds = 0.0

    @model_validator(mode="after")
    def _gets_on(self) -> OnOffArrivals:
        for name, duration in (("on_s", self.on_s), ("off_s", self.off_s)):
            if mean_s(duration) <= 0:
                raise ValueError(f"{name} must be above 0")
        per_cycle = self.on_rate_per_s * mean_s(self.on_s) + self.off_rate_per_s * mean_s(self.off_s)
        if self.count > MAX_QUIET_CYCLES * per_cycle:
            raise ValueError(
                f"a cycle brings {per_cycle:.3g} requests, so {self.count:,} of them take more than "
                f"{MAX_QUIET_CYCLES:,} cycles; raise a rate or a duration, or lower the count"
            )
        return self


class DiurnalArrivals(Part):
    """Poisson whose rate swings as a cosine: `mean_rate_per_s * (1 + swing * cos(2π (t - peak_s) / period_s))`."""

    kind: Literal["diurnal"]
    mean_rate_per_s: Rate
    swing: Share
    """0: steady; 1: down to nothing at the quietest moment and up to twice the mean at the busiest."""
    period_s: PositiveSeconds = 86_400.0
    peak_s: Seconds = 0.0
    count: RequestCount
    start_s: Seconds = 0.0


class RateStep(Part):
    """From `from_s` on, this rate holds until the next step."""

    from_s: Seconds
    rate_per_s: RateOrZero


class PiecewiseArrivals(Part):
    """Poisson with a rate that changes at given times, counted from `start_s`; the first step is at 0.

    With `period_s` the steps start over after that time; otherwise the last rate goes on.
    """

    kind: Literal["piecewise"]
    steps: Annotated[tuple[RateStep, ...], Field(min_length=1, max_length=100_000)]
    period_s: PositiveSeconds | None = None
    count: RequestCount
    start_s: Seconds = 0.0

    @model_validator(mode="after")
    def _gets_on(self) -> PiecewiseArrivals:
        starts = [step.from_s for step in self.steps]
        if starts[0] != 0:
            raise ValueError("the first of the steps must have from_s 0")
        if any(later <= earlier for earlier, later in pairwise(starts)):
            raise ValueError("from_s must rise from step to step")
        if self.period_s is None:
            if not self.steps[-1].rate_per_s:
                raise ValueError("the last rate is 0 and goes on forever; raise it, or give a period_s")
            return self
        if self.period_s <= starts[-1]:
            raise ValueError(f"period_s must be above the last from_s, {starts[-1]:g}")
        ends = [*starts[1:], self.period_s]
        per_cycle = sum(step.rate_per_s * (end - step.from_s) for step, end in zip(self.steps, ends, strict=True))
        if self.count > MAX_QUIET_CYCLES * per_cycle:
            raise ValueError(
                f"a period brings {per_cycle:.3g} requests, so {self.count:,} of them take more than "
                f"{MAX_QUIET_CYCLES:,} periods; raise a rate or the period_s, or lower the count"
            )
        return self


class TraceArrivals(FromFile):
    """The requests of a recorded trace, when they came, with their lengths and what they share.

    A class that gives lengths of its own takes only the times of the trace.
    """

    kind: Literal["trace"]
    speed: Rate = 1.0
    """All gaps are divided by it."""
    start_s: Seconds = 0.0

    @property
    def times(self) -> Sequence[int]:
        """Ticks from the first request on, at the wanted speed."""
        return self.trace.times if self.speed == 1 else self.trace.faster(self.speed).times


class ClosedLoop(Part):
    """`users` clients, each sending its next request `think_s` after its last one ended; `count` in all.

    Each user starts with a think time, counted from `start_s`. When requests arrive depends on the server, so
    they are made while the simulation runs.
    """

    kind: Literal["closed_loop"]
    users: Positive
    think_s: Duration
    count: RequestCount
    start_s: Seconds = 0.0


Arrivals = Annotated[
    ArrivalTimes
    | DeterministicArrivals
    | PoissonArrivals
    | GammaArrivals
    | BurstArrivals
    | OnOffArrivals
    | DiurnalArrivals
    | PiecewiseArrivals
    | TraceArrivals
    | ClosedLoop,
    Field(discriminator="kind"),
]

# ---- traffic ---------------------------------------------------------------------------------------


class Slo(Part):
    """Limits for the 95th percentile of a class; a limit that is absent is not checked."""

    ttft_s: PositiveSeconds | None = None
    itl_s: PositiveSeconds | None = None
    tpot_s: PositiveSeconds | None = None
    e2e_s: PositiveSeconds | None = None


class SharedPrefix(Part):
    """A system prompt of `tokens` tokens in front of each prompt, one of `groups` different ones.

    It comes on top of the class's prompt length. Prefixes of one `name` are the same in all classes.
    """

    tokens: Tokens
    groups: Annotated[int, BeforeValidator(whole_number), Field(ge=1, le=100_000)] = 1
    dist: Literal["uniform", "zipf"] = "uniform"
    """uniform: all groups equally likely; zipf: the k-th with a chance in proportion to `1 / k ** exponent`."""
    exponent: Annotated[float, BeforeValidator(plain_number), Field(ge=0, le=10, allow_inf_nan=False)] | None = None
    """Of zipf; 1 when absent."""
    name: Identifier | None = None
    """The class's name when absent."""

    @model_validator(mode="after")
    def _meant(self) -> SharedPrefix:
        if self.dist == "uniform" and self.exponent is not None:
            raise ValueError("exponent says how uneven zipf is; set dist: zipf, or remove it")
        return self


class TrafficClass(Part):
    """One kind of request: how many tokens, when it arrives, how long its client waits."""

    name: Identifier
    prompt_tokens: Length | None = None
    output_tokens: Length | None = None
    """Both lengths are needed unless `lengths` gives them in pairs, or `arrivals` is a recorded trace."""
    lengths: Lengths | None = None
    prefix: SharedPrefix | None = None
    arrivals: Arrivals
    preprocess_s: Seconds = 0.0
    """Work at the front end before the request joins the queue; any number run side by side."""
    transport_s: Seconds = 0.0
    """Delay from the server emitting a token to the client seeing it."""
    patience_s: PositiveSeconds | None = None
    """The client cancels when it has seen no first token this long after arrival."""
    client: Client = Client()
    """What it does when the answer is late, refused or broken off."""
    prefilled: bool = False
    """The prompt's state is there already: the request joins as an active sequence and only decodes."""
    priority: Priority = 0
    """Smaller is served first, where the scheduler heeds priorities."""
    tenant: Identifier | None = None
    """Whose requests these are; several classes may belong to one tenant."""
    slo: Slo = Slo()

    @model_validator(mode="after")
    def _has_lengths(self) -> TrafficClass:
        given = (("prompt_tokens", self.prompt_tokens), ("output_tokens", self.output_tokens))
        if isinstance(self.arrivals, TraceArrivals) and not any(length for _, length in given):
            return self
        for name, length in given:
            if length is None and self.lengths is None:
                raise ValueError(f"{name} is missing; add it, or give both lengths as pairs in `lengths`")
            if length is not None and self.lengths is not None:
                raise ValueError(f"`lengths` and {name} both say how long requests are; remove one")
        return self


def request_count(item: TrafficClass) -> int:
    """How many requests the class sends."""
    arrivals = item.arrivals
    if isinstance(arrivals, ArrivalTimes):
        return len(arrivals.times_s)
    return len(arrivals.trace) if isinstance(arrivals, TraceArrivals) else arrivals.count
