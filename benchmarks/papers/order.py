"""FastServe: short answers should not wait behind long ones."""

from __future__ import annotations

from benchmarks.papers.common import Claim, Experiment, poisson, run, value

COST = {"kind": "roofline", "model": "llama-3.1-8b", "gpu": "a100-80gb-sxm"}
RATE = 6.0


def experiment() -> Experiment:
    """First come first served against short answers first, near capacity."""
    classes: list[dict[str, object]] = [
        {
            "name": "short",
            "prompt_tokens": 256,
            "output_tokens": 64,
            "arrivals": poisson(RATE * 0.8, 1600),
            "priority": 0,
        },
        {
            "name": "long",
            "prompt_tokens": 256,
            "output_tokens": 1024,
            "arrivals": poisson(RATE * 0.2, 400),
            "priority": 1,
        },
    ]
    server = {"policy": "vllm", "max_seqs": 16, "token_budget": 2048, "kv_blocks": 25_000}
    fcfs, first = (run(classes, server | {"order": order}, COST) for order in ("fcfs", "priority"))
    means = {
        name: (value(fcfs, f"{name}.e2e_s.mean"), value(first, f"{name}.e2e_s.mean"))
        for name in ("short", "long", "all")
    }
    queueing = value(fcfs, "short.queue_s.mean") / value(fcfs, "short.e2e_s.mean")
    return Experiment(
        "fastserve",
        "FastServe (arXiv v3; NSDI 2026)",
        f"Llama-3.1-8B on an A100-80GB by roofline, 16 seats, {RATE:g} req/s, four short answers (64 tokens) for each "
        "long one (1,024). FastServe's feedback queue, which takes a seat away after every token, is not modelled; in "
        "its place stand two priorities known beforehand, which only order the queue.",
        (
            Claim(
                "throughput at equal latency over vLLM",
                "up to 31.4x (v3), up to 6.1x (NSDI)",
                "-",
                "not comparable: no preemption after a token",
            ),
            Claim(
                "mean end-to-end time, first come first served and short first: short, long, all, s",
                "mean better, long jobs worse",
                ", ".join(f"{name} {before:.1f} and {after:.1f}" for name, (before, after) in means.items()),
                "same direction"
                if means["all"][1] < means["all"][0] and means["long"][1] >= means["long"][0]
                else "differs",
            ),
            Claim(
                "share of the time that is queueing, first come first served, short answers",
                "up to 90 %",
                f"{queueing:.0%}",
                "same direction",
            ),
        ),
    )
