"""Which settings a sentence changes, and to what."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

from tutor.lab.sentence import words
from tutor.lab.sentence.parts import OPEN, Change, Text

_NUM, _UNIT = words.NUMBER, words.UNIT
_AMOUNT: Final = rf"(?P<v>{_NUM})\s*(?P<u>{_UNIT})?(?:[\s-]*tokens?\b)?"
_OLD: Final = (
    r"(?:\s*[(,]?\s*(?:instead of|rather than|not|up from|down from|from|was|now)\s+(?:the )?"
    rf"{_NUM}\s*(?:{_UNIT})?\)?)?"
)
_PERCENT: Final = rf"(?:(?P<pc>{_NUM})\s*(?:%|per ?cent\b)|(?P<part>an? (?:half|third|quarter|fifth|tenth)))"
_BEFORE: Final = r"(?:the\s+|of\s+|as\s+many\s+|as\s+much\s+|more\s+|number\s+of\s+|its\s+)*"


def changes_in(
    text: Text, known: dict[str, str], paths: Sequence[str], classes: Sequence[str] = ()
) -> Iterator[Change]:
    """The settings that are changed, each blanked where it was read. `known` has the values that are written."""
    any_class = "|".join(re.escape(name) for name in classes) or "class"
    for path, value, names in _choices(text, known, paths):
        yield Change(path, value)
        _blank_all(text, names)
    for ends, pattern in words.SETTINGS:
        names = pattern.replace("{classes}", any_class)
        place = path_of(ends, names, text.text, paths, classes)
        if place is None:
            continue
        switch = place.rpartition(".")[2] in words.SWITCHES
        found = _switched(text, names) if switch else _set(text, names, place, known.get(place))
        if found is not None:
            yield Change(place, found)
    yield from _by_path(text, known, paths)


def path_of(ends: Sequence[str], names: str, text: str, paths: Sequence[str], classes: Sequence[str]) -> str | None:
    """The scenario's path of a setting; of one that every class has, that of the class named nearest to it."""
    for end in ends:
        fitting = [path for path in paths if path == end or path.endswith(f".{end}")]
        if len(fitting) <= 1 or not fitting[0].startswith("classes."):
            if fitting:
                return fitting[0]
            continue
        mention = re.search(rf"(?<![\w-])(?:{names})(?![\w-])", text, re.IGNORECASE)
        if mention is None:
            return None
        best, distance = None, 40.0
        for path in fitting:
            for match in re.finditer(class_pattern(path.split(".")[1], classes), text, re.IGNORECASE):
                far = max(mention.start() - match.end(), 1.2 * (match.start() - mention.end()), 0.0)
                if far < distance:
                    best, distance = path, far
        return best
    return None


def class_pattern(name: str, classes: Sequence[str]) -> str:
    """How a class is called: its name, or where there are several a beginning of it that no other has."""
    forms = [re.escape(name)]
    if len(classes) > 1:
        forms += [re.escape(name[:size]) for size in range(len(name) - 1, 2, -1)
                  if not any(other != name and other.startswith(name[:size]) for other in classes)]  # fmt: skip
    return rf"(?<![\w-])(?:{'|'.join(forms)})(?:s|'s|s')?(?!\w)"


def _choices(text: Text, known: dict[str, str], paths: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for ends, value, names in words.CHOICES:
        path = next((p for end in ends for p in paths if p == end or p.endswith(f".{end}")), None)
        match = re.search(rf"(?<![\w-])(?:{names})(?![\w-])", text.text, re.IGNORECASE)
        if path is None or match is None:
            continue
        if value == "true" and re.search(r"(?:not|n't|never)\s+(?:\w+\s+)?$", text.text[: match.start()]):
            value = "false"
        old = known.get(path) == value or re.search(
            r"\b(?:from|than|instead of|rather than|over|beats?)\s+(?:the )?$",
            text.text[: match.start()],
            re.IGNORECASE,
        )
        if old:
            start = match.start()
            lead = re.search(r"(?:instead of|rather than|from|over)\s+(?:the )?$", text.text[:start], re.IGNORECASE)
            text.blank(lead.start() if lead else start, match.end())
            continue
        yield path, value, names


def _by_path(text: Text, known: dict[str, str], paths: Sequence[str]) -> Iterator[Change]:
    """Settings written as the scenario writes them, whether or not they have another name here."""
    for path in paths:
        last = path.rpartition(".")[2]
        if last not in text.text:
            continue
        if path not in text.text and ("_" not in last or sum(p.endswith(f".{last}") for p in paths) != 1):
            continue
        names = rf"{re.escape(path)}|{re.escape(last)}"
        found = _set(text, names, path, known.get(path))
        if found is None:
            match = re.search(rf"(?<![\w.])(?:{names})\s*(?:=|->|→)\s*(?P<v>[\w.+-]+)", text.text)
            if match is not None:
                text.blank(*match.span())
                found = match["v"]
        if found is not None:
            yield Change(path, found)


def _named(text: Text, names: str) -> bool:
    """Whether the sentence speaks of a setting at all; most are passed over by this one look."""
    return re.search(names, text.text, re.IGNORECASE) is not None


def _switched(text: Text, names: str) -> str | None:
    if not _named(text, names):
        return None
    name = rf"(?:{names})"
    verbs = rf"(?:{words.LESS}|{words.MORE}|{words.BETTER}|{words.WORSE}|halves|doubles|makes|gives|keeps|brings|helps)"
    for value, pattern in (
        ("false", rf"(?:without|disabl\w+|no|turn(?:ing|ed)? off|switch(?:ing|ed)? off)\s+(?:the )?{name}"),
        ("false", rf"{name}\s+(?:is |are )?(?:turned |switched )?(?:off|disabled|false)"),
        ("true", rf"(?:enabl\w+|turn(?:ing|ed)? on|switch(?:ing|ed)? on)\s+(?:the )?{name}"),
        ("true", rf"(?:turn|switch)(?:ing|ed)?\s+(?:the )?{name}\s+on"),
        ("false", rf"(?:turn|switch)(?:ing|ed)?\s+(?:the )?{name}\s+off"),
        ("true", rf"{name}\s+(?:=|is |are )?\s*(?:turned |switched )?(?:on|enabled|true)\b"),
        ("true", rf"\bwith\s+(?:the )?{name}"),
        ("true", rf"{name}(?=\s+{verbs}\b)"),
    ):
        match = re.search(rf"(?<![\w-]){pattern}(?![\w-])", text.text, re.IGNORECASE)
        if match:
            text.blank(*match.span())
            return value
    return None


def _set(text: Text, names: str, path: str, before: str | None) -> str | None:
    """The value that a setting gets; `?` where it is only said to be larger or smaller."""
    if not _named(text, names):
        return None
    name = rf"(?P<name>{names})"
    old = words.number_in(before or "")
    number = rf"{_NUM}\s*(?:{_UNIT})?"
    arrow = r"(?:to|->|→)"
    for pattern in (
        rf"from\s+{number}\s*{arrow}\s*{_AMOUNT}\s+(?:of\s+)?{name}",
        rf"{name}(?:\s+\w+){{0,3}}?\s+(?:from\s+)?{number}\s*{arrow}\s*{_AMOUNT}",
        rf"{name}\s*(?:->|→|=|:)\s*{_AMOUNT}",
        rf"{name}\s+(?:(?:is|are|goes|go|gets?|going|up|down)\s+)*(?:(?:raised|lowered|set|cut|reduced|increased|changed|"
        rf"doubled|halved|limited|tripled|bounded|capped)\s+)?(?:to|of|at)\s+{words.HEDGE}{_AMOUNT}",
        rf"{name}\s+(?:of\s+|is\s+|are\s+)?{_AMOUNT}",
        rf"{_AMOUNT}[\s-]+(?:of\s+)?(?:{_BEFORE}){name}",
        rf"{name}\s*\(\s*(?:max\s+)?{_AMOUNT}\s*\)",
        rf"{number}\s+{name}\s+(?:vs\.?|versus|against)\s+{_AMOUNT}\s+(?:{names})",
    ):  # fmt: skip
        match = re.search(rf"(?<![\w.-]){pattern}(?![\w%]|\s?%){_OLD}", text.text, re.IGNORECASE)
        if match is None or _scales(text.text[: match.start("v")], text.text[match.end("v") :]):
            continue
        if re.match(r"\s+(?:more|less|fewer)\b(?!\s+than)", text.text[match.end() :], re.IGNORECASE):
            continue  # one replica more
        value = _in_the_unit_of(path, match["v"], match["u"])
        bound = re.search(r"\b(?:more|less|fewer|over|above) than\s*$", text.text[: match.start()], re.IGNORECASE)
        if value is not None and bound is not None:
            text.blank(bound.start(), match.end())
            return OPEN
        if value is None or (value == old and "vs" not in match[0]):
            continue
        text.blank(*match.span())
        _blank_all(text, names)
        return words.shown(value)
    found = _scaled(text, names, old)
    if found is None and any(path.endswith(end) for end in words.NONE_IS_ZERO):
        match = re.search(
            rf"\b(?:without|no|disabl\w+)\s+(?:any\s+|the\s+)?(?:{names})(?:\s*\(\w+ 0\))?(?![\w-])",
            text.text,
            re.IGNORECASE,
        )
        if match:
            text.blank(*match.span())
            return "0"
    if found is None and path.endswith("rate_per_s"):
        found = _rate(text)
    if found is not None:
        _blank_all(text, names)
        return found
    match = re.search(
        rf"\b(?:{words.WIDER})\s+(?:the\s+|a\s+)?(?:kv\s+)?(?:{names})(?![\w-])", text.text, re.IGNORECASE
    )
    if match:
        text.blank(*match.span())
        return OPEN
    return None


def _scales(before: str, after: str) -> bool:
    """Whether a number multiplies, or is added to, what is there: 2x blocks, 600 more blocks."""
    return bool(
        re.match(r"\s?(?:x\b|×|times\b)|\s+(?:more|fewer|less|extra|additional)\b", after, re.IGNORECASE)
        or re.search(r"\b(?:add(?:ing|s)?|remov\w+|drop\w*|los\w+|by)\s+(?:another\s+)?$", before, re.IGNORECASE)
    )


def _in_the_unit_of(path: str, number: str, unit: str | None) -> float | None:
    """The value in the setting's own unit; None where the unit is another's."""
    value, low = words.number_in(number), (unit or "").lower().replace(" ", "")
    if value is None or not low:
        return value
    if path.endswith("_per_s"):
        return value if low.startswith("req") else None
    if not path.endswith("_s") or low[0] in "%pt" or low.startswith("req"):
        return None
    return value / 1000 if low.startswith(("ms", "milli")) else value


def _rate(text: Text) -> str | None:
    """At 40 requests per second, said before anything else of a clause: what arrives, and no claim."""
    match = re.search(
        rf"(?:^|[,;:]\s*|\bif\s+\w+\s+\w+\s+)(?:at|with|under)\s+(?P<v>{_NUM})\s*"
        r"(?:requests?|reqs?)\s?(?:/|per |a )\s?s(?:ec(?:ond)?)?\b",
        text.text,
        re.IGNORECASE,
    )
    value = words.number_in(match["v"]) if match else None
    if match is None or value is None:
        return None
    text.blank(*match.span())
    return words.shown(value)


def _scaled(text: Text, names: str, old: float | None) -> str | None:
    """Twice, half, one more, 20 % more: told relative to what is there."""
    if old is None:
        return None
    name = rf"(?:{names})"
    match = re.search(rf"\b(?:an?|the)\s+(?P<o>{'|'.join(words.ORDINALS)})\s+{name}(?![\w-])", text.text, re.IGNORECASE)
    if match and words.ORDINALS.index(match["o"].lower()) + 2 == old + 1:
        text.blank(*match.span())
        return words.shown(old + 1)
    forms: list[tuple[str, float, float]] = []
    for word, factor in words.TIMES:
        forms += [
            (rf"(?:{word})\s+{_BEFORE}{name}", factor, 0.0),
            (rf"{name}\s+(?:(?:is|are|gets?|get|being)\s+)?(?:{word})(?!\s+to\b)", factor, 0.0),
        ]
    forms += [
        (rf"(?:cut|cutting|cuts|split\w*|reduc\w+)\s+{_BEFORE}{name}\s+(?:in|by|to)\s+half", 0.5, 0.0),
        (rf"half\s+{name}", 0.5, 0.0),
        (rf"one {name} more|one more {name}|an(?:other)? (?:additional |extra )?{name}", 1.0, 1.0),
        (
            rf"one {name} (?:less|fewer)|one (?:less|fewer) {name}|one {name} lost|"
            rf"(?:remov\w+|dropp?\w*|los\w+) (?:one|a) {name}",
            1.0,
            -1.0,
        ),
    ]
    for pattern, factor, added in forms:
        match = re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", text.text, re.IGNORECASE)
        if match:
            text.blank(*match.span())
            return words.shown(round(old * factor + added, 6))
    return _by_how_much(text, name, old)


def _by_how_much(text: Text, name: str, old: float) -> str | None:
    more, less = r"(?:more|extra|additional)", r"(?:less|fewer)"
    by = rf"by\s+(?:(?P<pc2>{_NUM})\s*(?:%|per ?cent\b)|(?P<part2>an? (?:half|third|quarter|fifth|tenth)))"
    up = rf"(?:{words.MORE}|add(?:ing)?)"
    down = rf"(?:{words.LESS}|remov\w+)"
    for sign, pattern in (
        (0, rf"(?P<v>{_NUM})\s?(?:x|×|times)\s+{_BEFORE}{name}"),
        (1, rf"(?P<v>{_NUM})\s+{more}\s+{name}|(?P<v2>{_NUM})\s+{name}\s+more"),
        (-1, rf"(?P<v>{_NUM})\s+{less}\s+{name}|(?P<v2>{_NUM})\s+{name}\s+(?:less|fewer)"),
        (1, rf"add(?:ing|s)?\s+(?:another\s+)?(?P<v>{_NUM})\s+{name}"),
        (-1, rf"(?:remov\w+|dropp\w+|los\w+)\s+(?P<v>{_NUM})\s+{name}"),
        (1, rf"{_PERCENT}\s+{more}\s+{name}|\b{up}\s+{_BEFORE}{name}\s+{by}"),
        (-1, rf"{_PERCENT}\s+{less}\s+{name}|\b{down}\s+{_BEFORE}{name}\s+{by}"),
    ):  # fmt: skip
        match = re.search(rf"(?<![\w.-])(?:{pattern})(?![\w-])", text.text, re.IGNORECASE)
        if match is None:
            continue
        groups = match.groupdict()
        number = words.number_in(groups.get("v") or groups.get("v2") or groups.get("pc") or groups.get("pc2") or "")
        part = (groups.get("part") or groups.get("part2") or "").lower()
        if groups.get("v") or groups.get("v2"):
            if number is None:
                continue
            value = old * number if sign == 0 else old + sign * number
        else:
            share = _exact(part) if part else (number or 0.0) / 100
            value = old * (1 + sign * share)
        if not math.isfinite(value) or value < 0:
            continue
        text.blank(*match.span())
        return words.shown(round(value, 6))
    return None


def _exact(part: str) -> float:
    return {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "tenth": 1 / 10}[part.split()[-1]]


def _blank_all(text: Text, names: str) -> None:
    """Another mention of a setting whose value is known says nothing new."""
    for match in re.finditer(
        rf"(?<![\w-])(?:with|at|on)?\s*(?:{_NUM})?\s*(?:{names})(?![\w-])", text.text, re.IGNORECASE
    ):
        text.blank(*match.span())
