"""Kinds of fields that a scenario is made of: numbers with bounds, and the base of every part.

Names carry their unit: `_s` seconds, `_tokens` tokens, `_per_s` events a second.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

MAX_REQUESTS = 2_000_000
MAX_LENGTH_TOKENS = 1_000_000
MAX_TIME_S = 1e9


def plain_number(value: object) -> object:
    """Refuse booleans and text where a number belongs; pydantic alone would take `true` as 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return value


def whole_number(value: object) -> object:
    value = plain_number(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


Seconds = Annotated[float, BeforeValidator(plain_number), Field(ge=0, le=MAX_TIME_S, allow_inf_nan=False)]
PositiveSeconds = Annotated[float, BeforeValidator(plain_number), Field(gt=0, le=MAX_TIME_S, allow_inf_nan=False)]
Rate = Annotated[float, BeforeValidator(plain_number), Field(ge=1e-9, le=1e9, allow_inf_nan=False)]
Tokens = Annotated[int, BeforeValidator(whole_number), Field(ge=1, le=MAX_LENGTH_TOKENS)]
Positive = Annotated[int, BeforeValidator(whole_number), Field(ge=1, le=MAX_LENGTH_TOKENS)]
RequestCount = Annotated[int, BeforeValidator(whole_number), Field(ge=1, le=MAX_REQUESTS)]
Share = Annotated[float, BeforeValidator(plain_number), Field(ge=0, le=1, allow_inf_nan=False)]


def one_line(text: str) -> str:
    """Refuse line breaks and all else that a terminal would obey: names are shown as they are."""
    if not text.isprintable():
        raise ValueError("must be on one line, without control characters")
    return text


Name = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(one_line)]


class Part(BaseModel):
    """Base of every model here."""

    model_config = ConfigDict(frozen=True, extra="forbid")
