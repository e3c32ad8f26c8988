"""A result as the text that a vLLM server would answer to `GET /metrics` at the end of the run.

Names, labels and buckets are vLLM's, and so are its habits:

- inter-token latency has one sample an output event, not one a token;
- the time per output token of an answer with one token is recorded as 0;
- queue time ends at the first step that worked on the request; waiting again after a preemption is not in it;
- `request_success` counts cancelled requests too, as `abort`;
- `kv_cache_usage_perc` is a fraction from 0 to 1;
- times are the server's: transport to the client is not in them.

Histograms of finished requests hold the completed ones. `engine` is the replica that served a request last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sim.exact import exact_dot, exact_sum
from sim.log import CANCELLED, COMPLETED, FAILED, IN_FLIGHT
from sim.table import NONE
from sim.ticks import TICKS_PER_S, to_ticks

if TYPE_CHECKING:
    from sim.result import Result
    from sim.table import Column


class Definition(NamedTuple):
    """One metric as vLLM declares it."""

    name: str
    kind: str
    about: str
    buckets: tuple[float, ...] | None
    """Upper bounds; None for the series 1, 2, 5, 10, … up to the longest context."""


class _Histogram(NamedTuple):
    """Counts up to each bound, the sum and the number of samples."""

    upto: Sequence[int]
    total: float
    n: int


@cache
def definitions() -> tuple[Definition, ...]:
    """The metrics we know of, in vLLM's order."""
    data = json.loads(files("sim.export").joinpath("vllm_metrics.json").read_text(encoding="utf-8"))
    return tuple(
        Definition(
            item["name"],
            item["type"],
            item["help"],
            None if item.get("buckets", "1-2-5") == "1-2-5" else tuple(item["buckets"]),
        )
        for item in data["metrics"]
    )


def prometheus_text(result: Result, model_name: str = "simulated") -> str:
    """The whole answer in Prometheus' text format."""
    return "\n".join(_lines(result, model_name)) + "\n"


def _lines(result: Result, model_name: str) -> Iterator[str]:
    model = model_name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    engines = [_Engine(result, replica) for replica in range(len(result.log.runs))]
    longest = int((result.columns["prompt_tokens"] + result.columns["wanted_tokens"]).max(initial=1))
    for definition in definitions():
        counter = definition.kind == "counter"
        name = definition.name + ("_total" if counter else "")
        yield f"# HELP {name} {definition.about}"
        yield f"# TYPE {name} {definition.kind}"
        if definition.name == "vllm:admission_rejections":
            # Refused before any engine had it.
            yield f'{name}{{model_name="{model}"}} {float(result.counts.rejected)}'
            continue
        for engine in engines:
            labels = f'engine="{engine.replica}",model_name="{model}"'
            if definition.kind == "histogram":
                bounds = definition.buckets or _one_two_five(longest)
                histogram = engine.histogram(definition.name, bounds)
                for bound, upto in zip(bounds, histogram.upto, strict=True):
                    yield f'{name}_bucket{{{labels},le="{float(bound)}"}} {float(upto)}'
                yield f'{name}_bucket{{{labels},le="+Inf"}} {float(histogram.n)}'
                yield f"{name}_sum{{{labels}}} {histogram.total}"
                yield f"{name}_count{{{labels}}} {float(histogram.n)}"
            elif definition.name == "vllm:request_success":
                for reason, count in engine.finished_by_reason().items():
                    yield f'{name}{{{labels},finished_reason="{reason}"}} {float(count)}'
            else:
                yield f"{name}{{{labels}}} {engine.number(definition.name)}"


def _one_two_five(longest: int) -> tuple[float, ...]:
    bounds: list[float] = []
    decade = 1
    while True:
        for digit in (1, 2, 5):
            if digit * decade > longest:
                return tuple(bounds)
            bounds.append(digit * decade)
        decade *= 10


class _Engine:
    """What one replica would have counted."""

    def __init__(self, result: Result, replica: int) -> None:
        self.replica = replica
        self._result = result
        self._runs = result.log.runs[replica]
        lives = result.columns
        self._mine = lives["replica"] == replica
        self._rows = np.flatnonzero(self._mine)
        self._lives = {
            name: lives[name][self._rows]
            for name in (
                "status",
                "preemptions",
                "prompt_tokens",
                "wanted_tokens",
                "output_tokens",
                "cached_tokens",
                "wasted_tokens",
                "arrival",
                "queued",
                "scheduled",
                "first_token",
                "last_token",
                "transport",
            )
        }
        seen = self._lives["first_token"] != NONE
        self._seen = seen
        self._done = self._lives["status"] == COMPLETED
        # The moments on the server's own clock.
        self._first = self._lives["first_token"] - self._lives["transport"]
        self._last = self._lives["last_token"] - self._lives["transport"]

    # ---- histograms --------------------------------------------------------------------------------

    def histogram(self, name: str, bounds: Sequence[float]) -> _Histogram:
        """The samples of one metric."""
        if name == "vllm:inter_token_latency_seconds":
            pool = self._result.columns.gaps.pooled(self._mine)
            return _Histogram([pool.at_most(to_ticks(bound)) for bound in bounds], pool.total / TICKS_PER_S, pool.n)
        if name == "vllm:iteration_tokens_total":
            tokens = self._runs["prefill_tokens"] + self._runs["decode_seqs"]
            steps = self._runs["steps"]
            upto = [int(steps[tokens <= bound].sum()) for bound in bounds]
            return _Histogram(upto, float(exact_dot(tokens, steps)), int(steps.sum()))
        return _histogram(*_HISTOGRAMS[name](self), bounds)

    def ttft(self) -> tuple[Column, int]:
        return self._first[self._seen] - self._lives["arrival"][self._seen], TICKS_PER_S

    def e2e(self) -> tuple[Column, int]:
        return self._last[self._done] - self._lives["arrival"][self._done], TICKS_PER_S

    def queue(self) -> tuple[Column, int]:
        return self._lives["scheduled"][self._done] - self._lives["queued"][self._done], TICKS_PER_S

    def prefill(self) -> tuple[Column, int]:
        return self._first[self._done] - self._lives["scheduled"][self._done], TICKS_PER_S

    def decode(self) -> tuple[Column, int]:
        return self._last[self._done] - self._first[self._done], TICKS_PER_S

    def inference(self) -> tuple[Column, int]:
        return self._last[self._done] - self._lives["scheduled"][self._done], TICKS_PER_S

    def per_token(self) -> tuple[Column, int]:
        # Rounded up to whole ticks; vLLM records 0 where there is only one token.
        after_first = np.maximum(self._lives["output_tokens"][self._done] - 1, 1)
        return -(-self.decode()[0] // after_first), TICKS_PER_S

    def of_done(self, column: str) -> tuple[Column, int]:
        return self._lives[column][self._done], 1

    def answers(self) -> tuple[Column, int]:
        return np.ones(int(self._done.sum()), dtype=np.int64), 1

    # ---- counters and gauges -----------------------------------------------------------------------

    def finished_by_reason(self) -> dict[str, int]:
        """Requests that left, by vLLM's reason. Ours end at their length."""
        status = self._lives["status"]
        return {
            "stop": 0,
            "length": int((status == COMPLETED).sum()),
            "abort": int((status == CANCELLED).sum()),
            "error": int((status == FAILED).sum()),
            "repetition": 0,
        }

    def number(self, name: str) -> float:
        """The value of a counter or gauge."""
        lives = self._lives
        scheduled = lives["scheduled"] != NONE
        waits = (lives["status"] == IN_FLIGHT) & (lives["queued"] != NONE)
        if name == "vllm:num_requests_running":
            return float((waits & scheduled).sum())
        if name == "vllm:num_requests_waiting":
            return float((waits & ~scheduled).sum())
        if name == "vllm:kv_cache_usage_perc":
            usage = self._result.series[self.replica].kv_usage
            return float(usage[-1]) if usage is not None and len(usage) and (waits & scheduled).any() else 0.0
        totals: dict[str, Callable[[], int]] = {
            "vllm:prefix_cache_queries": lambda: exact_sum(lives["prompt_tokens"][scheduled]),
            "vllm:prefix_cache_hits": lambda: exact_sum(lives["cached_tokens"]),
            "vllm:num_preemptions": lambda: exact_sum(lives["preemptions"]),
            "vllm:prompt_tokens": lambda: exact_sum(lives["prompt_tokens"][self._seen]),
            "vllm:prompt_tokens_cached": lambda: exact_sum(lives["cached_tokens"][self._seen]),
            "vllm:generation_tokens": lambda: exact_sum(lives["output_tokens"] + lives["wasted_tokens"]),
        }
        return float(totals[name]())


_HISTOGRAMS: dict[str, Callable[[_Engine], tuple[Column, int]]] = {
    "vllm:time_to_first_token_seconds": _Engine.ttft,
    "vllm:request_time_per_output_token_seconds": _Engine.per_token,
    "vllm:e2e_request_latency_seconds": _Engine.e2e,
    "vllm:request_queue_time_seconds": _Engine.queue,
    "vllm:request_prefill_time_seconds": _Engine.prefill,
    "vllm:request_decode_time_seconds": _Engine.decode,
    "vllm:request_inference_time_seconds": _Engine.inference,
    "vllm:request_num_preemptions": lambda engine: engine.of_done("preemptions"),
    "vllm:request_prompt_tokens": lambda engine: engine.of_done("prompt_tokens"),
    "vllm:request_generation_tokens": lambda engine: engine.of_done("output_tokens"),
    "vllm:request_params_max_tokens": lambda engine: engine.of_done("wanted_tokens"),
    "vllm:request_params_n": _Engine.answers,
}


def _histogram(values: Column, scale: int, bounds: Sequence[float]) -> _Histogram:
    ordered = np.sort(values)
    limits = [to_ticks(bound) if scale == TICKS_PER_S else int(bound) for bound in bounds]
    upto = np.searchsorted(ordered, limits, side="right").tolist()
    return _Histogram(upto, exact_sum(values) / scale, len(values))
