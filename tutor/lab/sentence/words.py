"""The words in which people speak of a served model's numbers and settings, as the sentence reader knows them."""

from __future__ import annotations

import re
from typing import Final

NUMBER: Final = (
    r"(?:\d[\d,_]*(?:\.\d+)?\s?k?(?![\w.]*\d)|one|two|three|four|five|six|seven|eight|nine|ten|twelve|half(?= a))"
)
_SMALL: Final = {
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
    "five": 5.0,
    "six": 6.0,
    "seven": 7.0,
    "eight": 8.0,
    "nine": 9.0,
    "ten": 10.0,
    "twelve": 12.0,
    "half": 0.5,
}

UNIT: Final = (
    r"(?:ms\b|milliseconds?\b|millis\b|a seconds?\b|seconds?\b|secs?\b|s\b|%|per ?cent\b|"
    r"(?:tokens?|tok)\s?(?:/|per |a )\s?s(?:ec(?:ond)?)?\b|(?:requests?|reqs?)\s?(?:/|per |a )\s?s(?:ec(?:ond)?)?\b)"
)

QUANTITIES: Final[tuple[tuple[str, str], ...]] = (
    ("ttft_s", r"ttfts?|time(?:s)? to (?:the )?first[- ]token|first[- ]tokens?(?:'s)?(?: (?:time|latency)s?)?"),
    (
        "itl_s",
        r"itls?|inter[- ]?token (?:latenc(?:y|ies)|times?|gaps?)|(?:token )?gaps?|"
        r"(?:stalls?|pauses?) between (?:the )?tokens",
    ),
    ("tpot_s", r"tpots?|(?:mean |average )?times? per (?:output )?token"),
    (
        "e2e_s",
        r"e2e(?:s| times?| latency)?|end[- ]to[- ]end(?: times?| latency)?|"
        r"(?:total|completion|whole) (?:times?|latency)",
    ),
    ("queue_s", r"(?:queue|queu?e?ing|waiting|wait) (?:times?|delays?)|waits?(?: in (?:the )?queue)|queue waits?"),
    (
        "output_tokens_per_s",
        r"(?:output )?throughput|output rates?|output(?= (?:by|up|down|[+-]?\d))|"
        r"tok(?:ens?)?\s?/\s?s(?:ec)?\b|tokens per second|output",
    ),
    ("goodput", r"goodput"),
    (
        "attainment",
        r"attainment|within[- ]limits|"
        r"(?:share|part|fraction)s? (?:of (?:the )?requests )?(?:within|inside) (?:the |their |its )?"
        r"(?:limits?|slos?|targets?)",
    ),
)
"""A quantity's id and what it is called."""
VERBS_OF: Final[tuple[tuple[str, str], ...]] = (("queue_s", r"waits?|waiting"),)
"""What people do instead of a quantity's name; only where no name stands in the same clause."""

STATISTICS: Final[tuple[tuple[str, str], ...]] = (
    ("p50", r"p50|median|50th percentile"),
    ("p90", r"p90|90th percentile"),
    ("p95", r"p95|95th percentile"),
    ("p99", r"p99|99th percentile"),
    ("mean", r"mean|average|avg|on average"),
)

SETTINGS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("chunk_tokens", "token_budget"), r"chunk[_ -]?(?:tokens|sizes?|limits?)|(?:prefill )?chunks?(?! prefill)"),
    (("token_budget",), r"(?:token|step)[_ -]budgets?|max[_ ]num[_ ]batched[_ ]tokens|budgets?"),
    (
        ("max_seqs", "batch_size"),
        r"max[_ ](?:num[_ ])?seqs|seats|slots|batch[_ ]sizes?|concurrent (?:sequences|requests)",
    ),
    (("kv_blocks",), r"kv[_ -]?(?:cache[_ -])?(?:blocks?|pool)|blocks"),
    (("prefix_cache",), r"prefix[_ -]?(?:cache|caching)|the cache|caching"),
    (("chunked_prefill",), r"chunked[_ -]prefill"),
    (("reserve_full_prompt",), r"reserve[_ ]full[_ ]prompt"),
    (("watermark",), r"watermark"),
    (("admission.queue_limit", "queue_limit"), r"queue[_ -]limits?|limits? (?:of|on) the queue"),
    (("fleet.replicas",), r"replicas?"),
    (("arrivals.rate_per_s", "arrivals.mean_rate_per_s"), r"arrival rates?|request rates?|traffic|load"),
)  # fmt: skip
"""Ends of a scenario's paths, the likeliest first, and what they are called."""
SWITCHES: Final = frozenset({"prefix_cache", "chunked_prefill", "reserve_full_prompt"})
"""Settings that are on or off."""

LESS: Final = (
    r"lowers?|lowered|lowering|less|fewer|reduc\w+|cuts?|cutting|drops?|dropped|falls?|fell|shrinks?|decreas\w+|"
    r"goes down|go down|down|comes down|loses?|costs?|declin\w+|brings down"
)
MORE: Final = (
    r"higher|rais\w+|rises?|rising|increas\w+|grows?|growing|goes up|go up|up|boosts?|lifts?|gains?|gives? more|"
    r"more|longer|adds?|climbs?"
)
BETTER: Final = r"faster|quicker|sooner|earlier|shorter|improves?|improved|better|smaller"
WORSE: Final = r"slower|worse|later|suffers?|degrad\w+"
RATES: Final = frozenset({"output_tokens_per_s", "goodput", "attainment"})
"""Of which more is better."""
STEADY: Final = (
    r"stays? the same|unchanged|(?:is|are|stays?|remains?) constant|does(?: not|n't) change|no worse(?! than \d)"
)

WIDER: Final = (
    r"bounded|smaller|larger|bigger|more|fewer|higher|lower|raising|increasing|reducing|lowering|less|shorter|tighter|"
    r"cutting"
)
"""What is said of a setting that is changed to a value that is not said."""
FRACTIONS: Final = {
    "half": 50.0,
    "a half": 50.0,
    "a third": 33.3,
    "a quarter": 25.0,
    "a fifth": 20.0,
    "a tenth": 10.0,
}


def number_in(text: str) -> float | None:
    """The value of a number as `NUMBER` finds it."""
    low = text.strip().lower().replace(",", "").replace("_", "")
    if low in _SMALL:
        return _SMALL[low]
    factor = 1000.0 if low.endswith("k") else 1.0
    try:
        return float(low.removesuffix("k").strip()) * factor
    except ValueError:
        return None


def one_of(pairs: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    """One pattern with a group for each pair, the group's number being the pair's place."""
    inner = "|".join(f"({pattern})" for _, pattern in pairs)
    return re.compile(rf"(?<![\w-])(?:{inner})(?![\w-])", re.IGNORECASE)


def shown(value: float) -> str:
    """A number as it is written into a line."""
    return f"{value:.12g}"
