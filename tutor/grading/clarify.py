"""The candidate's reply to the one question that an unsure result carries: their reply decides, by code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from question_bank.question import Expected, Question
from tutor.grading.models import CriterionGrade
from tutor.grading.numbers import Read
from tutor.grading.result import OPEN, Finding, find_results, grade_findings, show
from tutor.grading.roles import Reading, read_answer

_FIRST = re.compile(r"\b(?:first|former|earlier)\b", re.IGNORECASE)
_LAST = re.compile(r"\b(?:second|latter|last|later)\b", re.IGNORECASE)
_YES = re.compile(
    r"^\W*(?:yes|yep|yeah|y|it is|that is right|that's right|correct|right|exactly|indeed|sure|ja|oui)\b", re.I
)
_NO = re.compile(r"^\W*(?:no|nope|n|not|neither|none|nein|non)\b", re.IGNORECASE)


def _numbers_in(question: Question, expected: Expected, reply: str) -> Finding:
    """How one quantity stands in a reply that is about nothing else."""
    alone = question.model_copy(update={"expected": (expected,)})
    findings, _ = find_results(alone, read_answer(alone, reply))
    return findings[0]


def _chosen(finding: Finding, reply: str) -> Read | None:
    """Which of the stated values words without a number point at: "the first", "yes"."""
    if not finding.stated:
        return None
    first, last = bool(_FIRST.search(reply)), bool(_LAST.search(reply))
    if first != last and len(finding.stated) > 1:
        return finding.stated[0 if first else -1]
    return finding.stated[-1] if _YES.match(reply) and len(finding.stated) == 1 else None


def _after(question: Question, reading: Reading, finding: Finding, reply: str) -> Finding:
    """The finding as the reply leaves it; still open where the reply says nothing that settles it."""
    expected = finding.expected
    named = _numbers_in(question, expected, reply)
    if named.outcome in {"right", "wrong", "unit", "hedged"}:
        return Finding(
            expected, named.outcome, _same_value(finding, named.read), named.slip, finding.stated, named.values
        )
    if named.outcome == "contradicted":
        return finding
    chosen = _chosen(finding, reply)
    if chosen is not None:
        alone = _numbers_in(question, expected, chosen.text)
        return Finding(expected, alone.outcome, chosen, alone.slip, finding.stated, alone.values)
    if _NO.match(reply):
        return Finding(expected, "missing", None)
    return finding


def _same_value(finding: Finding, said: Read | None) -> Read | None:
    """Where the answer states the value of a reply, so that the quote stands in the answer; None where nowhere."""
    if said is None:
        return None
    return next((r for r in reversed(finding.stated) if abs(r.canonical - said.canonical) <= 1e-6 * abs(r.canonical)
                 or r.value == said.value), None)  # fmt: skip


def settle_result(question: Question, answer: str, replies: Sequence[str]) -> CriterionGrade:
    """The result criterion after the candidate's replies to its clarifying questions, in the order asked.

    Each reply is about the first quantity that is still open. One that settles nothing leaves the verdict unsure,
    without another question about the same quantity. Raises nothing; a question without numbers stays "not_graded".
    """
    reading = read_answer(question, answer)
    found, loose = find_results(question, reading)
    findings = list(found)
    asked: set[str] = set()
    for reply in replies:
        open_ = [n for n, f in enumerate(findings) if f.outcome in OPEN and f.expected.name not in asked]
        if not open_:
            # "Which of your numbers is the …?" was about the first result
            findings[0] = _after(question, reading, findings[0], reply)
            asked.add(findings[0].expected.name)
            continue
        at = open_[0]
        asked.add(findings[at].expected.name)
        findings[at] = _after(question, reading, findings[at], reply)
    grade = grade_findings(question, reading, findings, () if replies else loose, asked=frozenset(asked))
    if not replies or grade.verdict == "not_graded":
        return grade
    return grade.model_copy(update={"reason": f"{_settled(findings, asked)} {grade.reason}".strip()})


def _settled(findings: Sequence[Finding], asked: set[str]) -> str:
    told = [
        f"You settled on {show(f.values[0], f.expected.unit)}."
        for f in findings
        if f.expected.name in asked and f.values and f.outcome in {"right", "wrong", "unit"}
    ]
    return " ".join(told)
