"""PagedAttention (vLLM, SOSP 2023): blocks on demand instead of room for the longest possible answer."""

from __future__ import annotations

from statistics import fmean

from benchmarks.papers.common import OPT_13B, Claim, Experiment, capacity, lognormal, poisson, run, steady_mean
from sim import Result

COST = {"kind": "roofline", "model": OPT_13B, "gpu": "a100-40gb-sxm"}
# ShareGPT as the paper gives it: 161 prompt and 338 output tokens on average.
LENGTHS = {"prompt_tokens": lognormal(98, 1.0, 1024), "output_tokens": lognormal(230, 1.0, 1024)}
SLOTS = 15_700
LONGEST = 2048
COMMON = {"policy": "vllm", "max_seqs": 256, "token_budget": 2560, "prefix_cache": False}
PAGED = COMMON | {"block_tokens": 16, "kv_blocks": SLOTS // 16}
RESERVED = COMMON | {"block_tokens": LONGEST, "kv_blocks": SLOTS // LONGEST}
LIMIT_S = 0.1


def per_token_s(result: Result) -> float:
    """Mean over requests of end-to-end time per output token."""
    return fmean((record.e2e_s or 0.0) / record.output_tokens for record in result.requests)


def rate(server: dict[str, object]) -> float:
    """The highest rate with a mean of at most `LIMIT_S` a token."""
    return capacity(
        lambda rate: per_token_s(run(LENGTHS | {"arrivals": poisson(rate, 600)}, server, COST)) <= LIMIT_S, 0.05, 20
    )


def used_share(result: Result, block_tokens: int) -> float:
    """Tokens in the cache over the room that is held for them, averaged over time."""
    return steady_mean(result, "context_tokens") / (steady_mean(result, "kv_blocks") * block_tokens)


def experiment() -> Experiment:
    """Batch sizes under overload, use of the memory, capacity, and the knee."""
    burst = LENGTHS | {"arrivals": {"kind": "burst", "count": 600}}
    paged, reserved = run(burst, PAGED, COST), run(burst, RESERVED, COST)
    batches = steady_mean(paged, "running"), steady_mean(reserved, "running")
    capacities = rate(PAGED), rate(RESERVED)
    knee = [
        per_token_s(run(LENGTHS | {"arrivals": poisson(share * capacities[0], 600)}, PAGED, COST))
        for share in (0.25, 0.5, 0.75, 1.0, 1.5)
    ]
    return Experiment(
        "paged",
        "PagedAttention (vLLM), SOSP 2023",
        "OPT-13B by roofline on an A100-40GB with 15,700 token slots; lognormal lengths with the paper's ShareGPT "
        "means (161 and 338), at most 2,048 together. Orca(Max) is a cache in blocks of 2,048 tokens, so that every "
        "request holds room for the longest; both share vLLM's present scheduler, without prefix cache. "
        f"Capacity at a mean of {LIMIT_S * 1000:.0f} ms a token.",
        (
            Claim(
                "requests in the batch, paged over reserved for the longest",
                "4.3x (30.4 and 7.0 †)",
                f"{batches[0] / batches[1]:.1f}x ({batches[0]:.1f} and {batches[1]:.1f})",
                "same within a fifth" if 3.4 <= batches[0] / batches[1] <= 5.2 else "same direction",
            ),
            Claim(
                "requests in the batch, paged over reserved for the true length (Orca Oracle)",
                "2.2x (30.4 and 13.6 †)",
                "-",
                "not comparable: the baseline's allocator of powers of two is not modelled",
            ),
            Claim(
                "rate over Orca(Max)",
                "2.7x to 8x",
                f"{capacities[0] / capacities[1]:.1f}x ({capacities[0]:.2f} against {capacities[1]:.2f} req/s)",
                "same" if 2.7 <= capacities[0] / capacities[1] <= 8 else "same direction",
            ),
            Claim(
                "share of the held memory that holds tokens: reserved, paged",
                "20-38 %, 96 % †",
                f"{used_share(reserved, LONGEST):.0%}, {used_share(paged, 16):.0%}",
                "same direction",
            ),
            Claim(
                "latency is flat and then explodes at capacity",
                "figure 12",
                "ms a token at 0.25, 0.5, 0.75, 1 and 1.5 of capacity: "
                + ", ".join(f"{1000 * item:.0f}" for item in knee),
                "same" if knee[1] < 2 * knee[0] and knee[4] > 5 * knee[0] else "differs",
            ),
        ),
    )
