"""Which sentences of an answer say something, so that evidence may be taken from them; the others are blanked.

A sentence says nothing of its own where it denies or asks its content or reports it of others (`doubts.stance`),
where its words stand in no order (`wordorder`), where content words follow each other with nothing between them, or
where terms of the matter stand beside others that nowhere in the item's own texts stand together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from question_bank.question import Question
from rubrics import load_rubric
from tutor.grading.doubts import stance
from tutor.grading.text import Sentence, content_words, fold, sentences
from tutor.grading.wordorder import breaks, is_ordered

LONGEST_RUN = 6
"""Of content words with no other word, figure or mark between them; labelled answers have at most 5 in 99 of 100."""
LEAST_COHERENCE = 0.25
"""Share of neighbouring terms that also stand together in the item's texts; half of prose's, twice that of nonsense."""
_ENOUGH_PAIRS = 4
_SCATTERED, _SCATTERED_PAIRS = 0.4, 5
_CONDITION = re.compile(r"\b(?:if|should|unless|were|would|when|otherwise|in case)\b", re.IGNORECASE)
_WITHIN = 9
_NUMBER = re.compile(r"\d[\d.,]*")
_MANY_NUMBERS = 8
_WORKED = re.compile(r"\d\)?\s*[=+*×·÷]")
_PIECES = re.compile(r"[A-Za-z][\w'-]*|[^\sA-Za-z]")

Pair = frozenset[str]


@lru_cache(maxsize=64)
def _texts(question_key: tuple[str, ...]) -> tuple[frozenset[Pair], frozenset[str]]:
    pairs: set[Pair] = set()
    words: set[str] = set()
    for text in question_key:
        for sentence in sentences(fold(text).text):
            found = content_words(sentence.text)
            words |= set(found)
            pairs |= {frozenset((a, b)) for n, a in enumerate(found) for b in found[n + 1 : n + _WITHIN] if a != b}
    return frozenset(pairs), frozenset(words)


def _key(question: Question) -> tuple[str, ...]:
    guides = question.criteria.values()
    own = (t for g in guides for t in (g.statement, *g.key_points, *g.not_enough, g.met_example))
    return (question.prompt, question.reference, *own)


def coherence(question: Question, text: str) -> tuple[int, int]:
    """How many neighbouring terms of the matter stand together in the item's texts too, and of how many pairs."""
    pairs, words = _texts(_key(question))
    terms = [w for w in content_words(text) if w in words]
    beside = [frozenset((a, b)) for a, b in pairwise(terms) if a != b]
    return sum(pair in pairs for pair in beside), len(beside)


@lru_cache(maxsize=1)
def _rubric_words() -> frozenset[str]:
    rubric = load_rubric()
    texts = (t for c in rubric.criteria for t in (c.title, c.question, c.earns, *c.not_enough))
    return frozenset(w for t in texts for w in content_words(t))


def _terms(question: Question, text: str) -> frozenset[str]:
    """The distinct words of the matter in a text, less those in which any rubric is told."""
    return frozenset(content_words(text)) & _texts(_key(question))[1] - _rubric_words()


def longest_run(text: str) -> int:
    """The most content words in a row."""
    longest = current = 0
    for piece in _PIECES.findall(text):
        current = current + 1 if piece[0].isalpha() and content_words(piece) else 0
        longest = max(longest, current)
    return longest


def makes_sense(question: Question, sentence: str) -> bool:
    """Whether a sentence's words are in an order, and stand together as the matter has them; asked or denied alike."""
    if not is_ordered(sentence) or longest_run(sentence) > LONGEST_RUN:
        return False
    numbers = len(_NUMBER.findall(sentence))
    if numbers >= _MANY_NUMBERS and not _WORKED.search(sentence) and numbers > len(content_words(sentence)):
        return False  # a row of figures of which nothing is said
    known, pairs = coherence(question, sentence)
    return pairs < _ENOUGH_PAIRS or known >= LEAST_COHERENCE * pairs


def says(question: Question, sentence: str) -> bool:
    """Whether a sentence states something that makes sense."""
    return stance(sentence) == "stated" and makes_sense(question, sentence)


def sound(question: Question, parts: Sequence[Sentence]) -> frozenset[int]:
    """The places of the sentences that can be believed by their words: stated, in order, and hanging together.

    What denies, asks or reports as a whole is left out, with what goes on from it after a semicolon; a condition
    ("if it stays, I am wrong") is none of these. What stands beside a sentence is no reason to doubt it.
    """
    kept: set[int] = set()
    going_on = dropped = False
    for place, part in enumerate(parts):
        carried = going_on and dropped
        going_on = part.text.endswith(";")
        dropped = carried or (stance(part.text) != "stated" and not _CONDITION.search(part.text))
        if not dropped and makes_sense(question, part.text) and not breaks(part.text)[0]:
            kept.add(place)
    return frozenset(kept)


def scattered(question: Question, texts: Sequence[str]) -> frozenset[int]:
    """Which of some sentences put the matter's terms beside each other as the matter never does.

    One sentence has too few pairs of terms to tell; taken together they do, and then only those stay that show by pairs
    of their own that they know the matter.
    """
    found = [coherence(question, text) for text in texts]
    known, pairs = sum(k for k, _ in found), sum(n for _, n in found)
    if pairs < _SCATTERED_PAIRS or known >= _SCATTERED * pairs:
        return frozenset()
    return frozenset(n for n, (k, of) in enumerate(found) if of < 2 or k < _SCATTERED * of)


def heard(question: Question, answer: str) -> str:
    """The answer with the sentences that say nothing blanked; every other character keeps its place."""
    folded = fold(answer)
    out = list(answer)
    going_on, dropped = False, False
    for sentence in sentences(folded.text):
        # What follows a semicolon is part of what was denied or asked before it.
        carried = going_on and dropped
        going_on = sentence.text.endswith(";")
        dropped = carried or stance(sentence.text) != "stated"
        if not dropped and says(question, sentence.text):
            continue
        start, end = folded.span(sentence.start, sentence.end)
        out[start:end] = [c if c == "\n" else " " for c in answer[start:end]]
    return "".join(out)
