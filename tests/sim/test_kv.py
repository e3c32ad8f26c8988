"""The block pool: nothing is lost or held twice, and only equal beginnings are shared."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sim.kv import Block, BlockPool, TokenStream

Segments = list[tuple[str, int]]
BLOCK = 4

segments = st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 7)), min_size=1, max_size=4)
salts = st.sampled_from([None, "s"])


def tokens_of(parts: Segments) -> list[tuple[str, int]]:
    """Every token by itself: its text and its place there."""
    return [(label, offset) for label, length in parts for offset in range(length)]


@given(segments, segments, salts, salts)
def test_keys_are_equal_exactly_for_equal_beginnings(a: Segments, b: Segments, salt_a: str, salt_b: str) -> None:
    first, second = TokenStream(a, BLOCK, salt_a), TokenStream(b, BLOCK, salt_b)
    keys_a, keys_b = first.keys(99), second.keys(99)
    assert len(keys_a) == sum(length for _, length in a) // BLOCK
    for n, (key_a, key_b) in enumerate(zip(keys_a, keys_b, strict=False), 1):
        alike = salt_a == salt_b and tokens_of(a)[: n * BLOCK] == tokens_of(b)[: n * BLOCK]
        assert (key_a == key_b) == alike


@given(st.integers(1, 40), st.data())
def test_keys_do_not_depend_on_how_the_tokens_came(length: int, data: st.DataObject) -> None:
    whole = TokenStream([("a", length)], BLOCK)
    pieces = TokenStream([], BLOCK)
    done = 0
    while done < length:
        step = data.draw(st.integers(1, length - done))
        pieces.append("a", done, step)
        done += step
        if data.draw(st.booleans()):
            pieces.keys(done // BLOCK)
    assert pieces.keys(99) == whole.keys(99)
    assert pieces.tokens == whole.tokens == length


class PoolMachine(RuleBasedStateMachine):
    """Sequences come, find, grow and leave in any order."""

    pool: BlockPool
    held: list[tuple[list[Block], int, Segments]]
    """Blocks that can be found, how many others, and the text."""

    @initialize(total=st.integers(1, 8), unhashed_first=st.booleans())
    def start(self, total: int, unhashed_first: bool) -> None:
        self.pool = BlockPool(total, unhashed_first)
        self.held = []
        self.content: dict[Block, list[tuple[str, int]]] = {}

    @rule(parts=segments)
    def admit(self, parts: Segments) -> None:
        stream = TokenStream(parts, BLOCK)
        full = stream.tokens // BLOCK
        hits = self.pool.find(stream.keys(full))
        for n, block in enumerate(hits, 1):
            assert self.content[block] == tokens_of(parts)[: n * BLOCK]
        needed = -(-stream.tokens // BLOCK) - len(hits)
        if needed + sum(not block.holders for block in hits) > self.pool.free:
            return
        self.pool.touch(hits)
        self.pool.take(needed)
        blocks = list(hits)
        for n in range(len(hits), full):
            blocks.append(self.pool.register(stream.keys(full)[n]))
            self.content[blocks[n]] = tokens_of(parts)[: (n + 1) * BLOCK]
        self.held.append((blocks, needed - full + len(hits), parts))

    @rule(full=st.integers(0, 3), blank=st.integers(0, 1))
    def pass_through(self, full: int, blank: int) -> None:
        """Somebody whose text nobody else has."""
        if full + blank <= self.pool.free:
            self.pool.take(full + blank)
            self.pool.release(blank, full)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        blocks, blank, parts = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        self.pool.release(blank, 0, blocks)
        stream = TokenStream(parts, BLOCK)
        # Nobody took a block since: all that was full can still be hit.
        assert len(self.pool.find(stream.keys(99))) == stream.tokens // BLOCK

    @rule()
    def reset(self) -> None:
        assert self.pool.reset() == (not self.held)

    @rule()
    def ask_for_too_much(self) -> None:
        before = self.pool.free
        with pytest.raises(ValueError, match="free"):
            self.pool.take(before + 1)
        assert self.pool.free == before

    @invariant()
    def conserved(self) -> None:
        held = len({block for part, _, _ in self.held for block in part}) + sum(blank for _, blank, _ in self.held)
        assert self.pool.free + held == self.pool.total
        assert self.pool.usage == pytest.approx(held / self.pool.total)

    @invariant()
    def held_as_often_as_counted(self) -> None:
        for part, _, _ in self.held:
            assert len(set(part)) == len(part)
            for block in part:
                assert block.holders == sum(block in other for other, _, _ in self.held)

    @invariant()
    def private_unless_shared_from_the_start(self) -> None:
        for part, _, parts in self.held:
            for other, _, others in self.held:
                for n, (one, two) in enumerate(zip(part, other, strict=False), 1):
                    if one is two and part is not other:
                        assert tokens_of(parts)[: n * BLOCK] == tokens_of(others)[: n * BLOCK]


TestPool = PoolMachine.TestCase
TestPool.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def admitted(pool: BlockPool, label: str, tokens: int) -> list[Block]:
    """Full blocks with the text, findable."""
    stream = TokenStream([(label, tokens)], BLOCK)
    pool.take(tokens // BLOCK)
    return [pool.register(key) for key in stream.keys(tokens // BLOCK)]


def found(pool: BlockPool, label: str, blocks: int) -> int:
    return len(pool.find(TokenStream([(label, blocks * BLOCK)], BLOCK).keys(blocks)))


def test_the_longest_unused_goes_first_and_of_one_sequence_the_tail() -> None:
    pool = BlockPool(6)
    old, new = admitted(pool, "old", 12), admitted(pool, "new", 12)
    pool.release(0, 0, old)
    pool.release(0, 0, new)
    pool.take(2)
    assert (found(pool, "old", 3), found(pool, "new", 3)) == (1, 3)
    pool.take(2)
    assert (found(pool, "old", 3), found(pool, "new", 3)) == (0, 2)


def test_a_hit_makes_a_sequence_young_again() -> None:
    pool = BlockPool(4)
    first, second = admitted(pool, "first", 8), admitted(pool, "second", 8)
    pool.release(0, 0, first)
    pool.release(0, 0, second)
    pool.touch(first)
    pool.release(0, 0, first)
    pool.take(2)
    assert (found(pool, "first", 2), found(pool, "second", 2)) == (2, 0)


@pytest.mark.parametrize(("unhashed_first", "survive"), [(True, 2), (False, 1)])
def test_blocks_without_a_key_are_used_again_first(unhashed_first: bool, survive: int) -> None:
    pool = BlockPool(3, unhashed_first)
    pool.release(0, 0, admitted(pool, "a", 8))
    # Blocks a1, a0 and the one nobody ever used, which stands first; this takes it and gives it back.
    pool.take(1)
    pool.release(1)
    pool.take(1)
    assert found(pool, "a", 2) == survive


def test_two_copies_of_one_block_outlive_each_other() -> None:
    pool = BlockPool(2)
    one, two = admitted(pool, "a", 4), admitted(pool, "a", 4)
    assert pool.find(TokenStream([("a", 4)], BLOCK).keys(1)) == one
    pool.release(0, 0, one)
    pool.take(1)
    assert pool.find(TokenStream([("a", 4)], BLOCK).keys(1)) == two


def test_private_content_ages_like_any_other() -> None:
    pool = BlockPool(6)
    pool.take(2)
    pool.release(0, 2)
    pool.release(0, 0, admitted(pool, "a", 8))
    pool.take(2)
    # The two blocks that were never used go first, then the private ones, then the text's tail.
    assert found(pool, "a", 2) == 2
    pool.take(3)
    assert found(pool, "a", 2) == 1


def test_giving_back_what_nobody_holds_is_refused() -> None:
    pool = BlockPool(1)
    with pytest.raises(ValueError, match="nobody holds it"):
        pool.release(1)
    pool = BlockPool(1)
    blocks = admitted(pool, "a", 4)
    pool.release(0, 0, blocks)
    with pytest.raises(ValueError, match="nobody holds it"):
        pool.release(0, 0, blocks)
