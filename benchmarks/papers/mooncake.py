"""Mooncake (FAST 2025): how much of the prompts of its own traces a cache of a given size finds again."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.papers.common import Claim, Experiment
from sim.kv import BlockPool
from sim.traces.prefixes import block_ids
from sim.traces.reading import load_trace

BLOCK_TOKENS = 512
LOCAL_TOKENS = 3_000_000
UNLIMITED = 10_000_000
WHERE = "https://github.com/kvcache-ai/Mooncake, FAST25-release/traces/"


def prompts(path: Path) -> list[list[int]]:
    """The block ids of every prompt, in order of arrival."""
    trace = load_trace(path, "mooncake")
    return [list(ids) for ids in block_ids(trace.prefixes, trace.prompt_tokens, BLOCK_TOKENS)]


def lookup(pool: BlockPool, ids: Sequence[int]) -> int:
    """Serve one prompt: blocks found, the rest taken from those unused longest, all given back at once."""
    ids = ids[: pool.total]
    found = pool.find(ids)
    pool.touch(found)
    pool.take(len(ids) - len(found))
    shared = [*found, *(pool.register(block) for block in ids[len(found) :])]
    pool.release(0, shared=shared)
    return len(found)


def hit_ratio(all_ids: Sequence[Sequence[int]], blocks: int) -> float:
    """Blocks found over blocks asked for, with one cache for all."""
    pool = BlockPool(blocks)
    return sum(lookup(pool, ids) for ids in all_ids) / sum(map(len, all_ids))


def local_ratio(all_ids: Sequence[Sequence[int]], blocks: int, machines: int, seed: int = 1) -> float:
    """The same with a cache for each machine and prompts sent to any of them."""
    source = random.Random(seed)
    pools = [BlockPool(blocks) for _ in range(machines)]
    return sum(lookup(source.choice(pools), ids) for ids in all_ids) / sum(map(len, all_ids))


def percent(values: Iterable[float]) -> str:
    """Shares as text."""
    return ", ".join(f"{item:.1%}" for item in values)


def experiment(folder: Path) -> Experiment:
    """Hit ratios over the size of the cache, and one pool against one cache a machine."""
    sizes = (1_000, LOCAL_TOKENS // BLOCK_TOKENS, 20_000, 50_000, UNLIMITED)
    conversation, synthetic = (prompts(folder / f"{name}_trace.jsonl") for name in ("conversation", "synthetic"))
    talk = [hit_ratio(conversation, size) for size in sizes]
    made = [hit_ratio(synthetic, size) for size in (*sizes[:3], sizes[4])]
    large = 50_000_000 // BLOCK_TOKENS
    pooled = [hit_ratio(ids, 16 * sizes[1]) / local_ratio(ids, sizes[1], 16) for ids in (conversation, synthetic)]
    return Experiment(
        "mooncake",
        "Mooncake, FAST 2025",
        f"The published traces ({WHERE}), blocks of {BLOCK_TOKENS} tokens, least recently used lost first and of one "
        "prompt its tail, the simulator's own pool of blocks; hits only of whole blocks from the start of a prompt.",
        (
            Claim(
                "conversation: blocks found with 1,000, 5,859 (3M tokens), 20,000, 50,000 and unlimited blocks",
                "40 % cache ratio of the trace; sizes computed independently: 4.5, 13.6, 28.8, 35.5, 36.6 %",
                percent(talk),
                "same as the independent computation"
                if max(abs(a - b) for a, b in zip(talk, (0.045, 0.136, 0.288, 0.355, 0.366), strict=True)) < 0.002
                else "differs",
            ),
            Claim(
                "synthetic: with 1,000, 5,859, 20,000 and unlimited blocks",
                "66 % cache ratio of the trace; sizes computed independently: 8.4, 30.9, 57.2, 64.0 %",
                percent(made),
                "same as the independent computation"
                if max(abs(a - b) for a, b in zip(made, (0.084, 0.309, 0.572, 0.640), strict=True)) < 0.002
                else "differs",
            ),
            Claim(
                "share of the highest hit ratio with 3M tokens: conversation, synthetic",
                "41 %, 46 %",
                f"{talk[1] / talk[4]:.0%}, {made[1] / made[3]:.0%}",
                "same within a few points",
            ),
            Claim(
                "the same with 50M tokens",
                "nearly 100 %",
                f"{hit_ratio(conversation, large) / talk[4]:.0%}, {hit_ratio(synthetic, large) / made[3]:.0%}",
                "same",
            ),
            Claim(
                "hits of one pool over 16 machines with a cache of 3M tokens each and no affinity: "
                "conversation, synthetic",
                "2.2x, 2.4x",
                ", ".join(f"{item:.1f}x" for item in pooled),
                "same direction; the paper's number of prefill machines and its routing are not given with the figure",
            ),
        ),
    )
