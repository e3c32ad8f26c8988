"""Block ids of recorded prompts to shared prefixes and back.

Public traces name each block of a prompt's tokens by an id; equal ids mean equal tokens from the start of the
prompt to the block's end. So the prompts form a tree. What only one request uses is private to it. The rest
is told as stretches of the tree without a branch, each under a label of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count

Prefix = tuple[tuple[str, int], ...]
"""What a prompt starts with and others may share: labels and lengths in tokens. The rest is its own."""


class _Tree:
    """Nodes are blocks; a node continues the label of its parent if it is the first child there."""

    def __init__(self) -> None:
        self.children: dict[tuple[int, int], int] = {}
        self.uses: list[int] = []
        self.label: list[int] = []
        self._continued: list[bool] = []

    def walk(self, ids: Iterable[int]) -> list[int]:
        """The nodes of a prompt, made where they are new, each used once more."""
        parent = -1
        path = []
        for block in ids:
            node = self.children.get((parent, block))
            if node is None:
                node = self._add(parent)
                self.children[parent, block] = node
            self.uses[node] += 1
            path.append(node)
            parent = node
        return path

    def _add(self, parent: int) -> int:
        node = len(self.uses)
        self.uses.append(0)
        self._continued.append(False)
        if parent >= 0 and not self._continued[parent]:
            self._continued[parent] = True
            self.label.append(self.label[parent])
        else:
            self.label.append(node)
        return node


def shared_prefixes(
    ids: Sequence[Sequence[int]], prompt_tokens: Sequence[int], block_tokens: int, name: str
) -> tuple[Prefix, ...]:
    """What each prompt shares with another one, from its block ids.

    `name` goes into the labels, so that two traces share nothing. The last block of a prompt may be partly
    filled. A block that no other prompt has at this place, and everything behind it, is private.
    """
    seen = Counter(chain.from_iterable(ids))
    tree = _Tree()
    paths = []
    for blocks in ids:
        shared = next((i for i, block in enumerate(blocks) if seen[block] < 2), len(blocks))
        paths.append(tree.walk(blocks[:shared]))
    return tuple(
        _prefix(tree, path, tokens, block_tokens, name) for path, tokens in zip(paths, prompt_tokens, strict=True)
    )


def _prefix(tree: _Tree, path: Sequence[int], prompt_tokens: int, block_tokens: int, name: str) -> Prefix:
    parts: list[tuple[str, int]] = []
    last = -1
    left = prompt_tokens
    for node in path:
        if tree.uses[node] < 2:
            break
        tokens = min(block_tokens, left)
        left -= tokens
        label = tree.label[node]
        if label == last:
            parts[-1] = (parts[-1][0], parts[-1][1] + tokens)
        else:
            parts.append((f"{name}#{label}", tokens))
            last = label
    return tuple(parts)


def block_ids(prefixes: Sequence[Prefix], prompt_tokens: Sequence[int], block_tokens: int) -> Iterator[list[int]]:
    """Ids for the blocks of each prompt, so that equal ids mean equal tokens from the start on.

    A prefix that ends inside a block counts up to the block before, unless the prompt ends there too.
    """
    numbers = count()
    known: dict[tuple[int, tuple[tuple[str, int, int], ...]], int] = {}
    for prefix, tokens in zip(prefixes, prompt_tokens, strict=True):
        blocks = -(-tokens // block_tokens)
        ids: list[int] = []
        for content in _blocks(prefix, block_tokens, ends_prompt=sum(part[1] for part in prefix) == tokens):
            key = (ids[-1] if ids else -1, content)
            if key not in known:
                known[key] = next(numbers)
            ids.append(known[key])
        ids.extend(next(numbers) for _ in range(blocks - len(ids)))
        yield ids


def _blocks(prefix: Prefix, block_tokens: int, ends_prompt: bool) -> Iterator[tuple[tuple[str, int, int], ...]]:
    """The contents of a prefix's blocks: pieces of label, offset and length."""
    pieces: list[tuple[str, int, int]] = []
    room = block_tokens
    for label, length in prefix:
        start = 0
        while start < length:
            taken = min(room, length - start)
            pieces.append((label, start, taken))
            start += taken
            room -= taken
            if not room:
                yield tuple(pieces)
                pieces, room = [], block_tokens
    if pieces and ends_prompt:
        yield tuple(pieces)


class _Places:
    """Numbers for the places in the tree of prefixes where a part may start: after exactly the parts before."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str, int], int] = {}

    def after(self, place: int, label: str, tokens: int) -> int:
        return self._known.setdefault((place, label, tokens), len(self._known) + 1)


def without_private_parts(prefixes: Sequence[Prefix]) -> tuple[Prefix, ...]:
    """The prefixes, cut where no other one goes on alike."""
    # For each part that may be told at a place: the longest two lengths.
    lengths: dict[tuple[int, str], tuple[int, int]] = {}
    places = _Places()
    for prefix in prefixes:
        place = 0
        for label, tokens in prefix:
            first, second = lengths.get((place, label), (0, 0))
            lengths[place, label] = max(first, tokens), max(second, min(first, tokens))
            place = places.after(place, label, tokens)
    return tuple(_cut(prefix, lengths, places) for prefix in prefixes)


def _cut(prefix: Prefix, lengths: dict[tuple[int, str], tuple[int, int]], places: _Places) -> Prefix:
    kept = []
    place = 0
    for label, tokens in prefix:
        shared = min(tokens, lengths[place, label][1])
        if shared:
            kept.append((label, shared))
        if shared < tokens:
            break
        place = places.after(place, label, tokens)
    return tuple(kept)


def shareable_tokens(prefixes: Sequence[Prefix]) -> int:
    """Prompt tokens that an earlier prompt of the trace started with too: what a cache without limit saves."""
    longest: dict[tuple[int, str], int] = {}
    places = _Places()
    total = 0
    for prefix in prefixes:
        place, known = 0, True
        for label, tokens in prefix:
            before = longest.get((place, label), 0)
            if known:
                total += min(before, tokens)
                known = before >= tokens
            if tokens > before:
                longest[place, label] = tokens
            place = places.after(place, label, tokens)
    return total
