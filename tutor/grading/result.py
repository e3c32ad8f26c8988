"""The result criterion, decided by code from what the candidate asserts as the answer."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from question_bank.question import Expected, Question, Slip
from tutor.grading.models import CriterionGrade, Quote
from tutor.grading.numbers import Read
from tutor.grading.roles import Reading, Use, equals, fits, quantity_unit, read_answer

_MARKER = re.compile(
    r"\b(?:wait|correction|correct(?:ed|ing)|sorry|actually|scratch|i mean|oops|edit|should be|redo|no|final(?:ly)?|"
    r"let me|mistake|wrong|rather|revis\w+)\b",
    re.IGNORECASE,
)
_OR = re.compile(
    r"^\W*(?:or|maybe|perhaps|possibly|alternatively|could be|/|else|if not)\b[^.]{0,25}$|^\s*/\s*$",
    re.IGNORECASE,
)
_MANY_STRAYS = 3

Outcome = Literal["right", "wrong", "missing", "hedged", "contradicted", "unit", "separator"]


@dataclass(frozen=True)
class Finding:
    """How one expected result stands in the answer."""

    expected: Expected
    outcome: Outcome
    read: Read | None
    slip: Slip | None = None
    stated: tuple[Read, ...] = ()


def show(value: float, unit: str) -> str:
    """A value as people write it: 1,050 ms."""
    body = f"{value:,.0f}" if math.isclose(value, round(value), abs_tol=1e-9) else f"{value:,.4g}"
    return f"{body}{unit}" if unit in {"%", "×"} else f"{body} {unit}".strip()


def _slip(read: Read, expected: Expected, question: Question) -> Slip | None:
    for slip in question.slips:
        if slip.expected == expected.name:
            target = expected.model_copy(update={"value": slip.value, "unit": slip.unit})
            if equals(read, target, min(expected.rel_tolerance, 0.005)):
                return slip
    return None


def _assign(question: Question, reading: Reading, uses: list[Use]) -> tuple[dict[str, list[Use]], list[Use]]:
    """Gives each number to the expected result it states; what fits none is left over."""
    given: dict[str, list[Use]] = {e.name: [] for e in question.expected}
    loose: list[Use] = []
    for use in uses:
        able = [e for e in question.expected if fits(use.read, e)]
        named = next((e for e in able if e.name == use.target), None)
        by_value = [e for e in able if equals(use.read, e, e.rel_tolerance)]
        by_slip = [e for e in able if _slip(use.read, e, question)]
        if named and (use.tight or named in by_value or (not by_value and named in by_slip)):
            given[named.name].append(use)
        elif by_value:
            given[by_value[0].name].append(use)
        elif by_slip:
            given[by_slip[0].name].append(use)
        elif named and use.read.dimension != "none":
            given[named.name].append(use)
        else:
            loose.append(use)
    text = reading.folded.text
    placed = [(name, u) for name, us in given.items() for u in us]
    for use in list(loose):
        for name, other in placed:
            first, second = sorted((use.read, other.read), key=lambda r: r.start)
            between = text[first.end : second.start]
            apart = any(first.end <= r.start < second.start for r in reading.reads)
            said_again = use.read.start > other.read.start and len(between) < 80 and _MARKER.search(between)
            if not apart and use.read.dimension != "none" and (_OR.match(between) or said_again):
                given[name].append(use)
                loose.remove(use)
                break
    timed = [u for u in loose if u.read.dimension not in {"none", "count"}]
    empty = [e for e in question.expected if not given[e.name]]
    able_timed = [u for u in timed if empty and any(fits(u.read, e) for e in empty)]
    if empty and len(able_timed) == len(empty):
        for use, expected in zip(able_timed, empty, strict=True):
            given[expected.name].append(use)
            loose.remove(use)
    for listed in given.values():
        listed.sort(key=lambda u: u.read.start)
    return given, loose


def _unit_missed(read: Read, expected: Expected) -> bool:
    """The right digits with another unit: 300 s for 300 ms."""
    return (
        read.dimension == quantity_unit(expected).dimension
        and not equals(read, expected, expected.rel_tolerance)
        and math.isclose(read.value, expected.value, rel_tol=expected.rel_tolerance)
    )


def _other_separator(read: Read, expected: Expected, text: str) -> Literal["right", "unsure"] | None:
    """Whether the number would be right with the separators read the other way."""
    if read.alternative is None:
        return None
    unit = quantity_unit(expected)
    value = read.alternative * (read.factor if read.dimension != "none" else unit.factor)
    if not math.isclose(value, expected.value * unit.factor, rel_tol=expected.rel_tolerance):
        return None
    comma_decimals = re.search(r"\d,\d{1,2}(?!\d)", text)
    return "right" if comma_decimals else "unsure"


def _judge(question: Question, reading: Reading, expected: Expected, uses: list[Use]) -> Finding:
    if not uses:
        return Finding(expected, "missing", None)
    text = reading.folded.text
    reads = tuple(u.read for u in uses)
    good = [
        equals(r, expected, expected.rel_tolerance) or _other_separator(r, expected, text) == "right" for r in reads
    ]
    last = reads[-1]
    for first, second in pairwise(reads):
        differs = not math.isclose(first.canonical, second.canonical, rel_tol=max(expected.rel_tolerance, 1e-6))
        if differs and _OR.match(text[first.end : second.start]):
            return Finding(expected, "hedged", last, stated=reads)
    if last.is_range and not good[-1]:
        low, high = (last.low or 0.0) * last.factor, (last.high or 0.0) * last.factor
        if low <= expected.value * quantity_unit(expected).factor <= high:
            return Finding(expected, "hedged", last, stated=reads)
    if good[-1]:
        wrong = [r for r, ok in zip(reads, good, strict=True) if not ok]
        if wrong and not _MARKER.search(text[wrong[-1].end : last.start]):
            return Finding(expected, "contradicted", last, stated=reads)
        return Finding(expected, "right", last, stated=reads)
    if _other_separator(last, expected, text) == "unsure":
        return Finding(expected, "separator", last, stated=reads)
    if _unit_missed(last, expected):
        return Finding(expected, "unit", last, stated=reads)
    return Finding(expected, "wrong", last, _slip(last, expected, question), reads)


def find_results(question: Question, reading: Reading) -> tuple[tuple[Finding, ...], list[Use]]:
    """How each expected result stands in the answer, and the asserted numbers that fit none."""
    plain = [u for u in reading.uses if u.role == "assertion"]
    given, loose = _assign(question, reading, plain)
    supposed = [u for u in reading.uses if u.role == "supposed"]
    fallback, _ = _assign(question, reading, supposed)
    findings = []
    for expected in question.expected:
        uses = given[expected.name]
        if not uses:
            # Everything may stand under a "would": then what is right counts, and a known slip is explained.
            uses = [
                u for u in fallback[expected.name]
                if equals(u.read, expected, expected.rel_tolerance) or _slip(u.read, expected, question)
            ][:1]  # fmt: skip
        findings.append(_judge(question, reading, expected, uses))
    return tuple(findings), loose


def _quote(reading: Reading, reads: list[Read]) -> Quote | None:
    if not reads:
        return None
    start, end = min(r.start for r in reads), max(r.end for r in reads)
    if end - start > 160:
        start, end = reads[-1].start, reads[-1].end
    source_start, source_end = reading.folded.span(start, end)
    return Quote(text=reading.folded.source[source_start:source_end], start=source_start, end=source_end)


def _sentence(finding: Finding) -> str:
    label, read = finding.expected.label, finding.read
    written = read.text.strip() if read else ""
    match finding.outcome:
        case "missing":
            return f"No value is stated for {label}."
        case "hedged":
            return f"More than one value is offered for {label}; commit to one."
        case "contradicted":
            values = " and ".join(dict.fromkeys(r.text.strip() for r in finding.stated))
            return f"Which is your final value for {label}: {values}?"
        case "unit":
            return f"{written} has the wrong unit for {label}."
        case "separator":
            return f"{written} for {label} can be read in two ways; write it without a separator."
        case "wrong" if finding.slip:
            return f"{written} for {label}: {finding.slip.diagnosis}"
        case "wrong":
            return f"{written} is not right for {label}."
        case _:
            return f"{written} is right for {label}."


def grade_result(question: Question, answer: str) -> CriterionGrade:
    """Decides the result criterion from numbers; "not_graded" where the question asks for none."""
    if not question.expected:
        return CriterionGrade(criterion="result", verdict="not_graded", reason="No number is asked for.")
    reading = read_answer(question, answer)
    findings, loose = find_results(question, reading)
    bad = [f for f in findings if f.outcome in {"wrong", "missing", "hedged", "unit"}]
    open_ = [f for f in findings if f.outcome in {"contradicted", "separator"}]
    timed = [u for u in loose if u.read.dimension not in {"none", "count"}]
    shown = [f.read for f in (bad or open_ or findings) if f.read]
    quote = _quote(reading, shown)
    slip = next((f.slip.id for f in bad if f.slip), None)
    if bad:
        named = [f for f in bad if f.slip] or bad
        reason = " ".join(dict.fromkeys(_sentence(f) for f in named[:2]))
        return CriterionGrade(
            criterion="result",
            verdict="not_met",
            decided_by="code",
            p_met=0.0,
            quote=quote,
            reason=reason,
            slip_id=slip,
        )
    if open_:
        return CriterionGrade(
            criterion="result", verdict="unsure", decided_by="code", quote=quote, reason=_sentence(open_[0])
        )
    if len(timed) >= _MANY_STRAYS and not any(u.tight for u in reading.uses):
        return CriterionGrade(
            criterion="result", verdict="unsure", decided_by="code", quote=quote,
            reason="Several numbers are listed; say which of them is the answer to what.",
        )  # fmt: skip
    tolerance = max(f.expected.rel_tolerance for f in findings)
    count = {1: "The value is", 2: "Both values are"}.get(len(findings), f"All {len(findings)} values are")
    return CriterionGrade(
        criterion="result", verdict="met", decided_by="code", p_met=1.0, quote=quote,
        reason=f"{count} right (within {tolerance * 100:g} %).",
    )  # fmt: skip
