"""Which way things go in a text: pairs of a thing and a direction, clause by clause.

So that a sentence of the reference with its direction reversed is told from the reference: both have the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from tutor.grading.text import content_words, fold, stem

Way = Literal["up", "down", "same"]

_UP = r"""ris\w+ rose increas\w+ grow\w* grew more longer later slow\w* higher larger bigger greater worse\w*
    dear\w* expensive add adds added adding up exceed\w* above over beyond climb\w* lengthen\w*
    double\w* doubling suffer\w* lose\w* hurt\w* delay\w* overload\w* break\w* broke\w* violat\w*
    miss\w* burst\w* jump\w* costlier dominat\w* los(?:es|e|ing) ↑ harm\w* late bunch\w*"""
_DOWN = r"""fall\w* fell drop\w* decreas\w* less fewer short\w* sooner earlier fast\w* lower\w* small\w* better
    cheap\w* reduc\w+ shrink\w* shrank down below under halv\w+ half improv\w+ gain\w* win\w* quick\w*
    benefit\w* help\w* save\w* ↓ early lessen\w* subtract\w*"""
_SAME = r"""stay\w* same unchanged unaffected constant flat remain\w* invariant keeps? hold\w* equal steady
    alike fixed untouched"""
_LISTS: tuple[tuple[Way, str], ...] = (("up", _UP), ("down", _DOWN), ("same", _SAME))
_WORDS: tuple[tuple[Way, re.Pattern[str]], ...] = tuple(
    (way, re.compile(rf"(?<![\w-])(?:{'|'.join(words.split())})(?![\w-])", re.IGNORECASE)) for way, words in _LISTS
)
_NOT = re.compile(r"(?:\b(?:not|no|never|nothing|without|hardly|nor)|n't)\s+(?:\w+\s+){0,2}$", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[,;:.()!?|]\s+|\s[-–→]\s|\n+|\s*(?:→|=>|⇒)\s*|\b(?:while|whereas|but|although|though|and|so|because|since|which|if|when|then)\b",
    re.IGNORECASE,
)
_ALIASES = (
    (re.compile(r"\bTTFT\b|\bt_1\b|\bfirst[ -]word\b", re.IGNORECASE), "first token"),
    (re.compile(r"\b(?:ITL|TPOT|inter-token latency|token spacing|pace)\b", re.IGNORECASE), "token gap"),
    (
        re.compile(r"\b(?:E2E|end[- ]to[- ]end|complete answer|whole answer|end time|finish\w*)\b", re.IGNORECASE),
        "completion",
    ),
)
_DULL = frozenset(stem(w) for w in ("time", "thing", "way", "ms", "case", "number", "value", "same", "both"))


def ways(text: str) -> frozenset[tuple[str, Way]]:
    """(stem of a thing, direction) for each clause of a text that has a direction."""
    return frozenset(_pairs(text))


@lru_cache(maxsize=4096)
def _pairs(text: str) -> tuple[tuple[str, Way], ...]:
    folded = fold(text).text
    for pattern, plain in _ALIASES:
        folded = pattern.sub(plain, folded)
    found: list[tuple[str, Way]] = []
    for clause in _CLAUSE.split(folded):
        way = way_of(clause)
        if way is None:
            continue
        bare = clause
        for _, pattern in _WORDS:
            bare = pattern.sub(" ", bare)
        found += [(word, way) for word in content_words(bare) if word not in _DULL]
    return tuple(found)


def way_of(clause: str) -> Way | None:
    """The direction of one clause: that of its first such word; a denied rise or fall is none."""
    hits = sorted((m.start(), way) for way, pattern in _WORDS for m in pattern.finditer(clause))
    if not hits:
        return None
    start, way = hits[0]
    steady = next((w for _, w in hits if w == "same"), None)
    if _NOT.search(clause[:start]):
        return "same" if way != "same" else "up"
    return steady or way


def agreement(told: Iterable[tuple[str, Way]], reference: frozenset[tuple[str, Way]]) -> tuple[int, int]:
    """How many things go as in the reference, and how many go otherwise."""
    known: dict[str, set[Way]] = {}
    for thing, way in reference:
        known.setdefault(thing, set()).add(way)
    said: dict[str, set[Way]] = {}
    for thing, way in told:
        if thing in known:
            said.setdefault(thing, set()).add(way)
    agree = sum(bool(ways_ & known[thing]) for thing, ways_ in said.items())
    return agree, sum(not (ways_ & known[thing]) for thing, ways_ in said.items())
