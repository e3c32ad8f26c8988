"""Lesson 3, second half: pools apart, drafts, splits over GPUs, experts and fewer bits, counted another way."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from question_bank.deep import Reference, collector

REFERENCES: dict[str, Reference] = {}
reference = collector(REFERENCES, "serving/caching-scheduling")

P = Mapping[str, float]
R = dict[str, float]


@reference("moving-a-cache")
def _(p: P) -> R:
    """In bits, as the link is sold, instead of in bytes."""
    bits = p["prompt"] * p["token_kib"] * 1024 * 8
    seconds = bits / (p["link_gbs"] * 8e9 * p["usable"] / 100)
    return {"size_gib": bits / 8 / 2**30, "move_ms": 1000 * seconds, "each_s": 1 / seconds}


@reference("readers-and-writers")
def _(p: P) -> R:
    """Many requests through one reader and one writer, one after another; joint machines take turns."""
    reader = writer = 0.0
    done = []
    for _request in range(400):
        reader += p["read_ms"]
        writer = max(writer, reader) + p["write_ms"]
        done.append(writer)
    spacing = (done[-1] - done[100]) / (len(done) - 101)
    free = [0.0, 0.0]
    for _request in range(400):
        free[free.index(min(free))] += p["read_ms"] + p["write_ms"]
    # Both sides equally busy: halve the interval of readers until they are.
    low, high = 0.0, p["fleet"]
    for _halving in range(100):
        middle = (low + high) / 2
        reads_faster = middle / p["read_ms"] > (p["fleet"] - middle) / p["write_ms"]
        low, high = (low, middle) if reads_faster else (middle, high)
    return {"joint_s": 400 * 1000 / max(free), "split_s": 1000 / spacing, "readers": low}


@reference("chats-without-prompts")
def _(p: P) -> R:
    read = p["base_ms"] + p["doc"] * p["us"] / 1000
    gigabytes = p["doc"] * p["token_kb"] * 1000 / 1e9
    return {
        "gap_before": read + p["base_ms"],
        "gap_after": p["base_ms"],
        "doc_first": read + 1000 * gigabytes / p["link"] + p["base_ms"],
    }


def tokens_of_a_round(drafts: float, share: float) -> float:
    """Over every way in which drafts may hold or not: the leading ones that hold, and one more."""
    mean = 0.0
    for holds in itertools.product((True, False), repeat=int(drafts)):
        chance = 1.0
        for each in holds:
            chance *= share if each else 1 - share
        mean += chance * (1 + len(list(itertools.takewhile(bool, holds))))
    return mean


@reference("tokens-a-round")
def _(p: P) -> R:
    tokens = tokens_of_a_round(p["drafts"], p["accept"] / 100)
    passes = 1 + sum(p["cost"] / 100 for _draft in range(int(p["drafts"])))
    return {"tokens_round": tokens, "speedup": tokens / passes}


@reference("drafts-at-a-large-batch")
def _(p: P) -> R:
    """Time of a token by walking through the batches: where drafts no longer pay is where both times meet."""

    def token_ms(streams: float, computed: float, out: float) -> float:
        return max(p["read_ms"], streams * computed * p["us"] / 1000) / out

    def gain(streams: float) -> float:
        return token_ms(streams, 1, 1) / token_ms(streams, p["drafts"] + 1, p["tokens"])

    low, high = 1.0, p["read_ms"] * 1000 / p["us"]  # up to where a pass without drafts waits for arithmetic
    for _halving in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gain(middle) > 1 else (low, middle)
    return {"speed_few": gain(p["few"]), "speed_many": gain(p["many"]), "limit": low}


@reference("drafts-for-one-stream")
def _(p: P) -> R:
    event = p["pass_ms"] + p["draft_ms"]
    return {"event_ms": event, "token_ms": event / tokens_of_a_round(p["drafts"], p["accept"] / 100)}


@reference("drafts-for-many")
def _(p: P) -> R:
    def pass_ms(each: float) -> float:
        return p["base_ms"] + sum(each * p["us"] / 1000 for _stream in range(int(p["streams"])))

    tokens = tokens_of_a_round(p["drafts"], p["accept"] / 100)
    return {"before_ms": pass_ms(1), "after_ms": pass_ms(p["drafts"] + 1) / tokens}


@reference("one-wide-or-several-narrow")
def _(p: P) -> R:
    """Byte for byte on one GPU of each grouping, and streams put in one after another."""

    def step_ms(gpus: float, streams: float) -> float:
        on_one_gpu = p["weights_gb"] / gpus + sum(p["cache_gb"] / gpus for _stream in range(int(streams)))
        return 1000 * on_one_gpu / p["bandwidth_gbs"] + sum(
            2 * p["allreduce_us"] / 1000 for _ in range(int(p["layers"]))
        )

    def fit(gpus: float) -> int:
        room = gpus * p["memory_gb"] * p["usable"] / 100 - p["weights_gb"]
        streams = 0
        while (streams + 1) * p["cache_gb"] <= room:
            streams += 1
        return streams

    narrow = 8 / p["copies"]
    return {
        "wide_ms": step_ms(8, p["streams"]),
        "narrow_ms": step_ms(narrow, p["streams"] / p["copies"]),
        "fit_wide": fit(8),
        "fit_narrow": p["copies"] * fit(narrow),
    }


@reference("groups-in-a-pipeline")
def _(p: P) -> R:
    """Groups walk from machine to machine for many rounds; what each machine works is added up."""
    stages, groups = int(p["stages"]), int(p["groups"])
    free = [0.0] * stages
    at = [0.0] * groups
    tokens: list[list[float]] = [[] for _ in range(groups)]
    worked = 0.0
    for _round in range(200):
        for group in range(groups):
            for stage in range(stages):
                start = max(at[group], free[stage])
                free[stage] = start + p["stage_ms"]
                at[group] = free[stage] + p["hop_ms"]
                worked += p["stage_ms"]
            tokens[group].append(at[group])
    gap = (tokens[0][-1] - tokens[0][50]) / (len(tokens[0]) - 51)
    busy = 100 * groups * p["stage_ms"] / gap
    needed = 1
    while needed * p["stage_ms"] < stages * (p["stage_ms"] + p["hop_ms"]):
        needed += 1
    return {"gap_ms": gap, "busy": busy, "needed": needed}


@reference("a-popular-expert")
def _(p: P) -> R:
    """Choices dealt out to every expert, then added up by GPU."""
    experts, gpus = int(p["experts"]), int(p["gpus"])
    choices = p["tokens"] * p["top"]
    popular = p["tokens"] * p["popular"] / 100
    each = [popular] + [(choices - popular) / (experts - 1)] * (experts - 1)
    by_gpu = [sum(each[gpu * experts // gpus : (gpu + 1) * experts // gpus]) for gpu in range(gpus)]
    return {"hottest": max(by_gpu), "factor": max(by_gpu) / (sum(by_gpu) / gpus)}


@reference("one-wide-or-two-narrow")
def _(p: P) -> R:
    """One GPU's bytes in each grouping, at the mean context of the 40 gaps."""

    def gap_ms(gpus: int, streams: float) -> float:
        contexts = [p["context"] + step for step in range(41)]
        cache_gb = streams * sum(contexts) / len(contexts) * p["token_kb"] / 1e6
        talk_ms = p["layers"] * 2 * p["allreduce_us"] / 1000
        return (p["weights_gb"] + cache_gb) / gpus / p["bandwidth_gbs"] * 1000 + talk_ms

    return {"before_ms": gap_ms(4, p["streams"]), "after_ms": gap_ms(2, p["streams"] / 2)}


@reference("four-bits-at-a-batch")
def _(p: P) -> R:
    def step_ms(sequences: float, *, packed: bool) -> float:
        gigabytes = p["weights_gb"] * (p["packed"] / 100 if packed else 1)
        computing = sequences * p["us"] / 1000 * (p["factor"] if packed else 1)
        return max(gigabytes / p["bandwidth_gbs"] * 1000, computing)

    def gain(sequences: float) -> float:
        return step_ms(sequences, packed=False) / step_ms(sequences, packed=True)

    low, high = 1.0, 1e6
    for _halving in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if gain(middle) > 1 else (low, middle)
    return {"speed_few": gain(p["few"]), "speed_many": gain(p["many"]), "limit": low}


@reference("experts-and-the-batch")
def _(p: P) -> R:
    """Sequence by sequence: what share of the experts is still untouched."""

    def gap_ms(batch: float) -> float:
        untouched = 1.0
        for _sequence in range(int(batch)):
            untouched -= untouched * p["top"] / p["experts"]
        return (p["rest_gb"] + p["experts_gb"] * (1 - untouched)) / p["bandwidth_gbs"] * 1000

    return {"before_ms": gap_ms(p["small"]), "after_ms": gap_ms(p["large"])}
