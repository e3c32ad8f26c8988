"""DistServe (OSDI 2024) and Splitwise (ISCA 2024): prompts and decodes on machines of their own."""

from __future__ import annotations

from benchmarks.papers.common import Claim, Experiment, capacity, lognormal, poisson, run, value

# OPT-13B on one A100, as the authors of DistServe measured it for their simulator: prefill 18.1 ms + 0.1019 n +
# 7.1e-6 n^2, decode 19.9 ms + 6.3e-4 a token of context + 0.0385 a sequence. One base time for both here.
OPT = {
    "kind": "linear",
    "base_s": 0.0199,
    "per_prefill_token_s": 0.1019e-3,
    "per_prefill_pair_s": 2 * 7.1e-9,
    "per_decode_seq_s": 0.0385e-3,
    "per_context_token_s": 6.3e-7,
}
KV_BYTES_PER_TOKEN = 2 * 40 * 5120 * 2
REQUEST: dict[str, object] = {"prompt_tokens": 512, "output_tokens": 64}
LIMITS: dict[str, object] = {"slo": {"ttft_s": 0.4, "tpot_s": 0.04}}
ENGINE = {"policy": "continuous", "max_seqs": 256}
COUNT = 800

# Llama-2-70B on 8 A100, from the table of Splitwise's published simulator (ms): prefill 93, 274 and 1,550 at 512,
# 2,048 and 8,192 tokens; decode 45 for one sequence and 72 for 64. An H100 machine: 54, 137, 845; 30 and 50.
A100 = {
    "kind": "linear",
    "base_s": 0.044,
    "per_prefill_token_s": 0.098e-3,
    "per_prefill_pair_s": 22e-9,
    "per_decode_seq_s": 0.43e-3,
}
KV_BYTES_70B = 2 * 80 * 8 * 128 * 2


def rate(
    traffic: dict[str, object], cost: dict[str, object], high: float, fleet: dict[str, object] | None = None
) -> float:
    """The highest rate at which 90 % of all requests keep every limit."""

    def attained(rate: float) -> float:
        arrivals = {"arrivals": poisson(rate, COUNT)}
        return value(run(traffic | arrivals, ENGINE, cost, fleet=fleet or {}), "attainment")

    return capacity(lambda rate: attained(rate) >= 0.9, 0.1, high)


def split(prefill: int, decode: int, kv_bytes: float, bandwidth: float) -> dict[str, object]:
    """A fleet of prefill and decode replicas whose cache goes over a link."""
    return {
        "replicas": prefill + decode,
        "routing": "least_outstanding",
        "disaggregated": {
            "prefill_replicas": prefill,
            "kv_bytes_per_token": kv_bytes,
            "bandwidth_bytes_per_s": bandwidth,
            "first_token": "prefill",
        },
    }


def experiment() -> Experiment:
    """The motivating example of the paper: one phase at a time, together, and split two to one."""
    together = rate(REQUEST | LIMITS, OPT, 20)
    prefill = rate(REQUEST | {"output_tokens": 1, "slo": {"ttft_s": 0.4}}, OPT, 20)
    decode = rate(REQUEST | {"prefilled": True, "slo": {"tpot_s": 0.04}}, OPT, 60)
    fleet = rate(REQUEST | LIMITS, OPT, 60, split(2, 1, KV_BYTES_PER_TOKEN, 300e9))
    return Experiment(
        "distserve",
        "DistServe, OSDI 2024",
        "OPT-13B on A100s with the step costs that the authors' simulator publishes, 512 prompt and 64 output tokens, "
        "Poisson, limits 0.4 s to the first token and 40 ms a token for 90 % of the requests; one replica with whole "
        "prompts first, against two for prompts and one for decodes behind NVLink (300 GB/s).",
        (
            Claim("colocated, req/s a GPU", "1.6 †", f"{together:.1f}", verdict(together, 1.6)),
            Claim("prompts only, req/s a GPU", "5.6 †", f"{prefill:.1f}", verdict(prefill, 5.6)),
            Claim("decodes only, req/s a GPU", "10 †", f"{decode:.1f}", verdict(decode, 10)),
            Claim(
                "two prefill and one decode GPU over colocated, req/s a GPU",
                "2.1x (3.3 against 1.6) †",
                f"{fleet / 3 / together:.1f}x ({fleet / 3:.1f} against {together:.1f})",
                "same direction" if fleet / 3 > together else "differs",
            ),
            Claim(
                "up to 7.4x the requests or 12.6x tighter limits on real applications",
                "7.4x, 12.6x",
                "-",
                "not comparable: it takes the paper's search over parallel plans for 66B and 175B models",
            ),
        ),
    )


def verdict(got: float, published: float) -> str:
    """`same` within a fifth."""
    ratio = got / published
    if 0.8 <= ratio <= 1.25:
        return "same"
    return f"differs by a factor of {ratio:.1f} with the step costs the authors publish"


def splitwise() -> Experiment:
    """Four machines that do both, against two for prompts and two for decodes."""
    traffic = {
        "prompt_tokens": lognormal(1020, 1.0, 8000),
        "output_tokens": lognormal(129, 1.0, 1000),
        "slo": {"ttft_s": 2.0, "tpot_s": 0.09},
    }
    together = rate(traffic, A100, 40, {"replicas": 4, "routing": "least_outstanding"})
    halves = {f"{p} + {4 - p}": rate(traffic, A100, 40, split(p, 4 - p, KV_BYTES_70B, 25e9)) for p in (1, 2, 3)}
    best = max(halves, key=lambda name: halves[name])
    return Experiment(
        "splitwise",
        "Splitwise, ISCA 2024",
        "Llama-2-70B on machines of eight A100 with step costs through the published table, lengths around the medians "
        "of the Azure conversation trace (1,020 and 129), four machines, limits 2 s to the first token and 90 ms a "
        "token for 90 %, 25 GB/s between machines.",
        (
            Claim(
                "throughput of split over mixed machines",
                "1.4x at 20 % less cost, 2.35x at equal cost and power",
                f"{halves[best] / together:.2f}x at equal machines ({halves[best]:.1f} req/s split {best}, "
                f"{together:.1f} mixed)",
                ("same direction" if halves[best] > together else "differs")
                + "; the paper's clusters of unequal machines are chosen by price and power, which are not modelled",
            ),
        ),
    )
