"""Which settings a sentence changes, and to what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tutor.lab.sentence import words
from tutor.lab.sentence.parts import OPEN, Change, Text

_NUM, _UNIT = words.NUMBER, words.UNIT


def changes_in(text: Text, known: dict[str, str], paths: Sequence[str]) -> Iterator[Change]:
    for ends, names in words.SETTINGS:
        path = next((p for end in ends for p in paths if p == end or p.endswith(f".{end}")), None)
        if path is None:
            continue
        switch = path.rpartition(".")[2] in words.SWITCHES
        found = _switched(text, names) if switch else _set(text, names, known.get(path))
        if found is not None:
            yield Change(path, found)


def _switched(text: Text, names: str) -> str | None:
    name = rf"(?:{names})"
    for value, pattern in (
        ("false", rf"(?:without|disabl\w+|no|turn(?:ing|ed)? off|switch(?:ing|ed)? off)\s+(?:the )?{name}"),
        ("false", rf"{name}\s+(?:is |are )?(?:turned |switched )?(?:off|disabled|false)"),
        ("true", rf"(?:enabl\w+|turn(?:ing|ed)? on|switch(?:ing|ed)? on)\s+(?:the )?{name}"),
        ("true", rf"(?:turn|switch)(?:ing|ed)?\s+(?:the )?{name}\s+on"),
        ("false", rf"(?:turn|switch)(?:ing|ed)?\s+(?:the )?{name}\s+off"),
        ("true", rf"{name}\s+(?:=|is |are )?\s*(?:turned |switched )?(?:on|enabled|true)\b"),
        ("true", rf"\bwith\s+(?:the )?{name}"),
    ):
        match = re.search(rf"(?<![\w-]){pattern}(?![\w-])", text.text, re.IGNORECASE)
        if match:
            text.blank(*match.span())
            return value
    return None


def _set(text: Text, names: str, before: str | None) -> str | None:
    """The value that a setting gets; `?` where it is only said to be larger or smaller."""
    name = rf"(?P<name>{names})"
    old = words.number_in(before or "")
    found = _scaled(text, names, old)
    if found is not None:
        return found
    tokens = r"(?:[\s-]*tokens?)?"
    for pattern in (
        rf"from\s+{_NUM}\s*(?:to|->|→)\s*(?P<v>{_NUM}){tokens}\s+{name}",
        rf"{name}(?:\s+\w+){{0,3}}?\s+(?:from\s+)?{_NUM}\s*(?:->|→|to)\s*(?P<v>{_NUM})",
        rf"{name}\s+(?:of\s+)?(?P<v>{_NUM}){tokens}(?:\s+(?:instead of|rather than)\s+{_NUM})?",
        rf"{name}\s*(?:->|→|=|:)\s*(?P<v>{_NUM}){tokens}",
        rf"{name}\s+(?:(?:is|are|goes|go|gets?)\s+)?(?:raised\s+|lowered\s+|set\s+|cut\s+|reduced\s+|increased\s+)?(?:to|of|at)\s+(?P<v>{_NUM}){tokens}",
        rf"(?P<v>{_NUM})\s+{name}(?:\s+(?:instead of|rather than|not)\s+{_NUM})?",
        rf"(?P<v>{_NUM})(?:[\s-]tokens?)\s+(?:of\s+)?{name}",
        rf"from\s+{_NUM}\s*(?:to|->|→)\s*(?P<v>{_NUM})\s+{name}",
        rf"{name}\s*\(\s*(?P<v>{_NUM})\s*\)",
        rf"{_NUM}\s+{name}\s+(?:vs\.?|versus|against)\s+(?P<v>{_NUM})\s+(?:{names})",
    ):  # fmt: skip
        match = re.search(rf"(?<![\w.-]){pattern}(?![\w%]|\s?%)", text.text, re.IGNORECASE)
        if match is None or re.match(rf"\s*(?:{_UNIT})", text.text[match.end() :], re.IGNORECASE):
            continue
        value = words.number_in(match["v"])
        if value is None or (value == old and "vs" not in match[0]):
            continue
        text.blank(*match.span())
        _blank_all(text, names)
        return words.shown(value)
    match = re.search(
        rf"\b(?:{words.WIDER})\s+(?:the\s+|a\s+)?(?:kv\s+)?(?:{names})(?![\w-])", text.text, re.IGNORECASE
    )
    if match:
        text.blank(*match.span())
        return OPEN
    return None


def _scaled(text: Text, names: str, old: float | None) -> str | None:
    """Twice, half, one more: told relative to what is there."""
    if old is None:
        return None
    for pattern, factor, added in (
        (rf"(?:doubl\w+|twice)\s+(?:the |as many |as much )?(?:{names})", 2.0, 0.0),
        (rf"(?:halv\w+|half)\s+(?:of )?(?:the |as many |as much )?(?:{names})", 0.5, 0.0),
        (rf"one (?:{names}) more|one more (?:{names})|an(?:other)? (?:additional |extra )?(?:{names})", 1.0, 1.0),
        (rf"one (?:{names}) (?:less|fewer)|one (?:{names}) lost", 1.0, -1.0),
    ):
        match = re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", text.text, re.IGNORECASE)
        if match:
            text.blank(*match.span())
            return words.shown(old * factor + added)
    return None


def _blank_all(text: Text, names: str) -> None:
    """Another mention of a setting whose value is known says nothing new."""
    for match in re.finditer(
        rf"(?<![\w-])(?:with|at|on)?\s*(?:{_NUM})?\s*(?:{names})(?![\w-])", text.text, re.IGNORECASE
    ):
        text.blank(*match.span())
