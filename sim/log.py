"""What a simulation leaves behind, as columns: the life of every request and the steps of every replica.

Times are ticks. Consecutive steps that differ only by a constant growth are one *run*: its steps take
`first`, `first + growth`, `first + 2 * growth`, … ticks. So a run of a thousand decode steps is one row, and
everything per token can still be told exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.scenario import Scenario
from sim.table import Table

COMPLETED, CANCELLED, REJECTED, IN_FLIGHT, FAILED = range(5)
"""Values of a life's `status`. Failed: its replica was lost, or every attempt was refused."""
STATUS_NAMES = ("completed", "cancelled", "rejected", "in_flight", "failed")

PREFILL, DECODE, CHUNK, MIXED = range(4)
"""Values of a run's `kind`."""
KIND_NAMES = ("prefill", "decode", "chunk", "mixed")

LIFE = (
    "id",  # position in order of arrival, from 0
    "class_index",
    "number",  # 1 for the first of its class
    "status",
    "replica",  # the one that served it last; NONE if it never reached one
    "attempts",  # 1 unless it was sent again
    "preemptions",
    "prompt_tokens",
    "wanted_tokens",  # output tokens of a complete answer
    "output_tokens",  # tokens the client received
    "cached_tokens",  # prompt tokens taken from the prefix cache at its first admission
    "computed_tokens",  # prompt tokens the server worked through, each time it did
    "recomputed_tokens",  # tokens worked through again after a preemption or a lost replica
    "wasted_tokens",  # output tokens generated that no client received
    "arrival",  # at the front end
    "queued",  # joined a replica's queue
    "scheduled",  # start of the first step that worked on it
    "first_token",  # seen by the client
    "last_token",  # the latest one seen by the client
    "ended",  # last token seen, cancelled, rejected or failed; NONE while in flight
    "transport",  # server to client, part of first_token and last_token
    "first_run",  # the run at whose end its first token was emitted; NONE when its gaps stand in `gaps`
    "last_run",  # the run at whose end its latest token of that stretch was emitted
)
RUN = (
    "start",
    "steps",
    "first",  # ticks of the first step
    "growth",  # ticks by which each step is longer than the one before
    "kind",
    "prefill_tokens",  # of one step (a run with prefill has one step)
    "decode_seqs",  # in every step of the run
    "context_tokens",  # read by the first step
    "running",  # seats taken
    "waiting",  # in the replica's queue
    "kv_blocks",  # held when the run ends
)
STRETCH = ("id", "replica", "first_run", "last_run")
"""A further stretch of steps in which a request emitted each time, after a pause (preemption, retry)."""
GAP = ("id", "ticks")
"""Single gaps: those that bridge a pause, and all gaps of requests without runs."""

OFF, STARTING, READY, DRAINING, LOST = range(5)
"""Values of a replica's `state`. Draining: finishes what it has. Lost: its machine comes back."""
STATE = ("replica", "state", "since")
"""A replica's state from a tick on."""


@dataclass(frozen=True, slots=True)
class Log:
    """All of one simulation. A request's gaps between tokens are, together:

    the step durations of its replica's runs `first_run + 1 … last_run` (nothing when `first_run` is NONE),
    those of its further stretches counted the same way, and its single gaps.
    """

    scenario: Scenario
    lives: Table
    """Columns `LIFE`, one row a request, by id."""
    runs: tuple[Table, ...]
    """Columns `RUN`, one table a replica, in order of time."""
    stretches: Table
    gaps: Table
    end: int
    """When the simulation ended, ticks: the last thing that happened, or the horizon."""
    partial: bool = False
    """Stopped by its user before that; what was unfinished is in flight."""
    states: Table = field(default_factory=lambda: Table(STATE))
    """Columns `STATE`, in order of time; empty where all replicas are ready throughout."""
