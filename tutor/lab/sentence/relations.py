"""What a sentence says of numbers: under 50 ms, at least 10 % lower, twice as fast, worse."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tutor.lab.sentence import words

_NUM, _UNIT = words.NUMBER, words.UNIT
_MOST: Final = (
    r"at most|no more than|not more than|(?:not|never) (?:above|over|exceed)|below|under|within|less than|lower than|"
    r"smaller than|shorter than|up to|must not exceed|(?:does|do) not exceed|doesn't exceed|no worse than|<=|≤|<|"
    r"max(?:imum)?(?: of)?|down to"
)
_LEAST: Final = (
    r"at least|no less than|not less than|(?:not|never) (?:below|under)|above|over|more than|higher than|longer than|"
    r"exceeds?|exceeding|>=|≥|>|min(?:imum)?(?: of)?"
)
_RANGE: Final = re.compile(
    rf"(?:between\s+|from\s+|within\s+)?({_NUM})\s*({_UNIT})?\s*(?:-|–|to|and)\s*({_NUM})\s*({_UNIT})", re.IGNORECASE
)
_BOUND: Final = re.compile(
    rf"(?:(never|not)\s+(?:\w+\s+){{0,3}})?(?:({_MOST})|({_LEAST}))\s+(?:a |an |the )?({_NUM})\s*({_UNIT})?",
    re.IGNORECASE,
)
_SUFFIX: Final = re.compile(
    rf"({_NUM})\s*({_UNIT})\s*(?:(or less|or lower|or below|at most|max)|(or more|or higher|at least))", re.IGNORECASE
)
_WAY: Final = rf"(?:(?P<less>{words.LESS})|(?P<more>{words.MORE})|(?P<better>{words.BETTER})|(?P<worse>{words.WORSE}))"
_HOW: Final = r"(?P<how>at least |at most |more than |less than |about |roughly |over |up to )?"
_HOW_MUCH: Final = rf"(?P<amount>{_NUM})\s*(?:%|per ?cent\b)"
_PART: Final = r"(?P<part>an? (?:half|third|quarter|fifth|tenth)|half)"
_CHANGES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_WAY}\b(?:\s+[\w'/-]+){{0,6}}?\s+by\s+{_HOW}(?:{_HOW_MUCH}|{_PART})",
        rf"\bby\s+{_HOW}(?:{_HOW_MUCH}|{_PART})(?:\s+or more)?",
        rf"{_HOW}{_HOW_MUCH}\s+(?:of the |of its )?{_WAY}\b",
        rf"\b{_WAY}\s+(?:by )?{_HOW}{_HOW_MUCH}",
        rf"\b{_WAY}\b(?:\s+[\w'/-]+){{0,4}}?\s+{_HOW}{_HOW_MUCH}",
        rf"(?P<sign>[+−-])\s?{_HOW_MUCH}",
        rf"{_HOW}{_HOW_MUCH}\s+of the\b",
        r"\b(?P<halve>halv\w+|cut in half)\b|\b(?P<double>doubl\w+)\b|\b(?P<triple>tripl\w+)\b",
        rf"\b(?P<times>{_NUM})\s?(?:x|×|times)\s+{_WAY}",
    )
)
_DIRECTION: Final = re.compile(rf"\b{_WAY}\b(?!\s+than\s+{_NUM})", re.IGNORECASE)
_STEADY: Final = re.compile(words.STEADY, re.IGNORECASE)


class Said(NamedTuple):
    start: int
    end: int
    kind: str
    """A relation, or less, more, better or worse, whose direction depends on the quantity; with _by for an amount."""
    amount: str
    unit: str


def _unit(text: str | None) -> str:
    low = (text or "").lower().replace(" ", "")
    if low.startswith(("ms", "milli")):
        return "ms"
    if low in ("%", "percent"):
        return "%"
    if low.startswith("tok"):
        return "tokens/s"
    if low.startswith("req"):
        return "requests/s"
    return "s" if low else ""


def relations(text: str) -> list[Said]:
    """What is said of numbers, in order; each stretch of the text is read once."""
    found = [Said(*match.span(), "steady", "", "") for match in _STEADY.finditer(text)]

    def free(start: int, end: int) -> bool:
        return not any(one.start < end and start < one.end for one in found)

    for pattern in _CHANGES:
        for match in pattern.finditer(text):
            made = _change_said(text, match)
            if made is not None and free(made.start, made.end):
                found.append(made)
    for match in _RANGE.finditer(text):
        low, high = words.number_in(match[1]), words.number_in(match[3])
        unit = _unit(match[4])
        if low is not None and high is not None and low < high and free(*match.span()) and unit != "%":
            found.append(Said(*match.span(), "within", f"{words.shown(low)} to {words.shown(high)}", unit))
    for match in _SUFFIX.finditer(text):
        value = words.number_in(match[1])
        if value is not None and free(*match.span()):
            found.append(
                Said(*match.span(), "at_most" if match[3] else "at_least", words.shown(value), _unit(match[2]))
            )
    for match in _BOUND.finditer(text):
        value = words.number_in(match[4])
        if value is None or not free(*match.span()):
            continue
        most = bool(match[2]) != bool(match[1])
        found.append(Said(*match.span(), "at_most" if most else "at_least", words.shown(value), _unit(match[5])))
    for match in _DIRECTION.finditer(text):
        if free(*match.span()):
            kind = next(name for name in ("less", "more", "better", "worse") if match[name])
            found.append(Said(*match.span(), kind, "", ""))
    return sorted(found)


def _change_said(text: str, match: re.Match[str]) -> Said | None:
    groups = match.groupdict()
    way = next((name for name in ("less", "more", "better", "worse") if groups.get(name)), "")
    start, end = match.span()
    if way and groups.get("amount") is None and groups.get("part") is None and groups.get("times") is None:
        return None
    if groups.get("halve"):
        return Said(start, end, "less_by", "50", "%")
    if groups.get("double"):
        return Said(start, end, "more_by", "100", "%")
    if groups.get("triple"):
        return Said(start, end, "more_by", "200", "%")
    if groups.get("sign"):
        way = "more" if groups["sign"] == "+" else "less"
    if not way:
        # "by 10 %" alone: the nearest word of direction before it says which way.
        before = list(_DIRECTION.finditer(text, 0, start))
        if not before:
            return None
        way = next(name for name in ("less", "more", "better", "worse") if before[-1][name])
    if groups.get("times"):
        value = words.number_in(groups["times"])
        if value is None or value <= 1:
            return None
        percent = 100 * (value - 1) if way in ("more", "worse") else 100 * (1 - 1 / value)
    elif groups.get("part"):
        percent = words.FRACTIONS[groups["part"].lower()]
    else:
        amount = words.number_in(groups.get("amount") or "")
        if amount is None:
            return None
        percent = amount
    kind = (
        f"{way}_less" if (groups.get("how") or "").strip().lower() in ("at most", "less than", "up to") else f"{way}_by"
    )
    return Said(start, end, kind, words.shown(percent), "%")
