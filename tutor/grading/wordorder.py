"""Whether words stand in an order in which people put them: what a shuffled sentence and a salad of words break.

No grammar is parsed. Some words must be followed by something: an article by no other article, preposition, verb of
being or end; a preposition by no end; a conjunction by no conjunction. English prose, broken English too, rarely breaks
these; words in random order break one in five.
"""

from __future__ import annotations

import re
from itertools import pairwise

_CLASSES = {
    "article": "a an the its their my your our his her every each this these those",
    "preposition": "of in on at by for from with into through between without against per during within than as",
    "being": "is are was were be been being has have had does do did will would can could should must may might",
    "conjunction": "and or but because if when while since so that which whose who unless although whereas then thus "
    "therefore",
    "not": "not no",
    "pronoun": "i we it they you he she there",
}
_CLASS_OF = {word: name for name, words in _CLASSES.items() for word in words.split()}
_DEMONSTRATIVE = frozenset({"this", "these", "those", "that", "each", "his", "her"})
_BROKEN = frozenset(
    {
        ("article", "article"), ("article", "preposition"), ("article", "being"), ("article", "conjunction"),
        ("article", "pronoun"), ("article", "end"),
        ("preposition", "end"), ("preposition", "being"), ("preposition", "pronoun"), ("preposition", "conjunction"),
        ("conjunction", "end"), ("being", "conjunction"),
        ("pronoun", "article"),
        ("not", "conjunction"), ("being", "pronoun"),
    }
)  # fmt: skip
_FINE = frozenset(
    pair.lstrip()
    for pair in """
    such as; as if; so that; than if; than when; as when; as in; as for; as of; as with; on that; for that; at
    which; in which; of which; by which; from which; to which; through which; with which; is it; are they; is there;
    are there; do i; do we; would i; would it; should it; does it; was it; will it; can it; is that; was that; are
    that; would that; as it; as they; as we; as i; than it; than i; than we; for it; of it; in it; on it; with it;
    by it; from it; at it; between them; so is; it each; we each; they each; is so; are so; was so; be so; than is;
    than are; than was; than does; as is; as are; as was; as would; as does; as do; i the; without it; against it;
    into it; through it; per it; of who; of whose; there the; it the; is then; are then; should then; must then;
    would then; will then; can then; could then; is thus; is therefore; are therefore; are thus; must therefore; not
    because; not if; not when; not so; not that; not since; no that; not while; not and; not or; were it; had it;
    were they; had they; had i; were we; had we; did it; did they; does there; do they; is because; was because; are
    because; be because; is when; is if; be that; as that; as since; with that; in that; of that; to that; by that;
    from that; after that; at that; than that; against that; per that; with and; or with; is who; in there; from
    there; on and; that ; so ; through ; did so; do so; does so; then ; there each""".replace("\n   ", "").split(";")
)
"""Pairs that the classes would call broken, and that stand in ordinary prose; a word with a space ends a sentence."""
_PARTS = re.compile(r"([^.,;:!?()\[\]{}\n\"“”–—|]+)([.,;:!?()\[\]{}\n\"“”–—|])")
_WORDS = re.compile(r"[^\W_]+(?:['’/-][^\W_]+)*|[=+×*→%$]")
_MOST_BROKEN = 0.1


def breaks(text: str) -> tuple[int, int]:
    """How many neighbouring words cannot stand like that, and how many pairs hold a word that could break the order."""
    broken = pairs = 0
    for part, mark in _PARTS.findall(text.lower() + "."):
        words = _WORDS.findall(part)
        if len(words) < 2:
            continue
        ended = mark in ".;!?"
        for first, second in pairwise([*words, ""]):
            kind = _CLASS_OF.get(first)
            if kind is None or (not second and not ended):
                continue
            pairs += 1
            after = _CLASS_OF.get(second) if second else "end"
            if f"{first} {second}" in _FINE or (kind == "article" and first in _DEMONSTRATIVE):
                continue
            broken += (kind, after) in _BROKEN
    return broken, pairs


def is_ordered(text: str) -> bool:
    """Whether a sentence's words are in an order that prose has; short ones and arithmetic have."""
    broken, pairs = breaks(text)
    return broken == 0 or broken / pairs < _MOST_BROKEN
