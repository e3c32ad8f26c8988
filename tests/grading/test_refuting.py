"""Outcomes that would overturn the answer, and directions, clause by clause."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.grading.directions import agreement, way_of, ways
from tutor.grading.refuting import concedes, outcome


@pytest.mark.parametrize(
    "text",
    [
        "If the gap stays flat, I am wrong.",
        "A p95 below 40 ms would mean I've got it wrong.",
        "no rise of the queue time → my story is dead",
        "Should both spans be equal, the queue is innocent and I take that back.",
        "If the rate is still higher, then lengths weren't the reason.",
        "Anything under 1.2x and the promise is withdrawn.",
    ],
)
def test_an_outcome_with_what_it_overturns(text: str) -> None:
    assert concedes(text)
    assert outcome(text)


@pytest.mark.parametrize(
    "text",
    [
        "I would look at the dashboard.",
        "Wrong if my colleagues say so.",
        "The result of a further run would make me drop my choice.",
        "I would log the queue time of each request.",
        "The queue adds 100 ms to both.",
    ],
)
def test_half_of_it_is_nothing(text: str) -> None:
    assert not (concedes(text) and outcome(text))


@pytest.mark.parametrize(
    ("clause", "way"),
    [
        ("the first token comes later", "up"),
        ("the gap stays at 25 ms", "same"),
        ("throughput does not rise", "same"),
        ("the request rate falls", "down"),
        ("a request passes all stages", None),
    ],
)
def test_the_direction_of_a_clause(clause: str, way: str | None) -> None:
    assert way_of(clause) == way


def test_a_reversed_sentence_goes_against_the_reference() -> None:
    reference = ways("TTFT rises by 100 ms, while the gaps stay at 25 ms")
    assert agreement(ways("The first token comes 100 ms later and the gaps remain as they are"), reference)[1] == 0
    agree, against = agreement(ways("The gaps grow, while TTFT stays"), reference)
    assert (agree, against) == (0, 3)  # first, token, gap


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert concedes(text) in (True, False)
    assert {way for _, way in ways(text)} <= {"up", "down", "same"}
