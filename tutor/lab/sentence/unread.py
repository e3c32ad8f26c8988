"""What a sentence says that its line does not: numbers, names and negations that no part of the line was read from.

A reading that leaves out half of a sentence is another claim; it is shown, but never as whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tutor.lab.sentence import words
from tutor.lab.sentence.parts import Change, Text
from tutor.lab.sentence.settings import class_pattern
from tutor.lab.sentence.statements import QUANTITY

_NUMBER: Final = re.compile(
    rf"(?<![\w.-])(?:{words.NUMBER})\s?(?:{words.UNIT}|(?:x|×|times)(?!\w))?|"
    r"\b(?:doubl\w+|tripl\w+|quadrupl\w+|halv\w+|twice|half|a (?:third|quarter|fifth|tenth))\b",
    re.IGNORECASE,
)
_PERCENTILE: Final = re.compile(r"\bp ?\d+(?:\.\d+)?\b|\b\d+(?:\.\d+)?(?:th|st|nd|rd) percentile\b", re.IGNORECASE)
_NEGATION: Final = re.compile(r"\b(?:not|never|neither|nor|hardly|unless|except|cannot|\w+n't)\b", re.IGNORECASE)
_IDLE: Final = re.compile(r"\b(?:one (?:of|would|could|can)|at one|no one|half a)\b", re.IGNORECASE)
_FREE: Final = r"(?:whatever|any|current|present|same|this|these|that|with|of|on)\s+(?:the\s+)?$"


def unread(text: Text, changes: Sequence[Change], known: Mapping[str, str], classes: Sequence[str]) -> tuple[str, ...]:
    """Stretches of the sentence that say something and were not read, in order, each once."""
    found = sorted({(start, text.text[start:end].strip()) for start, end in _stretches(text, changes, known, classes)})
    return tuple(dict.fromkeys(words_ for _, words_ in found))


def unused(
    sentence: str, changes: Sequence[Change], known: Mapping[str, str], amounts: Sequence[str]
) -> tuple[str, ...]:
    """Numbers of the sentence that are no value, amount or percentile of a reading made elsewhere."""
    used = {words.number_in(known.get(change.path, "")) for change in changes}
    used |= {words.number_in(change.value) for change in changes}
    for amount in amounts:
        value = words.number_in(amount)
        used |= {value, value / 1000 if value is not None else None}
    text = re.sub(r"\s?\b(?:9[059]|50)(?:th percentile| ?(?:%|per ?cent) of\b)", "", sentence)
    return tuple(dict.fromkeys(
        match[0].strip() for match in _NUMBER.finditer(text) if multiple_or_number(match[0]) not in used
    ))  # fmt: skip


def multiple_or_number(text: str) -> float | None:
    """The value of a number, or the per cent that a word such as "halve" stands for."""
    for word, factor in words.TIMES:
        if re.fullmatch(rf"(?:{word})", text.strip(), re.IGNORECASE):
            return 100 * abs(factor - 1)
    plain = re.match(words.NUMBER, text, re.IGNORECASE)
    return words.FRACTIONS.get(text.strip().lower()) if plain is None else words.number_in(plain[0])


def _stretches(
    text: Text, changes: Sequence[Change], known: Mapping[str, str], classes: Sequence[str]
) -> Iterator[tuple[int, int]]:
    # What a setting had before, and a value said again, are there for people.
    told = {words.number_in(known.get(change.path, "")) for change in changes}
    told |= {words.number_in(change.value) for change in changes}
    for match in _PERCENTILE.finditer(text.text):
        if not text.taken(*match.span()):
            yield match.span()
    for match in _NUMBER.finditer(text.text):
        if text.taken(*match.span()) or _IDLE.match(text.text, match.start()):
            continue
        plain = re.match(words.NUMBER, match[0], re.IGNORECASE)
        if plain and words.number_in(plain[0]) in told:
            continue
        if re.match(r"\d+(?:\.\d+)?(?:th|st|nd|rd)\b", text.text[match.start() :]):
            continue
        yield match.span()
    for match in _NEGATION.finditer(text.text):
        if not text.taken(*match.span()):
            yield match.span()
    for match in QUANTITY.finditer(text.text):
        if not text.taken(*match.span()) and match[0].lower() != "output":
            yield match.span()
    if len(classes) > 1:
        for name in classes:
            for match in re.finditer(class_pattern(name, classes), text.text, re.IGNORECASE):
                if not text.taken(*match.span()):
                    yield match.span()
    changed = {change.path for change in changes}
    for ends, names in words.SETTINGS:
        if any(end in words.TOPICS for end in ends) or any(path.endswith(end) for path in changed for end in ends):
            continue
        for match in re.finditer(rf"(?<![\w-])(?:{names.replace('{classes}', 'class')})(?![\w-])", text.text, re.I):
            if not text.taken(*match.span()) and not re.search(_FREE, text.text[: match.start()], re.IGNORECASE):
                yield match.span()
