"""The paged KV cache: a pool of blocks with reference counts, a free list, and a prefix index.

A full block is known by a key that covers its own tokens and everything before them, so two sequences
share a block exactly when they agree up to its end. A block nobody holds stays on the free list and can be
hit there until somebody takes it for other tokens.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

BlockKey = bytes
"""Stands for a chain of full blocks; equal keys mean equal tokens from the start."""


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
        self._parent = b"" if salt is None else blake2b(salt.encode(), digest_size=16).digest()
        self.tokens = 0
        for label, tokens in segments:
            self.append(label, 0, tokens)

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
        while len(self._keys) < min(blocks, self.tokens // self._block_tokens):
            text = repr([tuple(run) for run in self._take(self._block_tokens)])
            self._parent = blake2b(self._parent + text.encode(), digest_size=16).digest()
            self._keys.append(self._parent)
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


@dataclass(slots=True, eq=False)
class Block:
    """One block of the pool. `key` is set while its content is full and indexed."""

    id: int
    holders: int = 0
    key: BlockKey | None = None


@dataclass(slots=True)
class BlockPool:
    """`total` blocks, each either held by somebody or on the free list.

    Free blocks are taken from the front. Released blocks with a key go to the back, so that the one unused
    longest is lost first; those without one cannot be hit and go to the front, or also to the back when
    `unhashed_first` is off (vLLM 0.11).
    """

    total: int
    unhashed_first: bool = True
    _free: OrderedDict[int, Block] = field(init=False, default_factory=OrderedDict)
    _used: int = field(init=False, default=0)
    """Blocks ever taken. The others stand before all of `_free`, and come into being when taken."""
    _index: dict[BlockKey, OrderedDict[int, Block]] = field(init=False, default_factory=dict)

    @property
    def free(self) -> int:
        """Blocks nobody holds, with or without reusable content."""
        return len(self._free) + self.total - self._used

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
            found.append(next(iter(same.values())))
        return found

    def touch(self, blocks: Iterable[Block]) -> None:
        """Hold `blocks` once more; those that were free leave the free list with their content."""
        for block in blocks:
            if not block.holders:
                del self._free[block.id]
            block.holders += 1

    def take(self, count: int) -> list[Block]:
        """Hold `count` blocks from the front of the free list; what they cached is lost.

        Raises ValueError when fewer are free.
        """
        if count > self.free:
            raise ValueError(f"{count} blocks asked for, {self.free} free")
        taken = []
        for _ in range(count):
            if self._used < self.total:
                block = Block(self._used)
                self._used += 1
            else:
                _, block = self._free.popitem(last=False)
                self._forget(block)
            block.holders = 1
            taken.append(block)
        return taken

    def register(self, block: Block, key: BlockKey) -> None:
        """Make a full block's content findable; a block that has a key already keeps it."""
        if block.key is None:
            block.key = key
            self._index.setdefault(key, OrderedDict())[block.id] = block

    def release(self, blocks: Sequence[Block]) -> None:
        """Give back a sequence's blocks, listed from its start; the tail is given back first."""
        for block in reversed(blocks):
            if not block.holders:
                raise ValueError(f"block {block.id} is given back but nobody holds it")
            block.holders -= 1
            if block.holders:
                continue
            self._free[block.id] = block
            if block.key is None and self.unhashed_first:
                self._free.move_to_end(block.id, last=False)

    def reset(self) -> bool:
        """Forget all cached content. Refused (False) while any block is held."""
        if self.free != self.total:
            return False
        for block in self._free.values():
            self._forget(block)
        return True

    def _forget(self, block: Block) -> None:
        if block.key is not None:
            same = self._index[block.key]
            del same[block.id]
            if not same:
                del self._index[block.key]
            block.key = None
