"""Lesson 2's results again, in plain Python from the drawn numbers alone."""

from __future__ import annotations

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
