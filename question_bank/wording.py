"""How a text reads: its length, its reading level, and whether it gives the answer away.

Reading level is the Flesch–Kincaid grade, 0.39 · words per sentence + 11.8 · syllables per word − 15.59 (Kincaid and
others, 1975), with syllables counted by groups of vowels. Tables, code and formulas are left out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from question_bank.problem import Problem
from question_bank.question import Question
from question_bank.schema import Checkpoint, Lesson

MAX_GRADE = 13.0
MAX_SENTENCE_WORDS = 45
FEW_WORDS = 40
"""Below this many words a reading level says nothing."""

# most words of each part
LIMITS = {
    "title": 9,
    "prompt": 240,
    "checkpoint prompt": 90,
    "section": 420,
    "hint": 60,
    "option": 26,
    "reason": 60,
    "statement": 75,
    "example": 90,
    "follow-up": 60,
    "solution": 340,
}
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SHARED_WORDS = 9
_COMMON_WORDS = """
a after all an and any are as at be because before but by can do does each for from has have how if in into is it its
more no not of on one or so than that the their them then there they this to two was what when which while who why will
with would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def prose(markdown: str) -> str:
    """The sentences of a Markdown text: no tables, code or marks."""
    lines = []
    for line in markdown.splitlines():
        if line.lstrip().startswith("|") or line.startswith("    "):
            lines.append("")
            continue
        lines.append(re.sub(r"^\s*(?:[-*>]|\d+\.)\s+", "\n\n", line))
    text = re.sub(r"`[^`]*`", "x", "\n".join(lines))
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[*_#]", "", text)


def words_in(text: str) -> int:
    """How many words a text has; numbers do not count."""
    return len(_WORD.findall(text))


def sentences(text: str) -> list[str]:
    """The sentences that have at least one word; a blank line and a colon at a line's end divide as well."""
    parts = re.split(r"(?<=[.!?;:])[\"'”’)]*\s+|\n\s*\n", text)
    return [part for part in parts if words_in(part)]


def _syllables(word: str) -> int:
    groups = len(re.findall(r"[aeiouy]+", word.casefold()))
    silent = word.casefold().endswith("e") and not word.casefold().endswith(("le", "ee")) and groups > 1
    return max(1, groups - silent)


def reading_grade(markdown: str) -> float | None:
    """Flesch–Kincaid grade, None for a text too short for one."""
    text = prose(markdown)
    words = _WORD.findall(text)
    if len(words) < FEW_WORDS:
        return None
    return 0.39 * len(words) / len(sentences(text)) + 11.8 * sum(map(_syllables, words)) / len(words) - 15.59


def check_lesson_wording(lesson: Lesson) -> Iterator[Problem]:
    """Sections that are long or hard to read."""
    for section in lesson.sections:
        yield from _readable(lesson.id, "section", f"section {section.id!r}", section.text)


def check_question_wording(question: Question) -> Iterator[Problem]:
    """Parts of a question that are long, hard to read, or give away what they ask for."""
    where, choice = question.item_id, question.kind == "checkpoint"
    yield from _readable(where, "checkpoint prompt" if choice else "prompt", "the prompt", question.prompt)
    parts: list[tuple[str, str, str]] = [("title", "the title", question.title)]
    parts += [("hint", f"hint {number}", hint) for number, hint in enumerate(question.hints, 1)]
    parts += [("follow-up", f"follow-up {each.id!r}", each.text) for each in question.follow_ups]
    for option in question.options:
        parts += [("option", f"option {option.id!r}", option.text)]
        parts += [("reason", f"the reason of {option.id!r}", option.reason)]
    for criterion, guide in question.criteria.items():
        parts += [("statement", f"{criterion}: the statement", guide.statement)]
        parts += [("example", f"{criterion}: the met example", guide.met_example)]
        parts += [("example", f"{criterion}: the nearly met example", guide.nearly_example)]
    if not choice:
        parts += [("solution", "the solution", question.reference)]
    for kind, name, text in parts:
        yield from _not_too_long(where, kind, name, text)
    yield from _given_away(question)


def _not_too_long(where: str, kind: str, name: str, text: str) -> Iterator[Problem]:
    count = words_in(text)
    if count > LIMITS[kind]:
        yield Problem(where, "length", f"{name} has {count} words; the limit is {LIMITS[kind]}")


def _readable(where: str, kind: str, name: str, text: str) -> Iterator[Problem]:
    yield from _not_too_long(where, kind, name, prose(text))
    grade = reading_grade(text)
    if grade is not None and grade > MAX_GRADE:
        yield Problem(where, "reading-level", f"{name} reads at grade {grade:.1f}, above {MAX_GRADE:g}; shorten it")
    longest = max(sentences(prose(text)), key=words_in, default="")
    if words_in(longest) > MAX_SENTENCE_WORDS:
        start = " ".join(longest.split()[:6])
        yield Problem(where, "reading-level", f"{name} has a sentence of {words_in(longest)} words: {start!r} …")


# ---- what gives the answer away ------------------------------------------------------------------------------


def _given_away(question: Question) -> Iterator[Problem]:
    told = [("the title", question.title), ("the prompt", question.prompt)]
    told += [(f"hint {number}", hint) for number, hint in enumerate(question.hints[:3], 1)]
    for criterion, guide in question.criteria.items():
        runs = _runs(guide.statement)
        for name, text in told:
            shared = runs & _runs(text)
            if shared:
                yield Problem(
                    question.item_id,
                    "leak",
                    f"{name} says what {criterion} asks for: {' '.join(min(shared))!r}",
                )


def _runs(text: str) -> set[tuple[str, ...]]:
    words = [word.casefold() for word in _WORD.findall(prose(text))]
    return {tuple(words[start : start + _SHARED_WORDS]) for start in range(len(words) - _SHARED_WORDS + 1)}


def check_keys(questions: Sequence[Question], checkpoints: Sequence[Checkpoint]) -> Iterator[Problem]:
    """Whether the right option can be told by its place, its length or words it shares with the prompt.

    `questions` are the checkpoints as drawn with several seeds.
    """
    if not checkpoints:
        return
    first = checkpoints[0].id
    for count in sorted({len(question.options) for question in questions}):
        places = Counter(
            [option.correct for option in question.options].index(True)
            for question in questions
            if len(question.options) == count
        )
        even = sum(places.values()) / count
        statistic = sum((places[place] - even) ** 2 / even for place in range(count))
        # Wilson and Hilferty: the cube root of chi-square over its degrees of freedom is nearly normal.
        free = count - 1
        z = ((statistic / free) ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free))
        if z > 3.5:
            yield Problem(first, "key-position", f"right options stand unevenly over the places: {dict(places)}")
    for name, is_extreme in (("shortest", _shortest), ("closest to the prompt's words", _closest)):
        hits = sum(is_extreme(item) for item in checkpoints)
        chance = sum(1 / len(item.options) for item in checkpoints) / len(checkpoints)
        if _tail(len(checkpoints), hits, chance) < 0.005:
            yield Problem(first, "key-cue", f"the right option is the {name} in {hits} of {len(checkpoints)}")


def _tail(n: int, found: int, chance: float) -> float:
    return sum(math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(found, n + 1))


def _shortest(item: Checkpoint) -> bool:
    key = len(item.options[item.answer].text)
    return all(len(option.text) > key for name, option in item.options.items() if name != item.answer)


def _closest(item: Checkpoint) -> bool:
    def overlap(text: str) -> int:
        return len((_content(text)) & _content(item.prompt))

    key = overlap(item.options[item.answer].text)
    return all(overlap(option.text) < key for name, option in item.options.items() if name != item.answer)


def _content(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)} - _COMMON
