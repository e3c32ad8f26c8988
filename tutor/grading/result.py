"""The result criterion, decided by code from what the candidate asserts as the answer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from question_bank.question import Expected, Question, Slip
from tutor.grading.apart import turned_states
from tutor.grading.assign import OR, assign, is_right, slip_of, take_bare_answers, turned_round, values_of
from tutor.grading.challenge import challenges
from tutor.grading.models import CriterionGrade, Quote
from tutor.grading.number_forms import decimal_mark
from tutor.grading.numbers import Read
from tutor.grading.quantities import close, fits, in_unit, quantity_unit
from tutor.grading.roles import Reading, Use, read_answer
from tutor.grading.wording import CONCLUDES, CORRECTION, finality

_SAME_AGAIN = re.compile(r"\s*+(?:\)\s*+)?[(≈~=]++\s*+(?:about |roughly |i\.e\.,? )?[≈~]?\s*+")
_MANY_STRAYS = 3
_BESIDE = 12

Outcome = Literal[
    "right", "wrong", "missing", "hedged", "contradicted", "unit", "separator", "order", "listed", "supposed"
]
OPEN = frozenset({"contradicted", "separator", "order", "listed", "supposed"})


@dataclass(frozen=True)
class Finding:
    """How one expected result stands in the answer.

    `values` are what is asserted, in the expected unit: one, or several where several are on offer.
    """

    expected: Expected
    outcome: Outcome
    read: Read | None
    slip: Slip | None = None
    stated: tuple[Read, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Found:
    """What an answer asserts for one quantity, whether right or wrong; values are in the unit asked for."""

    kind: Literal["value", "offered", "ambiguous", "none"]
    values: tuple[float, ...] = ()


def show(value: float, unit: str) -> str:
    """A value as people write it: 1,050 ms."""
    body = f"{value:,.0f}" if math.isclose(value, round(value), abs_tol=1e-9) else f"{value:,.4g}"
    return f"{body}{unit}" if unit in {"%", "×"} else f"{body} {unit}".strip()


def _unit_missed(use: Use, expected: Expected) -> bool:
    """The right digits with another unit: 300 s for 300 ms."""
    read = use.read
    return (
        read.dimension == quantity_unit(expected).dimension
        and not is_right(use, expected)
        and math.isclose(read.value, expected.value, rel_tol=expected.rel_tolerance)
    )


def _stated(use: Use, expected: Expected, mark: str, others: Sequence[Use]) -> float:
    """The value in the expected unit, with 1.050 read as the rest of the answer writes its numbers."""
    first = values_of(use, expected)[0]
    if use.read.alternative is None:
        return first
    other = in_unit(use.read, expected, use.read.alternative)
    again = any(u is not use and math.isclose(values_of(u, expected)[0], other, rel_tol=0.002) for u in others)
    return other if again or (mark == "comma" and re.match(r"-?\d+[.,]\d{3}", use.read.text)) else first


def _open_separator(use: Use, expected: Expected, mark: str) -> bool:
    """Whether nothing tells how the separator is meant and the other way of reading it would be right."""
    settled = mark == "comma" or (mark == "point" and "." in use.read.text)
    return (
        use.read.alternative is not None
        and not settled
        and fits(use.read, expected)
        and close(in_unit(use.read, expected, use.read.alternative), expected, expected.rel_tolerance)
    )


def _tells_apart(text: str, first: Use, second: Use, offered: bool = False) -> bool:
    """Whether the second of two different values plainly replaces the first; one merely offered does not."""
    between = text[first.read.end : second.read.start]
    if (not offered and CORRECTION.search(between)) or (not offered and re.match(r"^[\s*]*\?", between)):
        return True
    leads = (re.split(r"[.;!?]\s|\n", text[max(0, u.read.start - 80) : u.read.start])[-1] for u in (first, second))
    lead, later = leads
    return finality(later) > finality(lead) or bool(CONCLUDES.search(later) and not CONCLUDES.search(lead))


def _rounded(exact: float, read: Read, rounded: float) -> bool:
    """Whether a number as written is another one rounded to the digits that it shows."""
    shown = len(f"{abs(read.value):.10g}".replace(".", "").strip("0").split("e")[0])
    digits = max(1, shown) - 1 - math.floor(math.log10(abs(exact))) if exact else 0
    return math.isclose(exact, rounded, rel_tol=0.002) or abs(exact - rounded) <= 0.5000001 * 10.0**-digits


def _distinct(text: str, uses: Sequence[Use], expected: Expected) -> list[Use]:
    """The uses without those that say the same value again, in another unit or rounded ("1.05 s ≈ 1.1 s")."""
    kept: list[Use] = []
    for use in uses:
        if kept and len(text[kept[-1].read.end : use.read.start]) < _BESIDE:
            said, again = values_of(kept[-1], expected), values_of(use, expected)
            if len(said) == len(again) == 1 and math.isclose(said[0], again[0], rel_tol=0.002):
                continue  # "0.183 or 18.3 %"
        if kept and _SAME_AGAIN.fullmatch(text[kept[-1].read.end : use.read.start]):
            a, b = values_of(kept[-1], expected)[0], values_of(use, expected)[0]
            if _rounded(a, use.read, b) or _rounded(b, kept[-1].read, a):
                if kept[-1].read.approx and not use.read.approx:
                    kept[-1] = use  # "roughly one second (1,050 ms)"
                continue
        kept.append(use)
    return kept


def _judge(question: Question, reading: Reading, expected: Expected, uses: list[Use]) -> Finding:
    if not uses:
        return Finding(expected, "missing", None)
    text = reading.folded.text
    mark = decimal_mark(text)
    uses = challenges(question, reading, expected, uses)
    every_use = uses
    uses = _distinct(text, uses, expected)
    reads = tuple(u.read for u in uses)
    stated = {u.read: _stated(u, expected, mark, every_use) for u in uses}

    def value(use: Use) -> float:
        return stated[use.read]

    good = [
        (fits(u.read, expected) and not u.read.is_range and close(value(u), expected, expected.rel_tolerance))
        or (u.read.is_range and is_right(u, expected))
        for u in uses
    ]
    last = uses[-1]
    tolerance = max(expected.rel_tolerance, 1e-6)
    differs = [u for u in uses[:-1] if not math.isclose(value(u), value(last), rel_tol=tolerance)]
    every = tuple(dict.fromkeys(v for u in uses for v in (values_of(u, expected) if u.read.is_range else (value(u),))))
    if last.read.is_range and not good[-1]:
        return Finding(expected, "hedged", last.read, stated=reads, values=values_of(last, expected))
    several = any(u.offered or OR.match(text[a.read.end : u.read.start]) for a, u in pairwise(uses))
    if differs and several and not all(good):
        turned = _tells_apart(text, differs[-1], last, offered=last.offered)
        if not turned:
            return Finding(expected, "hedged", last.read, stated=reads, values=every)
    if differs and any(good) and not all(good) and not _tells_apart(text, differs[-1], last):
        return Finding(expected, "contradicted", last.read, stated=reads, values=every)
    if good[-1] and all(u.doubted for u, right in zip(uses, good, strict=True) if right):
        return Finding(expected, "supposed", last.read, stated=(last.read,), values=(value(last),))
    if good[-1]:
        ends = every if last.read.is_range or (several and differs and all(good)) else (value(last),)
        return Finding(expected, "right", last.read, stated=reads, values=ends)
    if _open_separator(last, expected, mark):
        return Finding(expected, "separator", last.read, stated=reads, values=(value(last),))
    outcome: Outcome = "unit" if _unit_missed(last, expected) else "wrong"
    slip = slip_of(last, expected, question) if outcome == "wrong" else None
    return Finding(expected, outcome, last.read, slip, reads, (value(last),))


def _fallback(question: Question, reading: Reading, expected: Expected, uses: list[Use]) -> Finding:
    """Nothing is plainly asserted: a weakly supposed value is the answer; one in a list or a case is asked about."""
    weak = [u for u in uses if u.weak and (not u.known or is_right(u, expected))]
    if weak:
        return _judge(question, reading, expected, weak)
    listed = [u for u in reading.uses if u.role == "listed" and fits(u.read, expected)]
    if any(is_right(u, expected) for u in listed):
        reads = tuple(u.read for u in listed)
        return Finding(expected, "listed", reads[-1], stated=reads)
    added = [u for u in reading.uses if u.role == "delta" and not u.known and is_right(u, expected)]
    if added and not uses:
        return _judge(question, reading, expected, added)
    right = [u for u in uses if is_right(u, expected)]
    if right:
        return Finding(expected, "supposed", right[0].read, stated=(right[0].read,))
    slipped = [u for u in uses if slip_of(u, expected, question)]
    return _judge(question, reading, expected, slipped[:1])


def _with_weak(
    question: Question, reading: Reading, expected: Expected, uses: list[Use], supposed: Sequence[Use]
) -> list[Use]:
    """The uses, or a right value that only seems supposed where nothing that is asserted speaks against it."""
    if any(is_right(u, expected) for u in uses):
        return uses
    weak = [u for u in supposed if u.weak and is_right(u, expected)]
    both = sorted((*uses, *weak), key=lambda u: u.read.start)
    return both if weak and all(is_right(u, expected) for u in challenges(question, reading, expected, both)) else uses


def find_results(question: Question, reading: Reading) -> tuple[tuple[Finding, ...], list[Use]]:
    """How each expected result stands in the answer, and the asserted numbers that fit none."""
    plain = [u for u in reading.uses if u.role == "assertion"]
    given, loose = assign(question, reading, plain)
    fallback, _ = assign(question, reading, [u for u in reading.uses if u.role == "supposed"])
    take_bare_answers(question, reading, given)
    placed = [(u.read, e) for e in question.expected for u in given[e.name] if is_right(u, e)]
    turned = turned_round(question, given) or turned_states(question, reading.folded.text, placed)
    findings = []
    for expected in question.expected:
        uses = given[expected.name]
        if any(u.offered for u in uses):
            # "if … it is 1,075 ms, otherwise 1,050 ms": both cases are on offer
            uses = sorted((*uses, *fallback[expected.name]), key=lambda u: u.read.start)
        if not uses:
            findings.append(_fallback(question, reading, expected, fallback[expected.name]))
            continue
        uses = _with_weak(question, reading, expected, uses, fallback[expected.name])
        finding = _judge(question, reading, expected, uses)
        findings.append(
            Finding(expected, "order", finding.read, stated=tuple(u.read for us in given.values() for u in us))
            if turned and finding.outcome == "right"
            else finding
        )
    return tuple(findings), loose


def read_results(question: Question, answer: str) -> dict[str, Found]:
    """What the answer asserts for each quantity asked for, right or wrong."""
    findings, _ = find_results(question, read_answer(question, answer))
    return {f.expected.name: _found(f) for f in findings}


def _found(finding: Finding) -> Found:
    if finding.outcome == "missing":
        return Found("none")
    if finding.outcome in OPEN:
        return Found("ambiguous", finding.values)
    if finding.outcome == "hedged" or len(finding.values) > 1:
        return Found("offered", finding.values)
    return Found("value", finding.values)


def _quote(reading: Reading, reads: list[Read]) -> Quote | None:
    if not reads:
        return None
    start, end = min(r.start for r in reads), max(r.end for r in reads)
    if end - start > 160:
        start, end = reads[-1].start, reads[-1].end
    source_start, source_end = reading.folded.span(start, end)
    return Quote(text=reading.folded.source[source_start:source_end], start=source_start, end=source_end)


def _listed(reads: Sequence[Read]) -> str:
    """The values as written, each once: "1,050 ms or 1,075 ms"."""
    written = list(dict.fromkeys(" ".join(r.text.split()) for r in reads))[-4:]
    return " or ".join((", ".join(written[:-1]), written[-1])) if len(written) > 1 else written[0]


def _ask(finding: Finding) -> str:
    """The one question that settles what the answer leaves open, naming the quantity."""
    label, written = finding.expected.label, _listed(finding.stated)
    match finding.outcome:
        case "contradicted":
            return f"Which is your final {label}: {written}?"
        case "separator":
            return f"How many {finding.expected.unit or 'is'} is {written} for {label}? Write it without a separator."
        case "order":
            return f"Which of your values is the {label}: {written}?"
        case "listed":
            return f"Which of the numbers that you list is your {label}?"
        case _:
            return f"Is {written} your {label}?"


def _sentence(finding: Finding) -> str:
    label, read = finding.expected.label, finding.read
    written = read.text.strip() if read else ""
    match finding.outcome:
        case "missing":
            return f"No value is stated for {label}."
        case "hedged":
            return f"More than one value is offered for {label}; commit to one."
        case "unit":
            return f"{written} has the wrong unit for {label}."
        case "wrong" if finding.slip:
            return f"{written} for {label}: {finding.slip.diagnosis}"
        case "wrong":
            return f"{written} is not right for {label}."
        case _:
            return f"{written} is right for {label}."


def grade_result(question: Question, answer: str) -> CriterionGrade:
    """Decides the result criterion from numbers; "not_graded" where the question asks for none.

    "unsure" comes with the one question that would settle it (`clarify`); `clarify.settle_result` takes the reply.
    """
    if not question.expected:
        return CriterionGrade(criterion="result", verdict="not_graded", reason="No number is asked for.")
    reading = read_answer(question, answer)
    findings, loose = find_results(question, reading)
    return grade_findings(question, reading, findings, loose)


def grade_findings(
    question: Question,
    reading: Reading,
    findings: Sequence[Finding],
    loose: Sequence[Use],
    asked: frozenset[str] = frozenset(),
) -> CriterionGrade:
    """The verdict that follows from how each expected result stands.

    `loose` are asserted numbers that fit no result; a quantity named in `asked` has been asked about already and is
    not asked about again.
    """
    bad = [f for f in findings if f.outcome in {"wrong", "missing", "hedged", "unit"}]
    open_ = sorted((f for f in findings if f.outcome in OPEN), key=lambda f: f.expected.name in asked)
    # In a row of figures without words, one may be right by chance; steps and givens are no such figures.
    timed = [u for u in loose if u.read.dimension not in {"none", "count"} and not (u.chain or u.known or u.check)]
    quote = _quote(reading, [f.read for f in (bad or open_ or findings) if f.read])
    if bad:
        named = [f for f in bad if f.slip] or bad
        return CriterionGrade(
            criterion="result", verdict="not_met", decided_by="code", p_met=0.0, quote=quote,
            reason=" ".join(dict.fromkeys(_sentence(f) for f in named[:2])),
            slip_id=next((f.slip.id for f in bad if f.slip), None),
        )  # fmt: skip
    question_put = _ask(open_[0]) if open_ else ""
    bare = not any(u.tight or u.chain or u.ordered or u.leads for u in reading.uses if u.role == "assertion")
    if not question_put and len(timed) >= _MANY_STRAYS and bare:
        question_put = f"Which of your numbers is the {question.expected[0].label}?"
    if open_ and open_[0].expected.name in asked:
        return CriterionGrade(
            criterion="result", verdict="unsure", decided_by="code", quote=quote,
            reason=f"Your reply leaves open which value is your {open_[0].expected.label}.",
        )  # fmt: skip
    if question_put:
        return CriterionGrade(
            criterion="result", verdict="unsure", decided_by="code", quote=quote, reason=question_put,
            clarify=question_put,
        )  # fmt: skip
    tolerance = max(f.expected.rel_tolerance for f in findings)
    count = {1: "The value is", 2: "Both values are"}.get(len(findings), f"All {len(findings)} values are")
    return CriterionGrade(
        criterion="result", verdict="met", decided_by="code", p_met=1.0, quote=quote,
        reason=f"{count} right (within {tolerance * 100:g} %).",
    )  # fmt: skip
