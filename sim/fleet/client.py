"""What a client does when an answer is late, refused or broken off."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from sim.fields import Part, PositiveSeconds, Seconds, Share, plain_number, whole_number

Trouble = Literal["timeout", "rejected", "failed"]


class Retries(Part):
    """How often and how soon a client sends a request again."""

    max: Annotated[int, BeforeValidator(whole_number), Field(ge=0, le=100)] = 0
    """Attempts after the first."""
    backoff_s: Seconds = 1.0
    """Wait before the first retry; before each further one `multiplier` times as long."""
    multiplier: Annotated[float, BeforeValidator(plain_number), Field(ge=1, le=100, allow_inf_nan=False)] = 2.0
    jitter: Share = 0.0
    """0: exactly that wait; 1: anything between nothing and that wait, equally likely."""
    after: Annotated[tuple[Trouble, ...], Field(min_length=1)] = ("timeout", "rejected", "failed")
    """What makes the client try again; anything else ends the request."""


class Client(Part):
    """One class's clients. Patience for the first token is the class's own `patience_s`."""

    timeout_s: PositiveSeconds | None = None
    """An attempt that is not answered in full this long after it was sent is given up."""
    cancel_delay_s: Seconds = 0.0
    """How long after the client gave up the server hears of it; until then it works for nobody."""
    cancel_reaches_server: bool = True
    """Otherwise the server never hears of it and works to the end for nobody."""
    retries: Retries = Retries()

    @model_validator(mode="after")
    def _sensible(self) -> Client:
        if self.cancel_delay_s and not self.cancel_reaches_server:
            raise ValueError("cancel_delay_s has no meaning when the cancellation never arrives; remove one of the two")
        return self
