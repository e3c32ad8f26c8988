"""The step scheduler of vLLM v1: which tokens of which request the next step computes.

It keeps no clock. A caller adds requests, asks for a plan, and completes it; what a step costs in time is
somebody else's question. The rules are those of vLLM 0.33; `engine="0.11"` follows that version where it
differs.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sim.kv import Block, BlockPool, TokenStream

Engine = Literal["0.33", "0.11"]
Status = Literal["waiting", "running", "preempted", "finished_stopped", "finished_length_capped", "finished_aborted"]
StopReason = Literal["stop", "length"]


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

    id: str
    tokens: TokenStream
    """Its prompt; outputs are appended as they are sampled."""
    max_tokens: int
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
    blocks: list[Block] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Prompt and outputs so far, tokens."""
        return self.tokens.tokens

    @property
    def rank(self) -> tuple[int, float, str]:
        """Order under the priority policy, best first."""
        return (self.priority, self.arrival, self.id)


@dataclass(slots=True)
class PrefixStats:
    """Prefix lookups of admissions, those of requests that come back from preemption apart."""

    requests: int = 0
    queried_tokens: int = 0
    hit_tokens: int = 0
    preempted_requests: int = 0
    preempted_queried_tokens: int = 0
    preempted_hit_tokens: int = 0

    def count(self, queried_tokens: int, hit_tokens: int, *, preempted: bool) -> None:
        """Add one admission."""
        if preempted:
            self.preempted_requests += 1
            self.preempted_queried_tokens += queried_tokens
            self.preempted_hit_tokens += hit_tokens
        else:
            self.requests += 1
            self.queried_tokens += queried_tokens
            self.hit_tokens += hit_tokens


@dataclass(slots=True)
class StepPlan:
    """What one step computes, in the order it was decided."""

    scheduled: dict[str, int] = field(default_factory=dict)
    """Tokens for each request."""
    admitted: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    sampling: list[str] = field(default_factory=list)
    """Requests that emit at the end of the step."""
    cached_tokens: dict[str, int] = field(default_factory=dict)
    """Prefix hit of each admission."""
    prefix: PrefixStats = field(default_factory=PrefixStats)

    @property
    def total_tokens(self) -> int:
        return sum(self.scheduled.values())


class Scheduler:
    """The queue, the running list and the cache of one engine."""

    def __init__(self, config: EngineConfig, engine: Engine = "0.33") -> None:
        self.config = config
        self._old = engine == "0.11"
        self.pool = BlockPool(config.usable_kv_blocks, unhashed_first=not self._old)
        self.waiting: list[EngineRequest] = []
        self.running: list[EngineRequest] = []
        self.requests: dict[str, EngineRequest] = {}
        # vLLM takes the share of all blocks, its null block included.
        self._headroom = 0 if self._old else int(config.watermark * (config.usable_kv_blocks + 1))
        self._full_prompt = config.reserve_full_prompt_at_admission and not self._old
        self._interval = 1 if self._old else config.prefill_schedule_interval
        self._executed = 0
        self._backlog = False
        self._budget = 0

    def add(self, request: EngineRequest) -> None:
        """Queue a request. Raises ValueError for an id in use or a prompt of no or too many tokens."""
        if request.id in self.requests:
            raise ValueError(f"request {request.id!r} is there already; give each its own id")
        if not 1 <= request.total <= self.config.max_model_len:
            raise ValueError(
                f"request {request.id!r} has a prompt of {request.total} tokens; "
                f"it must have 1 to max_model_len = {self.config.max_model_len}"
            )
        self.requests[request.id] = request
        self._enqueue([request], front=False)

    def abort(self, request_id: str) -> None:
        """End a request; its seat and blocks are free for the next plan. Unknown or ended ones are left alone."""
        request = self.requests.get(request_id)
        if request is None or request.status.startswith("finished"):
            return
        (self.running if request.status == "running" else self.waiting).remove(request)
        self._drop_blocks(request)
        request.status = "finished_aborted"

    def propose(self, request_id: str, drafts: int) -> None:
        """Let the next step of a decoding request verify `drafts` draft tokens as well."""
        self.requests[request_id].drafts = drafts

    def hit_tokens(self, tokens: TokenStream) -> int:
        """Prompt tokens that would be taken from the cache if `tokens` were admitted now."""
        return len(self._find(tokens)) * self.config.block_size

    def plan(self) -> StepPlan:
        """Decide the next step and hand out its blocks. `complete` must follow before the next plan."""
        plan = StepPlan()
        self._budget = self.config.max_num_batched_tokens
        cap = self._cap()
        throttled = self._executed % self._interval != 0 and not self._backlog
        defer = throttled and any(not request.prefilling for request in self.running)
        self._plan_running(plan, cap, defer)
        if not plan.preempted:
            self._plan_waiting(plan, cap, defer)
            if not defer:
                self._backlog = bool(self.waiting)
        for request_id, tokens in plan.scheduled.items():
            request = self.requests[request_id]
            request.computed += tokens
            request.prefilling = request.computed < request.total
            if not request.prefilling:
                plan.sampling.append(request_id)
        self._executed += bool(plan.scheduled)
        return plan

    def complete(self, plan: StepPlan, emitted: Mapping[str, int] | None = None) -> dict[str, StopReason]:
        """End the planned step: sample, stop what is done and free its blocks.

        `emitted` gives the tokens of a request that verified drafts, accepted ones plus one; all others
        emit one. Returns why each request that finished did.
        """
        finished: dict[str, StopReason] = {}
        for request_id in plan.sampling:
            request = self.requests[request_id]
            tokens = (emitted or {}).get(request_id, request.drafts + 1)
            if not 1 <= tokens <= request.drafts + 1:
                raise ValueError(f"request {request_id!r} cannot emit {tokens} tokens with {request.drafts} drafts")
            # What was computed for rejected drafts does not count.
            request.computed -= request.drafts + 1 - tokens
            request.drafts = 0
            for _ in range(tokens):
                request.tokens.append(f"output_of:{request_id}", request.generated, 1)
                request.generated += 1
                reason = self._stop_reason(request)
                if reason:
                    finished[request_id] = reason
                    self.running.remove(request)
                    self._drop_blocks(request)
                    request.status = "finished_stopped" if reason == "stop" else "finished_length_capped"
                    break
        return finished

    def _stop_reason(self, request: EngineRequest) -> StopReason | None:
        ended = request.generated == request.eos_at and not request.ignore_eos
        if request.generated >= request.min_tokens and (ended or request.generated == request.stop_at):
            return "stop"
        if request.total >= self.config.max_model_len or request.generated >= request.max_tokens:
            return "length"
        return None

    def _cap(self) -> int:
        """Most tokens one request may get in this step; 0 is no bound."""
        cap = self.config.long_prefill_token_threshold
        if not cap or self._old:
            return cap
        requests = len(self.waiting) + len(self.running)
        if requests <= 1:
            return 0
        if self.config.long_prefill_token_threshold_adaptive:
            return max(cap, self.config.max_num_batched_tokens // requests)
        return cap

    def _plan_running(self, plan: StepPlan, cap: int, defer: bool) -> None:
        index = 0
        while index < len(self.running) and self._budget > 0:
            request = self.running[index]
            want = request.total + request.drafts - request.computed
            # The last position is never computed: its token would be one too many.
            tokens = min(_capped(want, cap), self._budget, self.config.max_model_len - 1 - request.computed)
            if tokens <= 0 or (defer and request.prefilling):
                index += 1
                continue
            needed = self._blocks(request.computed + tokens) - len(request.blocks)
            while needed > self.pool.free:
                victim = self._victim()
                position = self.running.index(victim)
                del self.running[position]
                # In 0.11 a victim with tokens keeps them in the step's output, and since its place in the
                # list is not made up for, the request after the current one is passed over.
                if position < index and not self._old:
                    self._budget += plan.scheduled.pop(victim.id, 0)
                    index -= 1
                self._preempt(victim)
                plan.preempted.append(victim.id)
                if victim is request:
                    return
            self._grow(request, tokens)
            plan.scheduled[request.id] = tokens
            self._budget -= tokens
            index += 1

    def _plan_waiting(self, plan: StepPlan, cap: int, defer: bool) -> None:
        skipped: list[EngineRequest] = []
        while self.waiting and self._budget > 0 and len(self.running) < self.config.max_num_seqs:
            request = self.waiting[0]
            hits = self._find(request.tokens) if not request.computed else []
            computed = request.computed or len(hits) * self.config.block_size
            # With one token left, an admission costs no more than a decode.
            if defer and computed < request.total - 1:
                break
            tokens = _capped(request.total - computed, cap)
            if tokens > self._budget and not self.config.enable_chunked_prefill:
                if not self._old:
                    break
                skipped.append(self.waiting.pop(0))
                continue
            tokens = min(tokens, self._budget)
            span = request.total if self._full_prompt else computed + tokens
            # A hit that nobody holds leaves the free list like any other block.
            needed = self._blocks(span) - len(hits) + sum(not block.holders for block in hits)
            if needed + (self._headroom if self.running else 0) > self.pool.free:
                break
            self.waiting.pop(0)
            self._admit(plan, request, hits, computed)
            self._grow(request, tokens)
            plan.scheduled[request.id] = tokens
            self._budget -= tokens
        self._enqueue(skipped, front=True)

    def _admit(self, plan: StepPlan, request: EngineRequest, hits: Sequence[Block], computed: int) -> None:
        back = request.status == "preempted"
        (plan.resumed if back else plan.admitted).append(request.id)
        if self.config.enable_prefix_caching:
            hit_tokens = len(hits) * self.config.block_size
            plan.cached_tokens[request.id] = hit_tokens
            plan.prefix.count(request.total, hit_tokens, preempted=back and not self._old)
        self.pool.touch(hits)
        request.blocks = list(hits)
        request.computed = computed
        request.status = "running"
        self.running.append(request)

    def _grow(self, request: EngineRequest, tokens: int) -> None:
        """Give a request the blocks for its next tokens, and index those that these tokens fill."""
        end = request.computed + tokens
        request.blocks += self.pool.take(max(0, self._blocks(end) - len(request.blocks)))
        if self.config.enable_prefix_caching:
            # Drafts may be rejected, so only known tokens make a block full.
            first, full = request.computed // self.config.block_size, min(end, request.total) // self.config.block_size
            keys = request.tokens.keys(full)
            for position in range(first, full):
                self.pool.register(request.blocks[position], keys[position])

    def _find(self, tokens: TokenStream) -> list[Block]:
        if not self.config.enable_prefix_caching:
            return []
        # The last token is always computed, or there would be nothing to sample from.
        return self.pool.find(tokens.keys((tokens.tokens - 1) // self.config.block_size))

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self.config.block_size)

    def _victim(self) -> EngineRequest:
        if self.config.policy == "priority":
            return max(self.running, key=lambda request: (request.priority, request.arrival))
        return self.running[-1]

    def _preempt(self, request: EngineRequest) -> None:
        self._drop_blocks(request)
        request.computed = 0
        request.drafts = 0
        request.prefilling = True
        request.preemptions += 1
        request.status = "preempted"
        self._enqueue([request], front=True)

    def _drop_blocks(self, request: EngineRequest) -> None:
        self.pool.release(request.blocks)
        request.blocks = []

    def _enqueue(self, requests: Sequence[EngineRequest], *, front: bool) -> None:
        if self.config.policy == "priority":
            for request in requests:
                insort(self.waiting, request, key=lambda other: other.rank)
        elif front:
            self.waiting[:0] = requests
        else:
            self.waiting += requests


def _capped(tokens: int, cap: int) -> int:
    return min(tokens, cap) if cap else tokens
