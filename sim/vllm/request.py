"""What a request of the engine is, and what the engine's settings are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sim.kv import Block, TokenStream

Engine = Literal["0.33", "0.11"]
Status = Literal["waiting", "running", "preempted", "finished_stopped", "finished_length_capped", "finished_aborted"]


class EngineConfig(BaseModel):
    """What vLLM calls its scheduler and cache settings. Lengths in tokens, the cache in blocks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_num_batched_tokens: int = Field(ge=1)
    max_num_seqs: int = Field(ge=1)
    block_size: int = Field(default=16, ge=1)
    usable_kv_blocks: int = Field(ge=1)
    """Blocks requests can hold: one fewer than vLLM's own count, which includes its null block."""
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int = Field(default=0, ge=0)
    """Most tokens of one request in a step; 0 is no bound."""
    long_prefill_token_threshold_adaptive: bool = False
    """Let the bound grow to an even share of the budget."""
    enable_prefix_caching: bool = True
    policy: Literal["fcfs", "priority"] = "fcfs"
    max_model_len: int = Field(ge=1)
    watermark: float = Field(default=0.0, ge=0, lt=1)
    """Share of all blocks an admission must leave free while something runs."""
    reserve_full_prompt_at_admission: bool = True
    prefill_schedule_interval: int = Field(default=1, ge=1)
    """While anything decodes, only every so many-th step computes prompts."""


@dataclass(slots=True, eq=False)
class EngineRequest:
    """One request and where it stands. Token numbers of outputs count from 1."""

    id: str | int
    prompt_tokens: int
    max_tokens: int
    text: TokenStream | None = None
    """Its prompt, where somebody else may have the same; None while nobody can."""
    shared_tokens: int | None = None
    """Leading tokens of `text` that others may ask for; all of them when absent."""
    priority: int = 0
    arrival: float = 0.0
    eos_at: int | None = None
    """The output token that is the end-of-sequence token."""
    ignore_eos: bool = False
    stop_at: int | None = None
    """The output token that is one of the request's stop tokens."""
    min_tokens: int = 0
    status: Status = "waiting"
    computed: int = 0
    """Leading tokens whose KV is in its blocks."""
    generated: int = 0
    preemptions: int = 0
    prefilling: bool = True
    drafts: int = 0
    """Draft tokens the next step verifies."""
    held: int = 0
    """Blocks it holds: `blocks`, then full ones that nobody else asks for, then at most one that is not full."""
    full: int = 0
    """Leading blocks that scheduled tokens fill."""
    blocks: list[Block] = field(default_factory=list)
    """Its leading blocks that others can find."""
    hit_tokens: int = 0
    """Tokens found in the cache at its latest admission."""
    last_output: int = 0
    """The output token after which it ends, for whichever reason; set when it is added."""

    @property
    def total(self) -> int:
        """Prompt and outputs so far, tokens."""
        return self.prompt_tokens + self.generated

    @property
    def rank(self) -> tuple[int, float, str | int]:
        """Order under the priority policy, best first."""
        return (self.priority, self.arrival, self.id)


def stops(request: EngineRequest) -> Iterable[int]:
    """Output tokens at which the request would stop by itself."""
    if request.eos_at is not None and not request.ignore_eos:
        yield request.eos_at
    if request.stop_at is not None:
        yield request.stop_at


def ending(request: EngineRequest) -> Status:
    stopped = request.generated in stops(request) and request.generated >= request.min_tokens
    return "finished_stopped" if stopped else "finished_length_capped"
