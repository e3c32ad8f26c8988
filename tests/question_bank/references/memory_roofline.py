"""Lesson 1's results again, in plain Python from the drawn numbers alone: counting, looping and adding up."""

from __future__ import annotations

from collections.abc import Mapping

from question_bank.deep import Reference, collector

REFERENCES: dict[str, Reference] = {}
reference = collector(REFERENCES, "serving/memory-roofline")
P = Mapping[str, float]
R = dict[str, float]
KIB, GIB, GB = 2.0**10, 2.0**30, 1e9


def token_bytes(layers: float, kv_heads: float, number_bytes: float, head_size: float = 128) -> float:
    """What one token keeps, added up layer by layer and head by head."""
    kept = 0.0
    for _layer in range(int(layers)):
        for _head in range(int(kv_heads)):
            key = value = head_size * number_bytes
            kept += key + value
    return kept


@reference("kv-of-a-conversation")
def _(p: P) -> R:
    one = token_bytes(p["layers"], p["kv_heads"], p["number_bytes"])
    return {"per_token": one / KIB, "in_all": one * p["prompt_tokens"] / GIB + one * p["output_tokens"] / GIB}


def whole_requests(pool_bytes: float, one_request_bytes: float) -> float:
    """How many fit, by putting one after another into the pool."""
    count, left = 0, pool_bytes
    while left >= one_request_bytes:
        left -= one_request_bytes
        count += 1
    return count


@reference("shared-heads-in-a-pool")
def _(p: P) -> R:
    pool = p["pool_gb"] * GB
    own = token_bytes(p["layers"], p["query_heads"], p["number_bytes"]) * p["context_tokens"]
    shared = token_bytes(p["layers"], p["kv_heads"], p["number_bytes"]) * p["context_tokens"]
    return {"fit_own": whole_requests(pool, own), "fit_shared": whole_requests(pool, shared)}


@reference("latent-cache")
def _(p: P) -> R:
    latent = sum((p["latent_size"] + 64) * p["number_bytes"] for _layer in range(int(p["latent_layers"])))
    return {
        "token_a": latent / KIB,
        "token_b": token_bytes(p["layers"], 8, p["number_bytes"]) / KIB,
        "tokens": p["pool_gb"] * GB // latent,
    }


@reference("pool-and-seats")
def _(p: P) -> R:
    left = p["gpus"] * p["gpu_gb"] * GB * 90 / 100
    left -= p["params_b"] * 1e9 * p["param_bytes"]
    left -= p["rest_gb"] * GB
    return {"pool_gb": left / GB, "seats": whole_requests(left, p["context_tokens"] * p["token_bytes"])}


@reference("fewest-gpus")
def _(p: P) -> R:
    need = p["params_b"] * 1e9 * p["param_bytes"] + p["requests"] * p["context_tokens"] * p["token_kib"] * KIB
    group = 1
    while group * (p["gpu_gb"] * 0.9 - p["rest_gb"]) * GB < need:
        group *= 2
    return {"need_gb": need / GB, "group": group}


@reference("ridge-in-tokens")
def _(p: P) -> R:
    dense_flops, bandwidth = p["sparse_tflops"] * 1e12 / 2, p["bandwidth_tbs"] * 1e12
    parameters = 1e9
    read_s = parameters * p["bytes_per_parameter"] / bandwidth
    one_token_s = parameters * p["flop_per_parameter"] / dense_flops
    return {"ridge": dense_flops / bandwidth, "tokens": read_s / one_token_s}


@reference("prefill-at-zero-load")
def _(p: P) -> R:
    operations = sum(p["flop_each"] * p["params_b"] * 1e9 for _token in range(int(p["prompt_tokens"])))
    reached = p["tflops"] * 1e12 * p["gpus"] * (p["mfu"] / 100)
    return {"work": operations / 1e12, "prefill": 1000 * operations / reached}


@reference("floor-of-a-stream")
def _(p: P) -> R:
    share = p["weights_gb"] * GB / p["gpus"]
    seconds = share / (p["bandwidth_gbs"] * GB)
    return {"floor_ms": 1000 * seconds, "stream": 1 / seconds}


@reference("step-of-a-batch")
def _(p: P) -> R:
    read = p["weights_gb"] * GB
    for _sequence in range(int(p["batch"])):
        read += p["context_tokens"] * p["token_kb"] * 1000
    seconds = p["overhead_ms"] / 1000 + read / (p["bandwidth_gbs"] * GB)
    return {"step_ms": 1000 * seconds, "total": p["batch"] / seconds}


@reference("where-caches-weigh-as-much")
def _(p: P) -> R:
    tokens = p["params_b"] * 1e9 * p["param_bytes"] / (p["token_kib"] * KIB)
    return {"in_all": tokens, "each": tokens / p["batch"]}


def prompt_work(parameters: float, layers: float, width: float, tokens: float) -> float:
    """Operations of a prefill: every token through the weights, and every pair in every layer."""
    pairs = tokens * tokens / 2
    return 2 * parameters * tokens + layers * pairs * width * 2 * 2


@reference("longer-prompt")
def _(p: P) -> R:
    parameters = p["params_b"] * 1e9

    def surplus(tokens: float) -> float:
        both = prompt_work(parameters, p["layers"], p["width"], tokens)
        return both - 2 * (2 * parameters * tokens)

    low, high = 1.0, 1e7
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if surplus(middle) > 0 else (middle, high)
    long, short = (prompt_work(parameters, p["layers"], p["width"], p[f"{name}_tokens"]) for name in ("long", "short"))
    return {"equal_at": low, "times": long / short}


@reference("four-bit-step")
def _(p: P) -> R:
    def step_ms(bits: float) -> float:
        read = p["weights_gb"] * bits / 16 + p["kv_gb"]
        return p["overhead_ms"] + 1e3 * read / p["bandwidth_gbs"]

    return {"before_ms": step_ms(16), "after_ms": step_ms(4), "factor": step_ms(16) / step_ms(4)}


@reference("room-from-fewer-bits")
def _(p: P) -> R:
    def tokens(bytes_each: float) -> float:
        left = p["usable_gb"] * GB - p["params_b"] * 1e9 * bytes_each
        return left / (p["token_kib"] * KIB * bytes_each / 2)

    return {
        "tokens_before": int(tokens(2)),
        "tokens_after": int(tokens(1)),
        "factor": tokens(1) / tokens(2),
    }


@reference("all-reduces-in-a-step")
def _(p: P) -> R:
    def step_ms(gpus: float) -> float:
        spent_us = 0.0
        for _layer in range(int(p["layers"])):
            share_gb = p["weights_gb"] / p["layers"] / gpus
            spent_us += share_gb / p["bandwidth_gbs"] * 1e6
            spent_us += p["allreduce_us"]  # after attention
            spent_us += p["allreduce_us"]  # after the feed-forward block
        return spent_us / 1000

    small, large = step_ms(p["small"]), step_ms(p["large"])
    return {"small_ms": small, "large_ms": large, "speedup": small / large}


@reference("bubbles")
def _(p: P) -> R:
    """The pipe as a grid: stage s works on micro-batch m in slot s + m."""
    stages, micro = int(p["stages"]), int(p["micro"])
    busy = {(stage, stage + batch) for stage in range(stages) for batch in range(micro)}
    slots = 1 + max(slot for _stage, slot in busy)
    return {"idle": 100 * (1 - len(busy) / (stages * slots)), "round_ms": slots * p["stage_ms"]}


@reference("experts-touched")
def _(p: P) -> R:
    untouched = 1.0
    for _token in range(int(p["batch"])):
        untouched *= (p["experts"] - p["chosen"]) / p["experts"]
    share = 1 - untouched
    return {
        "touched": p["experts"] * share,
        "read_ms": 1e3 * (p["shared_gb"] + share * p["experts_gb"]) / p["bandwidth_gbs"],
    }


@reference("full-with-two-requests")
def _(p: P) -> R:
    left = p["card_gb"] * GB * p["share"] / 100 - p["params_b"] * 1e9 * p["param_bytes"] - p["rest_gb"] * GB
    tokens = whole_requests(left, p["token_kib"] * KIB)
    return {"tokens": tokens, "each": tokens / 2}


@reference("growing-until-it-breaks")
def _(p: P) -> R:
    free = p["pool_tokens"] - p["pool_tokens"] * p["usage"] / 100
    one = p["rate"] / p["running"]
    seconds = free / sum(one for _request in range(int(p["running"])))
    return {"seconds": seconds, "each": one * seconds}
