"""Lesson 3: pages, preemption, prefixes, routing and turns, counted one by one."""

from __future__ import annotations

from collections.abc import Mapping

from question_bank.deep import Reference, collector

REFERENCES: dict[str, Reference] = {}
reference = collector(REFERENCES, "serving/caching-scheduling")

P = Mapping[str, float]
R = dict[str, float]


@reference("reserved-or-in-pages")
def _(p: P) -> R:
    def fit(tokens: float) -> int:
        sequences = 0
        while (sequences + 1) * tokens <= p["pool"]:
            sequences += 1
        return sequences

    return {
        "reserved": fit(p["most"]),
        "paged": fit(p["used"] + p["block"] / 2),
        "waste": 100 - 100 * p["used"] / p["most"],
    }


@reference("computed-again")
def _(p: P) -> R:
    """Over a minute of the engine's clock."""
    again_s = p["tokens"] * p["us"] * 1e-6
    lost_s = sum(p["each_s"] * again_s for _second in range(60))
    out_s = p["tokens"] * p["token_kb"] * 1e3 / (p["host"] * 1e9)
    return {"again_ms": 1e3 * again_s, "copy_ms": 1e3 * (out_s + out_s), "share": 100 * lost_s / 60}


@reference("a-common-beginning")
def _(p: P) -> R:
    """A hundred requests, block by block."""
    found = 0
    while found + 16 <= p["common"]:
        found += 16
    read = 0.0
    for request in range(100):
        hit = request < p["hits"]
        read += p["common"] + p["own"] - (found if hit else 0)
    without = 100 * (p["common"] + p["own"])
    return {"found": found, "read": read / 100, "sooner_ms": (without - read) / 100 * p["us"] / 1000}


@reference("beginnings-and-replicas")
def _(p: P) -> R:
    """Requests of each kind dealt to replicas that remember what they have read."""
    replicas, kinds, each = int(p["replicas"]), int(p["kinds"]), int(p["each"])
    known: set[tuple[int, int]] = set()
    hits = hits_bound = 0
    for kind in range(kinds):
        for request in range(each):
            place = (kind, request % replicas)
            hits += place in known
            known.add(place)
            hits_bound += request > 0
    total = kinds * each
    return {"read_even": len(known), "hits_even": 100 * hits / total, "hits_bound": 100 * hits_bound / total}


@reference("behind-the-long-one")
def _(p: P) -> R:
    def mean_wait(services: list[float]) -> float:
        at, waits = 0.0, 0.0
        for service in services:
            waits += at
            at += service
        return waits / len(services)

    services = [p["long"]] + [p["short"]] * int(p["short_count"])
    return {"fcfs": mean_wait(services), "sjf": mean_wait(sorted(services))}


@reference("more-room")
def _(p: P) -> R:
    """Step by step: as many prompts as fit are read together, and leave together."""

    def mean(room: int) -> float:
        left, now, ends = 4 * int(p["fit"]), 0.0, list[float]()
        while left:
            here = min(room, left)
            now += p["base_ms"] + here * p["prompt"] * p["us"] / 1000
            ends += [now] * here
            left -= here
        return sum(ends) / len(ends)

    return {"before_ms": mean(int(p["fit"])), "after_ms": mean(2 * int(p["fit"]))}
