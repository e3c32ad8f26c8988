"""What each number in an answer is there for: an assertion, a given restated, a step, a rejected or supposed value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from question_bank.question import Expected, Quantity, Question
from tutor.grading.chains import Chain, read_chains
from tutor.grading.numbers import Read, read_folded, read_quantities
from tutor.grading.text import Folded, Sentence, fold, sentences
from tutor.grading.units import Unit, unit_named

Role = Literal["assertion", "given", "step", "rejected", "supposed", "delta"]

# Ways to name the usual quantities; used for an expected result whose own words touch one of them.
_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("time to first token", "time to the first token", "first token", "first token time", "ttft", "first output"),
    (
        "completion", "completion time", "end to end", "e2e", "last token", "finish", "finishes", "finished", "done",
        "total time", "total latency", "completes", "complete", "total duration", "full answer", "final token",
        "end to end latency", "total", "the last", "whole thing",
    ),
    ("inter token latency", "itl", "token gap", "tpot", "time per output token", "gap"),
    ("queue time", "queue wait", "waiting time", "queueing delay"),
)  # fmt: skip

_REJECT_BEFORE = re.compile(
    r"(?:\b(?:not|never|isn't|is not|aren't|wasn't|rather than|instead of|no longer|without|nor|unlike|than)|≠|!=|n't)"
    r"\s+(?:(?:equal to|be|at|the|about|exactly|just|get|take|come to|a)\s+)*[≈~]?\s*$",
    re.IGNORECASE,
)
_REJECT_AFTER = re.compile(
    r"^\W*(?:(?:is|was|are|would be|which is|being)\s+)?(?:wrong|incorrect|not right|not correct|a mistake|an error|"
    r"the trap|off by|too (?:high|low|large|small|much|long))",
    re.IGNORECASE,
)
_SUPPOSE = re.compile(
    r"\b(?:if|suppose|supposing|assuming|were|would|could|doubl\w*|twice|becomes?|rises?|rose|climbs?|grows?|jumps?|"
    r"goes (?:up )?to|moves? (?:from|to)|go (?:up )?to|increas\w+|with (?:the|a|that|twice)|shifts?|in that case|"
    r"instead|mistake|mistaken\w*|"
    r"wrong\w*|slip|trap|people|someone)\b|→|->|\b2\s?[x×]|[x×]\s?2\b",
    re.IGNORECASE,
)
_SUPPOSE_AFTER = re.compile(r"^[^,;.]{0,12}\b(?:if|when|once|with (?:a|the|double\w*|twice))\b", re.IGNORECASE)
_DELTA_BEFORE = re.compile(
    r"(?:\b(?:adds?|added|adding|"
    r"(?<!done )(?<!ready )(?<!out )(?<!complete )(?<!finished )(?<!there )by|extra|additional|another|plus|"
    r"increase of|delay of|saves?|costs? an?|difference of|"
    r"gains?|loses?|up)\s+(?:about |exactly |an? |the |same |extra |further )*[≈~]?\+?\s*|(?<![\d)])\s\+\s?)$",
    re.IGNORECASE,
)
_DELTA_AFTER = re.compile(
    r"^\s*(?:more|longer|later|extra|slower|higher|added|worse|less|lower|faster|earlier|on top|to (?:both|each|"
    r"all|either|every)|(?:is|are) added|in both|on both)\b",
    re.IGNORECASE,
)
_CHANGE_WORDS = re.compile(
    r"\b(?:difference|change|delta|increase|added|extra|saving|gain|rise|drop|reduction|improvement)\b",
    re.IGNORECASE,
)
_TIGHT = re.compile(
    r"[\s:=≈~(*|,-]*(?:(?:so|it|that|which|we|get|is|of|at|=|takes?|arrives?|comes?|equals|time|latency|lands?|be|will|thus|then|so|now|the|"
    r"about|approximately|roughly|around|in|after|t|ms|appears?|shows?|out|to|emitted|delivered|value|are|was)\b"
    r"[\s:=≈~(*,-]*)*",
    re.IGNORECASE,
)
_PART_OF_SUM = re.compile(
    r"(?:\b(?:after|following|past|plus|beyond|since|from|add|adding|on top of)\s+(?:the )?|[+=]\s*)$"
)


@dataclass(frozen=True)
class Use:
    """One number with its role; `target` is the expected result it seems to be about, `tight` how surely."""

    read: Read
    role: Role
    target: str | None
    tight: bool
    chain: Chain | None


@dataclass(frozen=True)
class Reading:
    """All numbers of an answer with what they are for."""

    folded: Folded
    sentences: tuple[Sentence, ...]
    reads: tuple[Read, ...]
    chains: tuple[Chain, ...]
    uses: tuple[Use, ...]


@dataclass(frozen=True)
class _Cue:
    start: int
    end: int
    name: str
    asked: bool


def phrase_pattern(phrase: str) -> str:
    """A phrase as a pattern that does not mind hyphens or spacing."""
    words = re.findall(r"\w+", fold(phrase).text.lower())
    return r"[\s-]+".join(re.escape(w) for w in words)


def _phrases(question: Question) -> dict[str, tuple[str, bool]]:
    """Cue phrase -> (quantity, whether it is asked for); a phrase shared by two results names neither."""
    owners: dict[str, set[str]] = {}
    for expected in question.expected:
        own = {expected.label, *expected.synonyms, expected.name.replace("_", " ")}
        own = {" ".join(re.findall(r"\w+", fold(p).text.lower())) for p in own}
        for family in _FAMILIES:
            if any(p in family or any(f in p for f in family[:6] if len(f) > 5) for p in own):
                own |= set(family)
        for phrase in own:
            owners.setdefault(phrase, set()).add(expected.name)
    out = {p: (next(iter(names)), True) for p, names in owners.items() if p and len(names) == 1}
    for given in (*question.givens, *question.derived):
        bare = re.sub(r"_(?:ns|us|ms|s|tokens|bytes)$", "", given.name)
        for label in (given.label, bare.replace("_", " ")):
            phrase = " ".join(re.findall(r"\w+", fold(label).text.lower()))
            if phrase and phrase not in owners:
                out.setdefault(phrase, (given.name, False))
    return out


def _cues(text: str, phrases: dict[str, tuple[str, bool]]) -> list[_Cue]:
    lowered = text.lower()
    found: list[_Cue] = []
    for phrase in sorted(phrases, key=len, reverse=True):
        name, asked = phrases[phrase]
        for match in re.finditer(rf"(?<!\w){phrase_pattern(phrase)}(?:s)?(?!\w)", lowered):
            if not any(c.start < match.end() and match.start() < c.end for c in found):
                found.append(_Cue(match.start(), match.end(), name, asked))
    return sorted(found, key=lambda c: c.start)


def quantity_unit(quantity: Quantity | Expected) -> Unit:
    """The unit of a question's quantity; an unknown name is taken as a bare number."""
    return unit_named(quantity.unit) or Unit(quantity.unit, "none", 1.0)


def equals(read: Read, quantity: Quantity | Expected, tolerance: float = 0.002) -> bool:
    """Whether a number is a quantity's value, by its unit, or bare in the quantity's own unit."""
    unit = quantity_unit(quantity)
    wanted = quantity.value * unit.factor
    if read.dimension in {"none", "count"} and unit.dimension not in {"none", "count"}:
        return read.dimension == "none" and math.isclose(read.value, quantity.value, rel_tol=tolerance)
    if not fits(read, quantity):
        return False
    ends = (read.low, read.high) if read.is_range else (read.value,)
    return all(e is not None and math.isclose(e * read.factor, wanted, rel_tol=tolerance, abs_tol=1e-12) for e in ends)


def fits(read: Read, quantity: Quantity | Expected) -> bool:
    """Whether a number's unit could be this quantity's (a bare number fits anything)."""
    unit = quantity_unit(quantity)
    if read.dimension == "none" or read.dimension == unit.dimension:
        return True
    if unit.dimension == "none":
        return read.dimension in {"count", "factor", "fraction"}
    per_token = {unit.dimension, read.dimension} == {"time", "time/token"}
    return per_token and bool(re.search(r"token|gap|itl|tpot", quantity.label, re.IGNORECASE))


def _sentence_of(parts: Iterable[Sentence], at: int, text: str) -> Sentence:
    return next((s for s in parts if s.start <= at < s.end), Sentence(text, 0, len(text)))


def _supposed(text: str, sentence: Sentence, read: Read) -> bool:
    before = text[sentence.start : read.start]
    if _SUPPOSE.search(before):
        return True
    return bool(_SUPPOSE_AFTER.match(text[read.end : sentence.end]))


def _pair(reads: list[Read], cues: list[_Cue], text: str) -> dict[Read, tuple[_Cue, bool]]:
    """Which cue each candidate number of one sentence belongs to, and whether the tie is close."""
    asked = [c for c in cues if c.asked]
    pairs: dict[Read, tuple[_Cue, bool]] = {}
    if not cues or not reads:
        return pairs
    distinct = list({c.name: c for c in asked}.values())
    if len(distinct) == len(reads) >= 2 and (
        max(c.end for c in distinct) <= min(r.start for r in reads)
        or max(r.end for r in reads) <= min(c.start for c in asked)
    ):
        # "first token and completion: 300 ms and 1,050 ms"
        first_seen = sorted(distinct, key=lambda c: next(a.start for a in asked if a.name == c.name))
        return {r: (c, True) for r, c in zip(reads, first_seen, strict=True)}
    read_first = min(r.start for r in reads) < cues[0].start
    for n, read in enumerate(reads):
        before = [c for c in cues if c.end <= read.start]
        next_read = reads[n + 1].start if n + 1 < len(reads) else len(text)
        after = [c for c in cues if read.end <= c.start < next_read]
        last = before[-1] if before else None
        close = last is not None and bool(_TIGHT.fullmatch(text[last.end : read.start]))
        nearby = after[0] if after else None
        attached = nearby is not None and bool(
            re.fullmatch(r"\s*(?:\(|for|to|as|until|till|the|of|is|=)?\s*(?:the |a )?", text[read.end : nearby.start])
        )
        if last and close:
            pairs[read] = (last, True)
        elif nearby and (attached or read_first):
            pairs[read] = (nearby, attached)
        elif last:
            pairs[read] = (last, False)
    return pairs


def alike(read: Read, told: Read) -> bool:
    """Whether two numbers as written are the same value; a bare one takes the other's unit."""
    bare = "none" in {read.dimension, told.dimension}
    if not bare and read.dimension != told.dimension:
        return False
    a, b = (read.value, told.value) if bare else (read.canonical, told.canonical)
    return math.isclose(a, b, rel_tol=0.005, abs_tol=1e-12)


def failure_reads(question: Question) -> tuple[Read, ...]:
    """The numbers by which the question's failure case is told."""
    guide = question.criteria.get("failure")
    texts = (guide.statement, *guide.key_points) if guide else ()
    return tuple(r for t in texts for r in read_quantities(t))


def _failure_values(question: Question) -> list[Read]:
    """Values that hold only in the failure case, so that stating them there contradicts nothing."""
    ordinary: list[Quantity | Expected] = [*question.givens, *question.derived, *question.expected]
    for slip in question.slips:
        expected = question.expected_named(slip.expected)
        if expected is not None:
            ordinary.append(expected.model_copy(update={"value": slip.value, "unit": slip.unit}))
    return [r for r in failure_reads(question) if not any(equals(r, q, 0.005) for q in ordinary)]


def _offered(text: str, read: Read) -> bool:
    """Whether a number stands beside an "or": one of several on offer."""
    return bool(re.search(r"\bor\W+(?:\w+\W+)?$", text[: read.start]) or re.match(r"\W*or\b", text[read.end :]))


def read_answer(question: Question, answer: str) -> Reading:
    """Reads every number of the answer and says what it is for."""
    folded = fold(answer)
    text = folded.text
    parts = sentences(text)
    reads = read_folded(folded)
    chains = read_chains(text, reads)
    phrases = _phrases(question)
    cues = [c for c in _cues(text, phrases) if not (c.asked and _PART_OF_SUM.search(text[: c.start].lower()))]
    delta_asked = any(_CHANGE_WORDS.search(e.label) for e in question.expected)
    in_chain: dict[int, Chain] = {}
    operands: set[int] = set()
    for chain in chains:
        division_only = chain.right is None and chain.operations == 1 and "/" in chain.text
        if division_only:
            continue
        for index in chain.indexes:
            in_chain[index] = chain
            if index not in chain.finals:
                operands.add(index)
    roles: dict[int, Role] = {}
    for index, read in enumerate(reads):
        sentence = _sentence_of(parts, read.start, text)
        before, after = text[sentence.start : read.start], text[read.end : sentence.end]
        if index in operands:
            roles[index] = "step"
        elif _REJECT_BEFORE.search(before) or _REJECT_AFTER.match(after):
            roles[index] = "rejected"
        elif not delta_asked and (_DELTA_BEFORE.search(before) or _DELTA_AFTER.match(after)):
            roles[index] = "delta"
        elif _supposed(text, sentence, read):
            roles[index] = "supposed"
        else:
            roles[index] = "assertion"
    pairs: dict[Read, tuple[_Cue, bool]] = {}
    for sentence in parts:
        inside = [
            r for i, r in enumerate(reads)
            if sentence.start <= r.start < sentence.end and roles[i] in {"assertion", "supposed"}
            and any(fits(r, e) for e in question.expected)
        ]  # fmt: skip
        pairs |= _pair(inside, [c for c in cues if sentence.start <= c.start < sentence.end], text)
    after_failure = _failure_values(question)
    uses = []
    for index, read in enumerate(reads):
        cue, tight = pairs.get(read, (None, False))
        role = roles[index]
        if role == "assertion":
            known = [q for q in (*question.givens, *question.derived) if equals(read, q)]
            asked = cue is not None and cue.asked and tight
            wanted = any(equals(read, e, e.rel_tolerance) for e in question.expected)
            if cue is not None and not cue.asked and (known or (tight and not wanted)):
                role = "given" if known else "step"
            elif known and not asked and not wanted:
                role = "given"
            elif not wanted and any(alike(read, v) for v in after_failure) and not _offered(text, read):
                role = "supposed"
        target = cue.name if cue is not None and cue.asked else None
        uses.append(Use(read, role, target, tight and target is not None, in_chain.get(index)))
    return Reading(folded, parts, reads, chains, tuple(uses))
