"""Surprise by hand arithmetic and by what the formula promises; ranges as people type them."""

from __future__ import annotations

import math
import random
from statistics import NormalDist, fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.drills.calibration import STATED
from tutor.lab.surprise import CALIBRATED_BITS, MOST_BITS, Range, by_topic, read_range, surprise_bits


def test_a_hit_is_no_surprise_and_the_edge_is_as_surprising_as_the_confidence_says() -> None:
    for level, chance in STATED.items():
        assert surprise_bits(40.0, Range(30.0, 50.0), level, 40.0) == 0.0
        # The range holds the truth with that chance, so that its edges have the rest.
        expected = -math.log2(1 - chance)
        assert surprise_bits(40.0, Range(30.0, 50.0), level, 50.0) == pytest.approx(expected)
        assert surprise_bits(40.0, Range(30.0, 50.0), level, 30.0) == pytest.approx(expected)


def test_twice_as_far_in_the_logarithm_by_hand() -> None:
    # 40 to 80 is a factor of 2 and 160 one of 4, so z is twice the 1.4395 of an 85 % range: P(|Z| >= 2.879) = 0.004.
    z = 2 * NormalDist().inv_cdf(0.925)
    expected = -math.log2(2 * (1 - NormalDist().cdf(z)))
    assert surprise_bits(40.0, Range(20.0, 80.0), 3, 160.0) == pytest.approx(expected)
    assert expected == pytest.approx(7.97, abs=0.01)


def test_the_simulators_own_interval_is_nobodys_surprise() -> None:
    assert surprise_bits(40.0, Range(30.0, 50.0), 3, 60.0, Range(35.0, 85.0)) == 0.0
    far = surprise_bits(40.0, Range(30.0, 50.0), 3, 60.0, Range(55.0, 65.0))
    assert far == surprise_bits(40.0, Range(30.0, 50.0), 3, 55.0)


def test_zero_and_negative_numbers_have_a_scale_too() -> None:
    assert surprise_bits(0.0, Range(0.0, 10.0), 2, 0.0) == 0.0
    assert surprise_bits(5.0, Range(0.0, 10.0), 2, 0.0) == pytest.approx(-math.log2(0.4))
    assert surprise_bits(0.0, Range(0.0, 0.0), 3, 5.0) == MOST_BITS


@given(
    st.floats(0.01, 1e6), st.floats(0.01, 1e6), st.floats(0.01, 1e6), st.sampled_from((1, 2, 3)), st.floats(0.01, 1e6)
)
def test_bits_are_finite_and_grow_with_confidence(
    low: float, middle: float, high: float, level: int, out: float
) -> None:
    low, middle, high = sorted((low, middle, high))
    bits = surprise_bits(middle, Range(low, high), level, out)
    assert 0.0 <= bits <= MOST_BITS
    assert surprise_bits(middle, Range(low, high), 3, out) >= bits


def test_honest_ranges_have_the_stated_mean() -> None:
    draw, found = random.Random(5), []
    for _ in range(20_000):
        level = draw.choice((1, 2, 3))
        sigma = draw.uniform(0.1, 1.0)
        half = NormalDist().inv_cdf((1 + STATED[level]) / 2) * sigma
        stated = Range(100 * math.exp(-half), 100 * math.exp(half))
        found.append(surprise_bits(100.0, stated, level, 100 * math.exp(draw.gauss(0, sigma))))
    assert fmean(found) == pytest.approx(CALIBRATED_BITS, abs=0.05)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("30 to 50", 30, 50), ("30-50", 30, 50), ("50 – 30", 30, 50), ("[30, 50]", 30, 50), ("30..50", 30, 50),
        ("1,000 to 2,000", 1000, 2000), ("±10 %", 36, 44), ("10%", 36, 44), ("+-5", 35, 45), ("± 2.5", 37.5, 42.5),
        ("3e1 to 5e1", 30, 50),
    ],
)  # fmt: skip
def test_ranges_as_typed(text: str, low: float, high: float) -> None:
    value = 1500.0 if "," in text and "[" not in text else 40.0
    assert read_range(text, value) == Range(low, high)


@pytest.mark.parametrize(
    ("text", "said"), [("wide", "is no range"), ("50 to 60", "does not hold"), ("", "is no range")]
)
def test_what_is_no_range_is_said(text: str, said: str) -> None:
    found = read_range(text, 40.0)
    assert isinstance(found, str)
    assert said in found


@given(st.text(max_size=30), st.floats(-1e9, 1e9))
def test_any_text_is_a_range_or_a_sentence(text: str, value: float) -> None:
    found = read_range(text, value)
    assert isinstance(found, str) or found.low <= value <= found.high


def test_topics_are_counted_apart_and_the_most_surprising_comes_first() -> None:
    rows = by_topic([(("a", "b"), 1.0, True, 2), (("a",), 5.0, False, 3), (("c",), 2.0, True, 1)])
    assert [(row.topic, row.predictions, row.inside, row.mean_bits) for row in rows] == [
        ("a", 2, 1, 3.0),
        ("c", 1, 1, 2.0),
        ("b", 1, 1, 1.0),
    ]
    assert rows[0].stated == pytest.approx((0.60 + 0.85) / 2)
