"""Traffic: how long requests are, when they arrive, and what their clients expect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from sim.fields import (
    MAX_LENGTH_TOKENS,
    MAX_REQUESTS,
    Part,
    PositiveSeconds,
    Rate,
    RequestCount,
    Seconds,
    Tokens,
    plain_number,
)

# ---- lengths ---------------------------------------------------------------------------------------


class FixedLength(Part):
    """Every request has the same number of tokens."""

    dist: Literal["fixed"]
    tokens: Tokens


class UniformLength(Part):
    """Whole numbers from `low_tokens` to `high_tokens`, both included, equally likely."""

    dist: Literal["uniform"]
    low_tokens: Tokens
    high_tokens: Tokens

    @model_validator(mode="after")
    def _ordered(self) -> UniformLength:
        if self.low_tokens > self.high_tokens:
            raise ValueError("low_tokens must not be above high_tokens")
        return self


class LognormalLength(Part):
    """Lognormal with the given median and sigma (of the logarithm), rounded, kept in 1..max_tokens."""

    dist: Literal["lognormal"]
    median_tokens: Tokens
    sigma: Annotated[float, BeforeValidator(plain_number), Field(ge=0, le=5, allow_inf_nan=False)]
    max_tokens: Tokens = MAX_LENGTH_TOKENS

    @model_validator(mode="after")
    def _ordered(self) -> LognormalLength:
        if self.median_tokens > self.max_tokens:
            raise ValueError("median_tokens must not be above max_tokens")
        return self


def _length_from_number(value: object) -> object:
    """`250` is short for `{dist: fixed, tokens: 250}`."""
    if isinstance(value, Mapping | BaseModel):
        return value
    return {"dist": "fixed", "tokens": value}


Length = Annotated[
    FixedLength | UniformLength | LognormalLength,
    Field(discriminator="dist"),
    BeforeValidator(_length_from_number),
]

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


Arrivals = Annotated[
    ArrivalTimes | DeterministicArrivals | PoissonArrivals,
    Field(discriminator="kind"),
]

# ---- traffic ---------------------------------------------------------------------------------------


class Slo(Part):
    """Limits for the 95th percentile of a class; a limit that is absent is not checked."""

    ttft_s: PositiveSeconds | None = None
    itl_s: PositiveSeconds | None = None
    tpot_s: PositiveSeconds | None = None
    e2e_s: PositiveSeconds | None = None


class TrafficClass(Part):
    """One kind of request: how many tokens, when it arrives, how long its client waits."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$")]
    prompt_tokens: Length
    output_tokens: Length
    arrivals: Arrivals
    preprocess_s: Seconds = 0.0
    """Work at the front end before the request joins the queue; any number run side by side."""
    transport_s: Seconds = 0.0
    """Delay from the server emitting a token to the client seeing it."""
    patience_s: PositiveSeconds | None = None
    """The client cancels when it has seen no first token this long after arrival."""
    prefilled: bool = False
    """The prompt's state is there already: the request joins as an active sequence and only decodes."""
    slo: Slo = Slo()


def request_count(item: TrafficClass) -> int:
    """How many requests the class sends."""
    arrivals = item.arrivals
    return len(arrivals.times_s) if isinstance(arrivals, ArrivalTimes) else arrivals.count
