"""What a scenario may say. Every model is frozen and refuses fields it does not know.

Names carry their unit: `_s` seconds, `_tokens` tokens, `_per_s` events a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

MAX_REQUESTS = 2_000_000
MAX_LENGTH_TOKENS = 1_000_000
MAX_TIME_S = 1e9

Policy = Literal["static", "continuous", "alternating", "mixed"]


def _plain_number(value: object) -> object:
    """Refuse booleans and text where a number belongs; pydantic alone would take `true` as 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return value


def _whole_number(value: object) -> object:
    value = _plain_number(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


Seconds = Annotated[float, BeforeValidator(_plain_number), Field(ge=0, le=MAX_TIME_S, allow_inf_nan=False)]
PositiveSeconds = Annotated[float, BeforeValidator(_plain_number), Field(gt=0, le=MAX_TIME_S, allow_inf_nan=False)]
Rate = Annotated[float, BeforeValidator(_plain_number), Field(ge=1e-9, le=1e9, allow_inf_nan=False)]
Tokens = Annotated[int, BeforeValidator(_whole_number), Field(ge=1, le=MAX_LENGTH_TOKENS)]
Positive = Annotated[int, BeforeValidator(_whole_number), Field(ge=1, le=MAX_LENGTH_TOKENS)]
RequestCount = Annotated[int, BeforeValidator(_whole_number), Field(ge=1, le=MAX_REQUESTS)]
Name = Annotated[str, Field(min_length=1, max_length=80)]


class Part(BaseModel):
    """Base of every model here."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
    sigma: Annotated[float, BeforeValidator(_plain_number), Field(ge=0, le=5, allow_inf_nan=False)]
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


# ---- server ----------------------------------------------------------------------------------------


class Server(Part):
    """One replica and the rules by which it fills its steps."""

    policy: Policy
    max_seqs: Positive = 8
    """Seats: sequences that may run at the same time."""
    batch_size: Positive | None = None
    """static: most requests in one batch (all seats when absent)."""
    prompt_batch: Positive | None = None
    """continuous: most prompts in one prefill step (no limit when absent)."""
    chunk_tokens: Positive | None = None
    """alternating: prompt tokens in one chunk (512 when absent); mixed: most for one prompt in a step."""
    token_budget: Positive = 2048
    """mixed: most tokens in one step, decodes and prompt chunks together."""
    queue_limit: Annotated[int, BeforeValidator(_whole_number), Field(ge=0, le=MAX_REQUESTS)] | None = None
    """Requests that may wait beyond the free seats; a request above that is rejected."""

    @model_validator(mode="after")
    def _possible(self) -> Server:
        if self.batch_size is not None and self.batch_size > self.max_seqs:
            raise ValueError(
                f"batch_size {self.batch_size} needs as many seats, but max_seqs is {self.max_seqs}; "
                "raise max_seqs or lower batch_size"
            )
        return self


# ---- step cost -------------------------------------------------------------------------------------


class FixedCost(Part):
    """A step takes the same time whatever is in it."""

    kind: Literal["fixed"]
    prefill_s: Seconds
    decode_s: Seconds
    chunk_s: Seconds | None = None
    """A step with part of a prompt (alternating, mixed); needed by those two policies."""
    mixed_s: Seconds | None = None
    """A step with prompt chunks and decodes together; `chunk_s + decode_s` when absent."""


class LinearCost(Part):
    """base + prompt tokens + decoding sequences + tokens of context read, each times its coefficient."""

    kind: Literal["linear"]
    base_s: Seconds = 0.0
    per_prefill_token_s: Seconds = 0.0
    per_decode_seq_s: Seconds = 0.0
    per_context_token_s: Seconds = 0.0


StepCost = Annotated[FixedCost | LinearCost, Field(discriminator="kind")]


class Scenario(Part):
    """Everything `simulate` needs. Two equal scenarios give equal results, to the last bit."""

    name: Name
    description: str = ""
    seed: Annotated[int, BeforeValidator(_whole_number), Field(ge=0, le=2**63 - 1)] = 1
    classes: Annotated[tuple[TrafficClass, ...], Field(min_length=1, max_length=100)]
    server: Server
    step_cost: StepCost
    horizon_s: PositiveSeconds | None = None
    """Stop here and count what is unfinished as in flight; run until all is done when absent."""

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        names = [item.name for item in self.classes]
        if "all" in names:
            raise ValueError("a class cannot be called 'all': that word stands for every class together")
        doubled = {name for name in names if names.count(name) > 1}
        if doubled:
            raise ValueError(f"two classes are called {min(doubled)!r}; give each its own name")
        total = sum(request_count(item) for item in self.classes)
        if total > MAX_REQUESTS:
            raise ValueError(f"{total:,} requests are more than the {MAX_REQUESTS:,} allowed; lower the counts")
        cost = self.step_cost
        if isinstance(cost, FixedCost):
            if cost.chunk_s is None and self.server.policy in ("alternating", "mixed"):
                raise ValueError(f"step_cost.chunk_s is needed with the policy {self.server.policy!r}; add it")
            times: tuple[float, ...] = (cost.prefill_s, cost.decode_s, cost.chunk_s or 0.0)
        else:
            times = (
                cost.base_s,
                cost.per_prefill_token_s,
                cost.per_decode_seq_s,
                cost.per_context_token_s,
            )
        if not any(times):
            raise ValueError("step_cost makes every step take no time at all; set at least one time above zero")
        return self


def request_count(item: TrafficClass) -> int:
    """How many requests the class sends."""
    arrivals = item.arrivals
    return len(arrivals.times_s) if isinstance(arrivals, ArrivalTimes) else arrivals.count
