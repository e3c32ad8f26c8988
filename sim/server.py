"""One replica: its seats, its budget, and the rules by which it fills its steps."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from sim.fields import MAX_REQUESTS, Part, Positive, whole_number

Policy = Literal["static", "continuous", "alternating", "mixed"]


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
    queue_limit: Annotated[int, BeforeValidator(whole_number), Field(ge=0, le=MAX_REQUESTS)] | None = None
    """Requests that may wait beyond the free seats; a request above that is rejected."""

    @model_validator(mode="after")
    def _possible(self) -> Server:
        if self.batch_size is not None and self.batch_size > self.max_seqs:
            raise ValueError(
                f"batch_size {self.batch_size} needs as many seats, but max_seqs is {self.max_seqs}; "
                "raise max_seqs or lower batch_size"
            )
        return self
