"""Lesson 4's results again, in plain Python from the drawn numbers alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from question_bank.deep import Reference, collector

REFERENCES: dict[str, Reference] = {}
reference = collector(REFERENCES, "serving/capacity-cost")
P = Mapping[str, float]
R = dict[str, float]


def mm1_number(load: float) -> float:
    """Mean number inside an M/M/1 queue, summed over its states."""
    chance, total = 1 - load, 0.0
    for number in range(20_000):
        total += number * chance
        chance *= load
    return total


# ---- Little's law and utilisation


@reference("seats-for-a-rate")
def _(p: P) -> R:
    at = p["prefill_ms"]
    for _ in range(int(p["tokens"]) - 1):
        at += p["gap_ms"]
    # An hour of arrivals, each staying that long: request-milliseconds over the hour.
    inside = p["rate"] * 3600 * at / 3_600_000
    replicas = 0
    while replicas * p["seats"] < inside - 1e-9:
        replicas += 1
    return {"stay": at / 1000, "inside": inside, "replicas": replicas}


@reference("flat-rate-growing-wait")
def _(p: P) -> R:
    gap = {name: p[name] / p["rate"] for name in ("few", "many")}  # every user gets one token in that time
    stay = {name: sum(gap[name] for _ in range(int(p["tokens"]))) for name in gap}
    return {"stay": stay["many"], "seen": 1 / gap["many"], "factor": stay["many"] / stay["few"]}


@reference("time-outside-engine")
def _(p: P) -> R:
    steps_per_s = p["rate"] / p["batch"]
    step_ms = 1000 / steps_per_s
    return {
        "engine_ms": step_ms,
        "outside_ms": p["client_ms"] - step_ms,
        "implied_inside": p["batch"] * p["client_ms"] / step_ms,
    }


@reference("wait-near-full")
def _(p: P) -> R:
    rates = (p["rate"], p["rate"] + p["rate"] * p["growth"] / 100)
    stays = [mm1_number(rate / (1000 / p["service_ms"])) / rate * 1000 for rate in rates]
    return {"busy": 100 * p["rate"] / (1000 / p["service_ms"]), "stay_ms": stays[0], "stay_after_ms": stays[1]}


@reference("twice-the-users")
def _(p: P) -> R:
    round_ms = p["prefill_ms"]
    for _ in range(int(p["tokens"])):
        round_ms += p["step_ms"]
    users = int(p["users"])
    # The newest user stands behind all others: batches until it has been in one.
    ahead, rounds = users, 0
    while ahead > 0:
        ahead -= int(p["seats"])
        rounds += 1
    return {"stay": rounds * round_ms / 1000, "rate": p["seats"] / (round_ms / 1000)}


@reference("from-seventy-to-ninety")
def _(p: P) -> R:
    inside = {name: mm1_number(p[name] / 100) for name in ("low", "high")}
    stay = {name: inside[name] * p["service_ms"] / (p[name] / 100) for name in inside}
    queue = {name: stay[name] - p["service_ms"] for name in stay}
    return {"stay_ms": stay["high"], "factor": queue["high"] / queue["low"]}


# ---- open and closed load


@reference("minutes-of-overload")
def _(p: P) -> R:
    waiting = 0.0
    for _ in range(int(p["seconds"])):
        waiting += p["offered"] - p["served"]
    left, at = waiting, 0.0
    step = 1 / 64
    while left > 1e-9:
        gained = min(left, (p["served"] - p["calm"]) * step)
        left -= gained
        at += gained / (p["served"] - p["calm"])
    return {"waiting": waiting, "wait": sum(1 / p["served"] for _ in range(int(waiting))), "drain": at}


def answer_time(users: float, think: float, ceiling: float) -> float:
    """Where rate × (think + answer) makes up all users, found by halving."""
    low, high = 0.0, 10_000.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if ceiling * (think + middle) < users else (low, middle)
    return low


@reference("users-and-ceiling")
def _(p: P) -> R:
    return {
        "full": sum(p[name] * p["ceiling"] for name in ("think", "alone")),
        "answer": answer_time(p["users"], p["think"], p["ceiling"]),
        "answer_short": answer_time(p["users"], p["think_short"], p["ceiling"]),
    }


@reference("stop-not-seen")
def _(p: P) -> R:
    busy_ms = int((p["run_s"] - p["stop_s"]) * 1000)
    samples = ["fast"] * (busy_ms // int(p["answer_ms"])) + ["slow"]
    # Production requests at fine, even spacing; the stop lies in the middle.
    ticks = int(p["run_s"]) * 100
    begin = (p["run_s"] - p["stop_s"]) / 2
    times = [(tick + 0.5) * p["run_s"] / ticks for tick in range(ticks)]
    held = [begin + p["stop_s"] - at for at in times if begin < at <= begin + p["stop_s"]]
    return {
        "seen": 100 * samples.count("slow") / len(samples),
        "real": 100 * len(held) / ticks,
        "held": sum(held) / len(held),
    }


@reference("longer-answers")
def _(p: P) -> R:
    users = int(p["users"])
    ends = [p["prefill_ms"] * (place + 1) for place in range(users)]
    at = ends[-1]
    for _ in range(int(p["tokens"]) - 1):
        at += p["step_ms"]
    return {"before": ends[-1], "after": sum(ends) / users, "rate": users / (at / 1000)}


@reference("slightly-too-fast")
def _(p: P) -> R:
    free = 0.0
    first = 0.0
    for number in range(int(p["count"])):
        arrival = number * p["gap_ms"]
        free = max(free, arrival) + p["work_ms"]
        first = free - arrival
    per_s = {name: 1 / (p[name] / 1000) for name in ("gap_ms", "work_ms")}
    return {"last": first / 1000, "growth": per_s["gap_ms"] - per_s["work_ms"]}


# ---- percentiles and goodput


def all_fast(calls: float, slow: float) -> float:
    """Chance that none of the calls is slow, call by call."""
    chance = 1.0
    for _ in range(int(calls)):
        chance -= chance * slow
    return chance


@reference("calls-in-a-step")
def _(p: P) -> R:
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - all_fast(p["calls"], middle) < p["goal"] / 100 else (low, middle)
    return {"share": 100 * (1 - all_fast(p["calls"], p["slow"] / 100)), "allowed": 100 * low}


@reference("two-groups-one-tail")
def _(p: P) -> R:
    def late(share_b: float) -> float:
        """Late ones among 10,000 requests."""
        older = 10_000 * share_b / 100
        return older * p["over_b"] / 100 + (10_000 - older) * p["over_a"] / 100

    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if late(middle) < 100 else (low, middle)
    return {"over": late(p["share_b"]) / 100, "most": low}


@reference("both-limits")
def _(p: P) -> R:
    missed = {100 - p["first"], 100 - p["gap"]}
    kept_both = sum(first < p["first"] and gap < p["gap"] for first in range(100) for gap in range(100))
    return {
        "lowest": p["rate"] - p["rate"] * sum(missed) / 100,
        "highest": p["rate"] - p["rate"] * max(missed) / 100,
        "independent": p["rate"] * kept_both / 100**2,
    }


@reference("events-not-tokens")
def _(p: P) -> R:
    events = 1000
    tokens = events * p["per_event"]
    now_ms, before_ms = events * p["event_ms"], tokens * p["plain_ms"]
    return {"token_ms": now_ms / tokens, "speed": tokens / (now_ms / 1000), "factor": before_ms / now_ms}


@reference("one-slow-of-several")
def _(p: P) -> R:
    one_round = [p["work_ms"]] * int(p["replicas"] - 1) + [p["work_ms"] * p["slow"]]
    times = sorted(one_round * 100)
    return {"mean": sum(times) / len(times), "tail": times[len(times) * 99 // 100]}


@reference("seats-and-goodput")
def _(p: P) -> R:
    step = p["base_ms"]
    for _ in range(int(p["many"])):
        step += p["seq_ms"]
    return {"gap_after": step, "rate_after": p["many"] * (1000 / step)}


# ---- overload and retries


@reference("attempts-for-one")
def _(p: P) -> R:
    trying, attempts = 1.0, 0.0
    for _ in range(int(p["retries"]) + 1):
        attempts += trying
        trying = trying * p["fail"] / 100
    return {"attempts": attempts, "load": sum(attempts for _ in range(int(p["rate"]))), "lost": 100 * trying}


@reference("queue-worth-having")
def _(p: P) -> R:
    places = 0
    while (places + 1) * 1000 / p["served"] + p["prefill_ms"] <= p["limit"] * 1000 + 1e-6:
        places += 1
    return {
        "most": places,
        "wait": sum(1 / p["served"] for _ in range(places)),
        "refused": 100 - 100 * p["served"] / p["offered"],
    }


@reference("bounded-queue")
def _(p: P) -> R:
    free, in_time = 0.0, 0
    for number in range(int(p["count"])):
        arrival = number * p["gap_ms"]
        free = max(free, arrival) + p["work_ms"]
        in_time += free - arrival <= p["timeout"] * 1000
    return {"before": in_time, "after": 60_000 / p["work_ms"] / 60}


@reference("retries-on")
def _(p: P) -> R:
    queue = [0.0] * int(p["count"])  # when each copy was sent
    at, answered, attempts = 0.0, 0, len(queue)
    first_round = len(queue)
    for place in range(first_round):
        at += p["work_ms"]
        if at <= p["timeout_ms"]:
            answered += 1
        elif place < first_round:
            queue.append(p["timeout_ms"])
            attempts += 1
    for sent in queue[first_round:]:
        at += p["work_ms"]
        answered += at - sent <= p["timeout_ms"]
    return {"answered": answered, "attempts": attempts, "useful": 100 * answered / attempts}


@reference("nobody-told")
def _(p: P) -> R:
    at = p["prefill_ms"]
    told = None
    for _ in range(int(p["tokens"]) - 1):
        if told is None and at >= p["left_ms"]:
            told = at
        at += p["step_ms"]
    assert told is not None
    return {name: free - p["came_ms"] + p["prefill_ms"] for name, free in (("told", told), ("untold", at))}


# ---- capacity and lost replicas


@reference("gpus-for-the-peak")
def _(p: P) -> R:
    # GPU-seconds that one second of the peak brings
    prompts = outputs = 0.0
    for _ in range(int(p["rate"])):
        prompts += p["prompt_tokens"] * (1 / p["prefill"])
        outputs += p["output_tokens"] * (1 / p["decode"])
    count = 1
    while (prompts + outputs) / count > p["busy"] / 100 + 1e-9:
        count += 1
    return {"pure": prompts + outputs, "buy": count + 1, "output_share": 100 * outputs / (prompts + outputs)}


@reference("after-the-loss")
def _(p: P) -> R:
    left = [p["busy"]] * int(p["replicas"] - 1)
    extra = p["busy"] / len(left)
    needed = 2
    while p["replicas"] * p["busy"] / (needed - 1) > p["bearable"] + 1e-9:
        needed += 1
    return {
        "after": left[0] + extra,
        "most": p["bearable"] - p["bearable"] / p["replicas"],
        "needed": needed,
    }


@reference("lose-one")
def _(p: P) -> R:
    survivors = int(p["replicas"]) - 1
    work_s = sum(p["work_ms"] / 1000 for _ in range(int(p["count"])))
    second = sum(p["work_ms"] / 1000 for _ in range(int(p["rate"])))
    return {"asked": 100 * second / survivors, "last": work_s / survivors - p["count"] / p["rate"]}


@reference("in-turn-or-by-load")
def _(p: P) -> R:
    free, took = 0.0, 0.0
    for turn in range(int(p["turns"])):
        arrival = turn * p["replicas"] * p["gap_ms"]
        free = max(free, arrival) + p["work_ms"] * p["slow"]
        took = free - arrival
    requests = [number % int(p["replicas"]) for number in range(int(p["replicas"] * p["turns"]))]
    return {"last": took / 1000, "hit": 100 * requests.count(0) / len(requests)}


def md1_queue(load: float) -> float:
    """Mean time in an M/D/1 queue in units of the work, from the generating function of the number left behind.

    Its derivative at 1 is the mean number; differences are extrapolated to a step of nothing.
    """

    def generating(z: float) -> float:
        arrivals = math.exp(-load * (1 - z))
        return (1 - load) * (1 - z) * arrivals / (arrivals - z)

    table = [(1 - generating(1 - 0.02 / 2.0**power)) / (0.02 / 2.0**power) for power in range(7)]
    for order in range(1, 7):
        table = [after + (after - before) / (2.0**order - 1) for before, after in pairwise(table)]
    return (table[0] - load) / load


@reference("bursts-at-one-rate")
def _(p: P) -> R:
    return {"before": md1_queue(p["busy"] / 100) * p["work_ms"], "factor": p["cv"] * p["cv"]}


# ---- autoscaling


@reference("ready-in-minutes")
def _(p: P) -> R:
    read_s = 0.0
    left = p["weights"]
    while left > 1e-9:
        part = min(left, p["speed"])
        left -= part
        read_s += part / p["speed"]
    ready = sum((p["look"], p["machine"], read_s, p["warm"]))
    waiting = ready * p["offered"] - ready * p["served"]
    return {"ready": ready, "waiting": waiting, "drain": waiting / (p["added"] - (p["offered"] - p["served"]))}


@reference("longer-cold-start")
def _(p: P) -> R:
    arrive, finish = 1000 / p["gap_ms"], 1000 / p["work_ms"]
    waiting = 0.0
    for part in ("look", "machine", "far"):
        waiting += p[part] * arrive
        waiting -= p[part] * finish
    return {"waiting": waiting, "drain": waiting / (finish + finish - arrive)}


# ---- cost and rollout


@reference("price-of-a-million")
def _(p: P) -> R:
    bill = sum(p["dollars"] for _ in range(int(p["gpus"])))  # of one hour
    millions = sum(p["rate"] for _ in range(60 * 60)) / 1e6
    price = bill / millions
    return {"at_test": price, "real": bill / (millions * p["used"] / 100), "even": 100 * bill / (millions * p["offer"])}


@reference("cheap-kind-saved")
def _(p: P) -> R:
    per_s = p["dollars"] / 60 / 60
    token = {"prompt": per_s / p["prefill"], "output": per_s / p["decode"]}

    def request(spared: float) -> float:
        computed = p["prompt_tokens"] - p["prompt_tokens"] * spared / 100
        return computed * token["prompt"] + p["output_tokens"] * token["output"]

    return {
        "times": token["output"] / token["prompt"],
        "thousand": sum(request(0) for _ in range(1000)),
        "saved": 100 * (1 - request(p["hit"]) / request(0)),
    }


@reference("canary-numbers")
def _(p: P) -> R:
    per_s = p["rate"] * (p["share"] / 100) * (p["base"] / 100)
    count = per_s * 60 * p["minutes"]
    low, high = 0.0, 1e6  # seconds until the count is three of its standard deviations
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if per_s * middle < 3 * math.sqrt(per_s * middle) else (low, middle)
    return {"failures": count, "distance": (2 * count - count) / math.sqrt(count), "need": low / 60}


@reference("rolling-update")
def _(p: P) -> R:
    at = 0.0
    for replica in range(4):
        at += p["ready"] + (p["pause"] if replica < 3 else 0)
    work_s = sum(p["work_ms"] for _ in range(int(p["rate"]))) / 1000
    return {"during": 100 * work_s / (4 - 1), "whole": at}
