"""The reader of numbers: any way of writing a value reads back to it."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.grading.numbers import Read, read_quantities


def only(text: str) -> Read:
    reads = read_quantities(text)
    assert len(reads) == 1, reads
    return reads[0]


@pytest.mark.parametrize(
    ("text", "canonical", "dimension"),
    [
        ("1050 ms", 1.05, "time"),
        ("1,050 ms", 1.05, "time"),
        ("1 050 ms", 1.05, "time"),
        ("1\u202f050 ms", 1.05, "time"),
        ("1'050 ms", 1.05, "time"),
        ("1.050,5 ms", 1.0505, "time"),
        ("1,050.5 ms", 1.0505, "time"),
        ("1.05 s", 1.05, "time"),
        ("1,05 s", 1.05, "time"),
        (".3s", 0.3, "time"),
        ("1050msec", 1.05, "time"),
        ("300 MS", 0.3, "time"),
        ("1.05e3 ms", 1.05, "time"),
        ("1.05 × 10^3 ms", 1.05, "time"),
        ("1.05·10³ ms", 1.05, "time"),
        ("10^3 ms", 1.0, "time"),
        ("1½ s", 1.5, "time"),
        ("2 min", 120.0, "time"),
        ("1 s 50 ms", 1.05, "time"),
        ("1 second and 50 milliseconds", 1.05, "time"),
        ("１，０５０ ms", 1.05, "time"),
        ("١٠٥٠ ms", 1.05, "time"),
        ("३०० ms", 0.3, "time"),
        ("300㎳", 0.3, "time"),
        ("$1{,}050\\,\\text{ms}$", 1.05, "time"),
        ("$1050\\,\\mathrm{ms}$", 1.05, "time"),
        ("one thousand fifty ms", 1.05, "time"),
        ("one thousand and fifty milliseconds", 1.05, "time"),
        ("three hundred milliseconds", 0.3, "time"),
        ("one and a half seconds", 1.5, "time"),
        ("half a second", 0.5, "time"),
        ("two point five s", 2.5, "time"),
        ("twenty-five ms", 0.025, "time"),
        ("nineteen hundred ms", 1.9, "time"),
        ("thirty gaps", 30.0, "count"),
        ("31 tokens", 31.0, "count"),
        ("128k tokens", 128_000.0, "count"),
        ("900 tokens/s", 900.0, "token_rate"),
        ("900 tok/s", 900.0, "token_rate"),
        ("900 tokens per second", 900.0, "token_rate"),
        ("1k tokens/s", 1000.0, "token_rate"),
        ("3 req/s", 3.0, "request_rate"),
        ("10 requests per second", 10.0, "request_rate"),
        ("12.2 %", 0.122, "fraction"),
        ("12.2 percent", 0.122, "fraction"),
        ("12 percentage points", 12.0, "points"),
        ("2x", 2.0, "factor"),
        ("2×", 2.0, "factor"),
        ("16 GiB", 16 * 2**30, "bytes"),
        ("80GB", 80e9, "bytes"),
        ("3.35 TB/s", 3.35e12, "byte_rate"),
        ("25 ms/token", 0.025, "time/token"),
        ("25 ms per token", 0.025, "time/token"),
    ],
)
def test_one_value_with_its_unit(text: str, canonical: float, dimension: str) -> None:
    read = only(text)
    assert read.dimension == dimension
    assert math.isclose(read.canonical, canonical, rel_tol=1e-9)


@pytest.mark.parametrize("text", ["the second request", "one request", "p95 and v1", "the 31st token", "no numbers"])
def test_words_that_look_like_numbers_are_not_read(text: str) -> None:
    assert read_quantities(text) == ()


def test_a_list_number_is_no_value() -> None:
    assert [r.text for r in read_quantities("1. First token 300 ms\n2. Last 1050 ms")] == ["300 ms", "1050 ms"]


def test_a_dash_is_a_range_only_where_it_rises_and_nothing_is_equated() -> None:
    read = only("300–310 ms")
    assert (read.low, read.high, read.value) == (300, 310, 305)
    assert [r.value for r in read_quantities("31 - 1 = 30")] == [31, 1, 30]


def test_a_list_of_three_numbers_is_not_a_thousands_group() -> None:
    assert [r.value for r in read_quantities("100,40,160")] == [100, 40, 160]


def test_a_separator_that_can_be_read_in_two_ways_keeps_both() -> None:
    assert (only("1.050 ms").value, only("1.050 ms").alternative) == (1.05, 1050)
    assert (only("1,050 s").value, only("1,050 s").alternative) == (1050, 1.05)


@pytest.mark.parametrize("mark", ["≈", "~", "about ", "roughly ", "around "])
def test_words_of_approximation_are_noted(mark: str) -> None:
    assert only(f"it takes {mark}300 ms").approx


def test_offsets_lead_back_into_the_text_as_written() -> None:
    text = "TTFT\u200b is ３００ ms\u00a0and E2E 1½ s"
    for read in read_quantities(text):
        assert text[read.start : read.end] == read.text


_DIGITS = st.sampled_from(["0123456789", "０１２３４５６７８９", "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९"])
_UNITS = {"ms": 1e-3, " ms": 1e-3, " s": 1.0, " seconds": 1.0, " min": 60.0, "\u00a0ms": 1e-3}
_ONES: list[str] = re.findall(
    r"\S+", "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
)
_ONES += re.findall(r"\S+", "sixteen seventeen eighteen nineteen")
_TENS: list[str] = ["", "", *re.findall(r"\S+", "twenty thirty forty fifty sixty seventy eighty ninety")]


def in_words(n: int) -> str:
    if n < 20:
        return _ONES[n]
    if n < 100:
        return _TENS[n // 10] + ("-" + _ONES[n % 10] if n % 10 else "")
    if n < 1000:
        return _ONES[n // 100] + " hundred" + (" and " + in_words(n % 100) if n % 100 else "")
    return in_words(n // 1000) + " thousand" + (" " + in_words(n % 1000) if n % 1000 else "")


@given(
    value=st.integers(0, 999_999),
    decimals=st.integers(0, 99),
    style=st.sampled_from(["plain", "comma", "hard space", "apostrophe", "continental"]),
    digits=_DIGITS,
    unit=st.sampled_from(sorted(_UNITS)),
    before=st.sampled_from(["", "TTFT is ", "≈", "so we get ", "= "]),
    after=st.sampled_from(["", ".", ", then more", " in all"]),
)
def test_any_formatting_of_a_value_reads_back(
    value: int, decimals: int, style: str, digits: str, unit: str, before: str, after: str
) -> None:
    separator = {"comma": ",", "hard space": "\u00a0", "apostrophe": "'", "continental": "."}.get(style, "")
    whole = f"{value:,}".replace(",", separator) if separator else str(value)
    point = "," if style == "continental" else "."
    written = whole + (f"{point}{decimals:02d}" if decimals or style == "continental" else "")
    text = before + written.translate({ord("0") + i: c for i, c in enumerate(digits)}) + unit + after
    wanted = (value + decimals / 100) * _UNITS[unit]
    assert math.isclose(only(text).canonical, wanted, rel_tol=1e-9, abs_tol=1e-15)


@given(st.integers(20, 999_999))
def test_a_number_in_words_reads_back(value: int) -> None:
    assert only(f"it takes {in_words(value)} ms").value == value


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader_and_offsets_hold(text: str) -> None:
    for read in read_quantities(text):
        assert text[read.start : read.end] == read.text
