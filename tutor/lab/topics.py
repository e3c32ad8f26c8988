"""Which topics of the question bank a change in a scenario, or a metric, is about."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

# From the part of a path that stands in it to topics of the serving pack; the first that fits a path counts.
_CHANGES: Final = (
    (r"kv_blocks|watermark|block_tokens", ("kv-cache-size", "preemption")),
    (r"prefix", ("prefix-caching",)),
    (r"token_budget|chunk", ("chunked-prefill",)),
    (r"max_seqs", ("batch-size", "continuous-batching")),
    (r"priority|fair", ("fairness",)),
    (r"speculation|draft", ("speculative-decoding",)),
    (r"server\.policy", ("continuous-batching",)),
    (r"routing", ("cache-aware-routing", "capacity-planning")),
    (r"pools|transfer|disaggregat", ("disaggregation",)),
    (r"scaling|cold_start", ("autoscaling",)),
    (r"admission|queue_limit|max_waiting", ("admission",)),
    (r"faults", ("capacity-planning",)),
    (r"replicas", ("capacity-planning",)),
    (r"client|patience|retr", ("admission",)),
    (r"\.slo\.", ("goodput",)),
    (r"users|think_s", ("load-models", "littles-law")),
    (r"arrivals|rate_per_s", ("utilisation", "load-models")),
    (r"prompt_tokens", ("ttft", "prefill-decode")),
    (r"output_tokens", ("prefill-decode",)),
    (r"step_cost", ("roofline",)),
)
_METRICS: Final = (
    (r"ttft", ("ttft",)),
    (r"goodput|attainment", ("goodput",)),
    (r"p9\d", ("percentiles",)),
    (r"itl|tpot|e2e", ("metric-definitions",)),
    (r"queue|waiting", ("utilisation",)),
)


def topics_of(paths: Sequence[str], metric: str, known: Collection[str] = ()) -> tuple[str, ...]:
    """Topics of the changed paths, or of the metric where no path tells; only `known` ones where any are given."""
    found = [topic for path in paths for topic in _first(_CHANGES, path)] or list(_first(_METRICS, metric))
    return tuple(topic for topic in dict.fromkeys(found) if not known or topic in known)


def _first(table: Sequence[tuple[str, tuple[str, ...]]], text: str) -> tuple[str, ...]:
    return next((topics for pattern, topics in table if re.search(pattern, text)), ())
