"""Sentences read as claims: labelled ones, round trips, what is left open, and what is no claim."""

from __future__ import annotations

import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.claims import by_rules, score
from rubrics.claim_gold import load_claim_gold
from tutor.lab.claim_line import read_line
from tutor.lab.gallery import entry_named
from tutor.lab.sentence import Proposal, better, read_sentence
from tutor.lab.sentence.asked import _read, proposal_of

TRIALS = entry_named("trial_baseline")
SENTENCES = load_claim_gold()


@cache
def readings() -> dict[str, Proposal]:
    """What the rules make of all of them."""
    return {one.id: by_rules(one) for one in SENTENCES}


def propose(sentence: str, *, changed: bool = False) -> Proposal:
    """About the lesson's own trials."""
    return read_sentence(sentence, TRIALS.text, TRIALS.folder, changed=changed)


def test_there_are_enough_sentences_of_each_kind() -> None:
    assert len(SENTENCES) >= 60
    assert len({one.sentence for one in SENTENCES}) == len(SENTENCES)
    assert sum(not one.statements for one in SENTENCES) >= 12
    assert 0.4 < sum(one.held_out for one in SENTENCES) / len(SENTENCES) < 0.6


@pytest.mark.parametrize(("held_out", "floor"), [(False, 0.93), (True, 0.9)])
def test_sentences_are_read_as_labelled(held_out: bool, floor: float) -> None:
    marks = [score(one, readings()[one.id]) for one in SENTENCES if one.held_out == held_out]
    for field in ("claim", "whole"):
        each = [mark for found in marks for mark in found.get(field, [])]
        assert sum(each) / len(each) >= floor, field


def test_hardly_any_sentence_is_read_as_another_claim_without_saying_so() -> None:
    silent = [
        one.id
        for one in SENTENCES
        if readings()[one.id].complete and not all(map(all, score(one, readings()[one.id]).values()))
    ]
    assert len(silent) <= 3, silent


@pytest.mark.parametrize(
    ("sentence", "unread"),
    [
        ("With chunk_tokens 512 the chat p95 ITL stays under 50 ms and something is 7 s.", ("7 s",)),
        ("With chunk_tokens 512 the chat p99.9 ITL stays under 50 ms.", ("p99.9",)),
        ("The chat TTFT p95 is under 300 ms, documents aside.", ("documents",)),
        ("With chunk_tokens 512 the chat ITL p95 is under 50 ms, not always.", ("not",)),
        ("With chunk_tokens 512 instead of 160 the chat ITL p95 is under 50 ms.", ()),
    ],
)
def test_what_is_not_in_the_line_is_named(sentence: str, unread: tuple[str, ...]) -> None:
    found = propose(sentence)
    assert found.unread == unread
    assert found.complete == (not unread)


@pytest.mark.parametrize(
    ("scenario", "sentence", "line"),
    [
        ("kv_pressure", "Adding 600 blocks lifts goodput by 10 %",
         "server.kv_blocks -> 2000: chat goodput higher by 10 %"),
        ("routing", "a fifth replica halves p95 TTFT", "fleet.replicas -> 5: agent ttft p95 lower by 50 %"),
        ("routing", "with 8 replicas 99% of requests get their first token within 1 s",
         "fleet.replicas -> 8: agent ttft p99 at most 1000 ms"),
        ("routing", "with 8 replicas p95 TTFT is three times faster",
         "fleet.replicas -> 8: agent ttft p95 lower by 66.7 %"),
        ("routing", "3 replicas do not make mean TTFT worse by more than 15 %",
         "fleet.replicas -> 3: agent ttft mean higher by at most 15 %"),
        ("slow_replica", "least outstanding instead of round robin makes p95 TTFT no worse",
         "fleet.routing.kind -> least_outstanding: chat ttft p95 higher by at most 0 %"),
        ("long_prompts_among_chats", "twice the document rate keeps chat p95 ITL under 40 ms",
         "classes.document.arrivals.rate_per_s -> 1.2: chat itl p95 at most 40 ms"),
        ("closed_loop_users", "thinking time 20 s: p95 TTFT < 100ms",
         "classes.user.arrivals.think_s.mean_s -> 20: user ttft p95 at most 100 ms"),
    ],
)  # fmt: skip
def test_changes_and_multiples_are_reckoned_from_what_is_there(scenario: str, sentence: str, line: str) -> None:
    entry = entry_named(scenario)
    found = read_sentence(sentence, entry.text, entry.folder)
    assert found.line == line
    assert found.complete, (found.missing, found.unread)


def test_a_change_to_what_is_there_already_is_no_change() -> None:
    entry = entry_named("prefix_cache")
    found = read_sentence("Turning prefix caching on lowers mean TTFT by 10 %", entry.text, entry.folder)
    assert found.missing == ("a change: the scenario has this already",)


@pytest.mark.parametrize(
    "sentence",
    ["I don't know whether the chat TTFT p95 is under 300 ms.", "My colleague says the chat p95 ITL is under 50 ms"],
)
def test_what_is_not_ones_own_claim_is_no_line(sentence: str) -> None:
    found = propose(sentence)
    assert found.line == ""
    assert "whether you claim it" in found.missing[0]


def test_a_whole_proposal_is_a_line_that_can_be_run() -> None:
    for one in SENTENCES:
        proposal = readings()[one.id]
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


def test_numbers_that_a_reply_leaves_out_are_named() -> None:
    statement = {
        "class": "chat",
        "number": "itl",
        "statistic": "p95",
        "relation": "at_most",
        "amount": "40",
        "unit": "",
    }
    found = from_model(
        "chunk_tokens 512: chat p95 gaps under 40 ms and documents halve their first token",
        {"claim": True, "changes": [{"setting": "chunk_tokens", "value": "512"}], "statements": [statement]},
    )
    assert found.unread == ("halve",)
    assert not found.complete


def test_a_reply_that_is_no_form_or_no_claim_is_no_line() -> None:
    assert _read("I think the claim is fine.") is None
    assert _read('{"claim": "perhaps"}') is None
    assert from_model("nice", {"claim": False}).line == ""
    assert from_model("nice", {"claim": True, "statements": []}).line == ""


def test_a_model_fills_in_what_is_open_and_contradicts_nothing() -> None:
    sentence = "bounded chunks of 512 tokens or so keep the chat gaps under 50 ms"
    rules = propose("bounded chunks keep the chat gaps under 50 ms")
    assert not rules.complete
    statement = {
        "class": "chat",
        "number": "itl",
        "statistic": "p95",
        "relation": "at_most",
        "amount": "50",
        "unit": "ms",
    }
    filled = from_model(
        sentence,
        {"claim": True, "changes": [{"setting": "chunk_tokens", "value": "512"}], "statements": [statement]},
    )
    assert filled.complete
    assert better(rules, filled) is filled
    for other in (
        {**statement, "class": "document"},
        {**statement, "number": "ttft"},
        {**statement, "statistic": "p99"},
    ):
        turned = from_model(
            sentence, {"claim": True, "changes": [{"setting": "chunk_tokens", "value": "512"}], "statements": [other]}
        )
        assert better(rules, turned) is rules
    assert better(filled, rules) is filled
