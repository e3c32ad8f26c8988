"""The step scheduler of vLLM v1: which tokens of which request the next step computes.

It keeps no clock. A caller adds requests, asks for a plan, and completes it; what a step costs in time is
somebody else's question. The rules are those of vLLM 0.33; `engine="0.11"` follows that version where it
differs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from sim.kv import Block, BlockPool, TokenStream
from sim.vllm.plan import ByPriority, Queue, StepPlan
from sim.vllm.request import Engine, EngineConfig, EngineRequest, ending, stops


class Scheduler:
    """The queue, the running list and the cache of one engine."""

    def __init__(self, config: EngineConfig, engine: Engine = "0.33", waiting: Queue | None = None) -> None:
        self.config = config
        self.pool = BlockPool(config.usable_kv_blocks, unhashed_first=engine != "0.11")
        self.waiting: Queue = (
            waiting if waiting is not None else (ByPriority() if config.policy == "priority" else deque())
        )
        self.running: dict[EngineRequest, None] = {}
        """In the order of admission; a dict, so that any of them leaves in constant time."""
        self._old = engine == "0.11"
        self._block_size = config.block_size
        # vLLM takes the share of all blocks, its null block included.
        self.headroom = 0 if self._old else int(config.watermark * (config.usable_kv_blocks + 1))
        self.full_prompt = config.reserve_full_prompt_at_admission and not self._old
        self._interval = 1 if self._old else config.prefill_schedule_interval
        self._executed = 0
        self._backlog = False

    def add(self, request: EngineRequest) -> None:
        """Queue a request. Raises ValueError for a prompt of no or too many tokens."""
        self.prepare(request)
        self.waiting.append(request)

    def prepare(self, request: EngineRequest) -> None:
        """Find out where a request will end. Raises ValueError as `add` does."""
        longest = self.config.max_model_len
        if not 1 <= request.prompt_tokens <= longest:
            raise ValueError(
                f"request {request.id!r} has a prompt of {request.prompt_tokens} tokens; "
                f"it must have 1 to max_model_len = {longest}"
            )
        last = min(request.max_tokens, max(1, longest - request.prompt_tokens))
        if request.eos_at is not None or request.stop_at is not None:
            last = min([last, *(end for end in stops(request) if end >= request.min_tokens)])
        request.last_output = last

    def abort(self, request: EngineRequest) -> None:
        """End a request; its seat and blocks are free for the next plan. One that has ended is left alone."""
        if request.status.startswith("finished"):
            return
        if request.status == "running":
            del self.running[request]
        else:
            self.waiting.remove(request)
        self.drop_blocks(request)
        request.status = "finished_aborted"

    def hit_tokens(self, text: TokenStream) -> int:
        """Prompt tokens that would be taken from the cache if `text` were admitted now."""
        return len(self._find(text, text.tokens - 1)) * self._block_size

    def plan(self) -> StepPlan:
        """Decide the next step and hand out its blocks. `complete` must follow before the next plan."""
        plan = StepPlan()
        cap = self._cap()
        throttled = self._executed % self._interval != 0 and not self._backlog
        defer = throttled and any(not request.prefilling for request in self.running)
        budget = self._plan_running(plan, cap, defer)
        if not plan.preempted:
            self._plan_waiting(plan, budget, cap, defer)
            if not defer:
                self._backlog = bool(self.waiting)
        for request, tokens in plan.scheduled.items():
            request.computed += tokens
            if not request.prefilling:
                plan.decoding.append(request)
            request.prefilling = request.computed < request.total
            if not request.prefilling:
                plan.sampling.append(request)
        self._executed += bool(plan.scheduled)
        return plan

    def complete(self, plan: StepPlan, emitted: Mapping[EngineRequest, int] | None = None) -> list[EngineRequest]:
        """End the planned step: sample, stop what is done and free its blocks.

        `emitted` gives the tokens of a request that verified drafts, accepted ones plus one; all others
        emit one. Returns the requests that finished, in order; their status says why. Raises ValueError for
        more tokens than were verified.
        """
        finished = []
        for request in plan.sampling:
            tokens = (emitted or {}).get(request, request.drafts + 1)
            if not 1 <= tokens <= request.drafts + 1:
                raise ValueError(f"request {request.id!r} cannot emit {tokens} tokens with {request.drafts} drafts")
            # What was computed for rejected drafts does not count.
            request.computed -= request.drafts + 1 - tokens
            request.drafts = 0
            request.generated = min(request.generated + tokens, request.last_output)
            if request.generated == request.last_output:
                del self.running[request]
                self.drop_blocks(request)
                request.status = ending(request)
                finished.append(request)
        return finished

    # ---- admission -----------------------------------------------------------------------------------

    def admit_head(self, budget: int, cap: int = 0, defer: bool = False) -> int:
        """Seat the head of the queue if it fits, and return the tokens of its first chunk; 0 if it must wait.

        `budget` tokens are left in this step, at most `cap` of them for one request (0 is no bound); with
        `defer`, prompts wait. A seat must be free.
        """
        request = self.waiting[0]
        computed, size = request.computed, self._block_size
        hits: list[Block] = []
        if not computed and request.text is not None:
            hits = self._hits(request, request.text)
            computed = len(hits) * size
        total = request.prompt_tokens + request.generated
        # With one token left, an admission costs no more than a decode.
        if defer and computed < total - 1:
            return 0
        tokens = total - computed
        if cap and tokens > cap:
            tokens = cap
        if tokens > budget:
            if not self.config.enable_chunked_prefill:
                return 0
            tokens = budget
        needed = -(-(total if self.full_prompt else computed + tokens) // size) - len(hits)
        for block in hits:
            # A hit that nobody holds leaves the free list like any other block.
            needed += not block.holders
        if needed + (self.headroom if self.running else 0) > self.pool.free:
            return 0
        self.waiting.popleft()
        if hits:
            self.pool.touch(hits)
            request.blocks = hits
            request.held = request.full = len(hits)
        request.computed = computed
        request.hit_tokens = len(hits) * size
        request.status = "running"
        self.running[request] = None
        self.grow(request, tokens)
        return tokens

    def _plan_waiting(self, plan: StepPlan, budget: int, cap: int, defer: bool) -> None:
        skipped: list[EngineRequest] = []
        while self.waiting and budget > 0 and len(self.running) < self.config.max_num_seqs:
            request = self.waiting[0]
            back = request.status == "preempted"
            tokens = self.admit_head(budget, cap, defer)
            if not tokens:
                # Without chunks, the old engine lets others past a prompt that does not fit the budget.
                if self._old and not self.config.enable_chunked_prefill and self._too_long(request, budget, cap):
                    skipped.append(self.waiting.popleft())
                    continue
                break
            (plan.resumed if back else plan.admitted).append(request)
            plan.scheduled[request] = tokens
            budget -= tokens
            if self.config.enable_prefix_caching:
                plan.cached_tokens[request] = request.hit_tokens
                plan.prefix.count(request.total, request.hit_tokens, preempted=back and not self._old)
        for request in reversed(skipped):
            self.waiting.appendleft(request)

    def _too_long(self, request: EngineRequest, budget: int, cap: int) -> bool:
        hits = [] if request.text is None else self._hits(request, request.text)
        return _capped(request.total - len(hits) * self._block_size, cap) > budget

    # ---- those that run ------------------------------------------------------------------------------

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

    def _plan_running(self, plan: StepPlan, cap: int, defer: bool) -> int:
        """Give those that run their tokens, taking blocks from the last of them if need be; what is left."""
        budget = self.config.max_num_batched_tokens
        running = list(self.running)
        index = 0
        while index < len(running) and budget > 0:
            request = running[index]
            want = request.total + request.drafts - request.computed
            # The last position is never computed: its token would be one too many.
            tokens = min(_capped(want, cap), budget, self.config.max_model_len - 1 - request.computed)
            if tokens <= 0 or (defer and request.prefilling):
                index += 1
                continue
            needed = self._blocks(request.computed + tokens) - request.held
            while needed > self.pool.free:
                victim = self._victim(running)
                position = running.index(victim)
                del running[position]
                # In 0.11 a victim with tokens keeps them in the step's output, and since its place in the
                # list is not made up for, the request after the current one is passed over.
                if position < index and not self._old:
                    budget += plan.scheduled.pop(victim, 0)
                    index -= 1
                self._preempt(victim)
                plan.preempted.append(victim)
                if victim is request:
                    return budget
            if request.drafts:
                # Drafts for which there is no room are not verified.
                request.drafts = max(0, request.computed + tokens - request.total)
            self.grow(request, tokens)
            plan.scheduled[request] = tokens
            budget -= tokens
            index += 1
        return budget

    def _victim(self, running: Sequence[EngineRequest]) -> EngineRequest:
        if self.config.policy == "priority":
            return max(running, key=lambda request: (request.priority, request.arrival))
        return running[-1]

    def _preempt(self, request: EngineRequest) -> None:
        if self.config.enable_prefix_caching:
            # When it comes back it asks for what it leaves behind, so that must be findable.
            if request.text is None:
                request.text = TokenStream([(f"prompt_of:{request.id}", request.prompt_tokens)], self._block_size)
            request.shared_tokens = None
            self.register(request)
        self.drop_blocks(request)
        del self.running[request]
        request.computed = 0
        request.drafts = 0
        request.prefilling = True
        request.preemptions += 1
        request.status = "preempted"
        self.waiting.appendleft(request)

    # ---- blocks --------------------------------------------------------------------------------------

    def grow(self, request: EngineRequest, tokens: int) -> None:
        """Give a request the blocks for its next tokens, and index those that these tokens fill."""
        size = self._block_size
        end = request.computed + tokens
        held = -(-end // size)
        if held > request.held:
            self.pool.take(held - request.held)
            request.held = held
        # Drafts may be rejected, so only known tokens make a block full.
        full = min(end, request.prompt_tokens + request.generated) // size
        if full > request.full:
            request.full = full
            if request.text is not None:
                self.register(request)

    def drop_blocks(self, request: EngineRequest) -> None:
        """Give back all of a request's blocks."""
        shared = len(request.blocks)
        full = request.full if self.config.enable_prefix_caching else 0
        self.pool.release(request.held - full, full - shared, request.blocks)
        request.held = request.full = 0
        if shared:
            request.blocks = []

    def register(self, request: EngineRequest) -> None:
        """Index the full blocks that somebody may ask for."""
        text, shared = request.text, request.shared_tokens
        if text is None or not self.config.enable_prefix_caching:
            return
        full = request.full if shared is None else min(request.full, shared // self._block_size)
        if full > len(request.blocks):
            self._write(request, text)
            request.blocks += [self.pool.register(key) for key in text.keys(full)[len(request.blocks) :]]

    def _hits(self, request: EngineRequest, text: TokenStream) -> list[Block]:
        """What the cache has of a request from its start on."""
        self._write(request, text)
        # The last token is always computed, or there would be nothing to sample from.
        findable = request.total - 1
        return self._find(text, findable if request.shared_tokens is None else min(findable, request.shared_tokens))

    def _find(self, text: TokenStream, tokens: int) -> list[Block]:
        if not self.config.enable_prefix_caching:
            return []
        return self.pool.find(text.keys(tokens // self._block_size))

    @staticmethod
    def _write(request: EngineRequest, text: TokenStream) -> None:
        """Append the outputs to the text that are not in it yet."""
        written = text.tokens - request.prompt_tokens
        if written < request.generated:
            text.append(f"output_of:{request.id}", written, request.generated - written)

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self._block_size)


def _capped(tokens: int, cap: int) -> int:
    return min(tokens, cap) if cap else tokens
