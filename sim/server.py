"""One replica: its seats, its budget, and the rules by which it fills its steps."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from sim.fields import MAX_LENGTH_TOKENS, MAX_REQUESTS, Part, Positive, Seconds, Share, whole_number

Policy = Literal["static", "continuous", "alternating", "mixed", "vllm"]


class Speculation(Part):
    """Drafts that each decode step verifies: the accepted ones and one more token come out together."""

    draft_tokens: Annotated[int, BeforeValidator(whole_number), Field(ge=1, le=64)]
    """Proposed for each sequence in each step."""
    acceptance: Share
    """Chance that a draft is accepted if all before it were."""
    draft_s: Seconds = 0.0
    """Time of the drafting itself, in every step that decodes."""


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
    """mixed, vllm: most tokens in one step, decodes and prompt chunks together."""
    queue_limit: Annotated[int, BeforeValidator(whole_number), Field(ge=0, le=MAX_REQUESTS)] | None = None
    """Requests that may wait beyond the free seats; a request above that is rejected."""

    # What follows is for the policy vllm, and stands there under similar names.
    kv_blocks: Positive | None = None
    """Blocks of the KV cache that requests can hold; no limit when absent."""
    block_tokens: Positive = 16
    prefix_cache: bool = True
    watermark: Annotated[Share, Field(lt=1)] = 0.0
    """Share of the blocks that an admission must leave free while something runs."""
    order: Literal["fcfs", "priority"] = "fcfs"
    """Who is served first: who came first, or the smaller priority of its class."""
    chunked_prefill: bool = True
    """Without it a prompt waits until all of it fits the budget of a step."""
    long_prefill_tokens: Annotated[int, BeforeValidator(whole_number), Field(ge=0)] = 0
    """Most tokens of one request in a step; 0 is no bound."""
    long_prefill_adaptive: bool = False
    """Let that bound grow to an even share of the budget."""
    reserve_full_prompt: bool = True
    """Admit a prompt only where all of it has room; else where its first chunk has."""
    prefill_every_steps: Positive = 1
    """While anything decodes, only every so many-th step computes prompts."""
    max_model_tokens: Positive = MAX_LENGTH_TOKENS
    """Longest sequence: prompt and outputs together."""
    speculation: Speculation | None = None
    engine_version: Literal["0.33", "0.11"] = "0.33"
    """The vLLM version whose rules are followed."""

    @model_validator(mode="after")
    def _possible(self) -> Server:
        if self.batch_size is not None and self.batch_size > self.max_seqs:
            raise ValueError(
                f"batch_size {self.batch_size} needs as many seats, but max_seqs is {self.max_seqs}; "
                "raise max_seqs or lower batch_size"
            )
        if self.speculation is not None and self.policy != "vllm":
            raise ValueError(f"speculation needs the policy vllm, not {self.policy}; change one of them")
        if self.policy == "vllm" and not self.chunked_prefill and self.token_budget < self.max_model_tokens:
            raise ValueError(
                f"without chunked_prefill a prompt must fit one step, so token_budget {self.token_budget:,} must be at "
                f"least max_model_tokens {self.max_model_tokens:,}; raise the one or lower the other"
            )
        return self
