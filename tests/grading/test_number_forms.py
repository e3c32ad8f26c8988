"""Every way of writing a value reads back to it, and digits that name something are left out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.grading.questions import make_question
from tutor.grading.numbers import Read, read_quantities
from tutor.grading.result import read_results
from tutor.grading.roles import read_answer


def sole(text: str) -> Read:
    reads = read_quantities(text)
    assert len(reads) == 1, (text, reads)
    return reads[0]


SCRIPTS = ["0123456789", "０１２３４５６７８９", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗"]
UNITS = {
    "ns": ("time", 1e-9), "µs": ("time", 1e-6), "us": ("time", 1e-6), "ms": ("time", 1e-3), "msec": ("time", 1e-3),
    "s": ("time", 1.0), "seconds": ("time", 1.0), "min": ("time", 60.0), "h": ("time", 3600.0),
    "B": ("bytes", 1.0), "KiB": ("bytes", 1024.0), "kB": ("bytes", 1e3), "MiB": ("bytes", 2.0**20),
    "GB": ("bytes", 1e9), "GiB": ("bytes", 2.0**30), "TB": ("bytes", 1e12), "GB/s": ("byte_rate", 1e9),
    "tokens/s": ("token_rate", 1.0), "tok/s": ("token_rate", 1.0), "tokens per second": ("token_rate", 1.0),
    "tokens/min": ("token_rate", 1 / 60), "req/s": ("request_rate", 1.0), "rps": ("request_rate", 1.0),
    "QPS": ("request_rate", 1.0), "TFLOP/s": ("flop_rate", 1e12), "TFLOPS": ("flop_rate", 1e12),
    "GFLOP": ("flop", 1e9), "%": ("fraction", 0.01), "percent": ("fraction", 0.01),
    "percentage points": ("points", 1.0), "pp": ("points", 1.0), "×": ("factor", 1.0), "ms/token": ("time/token", 1e-3),
    "KiB per token": ("bytes/token", 1024.0), "tokens": ("count", 1.0), "requests": ("count", 1.0),
}  # fmt: skip


def plain(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def grouped(value: float, group: str, mark: str) -> str:
    whole, _, rest = f"{value:,.2f}".partition(".")
    return whole.replace(",", group) + mark + rest


STYLES: dict[str, Callable[[float], str]] = {
    "plain": plain,
    "comma groups": lambda v: grouped(v, ",", "."),
    "point groups": lambda v: grouped(v, ".", ","),
    "hard space": lambda v: grouped(v, "\u00a0", "."),
    "thin space": lambda v: grouped(v, "\u2009", ","),
    "apostrophe": lambda v: grouped(v, "'", "."),
    "underscore": lambda v: grouped(v, "_", "."),
    "e": lambda v: f"{v / 1000:.5f}e3",
    "times ten": lambda v: f"{v / 1000:.5f}×10³",
    "caret": lambda v: f"{v / 1000:.5f} * 10^3",
    "latex": lambda v: rf"{v / 1000:.5f} \times 10^{{3}}",
    "k": lambda v: f"{v / 1000:.5f}k",
}
FRAMES = [
    "{}",
    "it is {}",
    "≈ {}",
    "about {}.",
    "= {},",
    "({})",
    "**{}**",
    "- {}\n",
    "we get {} in all",
    "`{}`",
    "${}$",
]


@given(
    cents=st.integers(1000, 99_999_999),
    style=st.sampled_from(sorted(STYLES)),
    script=st.sampled_from(SCRIPTS),
    unit=st.sampled_from(sorted(UNITS)),
    gap=st.sampled_from(["", " ", "\u00a0", "\u202f"]),
    frame=st.sampled_from(FRAMES),
)
def test_any_way_of_writing_a_value_reads_back(
    cents: int, style: str, script: str, unit: str, gap: str, frame: str
) -> None:
    value = cents / 100
    digits = STYLES[style](value)
    if script is not SCRIPTS[0] and style in {"e", "times ten", "caret", "latex"}:
        script = SCRIPTS[0]
    written = digits.translate({ord("0") + i: c for i, c in enumerate(script)})
    gap = " " if style == "k" else gap
    dimension, factor = UNITS[unit]
    read = sole(frame.format(f"{written}{gap}{unit}"))
    assert read.dimension == dimension
    assert math.isclose(read.canonical, value * factor, rel_tol=1e-4)


@given(cents=st.integers(100, 9_999_999), sign=st.sampled_from(["-", "−", "minus "]))
def test_a_minus_belongs_to_its_number(cents: int, sign: str) -> None:
    text = f"the change is {sign}{cents / 100:.2f} ms" if sign != "minus " else "the change is minus forty ms"
    assert sole(text).value == (-cents / 100 if sign != "minus " else -40)


@pytest.mark.parametrize(
    ("text", "canonical", "dimension"),
    [
        ("3/4", 0.75, "fraction"), ("a quarter of it", 0.25, "fraction"), ("two thirds of it", 2 / 3, "fraction"),
        ("1 1/2 h", 5400, "time"), ("1½ h", 5400, "time"), ("1:30 h", 5400, "time"), ("1h30m", 5400, "time"),
        ("an hour and a half", 5400, "time"), ("a quarter of a second", 0.25, "time"), ("half a GiB", 2.0**29, "bytes"),
        ("an hour and thirty minutes", 5400, "time"), ("a dozen requests", 12, "count"), ("half a dozen", 6, "none"),
        ("2.5 to 1", 2.5, "factor"), ("5:2", 2.5, "factor"), ("×2.5", 2.5, "factor"), ("2.5-fold", 2.5, "factor"),
        (r"$\frac{3}{4}$", 0.75, "fraction"), (r"$250\,\mu\text{s}$", 250e-6, "time"),
        (r"\boxed{1050\text{ ms}}", 1.05, "time"),
        ("1050&nbsp;ms", 1.05, "time"), ("1050毫秒", 1.05, "time"), ("1,05 Sekunden", 1.05, "time"),
        ("10,80,000 tokens", 1.08e6, "count"), ("2^17 bytes", 131072, "bytes"), ("131 072 B", 131072, "bytes"),
        ('{"e2e_s": 1.05}', 1.05, "time"), ("E2E [s]: 1.05", 1.05, "time"), ("| 1050 | ms |", 1.05, "time"),
        ("1050 ± 5 ms", 1.05, "time"), ("960 tokens·s⁻¹", 960, "token_rate"), ("10/s", 10, "rate"),
        ("50 ms more than 1 s", 1.05, "time"), ("100 Gbit/s", 12.5e9, "byte_rate"),
    ],
)  # fmt: skip
def test_rarer_forms(text: str, canonical: float, dimension: str) -> None:
    read = sole(text)
    assert read.dimension == dimension
    assert math.isclose(read.canonical, canonical, rel_tol=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        "Llama-3.1-8B", "Llama 3.1 70B", "Mixtral 8x7B", "Qwen2.5-7B-Instruct", "H100", "A100-80GB", "FP8", "w4a16",
        "p99",         "vLLM 0.11.2", "v0.6", "CUDA 12.4", "Python 3.11", "2025-11-03", "on 3 May 2025",
        "12:30:15", "RFC 9110",
        "section 4.2", "figure 2", "step 3: add", "Q3", "request id 7f3a-1075", "http://host:8000/v1/1050",
        "127.0.0.1:8080", "seed 42", "temperature 0.7", "top-5", "[3]", "#1234", "M/M/1", "24/7", "## 2 Result",
        "8-bit", "the 31st token", "1. add them\n2. multiply", "(1) add (2) multiply", "GPU 0 and GPU 1",
        "percentile 99",
    ],
)  # fmt: skip
def test_digits_that_name_something_are_no_quantity(text: str) -> None:
    assert read_quantities(text) == ()


@given(st.text(alphabet="1050.,/:-+×^_{}$\\ ms%k~|#()[]ifornot'\"\n½²٣", max_size=120))
def test_no_mixture_of_marks_breaks_reading_an_answer(text: str) -> None:
    for read in read_quantities(text):
        assert text[read.start : read.end] == read.text
    assert set(read_results(make_question(), text)) == {"ttft_ms", "e2e_ms"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["First token 300 ms, done at 1,050 ms. ", "1.1.", "1 2 ", "~~3~~ ", r"\frac{1}{2} ", "{"]
)
def test_a_long_answer_is_read_in_time_that_grows_with_its_length(piece: str) -> None:
    question = make_question()

    def seconds(size: int) -> float:
        started = time.process_time()
        read_answer(question, piece * (size // len(piece)))
        return time.process_time() - started

    assert seconds(48 * 1024) < 8 * max(0.2, seconds(12 * 1024))
