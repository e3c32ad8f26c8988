"""The step policies: each plans the next engine step from what waits and what runs.

A policy seats requests from the head of the queue only, so nobody overtakes, and seats a prompt no earlier
than the step that first works on it. `plan` returns None exactly when there is nothing to do.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import NamedTuple, Protocol

from sim.cost import StepKind, StepWork, attention_pairs
from sim.replica import Sequence
from sim.server import Server


def tokens_left(seq: Sequence) -> int:
    """Tokens to work through before the next one comes of it.

    A request that goes on after its replica was lost works through what it had said as well.
    """
    return seq.prompt_tokens + seq.generated - seq.computed


def only_decodes(seq: Sequence) -> bool:
    """Whether a sequence that takes a seat has no prompt work: all but its latest token are in the cache."""
    return tokens_left(seq) <= (seq.generated > 0)


class StepPlan(NamedTuple):
    """What the next step computes: prompt tokens for some sequences, one token each for others."""

    kind: StepKind
    prefill: list[tuple[Sequence, int]]
    decode: list[Sequence]

    def work(self) -> StepWork:
        """The plan as the cost model sees it."""
        tokens = pairs = context = 0
        for seq, chunk in self.prefill:
            tokens += chunk
            context += seq.computed
            pairs += attention_pairs(chunk, seq.computed)
        for seq in self.decode:
            context += seq.prompt_tokens + seq.generated
        return StepWork(self.kind, tokens, len(self.decode), context, pairs)


class ServerState:
    """The queue and the seats of one replica."""

    def __init__(self, max_seqs: int) -> None:
        self.max_seqs = max_seqs
        # Ordered by arrival in the queue, with removal of any member in constant time for cancellations.
        self.waiting: OrderedDict[int, Sequence] = OrderedDict()
        self.running: dict[int, Sequence] = {}
        """By the order of being seated."""
        self.prompting: dict[int, Sequence] = {}
        """Those of `running` with prompt work left."""

    @property
    def free_seats(self) -> int:
        return self.max_seqs - len(self.running)

    def head(self) -> Sequence | None:
        """The request that has waited longest."""
        return next(iter(self.waiting.values()), None)

    def seat_head(self, now: int) -> Sequence:
        """Move the head of the queue to a seat."""
        _, seq = self.waiting.popitem(last=False)
        if seq.scheduled is None:
            seq.scheduled = now
        self.running[seq.id] = seq
        if not only_decodes(seq):
            self.prompting[seq.id] = seq
        return seq

    def seat_prefilled(self, now: int) -> None:
        """Seat requests at the head of the queue that have no prompt work left."""
        while self.free_seats and (head := self.head()) is not None and only_decodes(head):
            self.seat_head(now)

    def seat_up_to(self, limit: int, now: int) -> list[tuple[Sequence, int]]:
        """Seat at most `limit` requests with prompt work; returns each with its whole prompt."""
        seated: list[tuple[Sequence, int]] = []
        while len(seated) < limit and self.prompt_can_start():
            seq = self.seat_head(now)
            seated.append((seq, tokens_left(seq)))
        return seated

    def prompt_can_start(self) -> bool:
        """Whether a seat is free and the head of the queue has prompt work."""
        head = self.head()
        return head is not None and self.free_seats > 0 and not only_decodes(head)

    def decoding(self) -> list[Sequence]:
        """Sequences whose prompt is done, in the order they were seated."""
        if not self.prompting:
            return list(self.running.values())
        return [seq for seq in self.running.values() if seq.id not in self.prompting]

    def leave(self, seq: Sequence) -> None:
        """Take a sequence out of the queue or its seat, wherever it is."""
        self.waiting.pop(seq.id, None)
        self.running.pop(seq.id, None)
        self.prompting.pop(seq.id, None)


class Policy(Protocol):
    """A way to fill steps."""

    def plan(self, state: ServerState, now: int) -> StepPlan | None:
        """The next step, seating requests as needed; None when nothing waits or runs."""
        ...


def _decode_step(state: ServerState) -> StepPlan | None:
    decoding = state.decoding()
    return StepPlan("decode", [], decoding) if decoding else None


class Static:
    """A batch starts with what waits when the server is idle and runs until its last request is done."""

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size

    def plan(self, state: ServerState, now: int) -> StepPlan | None:
        if not state.running:
            while state.waiting and len(state.running) < self._batch_size:
                state.seat_head(now)
            batch = [(seq, tokens_left(seq)) for seq in state.prompting.values()]
            if batch:
                return StepPlan("prefill", batch, [])
        return _decode_step(state)


class Continuous:
    """Whole prompts as soon as seats are free; decodes wait while a prefill step runs."""

    def __init__(self, prompt_batch: int) -> None:
        self._prompt_batch = prompt_batch

    def plan(self, state: ServerState, now: int) -> StepPlan | None:
        state.seat_prefilled(now)
        prompts = state.seat_up_to(self._prompt_batch, now)
        if prompts:
            return StepPlan("prefill", prompts, [])
        return _decode_step(state)


class Alternating:
    """One bounded chunk of one prompt, then one decode step for the active sequences, and so on."""

    def __init__(self, chunk_tokens: int) -> None:
        self._chunk_tokens = chunk_tokens
        self._chunk_is_due = True

    def plan(self, state: ServerState, now: int) -> StepPlan | None:
        state.seat_prefilled(now)
        decodes = _decode_step(state)
        if decodes is None or self._chunk_is_due:
            chunk = self._next_chunk(state, now)
            if chunk is not None:
                self._chunk_is_due = False
                return StepPlan("chunk", [chunk], [])
        self._chunk_is_due = True
        return decodes

    def _next_chunk(self, state: ServerState, now: int) -> tuple[Sequence, int] | None:
        seq = next(iter(state.prompting.values()), None)
        if seq is None and state.prompt_can_start():
            seq = state.seat_head(now)
        return None if seq is None else (seq, min(tokens_left(seq), self._chunk_tokens))


class Mixed:
    """Every step has a token budget: decodes take theirs first, prompt chunks share the rest."""

    def __init__(self, token_budget: int, chunk_tokens: int | None) -> None:
        self._token_budget = token_budget
        self._chunk_tokens = token_budget if chunk_tokens is None else chunk_tokens

    def plan(self, state: ServerState, now: int) -> StepPlan | None:
        state.seat_prefilled(now)
        decode = state.decoding()
        if len(decode) > self._token_budget:
            decode = list(islice(decode, self._token_budget))
        budget = self._token_budget - len(decode)
        chunks: list[tuple[Sequence, int]] = []
        for seq in state.prompting.values():
            budget -= self._take(chunks, seq, budget)
        while budget and state.prompt_can_start():
            budget -= self._take(chunks, state.seat_head(now), budget)
        if chunks:
            return StepPlan("mixed" if decode else "chunk", chunks, decode)
        return StepPlan("decode", [], decode) if decode else None

    def _take(self, chunks: list[tuple[Sequence, int]], seq: Sequence, budget: int) -> int:
        tokens = min(tokens_left(seq), self._chunk_tokens, budget)
        if tokens:
            chunks.append((seq, tokens))
        return tokens


def policy_of(server: Server) -> Policy:
    """The step policy a server asks for. Raises ValueError for one that is not planned step by step."""
    if server.policy == "static":
        return Static(server.batch_size or server.max_seqs)
    if server.policy == "continuous":
        return Continuous(server.prompt_batch or server.max_seqs)
    if server.policy == "alternating":
        return Alternating(server.chunk_tokens or 512)
    if server.policy == "mixed":
        return Mixed(server.token_budget, server.chunk_tokens)
    raise ValueError(f"{server.policy!r} is not a step policy")
