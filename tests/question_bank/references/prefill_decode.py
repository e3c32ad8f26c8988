"""Lesson 2's results again, in plain Python from the drawn numbers alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from question_bank.deep import Reference, collector

REFERENCES: dict[str, Reference] = {}
reference = collector(REFERENCES, "serving/prefill-decode")
P = Mapping[str, float]
R = dict[str, float]


def last_token(first: float, tokens: float, gap: float) -> float:
    """The time of the last token, by walking from token to token."""
    at = first
    for _ in range(int(tokens) - 1):
        at += gap
    return at


@reference("completion-time")
def _(p: P) -> R:
    first = sum(p[name] for name in ("queue_ms", "preprocess_ms", "prefill_ms"))
    return {"ttft": first, "completion": last_token(first, p["tokens"], p["gap_ms"])}


@reference("change-tradeoff")
def _(p: P) -> R:
    results = {}
    for when in ("before", "after"):
        first = p["queue_ms"] + p["preprocess_ms"] + p[f"prefill_{when}_ms"]
        results[f"ttft_{when}"] = first
        results[f"completion_{when}"] = last_token(first, p["tokens"], p[f"gap_{when}_ms"])
    return results


@reference("three-trials")
def _(p: P) -> R:
    return {f"{trial}_gain": (p[f"{trial}_rate"] / p["base_rate"] - 1) * 100 for trial in ("batch", "chunk")}


@reference("two-rates")
def _(p: P) -> R:
    requests = [(p["chat_prompt"], p["chat_output"])] * int(p["each"])
    requests += [(p["doc_prompt"], p["doc_output"])] * int(p["each"])
    return {
        "mean_prompt": sum(prompt for prompt, _ in requests) / len(requests),
        "request_rate": len(requests) / p["window_s"],
        "output_rate": sum(output for _, output in requests) / p["window_s"],
    }


@reference("chunk-limit")
def _(p: P) -> R:
    """The turns one after another: a chunk, a decode step, a chunk …"""
    left, at, decodes = p["doc_tokens"], 0.0, []
    while True:
        chunk = min(left, p["chunk_after"])
        at += p["base_ms"] + chunk / p["tokens_per_ms"]
        left -= chunk
        if left == 0:
            break
        at += p["base_ms"] + p["decode_part_ms"]
        decodes.append(at)
    return {"gap_after": decodes[1] - decodes[0], "document_after": at}


@reference("seats-that-stand-empty")
def _(p: P) -> R:
    """Step by step: who still writes in a batch of four that is held to its end."""
    left = [p["short"]] * 3 + [p["long"]]
    used = steps = 0
    while any(left):
        used += sum(1 for each in left if each)
        left = [max(0, each - 1) for each in left]
        steps += 1
    return {"used_share": 100 * used / (4 * steps), "earliest": steps}


@reference("largest-batch-for-a-limit")
def _(p: P) -> R:
    sequences = 0
    while p["base_ms"] + p["per_seq_ms"] * (sequences + 1) <= p["limit_ms"] + 1e-9:
        sequences += 1
    return {"by_limit": sequences, "by_pool": p["pool_tokens"] // p["chat_tokens"]}


@reference("a-line-through-two-batches")
def _(p: P) -> R:
    """Least squares through the two runs, which for two points is the line itself."""
    points = [(n, p["base_ms"] + p["slope_ms"] * n) for n in (p["n1"], p["n2"])]
    middle_n, middle_t = (sum(each[axis] for each in points) / 2 for axis in (0, 1))
    slope = sum((n - middle_n) * (t - middle_t) for n, t in points) / sum((n - middle_n) ** 2 for n, _ in points)
    return {
        "each_ms": slope,
        "fixed_ms": middle_t - slope * middle_n,
        "third_ms": middle_t + slope * (p["n3"] - middle_n),
    }


@reference("tpot-and-its-neighbour")
def _(p: P) -> R:
    times = [p["ttft_ms"]]
    for _token in range(int(p["tokens"]) - 1):
        times.append(times[-1] + p["gap_ms"])
    gaps = [after - before for before, after in itertools.pairwise(times)]
    return {"tpot": sum(gaps) / len(gaps), "per_all": times[-1] / len(times)}


@reference("tokens-in-bundles")
def _(p: P) -> R:
    at, tokens, seen = 0.0, 1, [0.0]
    for _event in range(int(p["events"])):
        for _token in range(int(p["bundle"])):
            at += p["tpot_ms"]
            tokens += 1
        seen.append(at)
    return {"event_gap": (seen[-1] - seen[0]) / (len(seen) - 1), "tokens": tokens}


@reference("one-seat-many-requests")
def _(p: P) -> R:
    free, firsts = 0.0, []
    for _request in range(6):
        firsts.append(free + p["prefill_ms"])
        free = last_token(firsts[-1], p["tokens"], p["gap_ms"])
    return {"last": firsts[-1], "mean": sum(firsts) / len(firsts)}


@reference("where-sooner-becomes-later")
def _(p: P) -> R:
    first_after, gap_after = p["first_before_ms"] - p["saved_ms"], p["gap_before_ms"] + p["more_ms"]
    later = last_token(first_after, p["tokens"], gap_after) - last_token(
        p["first_before_ms"], p["tokens"], p["gap_before_ms"]
    )
    # Both are straight lines in the number of gaps.
    even = (p["first_before_ms"] - first_after) / (gap_after - p["gap_before_ms"])
    return {"even_gaps": even, "later": later}
