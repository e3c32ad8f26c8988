"""Answers that are made to keep the grader busy: the longest that is taken is read within seconds."""

from __future__ import annotations

import time

import pytest

from tests.grading.questions import make_question
from tutor.grading import MAX_ANSWER_BYTES
from tutor.grading.grade import grade_answer

LIMIT_S = 8.0
"""For the longest answer, on a busy machine. Two patterns took minutes for the first four of these."""

PARTS = {
    "blanks between numbers": ("300 ms", " ", "1050 ms"),
    "lines between numbers": ("300 ms", "\t \n", "1050 ms"),
    "one endless word": ("300 ms ", "a", ""),
    "apostrophes": ("300 ms ", "' ", "never"),
    "digits": ("", "1", ""),
    "numbers": ("", "1 ", ""),
    "sums": ("", "1+", ""),
    "equations": ("", "300 = ", ""),
    "ranges": ("", "1-", ""),
    "brackets": ("", "(1", ""),
    "emphasis": ("", "**a** ", ""),
    "LaTeX": ("", "\\frac{1}{", ""),
    "rows of a table": ("", "| 1 | 2 |\n", ""),
    "conditions": ("", "if the queue doubles, ", ""),
    "measurements": ("", "measure the TTFT and if it is above 1,050 ms I am wrong. ", ""),
    "marks on a letter": ("a", "\u0301", ""),
    "joined signs": ("", "👩‍👧", ""),
}


async def seconds(name: str, size: int) -> float:
    begin, run, end = PARTS[name]
    answer = begin + run * ((size - len(begin) - len(end)) // len(run.encode())) + end
    began = time.perf_counter()
    grade = await grade_answer(make_question(), answer, endpoint=None)
    assert grade.met_count <= 1
    return time.perf_counter() - began


@pytest.mark.parametrize("name", ["one endless word", "apostrophes"])
async def test_a_long_answer_is_read_at_once(name: str) -> None:
    assert await seconds(name, 6_000) < LIMIT_S / 4


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
async def test_the_longest_answer_is_read_in_seconds(name: str) -> None:
    assert await seconds(name, MAX_ANSWER_BYTES) < LIMIT_S
