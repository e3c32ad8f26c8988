"""Sentences are the same however a reply is cut into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tutor.coach.stream import Sentences

REPLY = (
    "TTFT is the time to the first token. It holds queue, e.g. 1.5 s of it, and prefill!\n\n1. Gaps come after.\n"
    "reasoning: the answer says why"
)
SENTENCES = [
    "TTFT is the time to the first token.",
    "It holds queue, e.g. 1.5 s of it, and prefill!",
    "1. Gaps come after.",
    "reasoning: the answer says why",
]


def cut(text: str, places: list[int]) -> list[str]:
    whole, found = Sentences(), []
    at = 0
    for place in [*sorted(place % (len(text) + 1) for place in places), len(text)]:
        found += list(whole.add(text[at:place]))
        at = place
    return [*found, *whole.end()]


@given(st.lists(st.integers(0, 500), max_size=40))
def test_the_cuts_do_not_matter(places: list[int]) -> None:
    assert cut(REPLY, places) == SENTENCES


@given(st.lists(st.integers(0, 500), max_size=40))
def test_thinking_aloud_is_left_out(places: list[int]) -> None:
    assert cut(f"<think>It is 1050. Say so.\n</think>{REPLY}", places) == SENTENCES
    assert cut("<think>It is 1050.", places) == []


def test_a_sentence_is_given_as_soon_as_the_next_one_begins() -> None:
    whole = Sentences()
    assert list(whole.add("One. ")) == []
    assert list(whole.add("Tw")) == ["One."]
    assert list(whole.add("o.\n")) == ["Two."]
