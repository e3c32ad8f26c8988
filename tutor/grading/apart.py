"""Numbers that are told apart by where they stand: in a check, in a row with one for each result, in "3 of 9"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from question_bank.question import Expected, Question
from tutor.grading.cues import Cue
from tutor.grading.names import Spans
from tutor.grading.number_words import value_of
from tutor.grading.numbers import Read
from tutor.grading.quantities import close, ends_in_unit, fits, quantity_unit
from tutor.grading.text import Sentence

# What a sentence says that tells of a measurement, or of what one would show.
_CHECK = re.compile(
    r"\b(?:measur\w*|messen|mesurer\w*|trac(?:e|es|ed|ing)|log(?:s|ged|ging)?|record\w*|check\w*|verif\w*|test(?:ed|ing)|"
    r"tests? (?:it|this|that|whether|by|with)|re-?run\w*|repeat\w*|replay\w*|compar\w*|benchmark\w*|sweep\w*|"
    r"monitor\w*|dashboard\w*|profil\w*|experiment\w*|observ\w*|a/b|histogram\w*|refut\w*|disprov\w*|falsif\w*|prov(?:e|es|ed|en)|"
    r"retract\w*|withdraw\w*|take (?:it|that|this|back)|drop (?:it|that|this|the|my|them)|find(?:s|ing)?|"
    r"should (?:then|read|show|drop|fall|go|be|come)|(?:has to|must) (?:go|fall|drop|bring|be|land|come)|wrong|"
    r"utili[sz]ation|promis\w*|eval(?:s|uation)?|invoice|(?:switch|turn)\w* (?:\w+ )?off|disabl\w*)\b",
    re.IGNORECASE,
)
_SETTING = r"\b(?:with|for|under|from|in|by|using|on|of)\s+(?:the\s+|an?\s+|our\s+)?$"
_SMALL = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|every)"
_OF = r"(?:in|out of|of|von|aus|sur|из)"
_PART_OF = re.compile(
    rf"(?<![\w.,/^])(?P<part>\d[\d.,]*|{_SMALL})\s+(?:[a-z]{{3,12}}\s+){{0,2}}{_OF}\s+"
    rf"(?P<all>(?:an?\s+|every\s+|the\s+|all\s+)?(?:\d[\d,]*|{_SMALL}|hundred|thousand|million))(?![\w.]*\d)(?!\s*%)",
    re.IGNORECASE,
)


_OF_ALL = re.compile(
    r"\b(?:out )?of (?:the |every )?(?P<all>\d[\d,]*) (?:[a-z-]{3,14},? ){0,2}(?P<part>\d[\d.,]*)"
    r"(?= (?:are|is|were|was|take|fail|get|stay|be)\b)",
    re.IGNORECASE,
)


def in_checks(parts: Sequence[Sentence]) -> Spans:
    """The sentences that tell of a check: a number there is a reading to come, unless it is named as the answer."""
    return Spans([(s.start, s.end) for s in parts if _CHECK.search(s.text)])


def own_settings(text: str, cues: Sequence[Cue]) -> Spans:
    """Where "with the larger batch" and "gap after:" only name a result asked for, so that they suppose nothing."""
    found = []
    for cue in cues:
        if cue.asked:
            lead = re.search(_SETTING, text[max(0, cue.start - 24) : cue.start], re.IGNORECASE)
            found.append((cue.start - len(lead.group(0)) if lead else cue.start, cue.end))
    return Spans(found)


def in_order(
    question: Question,
    text: str,
    reads: Sequence[Read],
    roles: Sequence[str],
    weak: Sequence[bool],
    named: Sequence[str | None],
) -> dict[int, str]:
    """Numbers that follow each other as the right values of all results in the order asked, by index.

    So many right values in a row are no accident, whatever arrows, slashes or cells stand between them. `named` is
    the result that words tie each number to, which must not be another one.
    """
    expected = question.expected
    n = len(expected)
    found: dict[int, str] = {}
    if n < 2:
        return found
    for first in range(len(reads) - n + 1):
        row = range(first, first + n)
        if text.count("\n", reads[first].start, reads[first + n - 1].end) > n + 1:
            continue
        if re.match(r"[\s*)\"']*\?", text[reads[first + n - 1].end :][:4]):
            continue
        if any(named[i] not in {None, e.name} for i, e in zip(row, expected, strict=True)):
            continue
        if any(roles[i] in {"rejected", "listed", "delta"} or (roles[i] == "supposed" and not weak[i]) for i in row):
            continue
        if all(
            fits(reads[i], e) and not reads[i].is_range
            and close(ends_in_unit(reads[i], e)[0], e, e.rel_tolerance)
            for i, e in zip(row, expected, strict=True)
        ):  # fmt: skip
            found |= {i: e.name for i, e in zip(row, expected, strict=True)}
    return found


_STATES = {"before": ("before", "old", "originally", "baseline"), "after": ("after", "afterwards", "new", "now")}


def turned_states(question: Question, text: str, placed: Sequence[tuple[Read, Expected]]) -> bool:
    """Whether values of before and after stand under each other's heading: "Before: 320 ms. After: 420 ms."

    `placed` are the numbers with the results that their values fit.
    """
    of = {e.name: next((s for s in _STATES if re.search(rf"\b{s}\b", e.label)), "") for e in question.expected}
    if not all(s in of.values() for s in _STATES):
        return False
    words = {w: s for s, ws in _STATES.items() for w in ws}
    heads = [
        (m.start(), words[m["word"].lower()])
        for m in re.finditer(rf"(?:^|[.;:|]\s|\n)[\s*|-]*(?P<word>{'|'.join(words)})\b", text, re.IGNORECASE)
    ]
    if {s for _, s in heads} != set(_STATES):
        return False
    under = [(next((s for at, s in reversed(heads) if at < r.start), ""), of[e.name]) for r, e in placed]
    told = [(head, own) for head, own in under if head and own]
    return bool(told) and all(head != own for head, own in told)


def _whole(word: str) -> float | None:
    word = re.sub(r"^(?:the|all)\s+", "", word.lower())
    word = re.sub(r"^(?:an?|every)\s+", "one ", word) if not re.search(r"\d", word) else re.sub(r"^\D+", "", word)
    if re.fullmatch(r"\d[\d,.]*", word):
        bare = word.rstrip(".,").replace(",", "")
        return float(bare) if bare.count(".") < 2 else None
    return 1.0 if word == "every" else value_of(word)


_RANGE_SIGN = re.compile(r"\s*(?:-|\bto\b|\band\b|\.\.\.?|\bup to\b)\s*")


def _is(read: Read, expected: Expected) -> bool:
    return fits(read, expected) and close(ends_in_unit(read, expected)[0], expected, expected.rel_tolerance)


def two_ends(text: str, reads: Sequence[Read], question: Question) -> tuple[Read, ...]:
    """The reads with "between 13.6 and 16" as two values where each end is a result of its own."""
    out: list[Read] = []
    for read in reads:
        parts = (
            re.split(r"\s*(?:-|\bto\b|\band\b|\.\.\.?|\bup to\b)\s*", read.text, maxsplit=1) if read.is_range else []
        )
        low, high = read.low, read.high
        if len(parts) < 2 or low is None or high is None:
            out.append(read)
            continue
        single = replace(read, low=None, high=None)
        ends = [
            replace(single, end=read.start + len(parts[0]), text=parts[0], value=low, canonical=low * read.factor),
            replace(single, start=read.end - len(parts[1]), text=parts[1], value=high, canonical=high * read.factor),
        ]
        own = [next((e.name for e in question.expected if _is(r, e)), "") for r in ends]
        out += ends if "" not in own and own[0] != own[1] else [read]
    return tuple(out)


def shares(text: str, reads: Sequence[Read], question: Question) -> tuple[Read, ...]:
    """The reads with "3 of 9" and "one in a thousand" as one share, where a share is asked for."""
    if not any(quantity_unit(e).dimension == "fraction" for e in question.expected):
        return tuple(reads)
    out = list(reads)
    for match in (*_PART_OF.finditer(text), *_OF_ALL.finditer(text)):
        part, whole = _whole(match["part"]), _whole(match["all"])
        if part is None or not whole or part >= whole:
            continue
        inside = [r for r in out if match.start() <= r.start < match.end()]
        if any(r.dimension not in {"none", "count", "fraction"} or r.end > match.end() + 14 for r in inside):
            continue
        share = part / whole
        made = Read(match.start(), match.end(), match.group(0), share, "", "fraction", share)
        # The numbers themselves stay readable where they are part of a sum; a share alone takes their place.
        if re.match(r"\s*[+*×/=]", text[match.end() : match.end() + 3]) and inside and inside[-1].end > match.end():
            continue
        out = [r for r in out if r not in inside] + [replace(made)]
    return tuple(sorted(out, key=lambda r: r.start))
