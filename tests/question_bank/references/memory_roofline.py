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
