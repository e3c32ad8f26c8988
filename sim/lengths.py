"""How long requests are, and how long things last: fixed values and distributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, PrivateAttr, ValidationInfo, model_validator

from sim.fields import MAX_LENGTH_TOKENS, MAX_REQUESTS, Part, PositiveSeconds, Seconds, Tokens, plain_number
from sim.traces.spec import FileName, FromFile, folder_of
from sim.traces.table import read_lengths

Weight = Annotated[float, BeforeValidator(plain_number), Field(ge=0, le=1e12, allow_inf_nan=False)]

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


def _check_weights(values: int, weights: tuple[float, ...]) -> None:
    if weights and len(weights) != values:
        raise ValueError(f"there are {values} values but {len(weights)} weights; give each value one, or none at all")
    if weights and not any(weights):
        raise ValueError("all weights are zero; set at least one above zero")


class EmpiricalLength(Part):
    """One of `values`, with chances in proportion to `weights` (equal chances when there are none).

    `file` names a file instead, with lines `tokens` or `tokens,weight`; its path starts from the folder of the
    scenario's file.
    """

    dist: Literal["empirical"]
    values: Annotated[tuple[Tokens, ...], Field(max_length=MAX_REQUESTS)] = ()
    weights: Annotated[tuple[Weight, ...], Field(max_length=MAX_REQUESTS)] = ()
    file: FileName | None = None
    _table: tuple[tuple[int, ...], tuple[float, ...]] = PrivateAttr()

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> EmpiricalLength:
        if (self.file is None) != bool(self.values) or (self.file and self.weights):
            raise ValueError("give either values, with weights if you like, or a file")
        if self.file is None:
            _check_weights(len(self.values), self.weights)
            self._table = self.values, self.weights
        else:
            self._table = read_lengths(folder_of(info) / self.file, self.file)
        return self

    @property
    def table(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Lengths in tokens and their weights; no weights means equal ones."""
        return self._table


def _length_from_number(value: object) -> object:
    """`250` is short for `{dist: fixed, tokens: 250}`."""
    if isinstance(value, Mapping | BaseModel):
        return value
    return {"dist": "fixed", "tokens": value}


Length = Annotated[
    FixedLength | UniformLength | LognormalLength | EmpiricalLength,
    Field(discriminator="dist"),
    BeforeValidator(_length_from_number),
]


class LengthPairs(Part):
    """Prompt and output lengths drawn together, so that they stay correlated: one of `pairs` by `weights`."""

    dist: Literal["pairs"]
    pairs: Annotated[tuple[tuple[Tokens, Tokens], ...], Field(min_length=1, max_length=MAX_REQUESTS)]
    weights: Annotated[tuple[Weight, ...], Field(max_length=MAX_REQUESTS)] = ()

    @model_validator(mode="after")
    def _matched(self) -> LengthPairs:
        _check_weights(len(self.pairs), self.weights)
        return self


class RecordedLengths(FromFile):
    """Prompt and output lengths drawn together from the requests of a recorded trace, each as likely as another."""

    dist: Literal["trace"]


Lengths = Annotated[LengthPairs | RecordedLengths, Field(discriminator="dist")]

# ---- durations -------------------------------------------------------------------------------------


class FixedDuration(Part):
    """Always the same time."""

    dist: Literal["fixed"]
    time_s: Seconds


class ExponentialDuration(Part):
    """Exponential with the given mean."""

    dist: Literal["exponential"]
    mean_s: PositiveSeconds


def _duration_from_number(value: object) -> object:
    """`1.5` is short for `{dist: fixed, time_s: 1.5}`."""
    if isinstance(value, Mapping | BaseModel):
        return value
    return {"dist": "fixed", "time_s": value}


Duration = Annotated[
    FixedDuration | ExponentialDuration,
    Field(discriminator="dist"),
    BeforeValidator(_duration_from_number),
]


def mean_s(duration: Duration) -> float:
    """The mean of a duration, seconds."""
    return duration.time_s if isinstance(duration, FixedDuration) else duration.mean_s
