"""Sentences read as claims: labelled ones, round trips, what is left open, and what is no claim."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.claims import by_rules, score
from rubrics.claim_gold import load_claim_gold
from tutor.lab.claim_line import read_line
from tutor.lab.gallery import entry_named
from tutor.lab.sentence import Proposal, read_sentence
from tutor.lab.sentence.asked import _read, proposal_of

TRIALS = entry_named("trial_baseline")
SENTENCES = load_claim_gold()


def propose(sentence: str, *, changed: bool = False) -> Proposal:
    """About the lesson's own trials."""
    return read_sentence(sentence, TRIALS.text, TRIALS.folder, changed=changed)


def test_there_are_enough_sentences_of_each_kind() -> None:
    assert len(SENTENCES) >= 60
    assert len({one.sentence for one in SENTENCES}) == len(SENTENCES)
    assert sum(not one.statements for one in SENTENCES) >= 12
    assert 0.4 < sum(one.held_out for one in SENTENCES) / len(SENTENCES) < 0.6


@pytest.mark.parametrize(("held_out", "floor"), [(False, 0.95), (True, 0.9)])
def test_sentences_are_read_as_labelled(held_out: bool, floor: float) -> None:
    marks = [score(one, by_rules(one)) for one in SENTENCES if one.held_out == held_out]
    for field in ("claim", "whole"):
        each = [mark for found in marks for mark in found.get(field, [])]
        assert sum(each) / len(each) >= floor, field


def test_a_whole_proposal_is_a_line_that_can_be_run() -> None:
    for one in SENTENCES:
        proposal = by_rules(one)
        if proposal.complete:
            entry = entry_named(one.scenario)
            assert read_line(proposal.line, entry.text, entry.folder).terms


def test_what_is_left_open_is_named_and_never_guessed() -> None:
    found = propose("bounded chunks keep the chat gaps under 50 ms and still raise the output rate")
    assert found.line == "server.chunk_tokens -> ?: chat itl p95 at most 50 ms and all tokens/s higher"
    assert found.missing == ("what chunk_tokens is changed to",)
    assert not found.complete
    steady = propose("With chunk_tokens 512 the chat p95 ITL stays the same.")
    assert steady.line.endswith("chat itl p95 at most ? ms")
    assert "still count as the same" in steady.missing[0]
    alone = propose("The chat TTFT p95 gets lower.")
    assert alone.missing == ("what is changed, so that there is something to compare with",)
    assert propose("The chat TTFT p95 gets lower.", changed=True).complete


def test_what_is_taken_as_usual_is_named() -> None:
    assert propose("chat TTFT under 300 ms").assumed == ("p95 of chat ttft",)
    assert "ttft of all classes together" in propose("TTFT p99 under 300 ms").assumed


@pytest.mark.parametrize(
    "sentence",
    ["", "?", "Is the chat TTFT below 300 ms?", "chunked prefill is good", "The p95 TTFT is 300", "50 ms", "a" * 5000],
)
def test_no_claim_is_no_line(sentence: str) -> None:
    found = propose(sentence)
    assert found.line == ""
    assert found.missing


NUMBERS = {"ttft": ("TTFT", "time to first token"), "itl": ("ITL", "gap"), "e2e": ("E2E", "end-to-end time")}


@given(
    st.sampled_from(["chat", "document"]),
    st.sampled_from(sorted(NUMBERS)),
    st.integers(0, 1),
    st.sampled_from(["p50", "p90", "p95", "p99", "mean"]),
    st.integers(1, 4999),
    st.sampled_from([("at most", "stays below"), ("at most", "is at most"), ("at least", "is over")]),
    st.one_of(st.none(), st.integers(161, 700)),
)
@settings(max_examples=25, deadline=None)
def test_a_claim_told_in_a_sentence_reads_back(
    class_name: str, number: str, way: int, statistic: str, amount: int, relation: tuple[str, str], chunk: int | None
) -> None:
    start = f"With chunk_tokens {chunk} the" if chunk else "The"
    found = propose(f"{start} {class_name} {statistic} {NUMBERS[number][way]} {relation[1]} {amount} ms.")
    change = f"server.chunk_tokens -> {chunk}: " if chunk else ""
    assert found.line == f"{change}{class_name} {number} {statistic} {relation[0]} {amount} ms"
    assert found.complete


@given(st.text(max_size=200))
@settings(max_examples=25, deadline=None)
def test_any_text_is_read_without_an_error(text: str) -> None:
    found = propose(text)
    assert found.complete or found.missing


# ---- a model's reply is held to the sentence and the scenario --------------------------------------


def from_model(sentence: str, reply: dict[str, object]) -> Proposal:
    """What becomes of a reply."""
    form = _read(json.dumps(reply))
    assert form is not None
    known = {"server.chunk_tokens": "160"}
    return proposal_of(
        form, sentence, TRIALS.text, TRIALS.folder, ["chat", "document"], list(known), known, changed=False, source="m"
    )


def test_numbers_that_the_sentence_does_not_have_are_left_open() -> None:
    statement = {
        "class": "chat",
        "number": "itl",
        "statistic": "p95",
        "relation": "at_most",
        "amount": "50",
        "unit": "ms",
    }
    reply: dict[str, object] = {
        "claim": True,
        "changes": [{"setting": "chunk_tokens", "value": "512"}, {"setting": "warp_drive", "value": "9"}],
        "statements": [statement],
    }
    honest = from_model("with 512-token chunks chat gaps stay under 50 ms", reply)
    assert honest.line == "server.chunk_tokens -> 512: chat itl p95 at most 50 ms"
    assert honest.complete
    assert honest.source == "m"
    invented = from_model("bounded chunks keep chat gaps short", reply)
    assert invented.line == "server.chunk_tokens -> ?: chat itl p95 at most ? ms"
    assert not invented.complete


def test_a_reply_that_is_no_form_or_no_claim_is_no_line() -> None:
    assert _read("I think the claim is fine.") is None
    assert _read('{"claim": "perhaps"}') is None
    assert from_model("nice", {"claim": False}).line == ""
    assert from_model("nice", {"claim": True, "statements": []}).line == ""
