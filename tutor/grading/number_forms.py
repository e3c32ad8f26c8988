"""How digits are written: groups of thousands, decimal commas, powers of ten, fractions, times of day's form."""

from __future__ import annotations

import re
from typing import Literal

GROUPED = (
    r"(?<!\d,)\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d|,\d)|"  # 1,050.5, but not a list such as 100,40,160
    r"(?<!\d,)\d{1,2}(?:,\d{2})+,\d{3}(?!\d|,\d)|"  # 10,80,000
    r"\d{1,3}(?:\.\d{3})+,\d+|"  # 1.050,5
    r"\d{1,3}(?:\.\d{3}){2,}(?!\d)|"  # 1.050.000
    r"\d{1,3}(?:[\u00a0'_]\d{3})+(?:[.,]\d+)?(?!\d)|"  # 1 050 with a hard space, 1'050
    r"(?<!\d )[1-9]\d?(?: \d{3})+(?:[.,]\d+)?(?![\d]| \d)|"  # 1 050 with a plain space
    r"(?<!\d )[1-9]\d{2}(?:(?: \d{3})* 0\d{2}(?: \d{3})*(?!\d| \d)|"  # 131 072
    r"(?: \d{3}){2,}(?= ?(?:[KMGT]?i?B\b|bytes|tok)))|"  # 536 870 912 B
    r"\d+,\d{1,2}(?![\d]|,\d)|\d+,\d{4,}(?!,?\d)|"  # 1,05 as a decimal comma
    r"\d+(?:\.\d+)?|(?<!\.)\.\d+"  # .5, but not the end of 1…200
)
_TIMES = r"\s?(?:\*|·|×|x|X)\s?"
_POWER = r"\s?(?:\^|\*\*)\s?[{(]?[+-]?\d{1,3}[)}]?"
# 0.98^(1/8), 0.99^{0.1}
_ROOT = r"\s?(?:\^|\*\*)\s?[{(]\s?\d{1,3}(?:\.\d{1,6})?(?:\s?/\s?\d{1,3})?\s?[)}]|\s?(?:\^|\*\*)\s?0?\.\d{1,6}"
NUMBER = re.compile(
    rf"(?:(?<![A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u04ff0-9.\\^])|(?<=\.\.)|"
    rf"(?<=\d[xX])|(?<=[\d)] [xX])|(?<=^[xX])|(?<=[\s(=:≈~][xX])|(?<=\d_))"
    rf"(?P<num>{GROUPED})"
    rf"(?P<exp>[eE][+-]?\d{{1,3}}(?!\d)|{_TIMES}10{_POWER})?"
    rf"(?P<pow>{_ROOT}|{_POWER})?"
    rf"(?P<scale>\s?(?:[kK](?![A-Za-z])|M(?![A-Za-z])|(?i:thousand|million|billion|mio|mln|bn)\b))?"
)
_SCALE = {"k": 1e3, "m": 1e6, "thousand": 1e3, "million": 1e6, "mio": 1e6, "mln": 1e6, "billion": 1e9, "bn": 1e9}

# 3/4, 1 1/2: a proper fraction of small numbers that stands by itself and is not equated with anything.
FRACTION = re.compile(
    r"(?<![\w.,/)^+*×·-])(?<![+*×·/-] )(?:(?P<whole>\d{1,3})[ \u00a0])?"
    r"(?P<over>\d{1,2})\s?/\s?(?P<under>\d{1,3})(?:th|rd|ths|rds)?"
    r"(?![\w/.,]*[\d/])(?!\w)(?!\s*[=≈+*×·/(-])"
)
# 5:2, 2.5 to 1: a proportion
RATIO = re.compile(
    r"(?<![\w.,:])(?<!from )(?<!from  )(?P<over>\d{1,3}(?:\.\d+)?)(?:\s?:\s?|\sto\s(?=1\b))"
    r"(?P<under>[1-9])(?![\w:%]|[.,]\d)"
    r"(?!\s?(?:[nmuμ]?s\b|%|tok|req|[KMGT]?i?B\b|h\b|min))"
)
# 1h30m, 2m30s, 1 h 30 m: at least two parts, the last with or without its full unit
COMPACT_TIME = re.compile(
    r"(?<![\w.,])(?:(?P<h>\d{1,4})\s?h\s?(?P<hm>\d{1,2})\s?(?:m|min)(?:\s?(?P<hms>\d{1,2}(?:\.\d+)?)\s?s)?"
    r"|(?P<m>\d{1,4})\s?m\s?(?P<ms>\d{1,2}(?:\.\d+)?)\s?s"
    r"|(?P<clock>\d{1,3}):(?P<clock_m>[0-5]\d)(?::(?P<clock_s>[0-5]\d))?\s?(?P<unit>h|hrs?|hours?|min|minutes?)"
    r")(?!\w)"
)


def digits(written: str) -> tuple[float, float | None]:
    """The value of a run of digits and separators, and its other possible value (1.050, 1,050)."""
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", written):
        return float(written.replace(".", "").replace(",", ".")), None
    if re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", written):
        return float(written.replace(".", "")), None
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{2,3})+(?:\.\d+)?", written) and re.search(r",\d{3}(?:\.|$)", written):
        plain = float(written.replace(",", ""))
        other = float(written.replace(",", ".")) if written.count(",") == 1 and "." not in written else None
        return plain, other
    bare = re.sub(r"[\u00a0'_ ]", "", written)
    value = float(bare.replace(",", "."))
    other = float(bare.replace(".", "")) if re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", written) else None
    return value, other


_COMMA_STYLE = re.compile(r"(?<![\d,.])(?:0,\d+|\d{1,3}(?:\.\d{3})+,\d+|\d+,\d{1,2})(?![\d,])")
_POINT_STYLE = re.compile(r"(?<![\d,.])(?:0?\.\d+|0\.\d+|\d{1,3}(?:,\d{3})+\.\d+|\d+\.\d{1,2})(?![\d.])")


def decimal_mark(text: str) -> Literal["comma", "point", ""]:
    """The decimal mark that an answer uses where only one can be meant; "" where it shows none, or both."""
    comma, point = bool(_COMMA_STYLE.search(text)), bool(_POINT_STYLE.search(text))
    return "" if comma == point else "comma" if comma else "point"


def _exponent(raw: str) -> int:
    return int(re.sub(r"[^\d+-]", "", re.sub(r".*(?:\^|\*\*|[eE])", "", raw)))


def _power(raw: str) -> float:
    """The exponent of a power, which may be a root: "^(1/8)"."""
    over, _, under = re.sub(r"[^\d.+/-]", "", raw).partition("/")
    return float(over) / (float(under) if under and float(under) else 1.0)


def value_of(match: re.Match[str]) -> tuple[float, float | None]:
    """The value of a match of NUMBER and the other value that its separators allow."""
    value, other = digits(match["num"])
    factor = 1.0
    if match["exp"]:
        factor *= 10.0 ** max(-300, min(300, _exponent(match["exp"])))
    if match["pow"]:
        power = _power(match["pow"])
        if abs(power) <= 64 and 0 < value < 1e4:
            value, other = value**power, None
    if match["scale"]:
        factor *= _SCALE[match["scale"].strip().lower()]
    value = min(value, 1e300) * factor if factor <= 1 else min(value, 1e300 / factor) * factor
    return value, None if other is None else other * factor


def fraction(match: re.Match[str]) -> float | None:
    """The value of a match of FRACTION; None where it is rather a list, a ratio or a division to be carried out."""
    over, under = int(match["over"]), int(match["under"])
    if not 0 < over < under or under > 100:
        return None
    return int(match["whole"] or 0) + over / under


def seconds(match: re.Match[str]) -> float:
    """The value of a match of COMPACT_TIME, in seconds."""
    if match["h"]:
        return 3600.0 * int(match["h"]) + 60.0 * int(match["hm"]) + float(match["hms"] or 0)
    if match["m"]:
        return 60.0 * int(match["m"]) + float(match["ms"])
    larger, part, last = int(match["clock"]), int(match["clock_m"]), int(match["clock_s"] or 0)
    # "1:30 h" and "1:30:00 h" are hours and minutes; "1:30 min" minutes and seconds, "1:30:00 min" is not written.
    if match["unit"].startswith("h") or match["clock_s"]:
        return 3600.0 * larger + 60.0 * part + last
    return 60.0 * larger + part
