"""Units as people write them: spelling -> dimension and factor to the canonical unit.

Canonical units: seconds, bytes, tokens/s, requests/s, bytes/s, a fraction for %, points for percentage
points, a plain factor for ×, and a bare count for things counted (tokens, gaps, …; the noun is kept).
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """`factor` times the written value gives the canonical value."""

    name: str
    dimension: str
    factor: float


_TIME = {
    "ns": (1e-9, r"ns|nanoseconds?|nanosecs?"),
    "us": (1e-6, r"[uμ]s|microseconds?|microsecs?"),
    "ms": (1e-3, r"ms|msecs?|millis|milliseconds?|millisecs?|milli-seconds?|mili?seconds?"),
    "s": (1.0, r"s|secs?|seconds?"),
    "min": (60.0, r"min|mins|minutes?"),
    "h": (3600.0, r"h|hrs?|hours?"),
}
_BYTES = {
    "KiB": (1024.0, r"(?i:kib|kibibytes?)"),
    "MiB": (1024.0**2, r"(?i:mib|mebibytes?)"),
    "GiB": (1024.0**3, r"(?i:gib|gibibytes?)"),
    "TiB": (1024.0**4, r"(?i:tib|tebibytes?)"),
    "KB": (1e3, r"[kK]B|(?i:kilobytes?)"),
    "MB": (1e6, r"MB|mb|(?i:megabytes?)"),
    "GB": (1e9, r"GB|gb|(?i:gigabytes?)"),
    "TB": (1e12, r"TB|tb|(?i:terabytes?)"),
    "B": (1.0, r"B|(?i:bytes?)"),
}
_COUNTED = (
    r"gaps?|intervals?|requests?|reqs?|steps?|iterations?|sequences?|seqs?|blocks?|seats?|chunks?|users?|"
    r"clients?|gpus?|replicas?|layers?|heads?|samples?|batches|slots?|words?|pages?|runs?|trials?"
)
_PER_SECOND = r"\s?(?:/\s?(?:s|sec|second)\b|\s?per[ -]sec(?:ond)?\b|\s?a second\b|\s?(?:·\s?)?s\^?-1)"
_PER_TOKEN = r"\s?(?:/\s?(?:output\s)?(?:tok|token)\b|\s?per (?:output |generated )?token\b)"
_PER_REQUEST = r"\s?(?:/\s?req(?:uest)?\b|\s?per request\b)"


def _rules() -> list[tuple[re.Pattern[str], Unit]]:
    rules: list[tuple[str, Unit]] = []
    rules.append((r"(?:output |generated |input |prompt )?(?:tokens?|toks?|tok)" + _PER_SECOND,
                  Unit("tokens/s", "token_rate", 1.0)))  # fmt: skip
    rules.append((r"(?i:tps)", Unit("tokens/s", "token_rate", 1.0)))
    rules.append((r"(?:requests?|reqs?|req|queries)" + _PER_SECOND, Unit("requests/s", "request_rate", 1.0)))
    rules.append((r"(?i:rps|qps)", Unit("requests/s", "request_rate", 1.0)))
    rules.extend(
        (f"(?:{spelling})" + _PER_SECOND, Unit(name + "/s", "byte_rate", factor))
        for name, (factor, spelling) in _BYTES.items()
    )
    for per, suffix in ((_PER_TOKEN, "/token"), (_PER_REQUEST, "/request")):
        for table, dimension in ((_TIME, "time"), (_BYTES, "bytes")):
            rules.extend(
                (f"(?:{spelling})" + per, Unit(name + suffix, dimension + suffix, factor))
                for name, (factor, spelling) in table.items()
            )
    rules.append((r"%\s?(?:-\s?)?points?|percentage[ -]points?|percent[ -]points?|pp|p\.p\.",
                  Unit("pp", "points", 1.0)))  # fmt: skip
    rules.append((r"%|percent|per cent|pct", Unit("%", "fraction", 0.01)))
    rules.append((r"×(?!\s?[\d(])|[xX](?!\s?[\d(])|[- ]?fold|times(?! (?:the )?[\d(])",
                  Unit("×", "factor", 1.0)))  # fmt: skip
    for table, dimension in ((_TIME, "time"), (_BYTES, "bytes")):
        rules.extend((spelling, Unit(name, dimension, factor)) for name, (factor, spelling) in table.items())
    rules.append((r"(?:output |generated |input |prompt |visible |new )?(?:tokens?|toks?|tok)",
                  Unit("tokens", "count", 1.0)))  # fmt: skip
    rules.append((_COUNTED, Unit("", "count", 1.0)))
    # Long time and byte words are written in any case; symbols keep theirs (MB is not Mb, S is not s).
    return [(re.compile(rf"(?:{p})(?![A-Za-z0-9_])" if p[0] not in "×%" else rf"(?:{p})"), u) for p, u in rules]


_RULES = _rules()
_CASED = re.compile(r"[A-Z]")


def read_unit(text: str, at: int) -> tuple[Unit, int] | None:
    """The unit that starts at an offset of folded text, and where it ends; None where there is none."""
    best: tuple[Unit, int] | None = None
    for lowered in (False, True):
        for pattern, unit in _RULES:
            if lowered and unit.dimension.startswith("bytes"):
                continue
            source = text[at : at + 40]
            match = pattern.match(source.lower() if lowered else source)
            if match and match.end() and (best is None or at + match.end() > best[1]):
                name = unit.name or match.group(0).strip().lower()
                best = Unit(name, unit.dimension, unit.factor), at + match.end()
        if best:
            return best
    return best


def unit_named(name: str) -> Unit | None:
    """The unit a question names ("ms", "tokens/s", "GiB", "" for a bare number)."""
    name = name.strip().replace("µ", "μ")
    if name in {"", "1", "ratio", "number"}:
        return Unit("", "none", 1.0)
    found = read_unit(name, 0)
    return found[0] if found and found[1] == len(name) else None
