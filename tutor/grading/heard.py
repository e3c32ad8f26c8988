"""Which sentences of an answer say something, so that evidence may be taken from them; the others are blanked.

A sentence says nothing of its own where it denies or asks its content or reports it of others (`doubts.stance`),
where its words stand in no order (`wordorder`), where content words follow each other with nothing between them, or
where terms of the matter stand beside others that nowhere in the item's own texts stand together.
"""

from __future__ import annotations

import re
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
_JUMBLED = 0.06
_FEWEST_TERMS = 4
_SENSELESS, _ENOUGH_IN_ALL = 0.2, 6
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


def sensible(question: Question, parts: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
    """The sentences that make sense; none where hardly any of the answer's terms stand together as the matter's do.

    What denies, asks or reports as a whole is left out, with what goes on from it after a semicolon; a condition
    ("if it stays, I am wrong") is none of these.
    """
    found = [coherence(question, part.text) for part in parts]
    known, pairs = sum(k for k, _ in found), sum(n for _, n in found)
    if pairs >= _ENOUGH_IN_ALL and known < _SENSELESS * pairs:
        return ()
    whole = " ".join(part.text for part in parts)
    if len(_terms(question, whole)) < _FEWEST_TERMS and not _NUMBER.search(whole):
        return ()  # a word or two of the matter among others say nothing about it
    kept: list[Sentence] = []
    going_on = dropped = False
    for part in parts:
        carried = going_on and dropped
        going_on = part.text.endswith(";")
        dropped = carried or (stance(part.text) != "stated" and not _CONDITION.search(part.text))
        if not dropped and makes_sense(question, part.text):
            kept.append(part)
    return tuple(kept)


def doubtful(question: Question, answer: str) -> str:
    """Why a whole answer had better not be believed by its words alone; "" where nothing speaks against it.

    One labelled answer in ten is doubtful in this sense, and four of five made of the right words without sense. What
    evidence alone would call met is then unsure.
    """
    known = pairs = broken = ordered = 0
    for sentence in sentences(fold(answer).text):
        here, of = coherence(question, sentence.text)
        known, pairs = known + here, pairs + of
        wrong, among = breaks(sentence.text)
        broken, ordered = broken + wrong, ordered + among
    if pairs >= _SCATTERED_PAIRS and known < _SCATTERED * pairs:
        return "its terms stand together in ways that are not the matter's"
    return "its words stand in no order" if broken and broken >= _JUMBLED * ordered else ""


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
