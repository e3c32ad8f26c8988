"""Which other values beside a right one contradict it, and which are steps, givens or readings to come."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from question_bank.question import Expected, Question
from tutor.grading.assign import OR, is_right, slip_of, values_of
from tutor.grading.numbers import Read
from tutor.grading.roles import Reading, Use
from tutor.grading.wording import CONCLUDES, CORRECTION, finality

_ADDS = re.compile(
    r"\b(?:plus|add(?:s|ed|ing)?|on top|together with|and then|including|minus|less|subtract\w*|times|multipl\w*|"
    r"divid\w*|to which|gives?|makes?|becomes?|with|so|thus|hence|therefore)\b|\+|→|->|=>|⇒",
    re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"\b(?:so|thus|therefore|answer|result|total|final\w*|overall|altogether|"
    r"(?:this|which|that|it|all) (?:gives?|makes?)|is|comes to|get|say)\b",
    re.I,
)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|should|would|must|has to|ought|find\w*|whether|when|expect\w*|unless|were|until|below|above|over|under|"
    r"more than|less than)\b|[<>≥≤]",
    re.I,
)
_DENIED = re.compile(r"\b(?:wrong|mistaken?|incorrect|not right|not true|false)\b", re.IGNORECASE)
_COMPARED = re.compile(
    r"(?:fewer|less|more|lower|higher|longer|shorter|greater|smaller|worse|better) than (?:the )?$|"
    r"\b(?:below|above|under|over) (?:the )?$",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\b(?:more|extra|less|fewer|another|additional|on top|longer|times (?:as|the|that)|fold)\b", re.IGNORECASE
)
_FORMER = re.compile(
    r"\b(?:(?:where|while) it (?:was|is|had been)|used to be|formerly|previously|(?:up|down) from|compared (?:to|with))"
    r"\s+(?:about |roughly )?[≈~]?$",
    re.IGNORECASE,
)
_NEAR = 140


def challenges(question: Question, reading: Reading, expected: Expected, uses: Sequence[Use]) -> list[Use]:
    """The uses without those that say nothing against a right one among them; all where none is right.

    A value that differs speaks against a right one where it is named as the result, offered beside it, put in its
    place by a correction, called final, or the outcome of a known slip. A number that merely has a fitting unit does
    not: it may be a step, a given, or a reading that a check would give.
    """
    right = [u for u in uses if is_right(u, expected)]
    asserted = [u for u in reading.uses if u.role == "assertion"]
    sure = [(u, e) for e in question.expected for u in asserted if is_right(u, e)] + [(u, expected) for u in right]
    if not right:
        return list(uses)
    offered = _offered(reading.folded.text, uses)
    sound = {id(u) for u in right}
    return [u for u in uses if id(u) in sound or _speaks(question, reading, expected, u, right, offered, sure)]


def _offered(text: str, uses: Sequence[Use]) -> set[int]:
    """Starts of the numbers that stand beside another one as an alternative."""
    found: set[int] = set()
    for a, b in pairwise(uses):
        near = b.read.start - a.read.end < _NEAR and (a.offered or b.offered)
        if near or OR.match(text[a.read.end : b.read.start]):
            found |= {a.read.start, b.read.start}
    return found


def _speaks(
    question: Question,
    reading: Reading,
    expected: Expected,
    use: Use,
    right: Sequence[Use],
    offered: set[int],
    sure: Sequence[tuple[Use, Expected]],
) -> bool:
    text = reading.folded.text
    before = [u for u in right if u.read.start < use.read.start]
    lead = re.split(r"[.;!?]\s|\n", text[max(0, use.read.start - 80) : use.read.start])[-1]
    last = max((u.read.end for u in before), default=-1)
    between = text[last : use.read.start] if before else ""
    slip = slip_of(use, expected, question)
    taken_back = len(between) < _NEAR and bool(_DENIED.search(between))
    reading_to_come = use.check and bool(_HYPOTHETICAL.search(lead)) and not taken_back
    if before and len(between) < _NEAR and CORRECTION.search(between) and not reading_to_come:
        return True
    if finality(lead) or (CONCLUDES.search(lead) and not use.known):
        return True
    if (use.known and not slip) or _FORMER.search(lead):
        return False
    if _HYPOTHETICAL.search(lead) and not use.tight and not any(_together(reading, u, use) for u in right):
        return False
    if use.offered and not use.check:
        return True
    if any(_leads_to(question, reading, e, use, u) for u, e in sure if u.read.start > use.read.start):
        return False
    if _rounds(right, expected, use) or (any(_follows_from(reading, expected, u, use) for u in before) and not slip):
        return False
    beside = [u for u in reading.uses if is_right(u, expected) and u.read.start < use.read.start]
    beside = [u for u in beside if _together(reading, u, use)]
    if any(_COMPARED.search(text[max(0, u.read.start - 16) : u.read.start]) for u in beside):
        return False  # "fewer than 18.3 %, perhaps 9 %"
    if use.read.start in offered:
        return any(abs(u.read.start - use.read.start) < _NEAR for u in right)
    measured = any(u.read.dimension != "none" for u in right)
    on_the_way = any(_together(reading, use, u) for u in right if u.read.start > use.read.start)
    if use.read.dimension == "none" and measured and (on_the_way or not use.tight):
        return False
    if reading_to_come or (use.check and not use.tight):
        return False
    if use.target not in {None, expected.name}:
        return False
    after = re.split(r"[.;!?\n]", text[use.read.end : use.read.end + 40])[0]
    alone = not re.search(r"[^\W\d_]", lead + after)
    return use.tight or bool(slip) or (use.leads and (alone or bool(_ANSWERS.search(lead))))


def _together(reading: Reading, first: Use, second: Use) -> bool:
    """Whether two numbers stand in one sentence."""
    return any(s.start <= first.read.start < s.end and s.start <= second.read.start < s.end for s in reading.parts)


def _rounds(right: Sequence[Use], expected: Expected, use: Use) -> bool:
    """Whether a number is a right one said again with fewer digits: "about 18 %" for 18.3 %."""
    if not use.read.approx or use.read.dimension == "none" or use.read.is_range:
        return False
    digits = use.read.text.strip("-≈~ ").partition(".")[2]
    places = len(re.match(r"\d*", digits).group(0)) if digits else 0  # type: ignore[union-attr]
    value = values_of(use, expected)[0]
    return any(
        u.read.unit == use.read.unit and math.isclose(round(values_of(u, expected)[0], places), value, rel_tol=1e-9)
        for u in right
    )


def _follows_from(reading: Reading, expected: Expected, right: Use, use: Use) -> bool:
    """Whether a number further on is a right one changed by another number: "10 % more, so $1.83"."""
    a, b = values_of(right, expected)[0], values_of(use, expected)[0]
    text = reading.folded.text
    near = [
        u.read for u in reading.uses
        if right.read.end <= u.read.start < use.read.start and use.read.start - u.read.end < 60
        and _MORE.search(text[u.read.end : use.read.start])
    ]  # fmt: skip
    return any(math.isclose(b, made, rel_tol=0.006) for r in near for made in _changed_by(a, r))


def _changed_by(value: float, by: Read) -> tuple[float, ...]:
    """What a value becomes by "10 % more", "5 times as large" or "100 ms longer"."""
    if by.unit == "%":
        return value * (1 + by.canonical), value * (1 - by.canonical)
    return value + by.value, value - by.value, value * by.value, value / by.value if by.value else value


def _leads_to(question: Question, reading: Reading, expected: Expected, use: Use, later: Use) -> bool:
    """Whether a number is a step to a right one further on: words or another number turn it into that."""
    between = reading.folded.text[use.read.end : later.read.start]
    if len(between) > _NEAR or CORRECTION.search(between) or re.search(r"\bor\b", between):
        return False
    if use.tight:
        return False
    if _ADDS.search(between):
        return True
    a, b = values_of(use, expected)[0], values_of(later, expected)[0]
    near = [u.read for u in reading.uses if use.read.end <= u.read.start < later.read.start]
    known = [q.value for q in (*question.givens, *question.derived) if q.unit == expected.unit]
    if slip_of(use, expected, question):
        known = []  # a slip lies one step from the result by its nature; here the step must be written
    others = [*(r.value for r in near), *known, *((100.0,) if expected.unit == "%" else ())]
    return any(
        math.isclose(b, made, rel_tol=0.006)
        for o in others
        if o
        for made in (a + o, a - o, a * o, a / o, o - a)
        if not math.isclose(a, b, rel_tol=0.006)
    )
