"""What each number in an answer is there for: an assertion, a given restated, a step, a rejected or supposed value."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from question_bank.question import Expected, Quantity, Question
from tutor.grading.apart import in_checks, in_order, own_settings, shares, two_ends
from tutor.grading.chains import Chain, read_chains
from tutor.grading.changes import bounds, direction_of, is_delta
from tutor.grading.cues import Pairs, find_cues, label_above, outside, pair, per_pairs, phrases_of, table_pairs, within
from tutor.grading.doubts import doubted, retracted, scorned
from tutor.grading.heard import sound
from tutor.grading.markup import plain
from tutor.grading.names import Spans
from tutor.grading.number_forms import decimal_mark
from tutor.grading.numbers import Read, read_folded, read_quantities
from tutor.grading.quantities import alike, equals, fits, quantity_unit
from tutor.grading.text import Folded, Sentence, fold, is_foreign, sentences
from tutor.grading.wording import CORRECTION, Around, leads_up, offered, rejected, supposed

__all__ = ["Reading", "Role", "Use", "alike", "equals", "failure_reads", "fits", "quantity_unit", "read_answer"]

Role = Literal["assertion", "given", "step", "rejected", "supposed", "delta", "listed"]

_CHANGE_WORDS = re.compile(
    r"\b(?:difference|change|delta|increase|added|extra|saving|gain|rise|drop|reduction|improvement|decrease|growth)\b",
    re.IGNORECASE,
)
# A result that is itself a difference is stated by "320 ms later" and "31 % less".
_MORE_WORDS = re.compile(
    r"\b(?:more|less|fewer|later|earlier|longer|shorter|saved|saves|lost|extra|additional|on top|by)\b", re.IGNORECASE
)
# A result that is asked for a case is stated with that case: "600 ms if the server hears of it".
_IN_A_CASE = re.compile(r"\b(?:if|when|with|without|doubl\w*|twice)\b", re.IGNORECASE)
_LIST_GAP = re.compile(r"[\s,;|&/·]*")
# "[1040, 1060] ms": one end before the comma, the other after it
_INTERVAL = re.compile(r"\[\s*[\d.]+\s*[a-zA-Z]{0,3}\s*[,;]\s*$")
_INTERVAL_END = re.compile(r"\s*[,;]\s*[\d.]+\s*[a-zA-Z]{0,3}\s*\]")
_NEVER = re.compile(r"[\s*)\"']*(?:\?\s*(?:never|not|no way|wrong|false|nope|no)\b|, not\W*$)", re.IGNORECASE)
_SALAD = 3
_WINDOW = 280
_MOST_NUMBERS = 400
"""An answer with more numbers than this is a list of numbers, of which none is said to be the result."""


@dataclass(frozen=True)
class Use:
    """One number with its role.

    `target` is the expected result it seems to be about and `tight` how surely; `named` tells whether words
    beside it name any quantity at all, `known` whether it is the value of a given or of a step, `leads` whether
    only words that lead up to an answer come before it. `weak` marks a supposed value that may still be meant as
    the answer ("it would take 950 ms"), `offered` one of several on offer ("or 1,075 ms"); `direction` is 1 for a
    change told as a rise, -1 for one told as a fall. `check` tells that the sentence is about a measurement or what
    it would show, `ordered` that the number stands in a row with one for each result, in the order asked, `doubted`
    that its clause holds words of denial.
    """

    read: Read
    role: Role
    target: str | None
    tight: bool
    chain: Chain | None
    named: bool = False
    known: bool = False
    leads: bool = False
    weak: bool = False
    offered: bool = False
    direction: int = 0
    check: bool = False
    ordered: bool = False
    doubted: bool = False


@dataclass(frozen=True)
class Reading:
    """All numbers of an answer with what they are for.

    `parts` are all sentences, `believed` the places of those that can be believed by their words (see `heard`).
    """

    folded: Folded
    parts: tuple[Sentence, ...]
    believed: frozenset[int]
    reads: tuple[Read, ...]
    chains: tuple[Chain, ...]
    uses: tuple[Use, ...]


def is_change(expected: Expected) -> bool:
    """Whether a result is a change, so that "rises by 20 %" states it."""
    return bool(_CHANGE_WORDS.search(expected.label))


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


def _salads(text: str, reads: Sequence[Read], operands: set[int], question: Question) -> set[int]:
    """Numbers in a row with nothing said of any of them, more than there are results to state."""
    found: set[int] = set()
    run: list[int] = []

    def finish() -> None:
        if len(run) == 2 and "/" in text[reads[run[0]].end : reads[run[1]].start]:
            return  # "1,050 / 1,075 ms" offers both
        able = [i for i in run if any(fits(reads[i], e) for e in question.expected)]
        values = {round(reads[i].canonical, 9) for i in able}
        short = run and len(text) < _WINDOW
        alone = short and not re.search(r"[^\W\d_]", text[: reads[run[0]].start] + text[reads[run[-1]].end :])
        if len(values) > len(question.expected) and (len(values) >= _SALAD or alone):
            found.update(run)

    for index, read in enumerate(reads):
        gap = text[reads[index - 1].end : read.start] if index else "-"
        if index in operands or not _LIST_GAP.fullmatch(gap) or gap.count("\n") > 1:
            finish()
            run.clear()
        if index not in operands:
            run.append(index)
    finish()
    return found


def _elsewhere(text: str, reads: Sequence[Read], index: int, start: int, question: Question) -> bool:
    """Whether a number is told for another case: "at 400 tok/s 45 min", where 200 tok/s are given."""
    read = reads[index]
    known = (*question.givens, *question.derived)
    for other in reversed(reads[max(0, index - 2) : index]):
        if other.start < start or read.start - other.end > 24 or other.dimension == read.dimension or not other.unit:
            continue
        same_kind = [q for q in known if q.unit and quantity_unit(q).dimension == other.dimension and fits(other, q)]
        lead = text[max(start, other.start - 8) : other.start]
        if same_kind and re.search(r"(?i:\b(?:with|for|at|if|of)\s+|\()$", lead):
            values: tuple[Quantity | Expected, ...] = (*known, *question.expected)
            return not any(equals(other, q, 0.01) for q in values)
    return False


def is_pair(chain: Chain) -> bool:
    """Whether a chain is numbers with slashes between them: several values, or a quotient left to the reader."""
    return chain.right is None and chain.text.count("/") == chain.operations > 0


def _quotients(text: str, reads: Sequence[Read], chains: Sequence[Chain], question: Question) -> tuple[Read, ...]:
    """The reads, with "5/2" as one where a share or a factor is asked for and nothing else could be meant."""
    plain_ones = [e for e in question.expected if quantity_unit(e).dimension in {"factor", "fraction", "none"}]
    only = len(plain_ones) == len(question.expected)
    whole = {
        c.indexes: c.value for c in chains
        if is_pair(c) and c.operations == 1 and all(reads[i].dimension == "none" for i in c.indexes)
        and (only or any(math.isclose(c.value, e.value, rel_tol=e.rel_tolerance) for e in plain_ones))
    }  # fmt: skip
    out: list[Read] = []
    for index, read in enumerate(reads):
        value = next((v for i, v in whole.items() if i[0] == index), None)
        if value is not None and math.isfinite(value):
            end = reads[index + 1].end
            out.append(replace(read, end=end, text=text[read.start : end], value=value, canonical=value,
                               dimension="fraction" if value < 1 else "none", alternative=None))  # fmt: skip
        elif not any(i[1] == index for i in whole):
            out.append(read)
    return tuple(out)


def _as_marked(text: str, reads: Sequence[Read]) -> tuple[Read, ...]:
    """The reads with 1,624 as 1.624 where the answer's other numbers show that it writes a decimal comma.

    In a language other than English a point before three digits groups: 1.050 is 1050 there.
    """
    mark = decimal_mark(text)
    if mark == "" and is_foreign(text):
        return tuple(
            r if r.alternative is None or "." not in r.text else
            replace(r, value=r.alternative, canonical=r.alternative * r.factor, alternative=None)
            for r in reads
        )  # fmt: skip
    if mark != "comma":
        return tuple(reads)
    return tuple(
        r if r.alternative is None or not re.match(r"[-$€]*\d+[.,]\d{3}", r.text) else
        replace(r, value=r.alternative, canonical=r.alternative * r.factor, alternative=None)
        for r in reads
    )  # fmt: skip


def _without(around: Around, own: Spans, read: Read) -> Around:
    """The words around a number without those that only say which of the results it is."""
    if not own.spans:
        return around
    before = "".join(c if not own.covers(read.start - len(around.before) + n) else " "
                     for n, c in enumerate(around.before))  # fmt: skip
    after = "".join(c if not own.covers(read.end + n) else " " for n, c in enumerate(around.after))
    return replace(around, before=before, after=after)


def _steps(chains: Sequence[Chain], reads: Sequence[Read], question: Question) -> tuple[dict[int, Chain], set[int]]:
    """The chain of each number, and which numbers are operands rather than outcomes."""
    in_chain: dict[int, Chain] = {}
    operands: set[int] = set()
    for chain in chains:
        told = [
            next((e.name for e in question.expected if equals(reads[i], e, e.rel_tolerance)), "") for i in chain.indexes
        ]
        if is_pair(chain) or (chain.right is None and "" not in told and len(set(told)) == len(told)):
            continue  # "300/1050 ms" states two values, "8 ms plus 0.125 ms a sequence" too
        for index in chain.indexes:
            in_chain[index] = chain
            if index not in chain.finals:
                operands.add(index)
    return in_chain, operands


def _around(text: str, reads: Sequence[Read], parts: Sequence[Sentence], starts: Sequence[int], index: int) -> Around:
    """The words around a number, within its sentence; `starts` are the sentences' own."""
    read = reads[index]
    at = bisect_right(starts, read.start) - 1
    sentence = parts[at] if at >= 0 else Sentence(text, 0, len(text))
    return Around(
        before=text[max(sentence.start, read.start - _WINDOW) : read.start],
        after=text[read.end : min(sentence.end, read.end + _WINDOW)],
        since=text[max(sentence.start, reads[index - 1].end if index else 0) : read.start][-_WINDOW:],
        previous=parts[at - 1].text[-_WINDOW:] if at > 0 else "",
    )


def _changed(question: Question, text: str, new: Read, old: Read) -> bool:
    """Whether "320 instead of 420 ms" states two results asked for, after and before a change."""
    if not re.fullmatch(r"[^\d.;]{0,12}\b(?:instead of|rather than|not)\s+", text[new.end : old.start]):
        return False
    right = [next((e.name for e in question.expected if equals(r, e, e.rel_tolerance)), None) for r in (new, old)]
    return None not in right and right[0] != right[1]


def _roles(
    text: str,
    reads: Sequence[Read],
    parts: Sequence[Sentence],
    operands: set[int],
    salad: set[int],
    question: Question,
    own: Spans,
) -> list[tuple[Role, bool, bool, bool]]:
    """Role, weakness, being on offer and being led up to of each number, from the words around it."""
    found: list[tuple[Role, bool, bool, bool]] = []
    changes = any(is_change(e) for e in question.expected)
    differences = changes or any(_MORE_WORDS.search(e.label) for e in question.expected)
    conditional = any(_IN_A_CASE.search(e.label) for e in question.expected)
    earlier: Around | None = None
    starts = [s.start for s in parts]
    struck = Spans([m.span() for m in re.finditer(r"~~[^~\n]{1,80}~~|<(?:del|s)>[^<\n]{1,80}</", text)])
    for index, read in enumerate(reads):
        around = _around(text, reads, parts, starts, index)
        at = bisect_right(starts, read.start) - 1
        sentence = parts[at] if at >= 0 else Sentence(text, 0, len(text))
        last = found[-1][0] if found else "assertion"
        changed = bool(index) and last != "rejected" and _changed(question, text, reads[index - 1], read)
        joined = bool(re.fullmatch(r"\W*(?:n?or)\W*", text[reads[index - 1].end : read.start])) if index else False
        listed = _INTERVAL.search(around.before[-24:]) or _INTERVAL_END.match(around.after[:24])
        choice = offered(around) or (len(question.expected) == 1 and bool(listed))
        if index and found[-1][2] and re.fullmatch(r"\s*and\s*", text[reads[index - 1].end : read.start]):
            choice = True  # "one of 1,050 ms and 1,075 ms"
        weak = False
        role: Role = "assertion"
        if index in operands:
            role = "step"
        elif (
            struck.covers(read.start)
            or ((rejected(around) or scorned(around)) and not changed)
            or _NEVER.match(text, read.end)
            or (joined and last == "rejected")
        ):
            role = "rejected"
        elif index in salad:
            role = "listed"
        elif not differences and not choice and read.dimension != "factor" and is_delta(around):
            role = "delta"
        elif not choice and (how := supposed(_without(around, own, read), changes)):
            corrected = bool(index) and CORRECTION.search(text[reads[index - 1].end : read.start][-_WINDOW:])
            if not (corrected and how == "weak"):
                role, weak = "supposed", how == "weak" or conditional
        elif not choice and _elsewhere(text, reads, index, sentence.start, question):
            role, weak = "supposed", True
        if earlier is not None and role == last == "assertion" and bounds(earlier, around):
            choice = reads[index - 1].dimension == read.dimension
            found[-1] = (last, found[-1][1], choice or found[-1][2], found[-1][3])
        earlier = around
        paired = bool(index) and bool(re.fullmatch(r"\s*and\s*", text[reads[index - 1].end : read.start]))
        if paired and role == "rejected" and last == "assertion" and re.match(r"\s*are\b", around.after):
            found[-1] = ("rejected", *found[-1][1:])  # "300 ms and 1,050 ms are wrong"
        found.append((role, weak, choice, leads_up(around)))
    return found


def read_answer(question: Question, answer: str) -> Reading:
    """Reads every number of the answer and says what it is for."""
    folded = plain(fold(answer))
    text = folded.text
    parts = sentences(text)
    reads = _as_marked(text, read_folded(folded))
    if len(reads) > _MOST_NUMBERS:
        listed = tuple(Use(r, "listed", None, False, None) for r in reads)
        return Reading(folded, parts, sound(question, parts), reads, (), listed)
    reads = shares(text, two_ends(text, reads, question), question)
    chains = read_chains(text, reads)
    whole = _quotients(text, reads, chains, question)
    if len(whole) != len(reads):
        reads, chains = whole, read_chains(text, whole)
    phrases = phrases_of(question)
    cues = outside(find_cues(text, phrases), reads)
    changes = any(is_change(e) for e in question.expected)
    in_chain, operands = _steps(chains, reads, question)
    salad = _salads(text, reads, operands, question)
    own = own_settings(text, cues)
    roles = _roles(text, reads, parts, operands, salad, question, own)
    checks = in_checks(parts)
    pairs: Pairs = {}
    starts = [r.start for r in reads]
    for n, sentence in enumerate(parts):
        low, high = bisect_right(starts, sentence.start - 1), bisect_right(starts, sentence.end - 1)
        inside = [
            reads[i] for i in range(low, high)
            if roles[i][0] in {"assertion", "supposed"} and any(fits(reads[i], e) for e in question.expected)
        ]  # fmt: skip
        if not inside:
            continue
        pairs |= pair(inside, within(cues, sentence.start, sentence.end), text)
        above = label_above(sentence, parts[n - 1] if n else None, cues, reads[max(0, low - 1) : low])
        if above is not None:
            pairs |= dict.fromkeys(inside[:1], (above, True))
    pairs |= per_pairs(reads, phrases) | table_pairs(text, reads, cues)
    after_failure = _failure_values(question)
    tied = [pairs.get(r, (None, False)) for r in reads]
    named = [cue.name if cue is not None and tight and cue.asked else None for cue, tight in tied]
    rows = in_order(question, text, reads, [r[0] for r in roles], [r[1] for r in roles], named)
    uses = []
    starts_of = [s.start for s in parts]
    # What a sentence takes back is what it or the one before it says.
    taken_back = Spans([(parts[max(0, n - 1)].start, s.end) for n, s in enumerate(parts) if retracted(s.text)])
    for index, read in enumerate(reads):
        cue, tight = pairs.get(read, (None, False))
        role, weak, choice, leads = roles[index]
        known = any(equals(read, q) for q in (*question.givens, *question.derived))
        if role == "assertion":
            asked = cue is not None and cue.asked and tight
            wanted = any(equals(read, e, e.rel_tolerance) for e in question.expected)
            summed = wanted and index in in_chain
            if cue is not None and not cue.asked and not summed and (known or (tight and not wanted)):
                role = "given" if known else "step"
            elif known and not asked and not wanted and not choice:
                role = "given"
            elif not wanted and not choice and any(alike(read, v) for v in after_failure):
                role = "supposed"
        if index in rows:
            role, weak = "assertion", False
        target = rows.get(index) or (cue.name if cue is not None and cue.asked else None)
        direction = direction_of(text, read.start, read.end) if changes else 0
        uses.append(
            Use(
                read,
                role,
                target,
                (tight or index in rows) and target is not None,
                in_chain.get(index),
                cue is not None,
                known,
                leads,
                weak,
                choice,
                direction,
                checks.covers(read.start),
                index in rows,
                taken_back.covers(read.start) or doubted(_around(text, reads, parts, starts_of, index)),
            )
        )
    return Reading(folded, parts, sound(question, parts), reads, chains, tuple(uses))
