"""The paged KV cache: a pool of blocks with reference counts, a free list, and a prefix index.

A full block is known by a key that covers its own tokens and everything before them, so two sequences
share a block exactly when they agree up to its end. A block nobody holds stays on the free list and can be
hit there until somebody takes it for other tokens.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

BlockKey = int
"""Stands for a chain of full blocks; equal keys mean equal tokens from the start (128-bit digests)."""


class Run(NamedTuple):
    """Consecutive tokens of one text: token `start`, `start + 1`, … of the text called `label`."""

    label: str
    start: int
    tokens: int


class TokenStream:
    """A sequence's tokens as runs, and the keys of its full blocks, computed as far as asked for.

    `segments` are pairs of a label and a length in tokens, each starting at the label's first token. Two
    streams agree at a position when label and offset agree there. `salt` keeps apart streams that would
    otherwise share.
    """

    def __init__(self, segments: Iterable[tuple[str, int]], block_tokens: int, salt: str | None = None) -> None:
        self._block_tokens = block_tokens
        self._pending: deque[Run] = deque()
        self._keys: list[BlockKey] = []
        self._last: BlockKey = 0 if salt is None else _digest(0, salt)
        # Blocks that go on with the text of the one before have consecutive keys; the text and its next token.
        self._goes_on: tuple[str, int] | None = None
        self.tokens = 0
        for label, tokens in segments:
            self.append(label, 0, tokens)

    def branch(self) -> TokenStream:
        """A stream that goes on from this one's end on its own; keys known here are known there."""
        other = TokenStream((), self._block_tokens)
        other._pending = self._pending.copy()
        other._keys = self._keys.copy()
        other._last, other._goes_on = self._last, self._goes_on
        other.tokens = self.tokens
        return other

    def append(self, label: str, start: int, tokens: int) -> None:
        """Add `tokens` tokens of `label` from its offset `start` on."""
        self.tokens += tokens
        last = self._pending[-1] if self._pending else None
        # Runs that continue each other are one run, so that equal tokens have equal keys however they came.
        if last and last.label == label and last.start + last.tokens == start:
            self._pending[-1] = Run(label, last.start, last.tokens + tokens)
        elif tokens:
            self._pending.append(Run(label, start, tokens))

    def keys(self, blocks: int) -> Sequence[BlockKey]:
        """Keys of the first `blocks` full blocks, or of as many as there are."""
        wanted = min(blocks, self.tokens // self._block_tokens)
        while len(self._keys) < wanted:
            label, start, tokens = self._pending[0]
            alike = min(tokens // self._block_tokens, wanted - len(self._keys))
            if alike and (label, start) == self._goes_on:
                span = alike * self._block_tokens
                self._take(span)
                self._keys += range(self._last + 1, self._last + 1 + alike)
                self._last += alike
                self._goes_on = (label, start + span)
            else:
                runs = self._take(self._block_tokens)
                self._last = _digest(self._last, repr([tuple(run) for run in runs]))
                self._keys.append(self._last)
                self._goes_on = (label, start + self._block_tokens) if len(runs) == 1 else None
        return self._keys[:blocks]

    def _take(self, tokens: int) -> list[Run]:
        taken = []
        while tokens:
            run = self._pending.popleft()
            if run.tokens > tokens:
                self._pending.appendleft(Run(run.label, run.start + tokens, run.tokens - tokens))
                run = Run(run.label, run.start, tokens)
            taken.append(run)
            tokens -= run.tokens
        return taken


def _digest(parent: BlockKey, text: str) -> BlockKey:
    return int.from_bytes(blake2b(f"{parent}/{text}".encode(), digest_size=16).digest(), "big")


@dataclass(slots=True, eq=False)
class Block:
    """Blocks of one content. With a key: one full block that can be found; without: `count` that cannot."""

    key: BlockKey | None = None
    holders: int = 0
    count: int = 1


class BlockPool:
    """`total` blocks, each either held by somebody or on the free list.

    Which block is which does not matter, only what can still be found in it. So holders count the blocks
    they have, and a `Block` exists where somebody else may ask for the content: a full block with a key.

    Free blocks are taken from the front. Released blocks with content go to the back, so that the one unused
    longest is lost first; those without cannot be hit and go to the front, or also to the back when
    `unhashed_first` is off (vLLM 0.11).
    """

    def __init__(self, total: int, unhashed_first: bool = True) -> None:
        self.total = total
        self.free = total
        """Blocks nobody holds, with or without reusable content."""
        self._unhashed_first = unhashed_first
        self._blank = total
        """Free blocks without content; they stand before all of `_cached`."""
        self._cached: OrderedDict[Block, None] = OrderedDict()
        self._index: dict[BlockKey, dict[Block, None]] = {}

    @property
    def usage(self) -> float:
        """Share of the blocks that are held, 0 to 1."""
        return (self.total - self.free) / self.total

    def find(self, keys: Iterable[BlockKey]) -> list[Block]:
        """The blocks of the longest run of `keys`, from the first on, that are in the cache."""
        found = []
        for key in keys:
            same = self._index.get(key)
            if not same:
                break
            found.append(next(iter(same)))
        return found

    def touch(self, blocks: Iterable[Block]) -> None:
        """Hold `blocks` once more; those that were free leave the free list with their content."""
        for block in blocks:
            if not block.holders:
                del self._cached[block]
                self.free -= 1
            block.holders += 1

    def take(self, count: int) -> None:
        """Hold `count` blocks from the front of the free list; what they cached is lost.

        Raises ValueError when fewer are free.
        """
        if count > self.free:
            raise ValueError(f"{count} blocks asked for, {self.free} free")
        self.free -= count
        if count <= self._blank:
            self._blank -= count
            return
        count -= self._blank
        self._blank = 0
        cached = self._cached
        while count:
            block = next(iter(cached))
            if block.count > count:
                block.count -= count
                return
            del cached[block]
            count -= block.count
            if block.key is not None:
                self._forget(block)

    def register(self, key: BlockKey) -> Block:
        """Make the content of a full block that the caller holds findable, and return it."""
        block = Block(key, holders=1)
        self._index.setdefault(key, {})[block] = None
        return block

    def release(self, blank: int, private: int = 0, shared: Sequence[Block] = ()) -> None:
        """Give back a sequence's blocks, the tail first.

        From its start on they are `shared`, then `private` full ones that nobody will ask for, then `blank`
        ones that are not full. Raises ValueError when more is given back than was held.
        """
        self.free += blank + private
        if self._unhashed_first:
            self._blank += blank
        elif blank:
            self._cached[Block(count=blank)] = None
        if private:
            self._cached[Block(count=private)] = None
        for block in reversed(shared):
            if not block.holders:
                raise ValueError("a block is given back but nobody holds it")
            block.holders -= 1
            if not block.holders:
                self._cached[block] = None
                self.free += 1
        if self.free > self.total:
            raise ValueError("a block is given back but nobody holds it")

    def reset(self) -> bool:
        """Forget all cached content. Refused (False) while any block is held."""
        if self.free != self.total:
            return False
        self._cached.clear()
        self._index.clear()
        self._blank = self.total
        return True

    def _forget(self, block: Block) -> None:
        assert block.key is not None
        same = self._index[block.key]
        del same[block]
        if not same:
            del self._index[block.key]
