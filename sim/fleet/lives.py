"""The life of each request across its attempts, and the rows it leaves in the log."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.arrivals import Prefix
from sim.log import COMPLETED, GAP, IN_FLIGHT, LIFE, STRETCH
from sim.replica import Sequence
from sim.table import NONE, Table


class Seen(NamedTuple):
    """What a client saw of an answer up to some moment; times with transport."""

    tokens: int
    first_token: int = NONE
    last_token: int = NONE
    first_run: int = NONE
    last_run: int = NONE
    stretches: Many[tuple[int, int, int]] = ()
    gaps: Many[int] = ()


NOTHING = Seen(0)


@dataclass(slots=True, eq=False)
class Life:
    """One request as its client knows it. Times are ticks."""

    id: int
    class_index: int
    number: int
    prompt_tokens: int
    output_tokens: int
    prefix: Prefix
    priority: int
    arrival: int
    sent: int
    """When the client sent it last."""
    attempts: int = 1
    """How often it was sent, by its client or again by the router."""
    tries: int = 1
    """How often its client sent it."""
    seq: Sequence | None = None
    """What can still answer it; None while it is on its way, or given up."""
    served: Sequence | None = None
    """The latest sequence of it, also after it was given up."""
    replica: int = NONE
    status: int = IN_FLIGHT
    ended: int = NONE
    seen: Seen = NOTHING
    """What the client had when it ended without a complete answer."""
    inside: int = 0
    """Sequences of it on servers, those nobody waits for included."""
    lost_tokens: int = 0
    """Tokens in the cache of a lost replica that the next one has to work through again."""
    # Sums over the sequences that have left their servers.
    produced: int = 0
    computed: int = 0
    recomputed: int = 0
    preemptions: int = 0
    cached: int = NONE

    @property
    def waits(self) -> bool:
        """Whether its client still wants an answer."""
        return self.status == IN_FLIGHT

    def count(self, seq: Sequence) -> None:
        """Add what a sequence has cost; once, when it has left its server."""
        self.inside -= 1
        self.produced += seq.generated
        self.computed += seq.computed_prompt
        self.preemptions += seq.preemptions
        self.recomputed += seq.recomputed
        if self.lost_tokens:
            self.recomputed += min(self.lost_tokens, seq.computed_prompt)
            self.lost_tokens = 0
        if self.cached == NONE:
            self.cached = seq.cached


@dataclass(slots=True)
class Book:
    """The tables that lives end in."""

    transports: Many[int]
    """Of each class, ticks."""
    lives: Table = field(default_factory=lambda: Table(LIFE))
    stretches: Table = field(default_factory=lambda: Table(STRETCH))
    gaps: Table = field(default_factory=lambda: Table(GAP))
    end: int = 0
    """The latest end of a life."""

    def write(self, life: Life) -> None:
        """Add the row of a life that has nothing left on any server."""
        seq = life.served
        transport = self.transports[life.class_index]
        if life.status == COMPLETED:
            assert seq is not None
            seen = whole(seq, transport)
        else:
            seen = life.seen
        queued = scheduled = NONE
        if seq is not None:
            queued = NONE if seq.queued is None else seq.queued
            scheduled = NONE if seq.scheduled is None else seq.scheduled
        number = life.id
        self.lives.add(
            number,
            life.class_index,
            life.number,
            life.status,
            life.replica,
            life.attempts,
            life.preemptions,
            life.prompt_tokens,
            life.output_tokens,
            seen.tokens,
            max(life.cached, 0),
            life.computed,
            life.recomputed,
            life.produced - seen.tokens,
            life.arrival,
            queued,
            scheduled,
            seen.first_token,
            seen.last_token,
            life.ended,
            transport,
            seen.first_run,
            seen.last_run,
        )
        for replica, first, last in seen.stretches:
            self.stretches.add(number, replica, first, last)
        for gap in seen.gaps:
            self.gaps.add(number, gap)
        self.end = max(self.end, life.ended)

    def sort(self) -> None:
        """Put every table in the order of the requests."""
        for table in (self.lives, self.stretches, self.gaps):
            table.sort("id")


def whole(seq: Sequence, transport: int) -> Seen:
    """All that a sequence has emitted."""
    if seq.first_token is None or seq.last_token is None:
        return NOTHING
    return Seen(
        seq.generated,
        seq.first_token + transport,
        seq.last_token + transport,
        seq.first_run,
        seq.last_run,
        seq.stretches,
        seq.gaps,
    )


def seen_by(seq: Sequence, transport: int, at: int, replica: int, runs: Many[Table]) -> Seen:
    """What the client has of a sequence at the tick `at`: tokens emitted at least `transport` before.

    `replica` is where its first stretch ran. The sequence may go on afterwards; what is returned stays.
    """
    cutoff = at - transport
    first, last = seq.first_token, seq.last_token
    if first is None or last is None or first > cutoff:
        return NOTHING
    if last <= cutoff:
        everything = whole(seq, transport)
        return everything._replace(stretches=tuple(seq.stretches), gaps=tuple(seq.gaps))
    spans = list(seq.stretches)
    if seq.first_run != NONE:
        spans.insert(0, (replica, seq.first_run, seq.last_run))
    if not spans:
        return _cut_singles(seq, first, transport, cutoff)
    return _cut_spans(seq, spans, first, transport, cutoff, runs)


def _cut_singles(seq: Sequence, first: int, transport: int, cutoff: int) -> Seen:
    gaps: list[int] = []
    now = first
    for gap in seq.gaps:
        if now + gap > cutoff:
            break
        now += gap
        gaps.append(gap)
    return Seen(1 + len(gaps), first + transport, now + transport, gaps=gaps)


def _cut_spans(
    seq: Sequence, spans: Many[tuple[int, int, int]], first: int, transport: int, cutoff: int, runs: Many[Table]
) -> Seen:
    """Keep the spans of runs that are over by `cutoff`; of the one it falls into, the rest becomes single gaps."""
    kept: list[tuple[int, int, int]] = []
    gaps: list[int] = []
    tokens, last = 0, first
    for replica, from_run, to_run in spans:
        rows = runs[replica].rows()
        names = {name: index for index, name in enumerate(runs[replica].names)}
        columns = [names[name] for name in ("start", "steps", "first", "growth")]
        opens = _end(*(int(rows[from_run, column]) for column in columns))
        if opens > cutoff:
            break
        if tokens:
            gaps.append(opens - last)
        last, tokens, upto = opens, tokens + 1, from_run
        for run in range(from_run + 1, to_run + 1):
            start, steps, step, growth = (int(rows[run, column]) for column in columns)
            if _end(start, steps, step, growth) <= cutoff:
                last, tokens, upto = _end(start, steps, step, growth), tokens + steps, run
                continue
            while last + step <= cutoff:
                gaps.append(step)
                last, tokens, step = last + step, tokens + 1, step + growth
            break
        kept.append((replica, from_run, upto))
    head = kept.pop(0) if seq.first_run != NONE else (NONE, NONE, NONE)
    return Seen(tokens, first + transport, last + transport, head[1], head[2], kept, gaps)


def _end(start: int, steps: int, first: int, growth: int) -> int:
    return start + steps * first + growth * (steps * (steps - 1) // 2)
