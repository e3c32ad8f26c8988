"""The words in which people speak of a served model's numbers and settings, as the sentence reader knows them."""

from __future__ import annotations

import re
from typing import Final

NUMBER: Final = (
    # Digits are taken all at once and from their beginning only, so that a long row of them is read in one pass.
    r"(?:(?<![\d.,_])\d[\d,_]*+(?:\.\d++)?(?:\s?k\b)?(?![\w.]*\d)|"
    r"one|two|three|four|five|six|seven|eight|nine|ten|twelve|half(?= a)|a(?= second))"
)
_SMALL: Final = {
    "a": 1.0,
    "half": 0.5,
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
}
ORDINALS: Final = ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
"""From the second on."""

UNIT: Final = (
    r"(?:ms\b|milliseconds?\b|millis\b|a seconds?\b|seconds?\b|secs?\b|s\b|%|per ?cent\b|"
    r"(?:tokens?|tok)\s?(?:/|per |a )\s?s(?:ec(?:ond)?)?\b|(?:requests?|reqs?)\s?(?:/|per |a )\s?s(?:ec(?:ond)?)?\b)"
)
TIMES: Final[tuple[tuple[str, float], ...]] = (
    (r"doubl\w+|twice", 2.0),
    (r"tripl\w+|thrice", 3.0),
    (r"quadrupl\w+", 4.0),
    (r"halv\w+|half", 0.5),
    (r"an? third of", 1 / 3),
    (r"an? quarter of", 0.25),
)
"""Words that multiply."""
HEDGE: Final = (
    r"(?:(?:about|roughly|around|some|maybe|perhaps|probably|nearly|almost|approximately|circa|easily|only|a|an|the)\s+|"
    r"~\s*)*"
)
"""What may stand before a number without saying anything of it."""

QUANTITIES: Final[tuple[tuple[str, str], ...]] = (
    (
        "ttft_s",
        r"ttfts?|times?[ -]to[ -](?:the[ -])?first[ -]token|first[- ]tokens?(?:'s)?(?: (?:time|latency|delay)s?)?",
    ),
    (
        "itl_s",
        r"itls?|(?:inter[- ]?token|token[- ]to[- ]token) (?:latenc(?:y|ies)|times?|gaps?|delays?)|(?:token )?gaps?|"
        r"(?:(?:times?|delays?|gaps?|latency|stalls?|pauses?|intervals?) )?between (?:the |two |output )?tokens|"
        r"stalls?|pauses?",
    ),
    ("tpot_s", r"tpots?|(?:mean |average )?times? per (?:output )?token"),
    (
        "e2e_s",
        r"e2e(?:s| times?| latency)?|end[- ]to[- ]end(?: times?| latency)?|"
        r"(?:total|completion|whole|overall|full) (?:response )?(?:times?|latency)|response times?",
    ),
    (
        "queue_s",
        r"(?:queue|queu?e?ing|waiting|wait) (?:times?|delays?)|(?:times?|waits?)(?: in (?:the )?queue)|queue waits?",
    ),
    (
        "output_tokens_per_s",
        r"(?:output )?throughput|output rates?|(?:output )?(?:tok(?:ens?)?\s?/\s?s(?:ec)?\b|tokens per second)|output",
    ),
    ("goodput", r"goodput"),
    (
        "attainment",
        r"(?:slo )?attainment|within[- ]limits|"
        r"(?:(?:share|part|fraction)s? (?:of (?:the )?requests )?)?(?:within|inside|meets?|meeting|satisf\w+) "
        r"(?:all )?(?:of )?(?:the |their |its )?(?:limits?|slos?|targets?)",
    ),
)
"""A quantity's id and what it is called."""
VERBS_OF: Final[tuple[tuple[str, str], ...]] = (("queue_s", r"waits?|waiting"),)
"""What people do instead of a quantity's name; only where no name stands in the same clause."""

_SHARE: Final = (
    r"\s?(?:%|per ?cent) of (?:the |all |our |my )*(?:requests?|users?|cases?|calls?|time|tokens?|gaps?|first tokens?|"
    r"answers?|prompts?|chats?|documents?)(?! (?:\w+ ){0,2}?(?:within|inside|meets?|meeting|satisf\w+) (?:all |of |"
    r"the |their |its )*(?:limits?|slos?|targets?))"
)
STATISTICS: Final[tuple[tuple[str, str], ...]] = (
    ("p50", rf"p ?50|median|50th percentile|50{_SHARE}"),
    ("p90", rf"p ?90|90th percentile|90{_SHARE}"),
    ("p95", rf"p ?95|95th percentile|95{_SHARE}"),
    ("p99", rf"p ?99(?!\.\d)|99th percentile|99{_SHARE}"),
    ("mean", r"mean|average|avg|on average"),
)
"""A statistic and what it is called; "99 % of the requests" are below it."""

SETTINGS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (
        ("chunk_tokens", "token_budget"),
        r"chunk[_ -]?(?:tokens|sizes?|limits?)|tokens per chunk|(?:prefill )?chunks?(?! prefill)",
    ),
    (
        ("token_budget",),
        r"(?:token|step)[_ -]budgets?|max[_ ]num[_ ]batched[_ ]tokens|tokens per step|budgets?",
    ),
    (
        ("max_seqs", "batch_size"),
        r"max[_ ](?:num[_ ])?seqs|seats|slots|batch[_ ]sizes?|concurrent (?:sequences|requests)",
    ),
    (("kv_blocks",), r"kv[_ -]?(?:cache[_ -])?(?:blocks?|pool)|blocks"),
    (("prefix_cache",), r"prefix[_ -]?(?:cache|caching)|the cache|caching"),
    (("chunked_prefill",), r"chunked[_ -]prefill"),
    (("reserve_full_prompt",), r"reserve[_ ]full[_ ]prompt"),
    (("watermark",), r"watermark"),
    (
        ("admission.queue_limit", "queue_limit"),
        r"queue[_ -]limits?|limits? (?:of|on) the queue|limit (?:the )?queue|"
        r"limits?(?= of \d+ on the queue)",
    ),
    (("disaggregated.prefill_replicas",), r"prefill[_ -](?:replicas?|nodes?|instances?)"),
    (("fleet.replicas",), r"replicas?|instances|nodes|gpus"),
    (("cold_start_s",), r"cold[_ -]starts?(?: times?)?"),
    (("arrivals.users",), r"(?:concurrent |simultaneous )?users?"),
    (("arrivals.think_s.mean_s",), r"think(?:ing)?[_ -]?times?"),
    (("client.retries.max",), r"retries(?:\.max)?"),
    (("patience_s",), r"patience"),
    (("prompt_tokens",), r"prompt[_ -](?:tokens|lengths?|sizes?)|prompts?"),
    (("output_tokens",), r"output[_ -](?:tokens(?! per|\s?/)|lengths?)|(?:answers?|outputs?)(?= of \d)"),
    (
        ("arrivals.rate_per_s", "arrivals.mean_rate_per_s", "arrivals.on_rate_per_s"),
        r"(?:arrival|request|{classes})s?(?:'s)? rates?|arrivals|traffic|load",
    ),
)
"""Ends of a scenario's paths, the likeliest first, and what they are called; {classes}: the names of the classes."""
TOPICS: Final = frozenset({"arrivals.users", "prompt_tokens", "output_tokens", "client.retries.max", "fleet.replicas"})
"""Settings whose names are as often what a sentence is about as what it changes."""
NONE_IS_ZERO: Final = frozenset({"client.retries.max"})
"""Settings that are 0 where one speaks of going without."""
CHOICES: Final[tuple[tuple[tuple[str, ...], str, str], ...]] = (
    (("routing.kind", "fleet.routing"), "least_outstanding", r"least[_ -](?:outstanding(?: requests)?|connections)"),
    (("routing.kind", "fleet.routing"), "round_robin", r"round[_ -]robin"),
    (("routing.kind", "fleet.routing"), "least_kv", r"least[_ -]kv"),
    (("routing.kind", "fleet.routing"), "power_of_two", r"power[_ -]of[_ -]two(?: choices)?"),
    (("routing.kind", "fleet.routing"), "prefix_affinity", r"prefix[_ -](?:affinity|aware)"),
    (("routing.kind", "fleet.routing"), "random", r"random(?= routing)"),
    (("server.order",), "fcfs", r"fcfs|fifo|first[- ]come,?[- ]first[- ]served"),
    (("server.order",), "priority", r"priority(?= (?:order|first|scheduling))"),
    (("cancel_reaches_server",), "true", r"cancel(?:s|lations?|led requests)? (?:reach(?:es)?|get to) the server"),
)
"""Ends of paths, a value among a few, and what it is called."""
SWITCHES: Final = frozenset({"prefix_cache", "chunked_prefill", "reserve_full_prompt"})
"""Settings that are on or off."""

LESS: Final = (
    r"lower(?:s|ed|ing)?|less|fewer|reduc\w+|cuts?|cutting|drops?|dropp\w+|falls?|falling|fell|shrinks?|decreas\w+|"
    r"goes down|go down|going down|down|comes down|loses?|lose|losing|costs?|costing|declin\w+|brings down|sinks?|"
    r"takes? off|off(?= the)|slash\w*|trims?|shaves?(?: off)?"
)
MORE: Final = (
    r"higher|rais\w+|rises?|rising|increas\w+|grows?|growing|goes up|go up|going up|up|boosts?|lifts?|gains?|"
    r"gives? more|more|longer|adds?|climbs?|jumps?|soars?"
)
BETTER: Final = r"faster|quicker|sooner|earlier|shorter|shortens?|improv\w+|better|smaller|beats?|outperforms?"
WORSE: Final = r"slower|worse|later|suffers?|degrad\w+|hurts?|harms?"
RATES: Final = frozenset({"output_tokens_per_s", "goodput", "attainment"})
"""Of which more is better."""
STEADY: Final = (
    r"stays? (?:about )?the same|unchanged|unaffected|(?:is|are|stays?|remains?) (?:constant|flat)|"
    r"does(?: not|n't) (?:change|move)|(?:has |have |makes? )?no (?:effect|impact|difference|change)"
    r"(?! (?:\w+ ){0,4}(?:of )?(?:more|over) )(?: whatsoever| at all)?"
)

WIDER: Final = (
    r"bounded|smaller|larger|bigger|more|fewer|higher|lower|raising|increasing|reducing|lowering|less|shorter|tighter|"
    r"cutting"
)
"""What is said of a setting that is changed to a value that is not said."""
FRACTIONS: Final = {
    "half": 50.0,
    "a half": 50.0,
    "two thirds": 66.7,
    "three quarters": 75.0,
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
