"""Shuffled words are told from prose, broken English included."""

from __future__ import annotations

import random

import pytest

from question_bank import load_bank
from rubrics.answer_gold import load_split
from tutor.grading.text import fold, is_foreign, sentences
from tutor.grading.wordorder import breaks, is_ordered


@pytest.mark.parametrize(
    "text",
    [
        "A longer queue delays the first token, while the gaps stay at 25 ms.",
        "In this hour is coming 28.8 millions token, so price in test is 0.556 $.",
        "300 + 30 × 25 = 1,050 ms",
        "TTFT up, ITL same",
        "I would log it; if it stays flat, then I am wrong about the queue.",
        "",
    ],
)
def test_prose_and_terse_notes_are_in_order(text: str) -> None:
    assert is_ordered(text)


@pytest.mark.parametrize(
    "text",
    ["queue the a of is time the in because first", "the with and token is would the if of same the", "gaps the of."],
)
def test_words_in_no_order_are_not(text: str) -> None:
    assert not is_ordered(text)


def test_breaks_are_counted_by_hand() -> None:
    # "the of" breaks, "of is" breaks, "is time" is fine, "the" at the end breaks
    assert breaks("the of is time the.") == (3, 4)


def test_labelled_answers_are_in_order() -> None:
    texts = [a.answer for a in load_split().calibration if not is_foreign(a.answer)]
    found = [s.text for text in texts for s in sentences(fold(text).text)]
    assert sum(not is_ordered(s) for s in found) / len(found) < 0.02


def test_most_shuffled_sentences_of_the_bank_are_not() -> None:
    rng = random.Random(7)
    shuffled = []
    for lesson in load_bank().lessons[:2]:
        for item in lesson.items:
            for guide in getattr(item, "criteria", {}).values():
                words = guide.statement.replace("{", "").replace("}", "").rstrip(".").split()
                rng.shuffle(words)
                if len(words) >= 15:
                    shuffled.append(" ".join(words) + ".")
    assert len(shuffled) > 100
    assert sum(not is_ordered(s) for s in shuffled) / len(shuffled) > 0.55
