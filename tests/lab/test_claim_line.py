"""Claims in one line: what is understood, and which word a mistake is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.lab.claim_line import LineError, read_line, read_statements
from tutor.lab.gallery import builtin_entries
from tutor.lab.scenario_text import STARTER
from tutor.lab.statements import words_of

TRIAL = next(entry.text for entry in builtin_entries() if entry.title == "trial_baseline")
"""Two classes, chat and document; the policy has chunks."""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("chat itl p95 at most 50 ms", ["chat ITL p95 is at most 50 ms"]),
        ("chat gap <= 50", ["chat ITL p95 is at most 50 ms"]),
        ("chat.itl_s p99 is below 0.05 s", ["chat ITL p99 is at most 50 ms"]),
        ("document ttft mean ≥ 1,000 ms", ["document TTFT mean is at least 1,000 ms"]),
        ("chat itl between 10 and 50 ms", ["chat ITL p95 is between 10 and 50 ms"]),
        ("tokens/s at least 600", ["all tokens/s is at least 600 tokens/s"]),
        ("attainment at least 95 %", ["all within limits is at least 95 %"]),
        (
            "chat itl at most 50 and ttft at most 500",
            ["chat ITL p95 is at most 50 ms", "chat TTFT p95 is at most 500 ms"],
        ),
    ],
)
def test_statements_about_a_scenario_as_it_is(line: str, said: list[str]) -> None:
    read = read_line(line, TRIAL)
    assert read.text == TRIAL
    assert [words_of(term) for term in read.terms] == said


@pytest.mark.parametrize(
    "head",
    ["chunk_tokens -> 512", "chunk_tokens 160 -> 512", "server.chunk_tokens = 512", "server.chunk_tokens 160 → 512"],
)
@pytest.mark.parametrize(
    ("tail", "said"),
    [
        ("output_rate +10%", "all tokens/s is higher by at least 10 %"),
        ("output_rate -10 %", "all tokens/s is lower by at least 10 %"),
        ("document ttft lower by at least 10 %", "document TTFT p95 is lower by at least 10 %"),
        ("document ttft p50 is higher", "document TTFT p50 is higher"),
    ],
)
def test_changes_before_the_colon(head: str, tail: str, said: str) -> None:
    read = read_line(f"{head}: {tail}", TRIAL)
    assert "chunk_tokens: 512" in read.text
    assert [words_of(term) for term in read.terms] == [said]


def test_several_changes_and_fields_that_were_not_there() -> None:
    read = read_line("max_seqs -> 32, watermark -> 0.05: chat ttft lower", STARTER)
    assert "max_seqs: 32" in read.text
    assert "watermark: 0.05" in read.text


@pytest.mark.parametrize(
    ("line", "word", "said"),
    [
        ("chat itx p95 at most 5", "itx", "Did you mean itl?"),
        ("chat itl p95 at mist 5", "mist", "most"),
        ("chat itl p95 at most soon", "soon", "is no number"),
        ("chat itl p95 at most 5 tokens/s", "tokens/s", "not in tokens/s"),
        ("chat itl p95 at most 5 ms perhaps", "perhaps", "joined by"),
        ("goodput p95 at least 1", "p95", "without a p95"),
        ("chat ttft lower", "lower", "Nothing is changed"),
        ("chunk_token -> 5: chat itl at most 5", "chunk_token", "Did you mean chunk_tokens?"),
        ("count -> 5: chat itl at most 5", "count", "The scenario has no field"),
        ("chunk_tokens -> 512: output_rate +10", "+10", "per cent"),
        ("chat itl between 50 and 10", "between", "above the lower"),
        ("chunk_tokens 512: chat itl at most 5", "512", "-> value"),
    ],
)
def test_a_mistake_is_about_a_word(line: str, word: str, said: str) -> None:
    text = TRIAL if word != "count" else STARTER.replace("{kind: poisson, rate_per_s: 10, count: 1500}",
                                                        "{kind: times, times_s: [0.0]}")  # fmt: skip
    with pytest.raises(LineError) as raised:
        read_line(line, text)
    assert line[raised.value.start : raised.value.end].startswith(word)
    assert said in str(raised.value)


def test_what_is_missing_is_said_at_the_end() -> None:
    for line in ("", "chunk_tokens -> 512:", "chat itl p95 at most"):
        with pytest.raises(LineError) as raised:
            read_line(line, TRIAL)
        assert raised.value.start >= len(line.rstrip()) - 1


@given(st.text(max_size=60) | st.lists(st.sampled_from(
    ["chat", "document", "all", "itl", "ttft", "p95", "at", "most", "least", "50", "ms", "%", "and", ":", "->", "+5",
     "chunk_tokens", "lower", "by", "between", ",", "tokens/s"]), max_size=14).map(" ".join))  # fmt: skip
def test_any_line_is_read_or_refused_with_a_place_in_it(line: str) -> None:
    problem: LineError | None = None
    try:
        read = read_line(line, TRIAL)
    except LineError as error:
        problem = error
    if problem is None:
        assert read.terms
    else:
        assert 0 <= problem.start <= problem.end <= len(line)
        assert str(problem)


@pytest.mark.parametrize("amount", ["100", "500"])
def test_nothing_falls_by_all_of_it(amount: str) -> None:
    with pytest.raises(LineError, match="100 % or more"):
        read_statements(f"chat itl p95 lower by {amount} %", ["chat"], compares=True)
    (risen,) = read_statements(f"chat itl p95 higher by {amount} %", ["chat"], compares=True)
    assert risen.amount == float(amount) / 100


def test_at_most_is_a_floor_for_a_fall_and_a_ceiling_for_a_rise() -> None:
    fall, rise = read_statements(
        "chat itl p95 lower by at most 2 % and chat itl p95 higher by at most 3 %", ["chat"], compares=True
    )
    assert (fall.relation, fall.amount, fall.subject) == ("at_least", -0.02, "change")
    assert (rise.relation, rise.amount, rise.subject) == ("at_most", 0.03, "change")
    assert words_of(fall).endswith("is lower by at most 2 %")
    assert words_of(rise).endswith("is higher by at most 3 %")
