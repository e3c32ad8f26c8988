"""What happened to each request and in each step. Stored in ticks (exact), read in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from sim.cost import StepKind
from sim.ticks import TICKS_PER_S, to_seconds

Status = Literal["completed", "cancelled", "rejected", "in_flight", "failed"]


def _optional_s(ticks: int | None) -> float | None:
    return None if ticks is None else to_seconds(ticks)


def _difference(later: int | None, earlier: int | None) -> int | None:
    return None if later is None or earlier is None else later - earlier


class StepRecord(NamedTuple):
    """One finished engine step."""

    start_ticks: int
    duration_ticks: int
    kind: StepKind
    prefill_tokens: int
    decode_seqs: int
    replica: int = 0

    @property
    def start_s(self) -> float:
        return to_seconds(self.start_ticks)

    @property
    def duration_s(self) -> float:
        return to_seconds(self.duration_ticks)

    @property
    def end_s(self) -> float:
        return to_seconds(self.start_ticks + self.duration_ticks)


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """The life of one request as its client and the server's log see it.

    First and last token are the moments the client sees them (transport included). A time that never came
    is None. `output_tokens` counts tokens the client received; `wanted_tokens` what a complete answer has.
    """

    id: int
    class_name: str
    label: str
    status: Status
    prompt_tokens: int
    output_tokens: int
    wanted_tokens: int
    arrival_ticks: int
    queued_ticks: int | None
    scheduled_ticks: int | None
    first_token_ticks: int | None
    last_token_ticks: int | None
    ended_ticks: int | None
    """When the request left: last token seen, cancellation, rejection or failure; None while in flight."""
    transport_ticks: int
    gap_ticks: tuple[int, ...]
    computed_prompt_tokens: int
    """Prompt tokens the server worked through, finished or not."""
    wasted_output_tokens: int
    """Tokens generated that no client received."""
    replica: int | None = None
    """The one that served it last; None when it never reached one."""
    attempts: int = 1
    """1 unless its client sent it again."""
    preemptions: int = 0
    cached_tokens: int = 0
    """Prompt tokens taken from the prefix cache at its first admission."""
    recomputed_tokens: int = 0
    """Tokens worked through again after a preemption or a lost replica."""

    # ---- moments, seconds --------------------------------------------------------------------------

    @property
    def arrival_s(self) -> float:
        """The request reaches the front end."""
        return to_seconds(self.arrival_ticks)

    @property
    def queued_s(self) -> float | None:
        """Preprocessing is done and the request joins the queue."""
        return _optional_s(self.queued_ticks)

    @property
    def scheduled_s(self) -> float | None:
        """The first step that works on the request starts."""
        return _optional_s(self.scheduled_ticks)

    @property
    def first_token_s(self) -> float | None:
        """The client sees the first token."""
        return _optional_s(self.first_token_ticks)

    @property
    def last_token_s(self) -> float | None:
        """The client sees the latest token it received."""
        return _optional_s(self.last_token_ticks)

    @property
    def ended_s(self) -> float | None:
        """The request left: last token seen, cancellation or rejection."""
        return _optional_s(self.ended_ticks)

    # ---- durations, ticks --------------------------------------------------------------------------

    @property
    def ttft_ticks(self) -> int | None:
        return _difference(self.first_token_ticks, self.arrival_ticks)

    @property
    def queue_ticks(self) -> int | None:
        return _difference(self.scheduled_ticks, self.queued_ticks)

    @property
    def prefill_ticks(self) -> int | None:
        both = _difference(self.first_token_ticks, self.scheduled_ticks)
        return None if both is None else both - self.transport_ticks

    @property
    def e2e_ticks(self) -> int | None:
        if self.status != "completed":
            return None
        return _difference(self.last_token_ticks, self.arrival_ticks)

    @property
    def decode_ticks(self) -> int | None:
        if self.status != "completed":
            return None
        return _difference(self.last_token_ticks, self.first_token_ticks)

    # ---- durations, seconds ------------------------------------------------------------------------

    @property
    def ttft_s(self) -> float | None:
        """Arrival to first token seen: preprocessing, queue, prefill and transport."""
        return _optional_s(self.ttft_ticks)

    @property
    def queue_s(self) -> float | None:
        """Joining the queue to the start of the first step that works on the request."""
        return _optional_s(self.queue_ticks)

    @property
    def prefill_s(self) -> float | None:
        """Start of that step to the first token leaving the server."""
        return _optional_s(self.prefill_ticks)

    @property
    def e2e_s(self) -> float | None:
        """Arrival to last token seen; None unless completed."""
        return _optional_s(self.e2e_ticks)

    @property
    def decode_s(self) -> float | None:
        """First to last token; None unless completed."""
        return _optional_s(self.decode_ticks)

    @property
    def tpot_s(self) -> float | None:
        """(E2E - TTFT) / (n - 1); None for one token, which has no gap, and unless completed."""
        decode = self.decode_ticks
        if decode is None or self.output_tokens < 2:
            return None
        return decode / ((self.output_tokens - 1) * TICKS_PER_S)

    @property
    def gaps_s(self) -> tuple[float, ...]:
        """Time between consecutive tokens: n tokens have n - 1 gaps."""
        return tuple(to_seconds(gap) for gap in self.gap_ticks)
