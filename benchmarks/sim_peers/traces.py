"""The traces every simulator gets: drawn once from a seed, then written in each one's own format.

Arrival times are whole multiples of 0.1 ms, the coarsest unit that any of the readers keeps, so all of them
see the same numbers.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from pathlib import Path

TRACE_SEED = 42
BLOCK_TOKENS = 512
"""Tokens that one content id of the Mooncake format stands for."""
SHARED_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class Case:
    """One trace: Poisson arrivals and one or two sizes of request."""

    name: str
    count: int
    rate_per_s: float
    long_share: float = 0.0
    """Share of requests with 8,192 prompt and 64 output tokens; the others have 256 and 128."""
    stretch: int = 1
    """Factor on every output length."""
    groups: int = 0
    """Each prompt starts with one of this many texts of 1,024 tokens, which come on top of its length; 0: none."""
    kv_blocks: int = 25_000
    prefix_cache: bool = True


FIXED = [Case(f"fixed {count:,}, 8/s", count, 8.0) for count in (1_000, 10_000, 100_000, 1_000_000)]
SLOW, FAST = Case("fixed 1,000, 1/s", 1_000, 1.0), Case("fixed 1,000, 16/s", 1_000, 16.0)
BURST = Case("burst 1,000", 1_000, 10_000.0)
MIXED = [Case(f"mixed {count:,}, 3/s", count, 3.0, 0.1) for count in (1_000, 10_000)]
CASES = [*FIXED, SLOW, FAST, BURST, *MIXED]
STRETCHED = [
    replace(case, name=f"{case.name}, outputs x{factor}", stretch=factor)
    for case in (replace(FIXED[1], name="fixed 10,000, 3/s", rate_per_s=3.0), MIXED[1])
    for factor in (1, 2, 4)
]
"""The same arrivals and prompts with longer answers; 3/s, so that the longest still finish as fast as they come."""


COMPARED = [
    FIXED[0],
    FAST,
    BURST,
    MIXED[0],
    Case("shared prefixes, 1,000, 8/s", 1_000, 8.0, groups=5),
    Case("shared prefixes that are evicted, 1,000, 8/s", 1_000, 8.0, groups=40, kv_blocks=1_500),
    Case("preemption without prefix cache, 1,000, 16/s", 1_000, 16.0, kv_blocks=375, prefix_cache=False),
    Case("preemption with prefix cache, 1,000, 16/s", 1_000, 16.0, kv_blocks=375),
]
"""Traces on which every token's time is compared."""


@dataclass(frozen=True, slots=True)
class Request:
    """`arrival` is in units of 0.1 ms; `group` is the shared text its prompt starts with, -1 for none."""

    arrival: int
    prompt_tokens: int
    output_tokens: int
    group: int = -1


def draw(case: Case) -> list[Request]:
    """The requests of a case, in order of arrival; always the same ones."""
    source = random.Random(TRACE_SEED)
    clock, requests = 0.0, []
    for _ in range(case.count):
        clock += source.expovariate(case.rate_per_s)
        prompt, output = (8192, 64) if source.random() < case.long_share else (256, 128)
        group = source.randrange(case.groups) if case.groups else -1
        prompt += SHARED_TOKENS if case.groups else 0
        requests.append(Request(round(clock * 10_000), prompt, output * case.stretch, group))
    return requests


def write_mooncake(requests: list[Request], path: Path) -> None:
    """One JSON object a line, times in milliseconds."""
    shared = SHARED_TOKENS // BLOCK_TOKENS
    next_id = shared * (1 + max(request.group for request in requests))
    with path.open("w", encoding="utf-8") as file:
        for request in requests:
            blocks = -(-request.prompt_tokens // BLOCK_TOKENS)
            common = range(request.group * shared, (request.group + 1) * shared) if request.group >= 0 else range(0)
            own = range(next_id, next_id + blocks - len(common))
            row = {
                "timestamp": request.arrival / 10,
                "input_length": request.prompt_tokens,
                "output_length": request.output_tokens,
                "hash_ids": [*common, *own],
            }
            file.write(json.dumps(row) + "\n")
            next_id += len(own)


def write_list(requests: list[Request], path: Path) -> None:
    """One JSON list, times in seconds: what sched-sim reads."""
    rows = [
        {
            "id": f"r{number}",
            "timestamp": request.arrival / 10_000,
            "prompt_tokens": request.prompt_tokens,
            "output_tokens": request.output_tokens,
        }
        for number, request in enumerate(requests)
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
