"""Which quantity a number is said to be: words of the question beside it, above it, or at its column's head."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from question_bank.question import Question
from tutor.grading.numbers import Read
from tutor.grading.text import Sentence, fold
from tutor.grading.units import base_of

# Ways to name the usual quantities; used for an expected result whose own words touch one of them.
_FAMILIES: tuple[tuple[str, ...], ...] = (
    (
        "time to first token", "time to the first token", "first token", "first token time", "ttft", "first output",
        "first word", "sees something",
    ),
    (
        "completion", "completion time", "end to end", "e2e", "last token", "finish", "finishes", "finished", "done",
        "total time", "total latency", "completes", "complete", "total duration", "full answer", "final token",
        "end to end latency", "total", "the last", "whole thing", "ends", "request ends", "everything is there",
    ),
    ("inter token latency", "itl", "token gap", "tpot", "time per output token", "gap"),
    ("queue time", "queue wait", "waiting time", "queueing delay"),
)  # fmt: skip
_OWN_WORDS = 6
_TIGHT = re.compile(
    r"[\s:=≈~(*|,\"'-]*(?:(?:so|it|that|which|we|get|is|of|at|=|takes?|arrives?|comes?|equals|time|latency|rate|throughput|speed|duration|figure|lands?|be|"
    r"will|thus|then|now|the|"
    r"about|approximately|roughly|around|in|after|t|ms|s|appears?|shows?|out|to|emitted|delivered|value|are|was)\b"
    r"[\s:=≈~(*,\"-]*)*",
    re.IGNORECASE,
)
_ATTACHED = re.compile(r"\s*(?:\(|=>|→|->|⇒|for|to|as|until|till|the|of|is|=|in)?\s*(?:the |a )?", re.IGNORECASE)
_PART_OF_SUM = re.compile(
    r"(?:\b(?:after|following|past|plus|beyond|since|from|add|adding|on top of)\s+(?:the )?|[+=]\s*)$"
)
_STATES = re.compile(r"\s*(?:is|was|takes|=|:)\s*[\d≈~]")
_PREPOSITIONS = frozenset({"after", "before"})
_HEADS = re.compile(r"§\s*[:=|(]|(?:^|[\n|(])\s*[*_-]*§(?!\s*\d)")
_LABEL_WORDS = 6
OTHER = "another metric"
_ANY_CHANGE = re.compile(r"\b(?:rise|gain|increase|change|difference|drop|reduction|saving|growth)s?\b")


@dataclass(frozen=True)
class Cue:
    """Words that name a quantity; `asked` tells whether it is one asked for."""

    start: int
    end: int
    name: str
    asked: bool


def phrase_pattern(phrase: str) -> str:
    """A phrase as a pattern that does not mind hyphens, underscores or spacing."""
    words = re.findall(r"[^\W_]+", fold(phrase).text.lower())
    return r"[\s_'-]+".join(re.escape(w) for w in words)


def _bare(phrase: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", fold(phrase).text.lower()))


def phrases_of(question: Question) -> dict[str, tuple[str, bool]]:
    """Cue phrase -> (quantity, whether it is asked for); a phrase shared by two results names neither."""
    owners: dict[str, set[str]] = {}
    for expected in question.expected:
        own = {_bare(p) for p in (expected.label, *expected.synonyms, expected.name)}
        for family in _FAMILIES:
            if any(p in family or any(f in p for f in family[:_OWN_WORDS] if len(f) > 5) for p in own):
                own |= set(family)
        for phrase in own:
            owners.setdefault(phrase, set()).add(expected.name)
    out = {p: (next(iter(names)), True) for p, names in owners.items() if p and len(names) == 1}
    for given in (*question.givens, *question.derived):
        own = {_bare(given.label), _bare(re.sub(r"_(?:ns|us|ms|s|tokens|bytes)$", "", given.name))}
        for family in _FAMILIES:
            own |= set(family) if own & set(family[:_OWN_WORDS]) else set()
        for phrase in own:
            # "fail", a given's name, within "requests that fail for good" names nothing by itself
            if phrase and not any(re.search(rf"\b{phrase}\b", asked) for asked in owners):
                out.setdefault(phrase, (given.name, False))
    for family in _FAMILIES[:1] + _FAMILIES[2:]:
        told = " ".join(_bare(e.label) for e in question.expected)
        if not any(p in out or re.search(rf"\b{p}\b", told) for p in family):
            out |= dict.fromkeys(family, (OTHER, False))
    return out


def find_cues(text: str, phrases: dict[str, tuple[str, bool]]) -> list[Cue]:
    """The cues in a folded text, the longest phrase first where they overlap, in order."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    taken = bytearray(len(text))
    found: list[Cue] = []
    for phrase in sorted(phrases, key=lambda p: (-len(p), p)):
        name, asked = phrases[phrase]
        for match in re.finditer(rf"(?<![^\W_]){phrase_pattern(phrase)}(?:s)?(?![^\W_])", lowered):
            if any(taken[match.start() : match.end()]):
                continue
            taken[match.start() : match.end()] = b"\x01" * (match.end() - match.start())
            if phrase in _PREPOSITIONS and not _HEADS.search(
                lowered[: match.start()][-3:] + "§" + lowered[match.end() :][:3]
            ):
                continue  # "after 300 ms" says when, not which; "After:" heads what follows
            part = asked and _PART_OF_SUM.search(lowered[max(0, match.start() - 24) : match.start()])
            if not part or _STATES.match(lowered, match.end()):
                found.append(Cue(match.start(), match.end(), name, asked))
    return sorted(found, key=lambda c: c.start)


def outside(cues: Sequence[Cue], reads: Sequence[Read]) -> list[Cue]:
    """The cues that are no part of a number's own unit: "gaps" in "30 gaps" names nothing else."""
    starts = [r.start for r in reads]
    kept = []
    for cue in cues:
        at = bisect_right(starts, cue.start) - 1
        if at < 0 or reads[at].end <= cue.start or "/" in reads[at].dimension:
            kept.append(cue)
    return kept


def within(cues: Sequence[Cue], start: int, end: int) -> list[Cue]:
    """The cues that begin in a stretch."""
    starts = [c.start for c in cues]
    return list(cues[bisect_left(starts, start) : bisect_left(starts, end)])


Pairs = dict[Read, tuple[Cue, bool]]


def pair(reads: list[Read], cues: list[Cue], text: str) -> Pairs:
    """Which cue each candidate number of one sentence belongs to, and whether the tie is close."""
    pairs: Pairs = {}
    if not cues or not reads:
        return pairs
    if any(c.name == OTHER for c in cues) and all(
        _ANY_CHANGE.fullmatch(text[c.start : c.end].lower()) for c in cues if c.asked
    ):
        # "TTFT rose to 900 ms, an increase of 80 %" is about TTFT, not about the increase asked for
        cues = [c for c in cues if not c.asked]
        return dict.fromkeys(reads, (cues[0], True))
    asked = [c for c in cues if c.asked]
    distinct = list({c.name: c for c in asked}.values())
    if len(distinct) == len(reads) >= 2 and (
        max(c.end for c in distinct) <= min(r.start for r in reads)
        or max(r.end for r in reads) <= min(c.start for c in asked)
    ):
        # "first token and completion: 300 ms and 1,050 ms"
        first_seen = sorted(distinct, key=lambda c: next(a.start for a in asked if a.name == c.name))
        return {r: (c, True) for r, c in zip(reads, first_seen, strict=True)}
    read_first = reads[0].start < cues[0].start
    starts, ends = [c.start for c in cues], [c.end for c in cues]
    tied = [_tied(reads, cues, ends, n, text) for n in range(len(reads))]
    behind: Cue | None = None
    for n, read in enumerate(reads):
        next_read = reads[n + 1].start if n + 1 < len(reads) else len(text)
        last_at = bisect_right(ends, read.start) - 1
        last = cues[last_at] if last_at >= 0 else None
        tight = tied[n]
        after_at = bisect_left(starts, read.end)
        nearby = cues[after_at] if after_at < len(cues) and starts[after_at] < next_read else None
        attached = nearby is not None and bool(_ATTACHED.fullmatch(text[read.end : nearby.start]))
        if nearby and n + 1 < len(reads) and tied[n + 1] and bisect_right(ends, next_read) - 1 == after_at:
            # "1,050 ms The first token comes after 300 ms": the words belong to the number that follows them,
            # unless the sentence puts its words behind each number
            bound = re.match(r"\s*(?:for|to|until|till|as|is)\b", text[read.end : read.end + 8])
            follows = "," in text[nearby.end : next_read] or (
                read_first and n == 0 and text[read.end : nearby.start].strip() != ""
            )
            attached = attached and (bool(bound) or follows)
        pointed = attached and bool(re.match(r"\s*(?:=>|→|->|⇒|\()", text[read.end : read.end + 4]))
        if tight and last is behind and re.search(r"[,;]", text[last.end : read.start] if last else ""):
            # "$0.667 at the test's rate, $1.67 really": the words belong to the number before them
            tight, last = False, None
        if nearby and attached and (read_first or pointed):
            pairs[read] = (nearby, True)
            behind = nearby
        elif last and tight:
            pairs[read] = (last, True)
        elif nearby and (attached or read_first):
            pairs[read] = (nearby, attached)
        elif last:
            pairs[read] = (last, False)
    return pairs


def _tied(reads: Sequence[Read], cues: Sequence[Cue], ends: Sequence[int], n: int, text: str) -> bool:
    """Whether the cue before a number leads straight to it."""
    at = bisect_right(ends, reads[n].start) - 1
    if at < 0:
        return False
    gap = text[cues[at].end : reads[n].start]
    return len(gap) < 160 and bool(_TIGHT.fullmatch(gap)) and (cues[at].asked or "," not in gap)


def per_pairs(reads: Sequence[Read], phrases: dict[str, tuple[str, bool]]) -> Pairs:
    """Numbers whose own unit names the quantity: "128 KiB per token" where one of the results is per token."""
    pairs: Pairs = {}
    for read in reads:
        per = base_of(read.dimension)[1]
        if not per:
            continue
        owner = next((phrases[p] for p in (f"per {per}", f"each {per}", f"a {per}", per) if p in phrases), None)
        if owner and owner[1]:
            pairs[read] = (Cue(read.start, read.end, *owner), True)
    return pairs


def label_above(sentence: Sentence, before: Sentence | None, cues: list[Cue], reads: Sequence[Read]) -> Cue | None:
    """The quantity that the short line above names: "TTFT" over "300 ms"."""
    if before is None or len(before.text.split()) > _LABEL_WORDS or before.text.endswith((".", "?", "!")):
        return None
    if any(before.start <= r.start < before.end for r in reads) or any(
        c.asked for c in within(cues, sentence.start, sentence.end)
    ):
        return None
    asked = {c.name: c for c in within(cues, before.start, before.end) if c.asked}
    return next(iter(asked.values())) if len(asked) == 1 else None


def table_pairs(text: str, reads: Sequence[Read], cues: list[Cue]) -> Pairs:
    """Numbers in a table whose column's head names an asked quantity, where their row names none."""
    pairs: Pairs = {}
    starts = [r.start for r in reads]
    head: list[list[Cue]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        start, end = at, at + len(line)
        at = end
        if "|" not in line:
            head = []
            continue
        inside = reads[bisect_left(starts, start) : bisect_left(starts, end)]
        bars = [start + m.start() for m in re.finditer(r"\|", line)]
        own = [c for c in within(cues, start, end) if c.asked]
        if not inside:
            if len({c.name for c in own}) > 1:
                edges = [*bars, end]
                head = [[c for c in own if a < c.start < b] for a, b in itertools.pairwise(edges)]
            continue
        if own or not head:
            continue
        for read in inside:
            column = bisect_right(bars, read.start) - 1
            if 0 <= column < len(head) and head[column]:
                pairs[read] = (head[column][0], True)
    return pairs
