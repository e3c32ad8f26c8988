"""Arithmetic in prose: what is added to what, and whether it comes out."""

from __future__ import annotations

import pytest

from tutor.grading.chains import Chain, read_chains
from tutor.grading.numbers import read_folded
from tutor.grading.text import fold


def chains_of(text: str) -> tuple[Chain, ...]:
    folded = fold(text)
    return read_chains(folded.text, read_folded(folded))


@pytest.mark.parametrize(
    ("text", "value", "right"),
    [
        ("300 + 30*25 = 1050", 1050, True),
        ("100 + 40 + 160 = 300 ms", 300, True),
        ("100+40+160=300", 300, True),
        ("100 ms queue + 40 ms preprocessing + 160 ms prefill = 300 ms", 300, True),
        ("300 ms + 30 × 25 ms = 1.05 s", 1.05, True),
        ("300 + (31 - 1) × 25 = 1050 ms = 1.05 s", 1.05, True),
        ("100+40+160 = 300 + 30*25 = 1050", 1050, True),
        ("thirty gaps times 25 ms is 750 ms", 750, True),
        ("30 gaps of 25 ms = 750 ms", 750, True),
        ("30x25=750", 750, True),
        ("$300 + 30 \\times 25 = 1050$", 1050, True),
        ("300 + 30*25 = 1075 ms", 1075, False),
        ("31 - 1 = 31", 31, False),
        ("30 × 25", 750, None),
    ],
)
def test_a_chain_is_evaluated(text: str, value: float, right: bool | None) -> None:
    (chain,) = chains_of(text)
    assert chain.value == pytest.approx(value)
    assert chain.right is right


def test_the_outcome_of_a_chain_is_told_from_its_operands() -> None:
    text = "100+40+160 = 300 + 30*25 = 1050"
    (chain,) = chains_of(text)
    reads = read_folded(fold(text))
    assert [reads[i].value for i in chain.finals] == [300, 1050]


@pytest.mark.parametrize("text", ["300 ms, 1050 ms", "300 ms and 1050 ms", "31 tokens at last", "TTFT is 300 ms"])
def test_numbers_side_by_side_are_no_arithmetic(text: str) -> None:
    assert chains_of(text) == ()
