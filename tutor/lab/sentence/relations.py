"""What a sentence says of numbers: under 50 ms, at least 10 % lower, twice as fast, no worse."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tutor.lab.sentence import words

_NUM, _UNIT = words.NUMBER, words.UNIT
_NOT: Final = r"(?:never|not|cannot|no|\w+n't)"
_MOST: Final = (
    r"at most|no more than|not more than|at or (?:below|under)|below|under|beneath|within|inside|less than|lower than|"
    r"smaller than|shorter than|faster than|up to|no (?:worse|higher|longer|slower|later) than|"
    r"max(?:imum)?(?: of)?|down to|to at most"
)
_LEAST: Final = (
    r"at least|no less than|not less than|at or (?:above|over)|above|over|past|beyond|more than|higher than|"
    r"longer than|slower than|no (?:lower|shorter|fewer|faster) than|exceed(?:s|ing)?|min(?:imum)?(?: of)?|up from"
)
_RANGE: Final = re.compile(
    rf"(?:(?:somewhere )?(?:between|from|within|in the range of|in)\s+)?({_NUM})\s*({_UNIT})?\s*(?:-|–|to|and)\s*"
    rf"({_NUM})\s*({_UNIT})",
    re.IGNORECASE,
)
_WAY: Final = rf"(?:(?P<less>{words.LESS})|(?P<more>{words.MORE})|(?P<better>{words.BETTER})|(?P<worse>{words.WORSE}))"
_FROM_TO: Final = re.compile(
    rf"\b(?:{words.LESS}|{words.MORE}|{words.BETTER}|{words.WORSE}|goes|moves|changes|comes|gets)\b(?:\s+\w+)??\s+"
    rf"from\s+{words.HEDGE}(?P<a>{_NUM})\s*(?:{_UNIT})?\s*(?:to|->|→)\s*{words.HEDGE}"
    rf"(?:(?:{_MOST})\s+|(?P<least>{_LEAST})\s+)?(?P<b>{_NUM})\s*(?P<u>{_UNIT})?",
    re.IGNORECASE,
)
_BOUND: Final = re.compile(
    rf"(?:(?P<not>{_NOT})\s+(?:\w+\s+){{0,3}}?)?"
    rf"(?:(?:(?P<most>{_MOST})|(?P<least>{_LEAST}))\s+|(?P<le><=|≤|<)\s*|(?P<ge>>=|≥|>)\s*)"
    rf"{words.HEDGE}(?P<v>{_NUM})\s*(?P<u>{_UNIT})?",
    re.IGNORECASE,
)
_SUFFIX: Final = re.compile(
    rf"({_NUM})\s*({_UNIT})\s*(?:(or (?:less|lower|below|under|better|faster)|at most|max(?:imum)?|tops)|"
    rf"(or (?:more|higher|above|longer)|at least|min(?:imum)?))\b",
    re.IGNORECASE,
)
_UP_TO: Final = (
    r"(?:at (?:the )?most|at max(?:imum)?|less than|up to|no more than|not more than|under|max(?:imum)?(?: of)?|below)"
)
_AT_LEAST: Final = r"(?:at least|no less than|not less than|more than|over|min(?:imum|imal)?(?: of)?|above)"
_HOW: Final = rf"(?P<how>(?:(?:{_UP_TO}|{_AT_LEAST})\s+)?{words.HEDGE})"
_PERCENT: Final = rf"(?P<amount>{_NUM})\s*(?:%|per ?cent\b)"
_PART: Final = r"(?P<part>an? (?:half|third|quarter|fifth|tenth)|two thirds|three quarters|half)"
_MUCH: Final = rf"(?:{_PERCENT}|{_PART})"
_OR: Final = r"(?:\s+(?:or (?P<ormore>more|less)|at (?P<atmost>most|least)))?"
_AS: Final = r"(?:as\s+)?(?:(?P<a_more>long|slow|high|large|much|many|late)|(?P<a_better>fast|quick|short|early|good))"
_CHANGES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_WAY}\b(?:\s+[\w'/-]+){{0,6}}?\s+by\s+{_HOW}{_MUCH}{_OR}",
        rf"\bby\s+{_HOW}{_MUCH}{_OR}",
        rf"{_HOW}{_PERCENT}\s+(?:of the |of its )?{_WAY}\b",
        rf"{_HOW}{_PART}\s+{_WAY}\b",
        rf"\b{_WAY}\s+(?:by )?{_HOW}{_PERCENT}{_OR}",
        rf"\b{_WAY}\b(?:\s+[\w'/-]+){{0,4}}?\s+{_HOW}{_PERCENT}",
        rf"\b{_WAY}\b(?:\s+[\w'/-]+){{0,4}}?\s+(?:in|by)\s+(?P<part>half)\b",
        rf"(?P<sign>[+−-])\s?{_PERCENT}",
        rf"{_HOW}{_PERCENT}\s+of the\b",
        rf"{_HOW}\b(?P<times>{_NUM}|twice|half|three times|four times)(?:\s?(?:x|×|times))?\s+{_AS}\b",
        rf"\bin\s+{_HOW}(?P<part>half)\s+the\s+time\b",
        rf"{_HOW}\b(?:(?P<halve>halv\w+|cut in half)|(?P<double>doubl\w+|twice the)|(?P<triple>tripl\w+)|"
        rf"(?P<quadruple>quadrupl\w+))\b",
        rf"{_HOW}\b(?P<times>{_NUM})\s?(?:x|×|times)\s+{_WAY}\b",
        rf"{_HOW}\b(?P<times>{_NUM})\s?(?:x|×|times)\s+(?:the\s+)?(?=(?:mean |median |p\d\d )?"
        rf"(?:{'|'.join(name for _, name in words.QUANTITIES)}))(?P<more_of>)",
    )
)
_DIRECTION: Final = re.compile(
    rf"\b{_WAY}\b(?!\s+than\s+{_NUM})(?:\s+than\s+(?:before|now|today|the baseline)\b)?", re.I
)
_NOT_AT_ALL: Final = re.compile(
    rf"\b{_NOT}\s+(?:(?:be|get|gets|getting|become|becomes|go|any|make|makes)\s+)*{_WAY}\b(?!\s+than\s+\S*\d)"
    rf"(?:\s+than\s+(?:before|now|today|the baseline)\b)?"
    rf"(?!(?:\s+[\w'/-]+){{0,6}}?\s+(?:{_UP_TO}|{_AT_LEAST}|by))",
    re.IGNORECASE,
)
_STEADY: Final = re.compile(words.STEADY, re.IGNORECASE)
_ABOUT_SAME: Final = re.compile(
    rf"\b(?:(?:{_NOT}\s+)?(?:chang\w+|mov\w+|differ\w*|vary|varies)\b(?:\s+[\w/]+){{0,5}}?\s+(?:by|of)\s+{_HOW}|"
    rf"\bno (?:difference|change|effect|impact)\b(?:\s+[\w/]+){{0,6}}?\s+(?:of\s+)?(?:more than|over|above)\s+|"
    rf"\bwithin\s+){_PERCENT}(?:\s+of\s+(?:before|today|now|the baseline|what it (?:is|was))(?:\s+now)?)?",
    re.IGNORECASE,
)

_MULTIPLES: Final = {"halve": 0.5, "double": 2.0, "triple": 3.0, "quadruple": 4.0}
_TIMES: Final = {"twice": 2.0, "half": 0.5, "three times": 3.0, "four times": 4.0}


class Said(NamedTuple):
    start: int
    end: int
    kind: str
    """A relation, or less, more, better or worse, whose direction depends on the quantity: with _by for at least that
    much, with _less for at most; `same_within` for at most that much either way."""
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


class _Found:
    """What is said, each stretch of the text once."""

    def __init__(self, taken: list[tuple[int, int]]) -> None:
        self.said: list[Said] = []
        self._taken = taken

    def add(self, start: int, end: int, kind: str, amount: str = "", unit: str = "") -> None:
        if not any(a < end and start < b for a, b in self._taken):
            self.said.append(Said(start, end, kind, amount, unit))
            self._taken.append((start, end))


def relations(text: str, statistics: list[tuple[int, int]] | None = None) -> list[Said]:
    """What is said of numbers, in order. `statistics`: where a percentile stands, whose number says nothing else."""
    found = _Found(list(statistics or ()))
    for match in _ABOUT_SAME.finditer(text):
        value = words.number_in(match["amount"])
        if value is not None and not re.match(r"\s+of\s+(?:the\s+)?(?:requests|limit)", text[match.end() :]):
            found.add(*match.span(), "same_within", words.shown(value), "%")
    for match in _STEADY.finditer(text):
        found.add(*match.span(), "steady")
    for match in _FROM_TO.finditer(text):
        first, last = words.number_in(match["a"]), words.number_in(match["b"])
        if first is not None and last is not None and first != last:
            found.add(*match.span(), "at_most" if last < first else "at_least", words.shown(last), _unit(match["u"]))
    for match in _NOT_AT_ALL.finditer(text):
        found.add(*match.span(), f"{_way(match)}_less", "0", "%")
    for pattern in _CHANGES:
        for match in pattern.finditer(text):
            made = _change_said(text, match)
            if made is not None:
                found.add(*made)
    for match in _RANGE.finditer(text):
        low, high = words.number_in(match[1]), words.number_in(match[3])
        unit = _unit(match[4])
        if low is not None and high is not None and low < high and unit != "%":
            found.add(*match.span(), "within", f"{words.shown(low)} to {words.shown(high)}", unit)
    for match in _SUFFIX.finditer(text):
        value = words.number_in(match[1])
        if value is not None:
            found.add(*match.span(), "at_most" if match[3] else "at_least", words.shown(value), _unit(match[2]))
    for match in _BOUND.finditer(text):
        value = words.number_in(match["v"])
        if value is not None:
            most = bool(match["most"] or match["le"]) != bool(match["not"])
            found.add(*match.span(), "at_most" if most else "at_least", words.shown(value), _unit(match["u"]))
    for match in _DIRECTION.finditer(text):
        found.add(*match.span(), _way(match))
    return sorted(found.said)


def _way(match: re.Match[str]) -> str:
    return next((name for name in ("less", "more", "better", "worse") if match.groupdict().get(name)), "")


def _change_said(text: str, match: re.Match[str]) -> Said | None:
    groups = match.groupdict()
    way, (start, end) = _way(match), match.span()
    how = (groups.get("how") or "").strip().lower()
    hedged = re.match(r"(?:nearly|almost)\b", how) is not None
    limit = re.match(_UP_TO, how) is not None or groups.get("ormore") == "less" or groups.get("atmost") == "most"
    if re.match(r"more than|over|above", how) and (found := _negated(text, start)) is not None:
        start, limit = found, True  # "does not improve it by more than 1 %"
    multiple = next((value for name, value in _MULTIPLES.items() if groups.get(name)), None)
    if multiple is not None and hedged:
        return Said(start, end, "more" if multiple > 1 else "less", "", "")  # nearly twice is less than twice
    if groups.get("times"):
        told = groups["times"].lower()
        multiple = _TIMES[told] if told in _TIMES else words.number_in(told)
    end_of = "less" if limit else "by"
    if multiple is not None:
        if multiple <= 0 or multiple == 1:
            return None
        percent = 100 * abs(multiple - 1)
        if way or groups.get("a_better"):
            # Twice as fast takes half the time; three times slower takes three times as long.
            if multiple < 1:
                return None
            way = way or "better"
            percent = percent / multiple if way in ("better", "less") else percent
        else:
            way = "more" if multiple > 1 else "less"
        return Said(start, end, f"{way}_{end_of}", words.shown(round(percent, 1)), "%")
    if groups.get("sign"):
        way = "more" if groups["sign"] == "+" else "less"
    if groups.get("part"):
        percent = words.FRACTIONS[groups["part"].lower()]
        way = way or ("better" if " the time" in match[0].lower() else "")
    else:
        amount = words.number_in(groups.get("amount") or "")
        if amount is None:
            return None
        percent = amount
    if not way:
        # "by 10 %" alone: the nearest word of direction before it says which way.
        before = list(_DIRECTION.finditer(text, 0, start))
        if not before:
            return None
        way = _way(before[-1])
    # "Climbs over 90 %" is a bound where what is measured is a share.
    unit = {"over": "% over", "above": "% over", "under": "% under", "below": "% under"}.get(how.split(" ")[0], "%")
    return Said(start, end, f"{way}_{end_of}", words.shown(percent), "%" if re.search(r"\bby\b", match[0]) else unit)


def _negated(text: str, start: int) -> int | None:
    """Where a "not" stands that turns what follows round, at most three words before it."""
    match = re.search(rf"\b{_NOT}\s+(?:\w+\s+){{0,3}}$", text[:start], re.IGNORECASE)
    return match.start() if match else None
