"""Units as people write them: spelling -> dimension and factor to the canonical unit.

Canonical units: seconds, bytes, FLOP, dollars and what each of them is per second, tokens/s, requests/s, a fraction
for %, points for percentage points, a plain factor for ×, and a bare count for things counted (tokens, gaps,
…; the noun is kept). "per token", "per request" and their like are part of the dimension: "time/token".
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


def _named(dimension: str, table: dict[str, tuple[float, str]]) -> dict[str, Unit]:
    return {w: Unit(name, dimension, f) for name, (f, spelling) in table.items() for w in re.findall(r"\S+", spelling)}


_TIME = {
    "ns": (1e-9, "ns nsec nanosecond nanoseconds nanosec nanosecs Nanosekunden"),
    "us": (1e-6, "us μs usec usecs microsecond microseconds microsec microsecs Mikrosekunden 微秒 мкс"),
    "ms": (
        1e-3,
        "ms msec msecs milli millis millisecond milliseconds millisec millisecs milisecond miliseconds "
        "Millisekunden Millisekunde milisegundos millisecondes millisecondi 毫秒 ミリ秒 밀리초 мс",
    ),
    "s": (1.0, "s sec secs second seconds Sekunde Sekunden segundo segundos secondes secondi 秒 초 сек"),
    "min": (60.0, "min mins minute minutes Minute Minuten minuto minutos minuti 分钟 分鐘 мин"),
    "h": (3600.0, "h hr hrs hour hours Stunde Stunden hora horas heures 小时 小時"),
}
_BYTES = {
    "KiB": (1024.0, "KiB kibibyte kibibytes"),
    "MiB": (1024.0**2, "MiB mebibyte mebibytes"),
    "GiB": (1024.0**3, "GiB gibibyte gibibytes"),
    "TiB": (1024.0**4, "TiB tebibyte tebibytes"),
    "KB": (1e3, "KB kB kb kilobyte kilobytes"),
    "MB": (1e6, "MB mb megabyte megabytes"),
    "GB": (1e9, "GB gb gigabyte gigabytes"),
    "TB": (1e12, "TB tb terabyte terabytes"),
    "B": (1.0, "B byte bytes Bytes"),
    "Kbit": (1e3 / 8, "Kbit kbit kilobit kilobits"),
    "Mbit": (1e6 / 8, "Mbit Mb megabit megabits"),
    "Gbit": (1e9 / 8, "Gbit Gb gigabit gigabits"),
}
_PREFIX = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_LONG = {"kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12, "peta": 1e15, "exa": 1e18}
_FLOP = {p + w: Unit(f"{p}FLOP", "flop", f) for p, f in _PREFIX.items() for w in ("FLOP", "flop", "flops")}
_FLOP |= {f"{p}FLOPs": Unit(f"{p}FLOPs", "flop", f) for p, f in _PREFIX.items()}
_FLOP |= {p + w: Unit(f"{p[0].upper()}FLOP", "flop", f) for p, f in _LONG.items() for w in ("flop", "flops")}
_FLOP_RATE = {p + w: Unit(f"{p}FLOP/s", "flop_rate", f) for p, f in _PREFIX.items() for w in ("FLOPS", "FLOP/s")}
_RATES = {
    **dict.fromkeys(("tps", "TPS"), Unit("tokens/s", "token_rate", 1.0)),
    **dict.fromkeys(("rps", "RPS", "qps", "QPS"), Unit("requests/s", "request_rate", 1.0)),
    "Hz": Unit("/s", "rate", 1.0),
    **{f"{p}bps": Unit(f"{p}bit/s", "byte_rate", f / 8) for p, f in (("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))},
}
_OTHER = {
    **dict.fromkeys(("pp", "pps", "pts", "p.p.", "ppts"), Unit("pp", "points", 1.0)),
    **dict.fromkeys(("%", "percent", "pct", "Prozent"), Unit("%", "fraction", 0.01)),
    **dict.fromkeys(("×", "x", "X", "fold", "times", "mal"), Unit("×", "factor", 1.0)),
}
_MONEY = {
    **dict.fromkeys(("$", "USD", "usd", "dollar", "dollars", "bucks", "Dollar", "доллара", "долларов"), 1.0),
    **dict.fromkeys(("€", "EUR", "euro", "euros", "Euro"), 1.0),
    **dict.fromkeys(("cent", "cents", "Cent", "ct", "cts", "¢", "центов"), 0.01),
}
"""A currency sign stands for whatever currency the question is in."""
_OTHER |= {word: Unit("$", "money", factor) for word, factor in _MONEY.items()}
_NOUNS = {
    "tokens": "token tokens tok toks Token Tokens t",
    "requests": "request requests req reqs query queries Anfragen r",
    "gaps": "gap gaps interval intervals",
} | {
    noun + "s": f"{noun} {noun}s"
    for noun in re.findall(
        r"\S+",
        "step iteration block seat chunk user client gpu replica layer head sample slot word page run trial call "
        "launch kernel node worker stream conversation stage",
    )
}
_NOUNS |= {"sequences": "sequence sequences seq seqs", "batches": "batch batches", "launches": "launch launches"}
# Single letters stand for tokens and requests only in a rate: "960 t/s".
_LETTERS = {"t": "tokens", "r": "requests"}
_COUNTED = {w: noun for noun, words in _NOUNS.items() for w in re.findall(r"\S+", words) if w not in _LETTERS}
_UNITS: dict[str, Unit] = {
    **_named("time", _TIME),
    **_named("bytes", _BYTES),
    **_FLOP,
    **_FLOP_RATE,
    **_RATES,
    **_OTHER,
    **{w: Unit(noun, "count", 1.0) for w, noun in _COUNTED.items()},
}
_CASELESS: dict[str, Unit] = {}
for _word, _unit in _UNITS.items():
    # Long words and symbols of time come in any case; symbols of bytes keep theirs (MB is not Mb).
    if _unit.dimension != "bytes" or len(_word) > 4 or _word.endswith("iB"):
        _CASELESS.setdefault(_word.lower(), _unit)
_RATE_OF = {"tokens": "token_rate", "requests": "request_rate"}

_ADJECTIVE = r"(?:(?:output|generated|input|prompt|visible|new|decode|decoded|total|completed)[ -])?"
_SYMBOL = re.compile(
    r"[$€¢]|%\s?-?\s?points?\b|percent(?:age)?[ -]points?\b|p\.p\.|per cent\b|%|×(?!\s?[\d(])|"
    rf"{_ADJECTIVE}(?P<word>[A-Za-zμ]+|[\u0400-\u04ff]+|[\u3040-\u9fff\uac00-\ud7af]{{1,3}})"
)
_OF_TIME = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0, "ms": 1e-3}
_SHORT = {"sec": "s", "second": "s", "minute": "min", "hour": "h"}
_PER = re.compile(
    r"(?:\s?/\s?|\s?per[ -]|\s(?:an?|each|every|pro)\s|\s?·?\s?(?=s\^-1))"
    rf"{_ADJECTIVE}(?P<noun>[A-Za-z]+)(?P<power>\^-1)?"
)
# "62 attempts/s", "62 tentatives par seconde", "62 a second": whatever is counted, it is a rate.
_ANY_RATE = re.compile(
    r"(?:[^\W\d_]{3,14}(?:\s?/\s?|\s(?:per|an?|each|every|pro|je|par|por|в|al)\s)|"
    r"(?:[^\W\d_]{3,14}\s){2}(?:every|each|per)\s|"
    r"\s?(?:/\s?|per[ -]|(?:an?|each|every|pro|je|par|por|в|al)\s))"
    r"(?P<noun>s|sec|second|min|minute|h|hour|Sekunde|seconde|segundo|секунду|secondo|Minute|Stunde|heure)\b"
)
_A_BYTE = re.compile(r"(?:\s?/\s?|\s(?:per|a|for each|each)\s)(?:B|bytes?)\b")
_TENSE = {"Sekunde": 1.0, "seconde": 1.0, "segundo": 1.0, "секунду": 1.0, "secondo": 1.0, "Minute": 60.0,
          "Stunde": 3600.0, "heure": 3600.0}  # fmt: skip
_MANY = r"(?:1[,\s]?000[,\s]?000|1\s?M|M|million|millions|mio\.?|mln|mega|миллион)(?![a-su-z])"
_PRICE_OF = re.compile(
    rf"(?:\s?/\s?|\s(?:per|for(?: an?| one| each| every)?|an?|each|every|the|pro|je|par|por|за)\s)"
    rf"(?:(?P<many>{_MANY})(?:\s?-?(?:output[ -]|generated[ -])?(?:tokens?|toks?|tok|t)\b)?|"
    r"(?P<thousand>1[,\s]?000|1?\s?[kK]|thousand)(?:\s?(?:output )?(?:tokens?|toks?|tok)\b)|"
    r"(?P<one>(?:output[ -]|generated[ -])?(?:token|tok))\b|(?P<time>s|sec|second|min|minute|h|hr|hour)\b|"
    r"(?P<other>request|query|call|user|month|day|year|gpu|card|node|server)\b)",
    re.IGNORECASE,
)


def _numerator(text: str, at: int) -> tuple[Unit, int] | None:
    match = _SYMBOL.match(text, at, at + 40)
    if match is None:
        return None
    word = match["word"]
    if word is None:
        spelt = match.group(0)
        if "point" in spelt or spelt == "p.p.":
            return _OTHER["pp"], match.end()
        if spelt in _MONEY:
            return _OTHER[spelt], match.end()
        return _OTHER["×" if spelt == "×" else "%"], match.end()
    end = match.end()
    if re.match(r"[0-9_]", text[end : end + 1]):
        return None
    if word in {"x", "X", "times"} and re.match(r"\s?(?:the )?[\d(]", text[end : end + 6]):
        return None  # a multiplication
    if not word.isascii() and word[0] >= "\u3040":
        for length in range(len(word), 0, -1):
            if word[:length] in _UNITS:
                return _UNITS[word[:length]], end - len(word) + length
        return None
    found = _UNITS.get(word) or _CASELESS.get(word.lower())
    if word in {"milli", "mili"} and (more := re.match(r"[ -]seconds?\b", text[end : end + 9])):
        return _UNITS["ms"], end + more.end()
    if word == "mal" and found:
        return (found, end) if re.match(r"\s(?:schneller|so)", text[end : end + 12]) else None
    if found is None and word in _LETTERS and re.match(r"/s\b", text[end : end + 3]):
        return Unit(_LETTERS[word], "count", 1.0), end
    return (found, end) if found else None


def read_unit(text: str, at: int) -> tuple[Unit, int] | None:
    """The unit that starts at an offset of folded text, and where it ends; None where there is none."""
    found = _numerator(text, at)
    if found is None:
        alone = _ANY_RATE.match(text, at, at + 40)
        return (Unit("/s", "rate", 1 / {**_OF_TIME, **_TENSE}[alone["noun"]]), alone.end()) if alone else None
    unit, end = found
    if unit.dimension == "money":
        return price(text, end, unit)
    if unit.dimension == "flop" and (byte := _A_BYTE.match(text, end, end + 12)) is not None:
        return Unit(f"{unit.name}/B", "flop/byte", unit.factor), byte.end()
    if unit.dimension in {"points", "fraction", "factor"} or unit.dimension.endswith("rate"):
        return found
    per = _PER.match(text, end, end + 40)
    if per is None or re.match(r"[A-Za-z0-9_]", text[per.end() : per.end() + 1]):
        return found
    noun = per["noun"].lower()
    seconds = _OF_TIME.get(noun)
    if per["power"] and noun != "s":
        return found
    if seconds is not None and unit.dimension != "time":
        dimension = _RATE_OF.get(unit.name) or f"{unit.dimension.removesuffix('s')}_rate"
        return Unit(f"{unit.name}/{_SHORT.get(noun, noun)}", dimension, unit.factor / seconds), per.end()
    counted = _COUNTED.get(noun)
    if counted is None or counted == unit.name:
        return found
    return Unit(f"{unit.name}/{counted[:-1]}", f"{unit.dimension}/{counted[:-1]}", unit.factor), per.end()


def price(text: str, at: int, unit: Unit) -> tuple[Unit, int]:
    """Money with what it is the price of, if that follows at an offset: "$0.9 per million tokens"."""
    of = _PRICE_OF.match(text, at, at + 40)
    if of is None:
        return unit, at
    if of["other"]:
        return Unit(unit.name, f"money/{of['other'].lower()}", unit.factor), of.end()
    if of["time"]:
        seconds = _OF_TIME.get(of["time"].lower(), 3600.0)
        return Unit("$/h", "money_rate", unit.factor / seconds), of.end()
    tokens = 1e6 if of["many"] else 1e3 if of["thousand"] else 1.0
    return Unit("$/Mtokens", "money/token", unit.factor / tokens), of.end()


MONEY = re.compile(r"(?:US|A|C)?[$€]\s?$")
"""A currency sign that stands before its number."""


def unit_named(name: str) -> Unit | None:
    """The unit a question names ("ms", "tokens/s", "GiB", "" for a bare number)."""
    name = name.strip().replace("µ", "μ")
    if name in {"", "1", "ratio", "number"}:
        return Unit("", "none", 1.0)
    found = read_unit(name, 0)
    return found[0] if found and found[1] == len(name) else None


def base_of(dimension: str) -> tuple[str, str]:
    """A dimension without its "per …", and what it is per ("" where nothing): "time/token" -> time, token."""
    base, _, per = dimension.partition("/")
    return base, per
