"""Split pools: one reads prompts, the KV cache goes over a link, the other decodes."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from sim.fleet.clock import Rank
from sim.fleet.lives import Life
from sim.fleet.node import Node, State
from sim.fleet.spec import Disaggregated
from sim.replica import Sequence
from sim.table import NONE
from sim.ticks import TICKS_PER_S, to_ticks

if TYPE_CHECKING:
    from sim.fleet.driver import Driver


class Split:
    """Takes requests from the pool that reads to the pool that decodes.

    The reading replica lets go of the cache as soon as the prompt is read. Each link carries one transfer at a
    time; a transfer takes the link that is free first.
    """

    def __init__(self, driver: Driver, spec: Disaggregated) -> None:
        self._driver = driver
        self._decoders = driver.pools.decoders
        self._early_token = spec.first_token == "prefill"
        self._per_token = Fraction(repr(spec.kv_bytes_per_token)) / Fraction(repr(spec.bandwidth_bytes_per_s))
        self._latency = to_ticks(spec.latency_s)
        self._links = [0] * spec.links
        """When each is free."""
        self._reading: set[Sequence] = set()
        self._waiting: deque[tuple[Life, Sequence]] = deque()
        """Read, but no decoding replica is ready."""

    def reading(self, seq: Sequence) -> Sequence:
        """Let a sequence end with its first token, which the reading step brings."""
        seq.output_tokens = 1
        self._reading.add(seq)
        return seq

    def takes(self, life: Life, seq: Sequence) -> bool:
        """A sequence is over: hand it on if it only read the prompt and more is to come."""
        if seq not in self._reading:
            return False
        self._reading.remove(seq)
        if self._early_token and life.output_tokens == 1:
            return False
        decoding = Sequence(
            seq.id,
            seq.class_index,
            seq.number,
            seq.prompt_tokens,
            life.output_tokens,
            seq.arrival,
            seq.prefix,
            seq.priority,
            computed=seq.prompt_tokens,
            queued=seq.queued,
            scheduled=seq.scheduled,
        )
        if self._early_token:
            decoding.generated = 1
            decoding.first_token = decoding.last_token = seq.last_token
            if seq.first_run != NONE:
                decoding.stretches.append((life.replica, seq.first_run, seq.last_run))
        life.seq = life.served = decoding
        self._send(life, decoding)
        return True

    def forget(self, seq: Sequence) -> None:
        """A sequence will not be read to its end."""
        self._reading.discard(seq)

    def send_waiting(self) -> None:
        """A decoding replica may be ready again."""
        waiting, self._waiting = self._waiting, deque()
        for life, seq in waiting:
            if life.seq is seq:
                self._send(life, seq)

    def _send(self, life: Life, seq: Sequence) -> None:
        clock = self._driver.clock
        node = self._decoders.router.choose(life.prefix, clock.now)
        if node is None:
            if self._driver.pools.has_hope(self._decoders):
                self._waiting.append((life, seq))
            else:
                self._driver.see(life)
                self._driver.fail(life)
            return
        link = min(range(len(self._links)), key=self._links.__getitem__)
        begins = max(clock.now, self._links[link])
        self._links[link] = over = begins + ceil(seq.prompt_tokens * self._per_token * TICKS_PER_S)
        starts = node.starts
        clock.after(over + self._latency - clock.now, Rank.WORLD, lambda: self._arrived(life, seq, node, starts))

    def _arrived(self, life: Life, seq: Sequence, node: Node, starts: int) -> None:
        driver = self._driver
        if life.seq is not seq:
            return  # its client has left
        if node.state is State.READY and node.starts == starts:
            if not self._early_token:
                life.produced -= 1  # the token that ended the reading is generated once more here
            driver.put(node, life, seq)
        else:
            life.attempts += 1
            life.lost_tokens = seq.prompt_tokens
            driver.place(life, driver.fresh(life))
        driver.machines.round_off()
