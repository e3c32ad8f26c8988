"""What says nothing is not heard, at its place; labelled answers are."""

from __future__ import annotations

from functools import cache

from question_bank import Question, build_question, load_bank
from rubrics.answer_gold import load_split
from tutor.evaluation.attacks import attacks_on
from tutor.grading.heard import coherence, heard, longest_run, scattered, sound
from tutor.grading.text import fold, is_foreign, sentences

ITEM = "serving/prefill-decode/completion-time"


@cache
def question() -> Question:
    return build_question(load_bank().item(ITEM), 0)


def test_a_denied_sentence_is_blanked_and_the_rest_keeps_its_place() -> None:
    kept, denied = (
        "The gaps stay at 25 ms.",
        "It is not true that the queue adds to the first token; it adds to nothing.",
    )
    answer = f"{kept} {denied} {kept}"
    assert heard(question(), answer) == f"{kept} {' ' * len(denied)} {kept}"


def test_a_right_answer_is_heard_whole() -> None:
    full = question().example_answers[0].text
    assert heard(question(), full) == full
    parts = sentences(fold(full).text)
    assert sound(question(), parts) == frozenset(range(len(parts)))
    assert scattered(question(), [part.text for part in parts]) == frozenset()
    assert heard(question(), "") == ""


def test_runs_and_coherence_by_hand() -> None:
    assert longest_run("queue prefill token of gap latency") == 3
    known, pairs = coherence(question(), "The queue delays the first token.")
    assert 0 < known <= pairs


def test_labelled_answers_are_heard() -> None:
    bank, whole, doubted, characters, lost = load_bank(), 0, 0.0, 0, 0
    for labelled in load_split().calibration:
        if is_foreign(labelled.answer):
            continue
        asked = build_question(bank.item(labelled.item_id), labelled.seed)
        left = heard(asked, labelled.answer)
        assert len(left) == len(labelled.answer)
        characters += len(labelled.answer.replace(" ", ""))
        lost += len(labelled.answer.replace(" ", "")) - len(left.replace(" ", ""))
        whole += 1
        parts = sentences(fold(labelled.answer).text)
        doubted += 1 - len(sound(asked, parts)) / max(1, len(parts))
    assert lost / characters < 0.09
    assert doubted / whole < 0.12


def test_nonsense_and_shuffled_words_are_not_believed() -> None:
    for pattern, at_least in (("nonsense in good grammar", 0.4), ("words of the reference shuffled", 0.6)):
        texts = [a.text for seed in range(3) for a in attacks_on(question(), seed) if a.pattern == pattern]
        believed = 0
        for text in texts:
            parts = sentences(fold(text).text)
            kept = [parts[n].text for n in sorted(sound(question(), parts))]
            believed += len(kept) > len(scattered(question(), kept))
        assert 1 - believed / len(texts) >= at_least, pattern
