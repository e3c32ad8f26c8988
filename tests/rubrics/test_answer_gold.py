"""The labelled answers of the serving pack, their loader and the agreement of two labellers."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank.load import load_bank
from question_bank.variants import build_question
from rubrics import CRITERION_IDS
from rubrics.answer_gold import (
    Agreement,
    GoldAnswer,
    agreement,
    blind,
    load_gold,
    load_labels,
    load_questions,
    load_split,
    main,
    prompt_hash,
)
from rubrics.number_gold import GoldError

GOLD = load_gold()

LINE: dict[str, object] = {
    "id": "seats-a01",
    "item_id": "pack/lesson/seats",
    "item_version": 1,
    "seed": 3,
    "answer": "Three replicas.",
    "labels": {criterion: {"label": "met", "reason": "Says so."} for criterion in CRITERION_IDS},
    "kind": ["terse"],
    "author": "a",
}


def write_gold(folder: Path, *lines: dict[str, object], name: str = "lesson.seats.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def labels(one: str, *met: bool) -> dict[str, object]:
    each = {
        criterion: {"label": "met" if yes else "not_met", "reason": "Read."}
        for criterion, yes in zip(CRITERION_IDS, met, strict=True)
    }
    return {"id": one, "labels": each}


# --- the shipped answers ---------------------------------------------------------------------------------------------


def test_every_item_is_in_the_bank_at_the_labelled_version() -> None:
    bank = load_bank()
    for item_id, version, seed in {(one.item_id, one.item_version, one.seed) for one in GOLD}:
        question = build_question(bank.item(item_id), seed)
        assert question.item_version == version, f"{item_id} has changed: look through its labels, then raise theirs"
        assert set(question.criteria) == set(CRITERION_IDS)


@pytest.mark.parametrize("item_id", sorted({one.item_id for one in GOLD}))
def test_the_question_reads_as_it_did_when_it_was_answered(item_id: str) -> None:
    """New numbers under an old version would make right answers wrong without anybody noticing."""
    answered = load_questions()[item_id]
    question = build_question(load_bank().item(item_id), answered.seed)
    assert prompt_hash(question.prompt) == answered.sha256, (
        f"{item_id} at seed {answered.seed} reads otherwise than its labelled answers suppose:\n{question.prompt}\n"
        "Undo the change, or raise the item's version and answer and label it anew."
    )


def test_no_answer_is_copied_from_the_bank_or_from_another() -> None:
    bank = load_bank()
    taken: set[str] = set()
    for one in GOLD:
        question = build_question(bank.item(one.item_id), one.seed)
        guides = question.criteria.values()
        sentences = {text for guide in guides for text in (guide.statement, guide.met_example, guide.nearly_example)}
        sentences |= {example.text for example in question.example_answers} | {question.reference}
        assert not [text for text in sentences if text in one.answer], one.id
        taken.add(one.answer)
    assert len(taken) == len(GOLD)


def test_each_criterion_is_met_in_a_third_to_two_thirds_of_an_items_answers() -> None:
    by_item: defaultdict[str, list[GoldAnswer]] = defaultdict(list)
    for one in GOLD:
        by_item[one.item_id].append(one)
    for item_id, answers in by_item.items():
        assert len(answers) >= 15, item_id
        for criterion in CRITERION_IDS:
            met = sum(one.labels[criterion].met for one in answers)
            assert 0.35 <= met / len(answers) <= 0.65, (item_id, criterion)


def test_labels_are_no_matter_of_length_or_of_one_another() -> None:
    """No criterion can be guessed from the number of words, nor from another criterion, much better than by a coin."""
    words = {one.id: len(one.answer.split()) for one in GOLD}
    middle = sorted(words.values())[len(GOLD) // 2]
    for criterion in CRITERION_IDS:
        long_and_met = sum((words[one.id] > middle) == one.labels[criterion].met for one in GOLD)
        assert 0.35 <= long_and_met / len(GOLD) <= 0.65, criterion
        for other in CRITERION_IDS:
            if other != criterion:
                same = sum(one.labels[criterion].label == one.labels[other].label for one in GOLD)
                assert 0.35 <= same / len(GOLD) <= 0.65, (criterion, other)


def test_answers_of_many_kinds_and_lengths() -> None:
    kinds = Counter(kind for one in GOLD for kind in one.kind)
    assert {"hedged", "contradictory", "one-slip", "keyword-list", "verbose-empty", "failure-backwards"} <= set(kinds)
    lengths = [len(one.answer.split()) for one in GOLD]
    assert min(lengths) < 30
    assert max(lengths) > 150


def test_the_split_keeps_items_together_and_both_parts_large_enough() -> None:
    split = load_split()
    assert Counter(one.id for one in (*split.calibration, *split.test)) == Counter(one.id for one in GOLD)
    assert not {one.item_id for one in split.calibration} & {one.item_id for one in split.test}
    assert len(GOLD) >= 240
    assert len({one.item_id for one in split.calibration}) >= 12
    assert len({one.item_id for one in split.test}) >= 6


# --- the loader ------------------------------------------------------------------------------------------------------


def test_a_line_reads_back_as_written(tmp_path: Path) -> None:
    write_gold(tmp_path, LINE)
    (one,) = load_gold(tmp_path)
    assert one.answer == "Three replicas."
    assert one.labels["failure"].met
    assert not one.labels["failure"].borderline


@given(answer=st.text(min_size=1, max_size=60))
def test_any_answer_reads_back(tmp_path_factory: pytest.TempPathFactory, answer: str) -> None:
    folder = tmp_path_factory.mktemp("gold")
    line = json.dumps({**LINE, "answer": answer}, ensure_ascii=False)
    (folder / "lesson.seats.jsonl").write_text(line + "\n", encoding="utf-8", newline="")
    assert load_gold(folder)[0].answer == answer


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"answer": ""}, r"answer: .*at least 1"),
        ({"mood": "sunny"}, r"mood: "),
        ({"kind": ["witty"]}, r"kind\.0: "),
        ({"author": "b"}, r"id must be seats-b and a number"),
        ({"item_id": "pack/lesson/other", "id": "other-a01"}, r"item_id: .* belong into lesson\.other\.jsonl"),
        ({"labels": {}}, r"labels must hold result, reasoning, failure, verification"),
        ({"seed": "three"}, r"seed: "),
        ({}, r"id: seats-a01 stands in .*line 1 already"),
    ],
)
def test_a_bad_line_is_told_with_file_line_and_field(tmp_path: Path, change: dict[str, object], says: str) -> None:
    write_gold(tmp_path, LINE, {**LINE, **change})
    with pytest.raises(GoldError, match=r"lesson\.seats\.jsonl, line 2: " + says) as caught:
        load_gold(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_label_needs_its_reason(tmp_path: Path) -> None:
    line = deepcopy(LINE)
    line["labels"] = {criterion: {"label": "met", "reason": ""} for criterion in CRITERION_IDS}
    write_gold(tmp_path, line)
    with pytest.raises(GoldError, match=r"line 1: labels\.result\.reason"):
        load_gold(tmp_path)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(GoldError, match=r"holds no \.jsonl file"):
        load_gold(tmp_path)
    (tmp_path / "lesson.seats.jsonl").write_bytes(b"\xff\xfe\n")
    with pytest.raises(GoldError, match="is not UTF-8"):
        load_gold(tmp_path)
    (tmp_path / "lesson.seats.jsonl").write_text("{oops\n", encoding="utf-8")
    with pytest.raises(GoldError, match="line 1: Invalid JSON"):
        load_gold(tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("test: [", "not valid YAML"),
        ("test: []", "test: "),
        ("tset: [pack/lesson/seats]", "test: "),
        ("test: [pack/lesson/none]", "test: no answers to pack/lesson/none"),
    ],
)
def test_a_bad_split_is_told(tmp_path: Path, text: str, says: str) -> None:
    write_gold(tmp_path, LINE)
    with pytest.raises(GoldError, match=r"split\.yaml: cannot be read"):
        load_split(tmp_path)
    (tmp_path / "split.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(GoldError, match=r"split\.yaml: " + says):
        load_split(tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("questions: [", "not valid YAML"),
        ("questions: {pack/lesson/seats: {version: 1, seed: 3, sha256: abc}}", r"questions\.pack/lesson/seats\.sha256"),
        ("questions: {}", "questions: seats-a01 answers pack/lesson/seats, version 1, seed 3, which is not listed"),
        (
            f"questions: {{pack/lesson/seats: {{version: 2, seed: 3, sha256: {'a' * 64}}}}}",
            "questions: seats-a01 answers",
        ),
        (
            f"questions: {{pack/lesson/none: {{version: 1, seed: 3, sha256: {'a' * 64}}}}}",
            "questions: no answers to pack",
        ),
    ],
)
def test_a_bad_list_of_questions_is_told(tmp_path: Path, text: str, says: str) -> None:
    write_gold(tmp_path, LINE)
    with pytest.raises(GoldError, match=r"questions\.yaml: cannot be read"):
        load_questions(tmp_path)
    (tmp_path / "questions.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(GoldError, match=r"questions\.yaml: " + says):
        load_questions(tmp_path)


@given(prompt=st.text(min_size=1), number=st.integers(0, 10**6))
def test_the_hash_tells_numbers_apart_and_not_line_breaks(prompt: str, number: int) -> None:
    text = f"{prompt} takes {number} ms"
    assert prompt_hash(text.replace(" takes ", "\n  takes ")) == prompt_hash(text)
    assert prompt_hash(text) != prompt_hash(f"{prompt} takes {number + 1} ms")


# --- a second labeller -----------------------------------------------------------------------------------------------


def test_the_blind_answers_hold_no_label_and_no_hint_of_one() -> None:
    lines = list(blind(GOLD, seed=1))
    assert {tuple(line) for line in lines} == {("id", "item_id", "item_version", "seed", "answer")}
    assert Counter(line["id"] for line in lines) == Counter(one.id for one in GOLD)
    assert [line["id"] for line in lines] != [one.id for one in GOLD]
    assert lines == list(blind(GOLD, seed=1))


def test_agreement_of_a_hand_worked_table() -> None:
    """Cohen's κ of 20, 5, 10, 15: agreement .7, by chance .5, κ = .2 / .5 = .4."""
    row = Agreement(criterion="result", both_met=20, first_only=5, second_only=10, neither=15)
    assert row.n == 50
    assert row.share == pytest.approx(0.7)
    assert row.kappa == pytest.approx(0.4)


def test_no_kappa_where_every_label_is_the_same() -> None:
    assert Agreement(criterion="result", both_met=4, first_only=0, second_only=0, neither=0).kappa is None


@given(counts=st.tuples(*[st.integers(0, 50)] * 4).filter(lambda four: sum(four) > 0))
def test_kappa_is_the_same_for_both_labellers_and_at_most_one(counts: tuple[int, int, int, int]) -> None:
    both, first, second, neither = counts
    row = Agreement(criterion="failure", both_met=both, first_only=first, second_only=second, neither=neither)
    turned = Agreement(criterion="failure", both_met=both, first_only=second, second_only=first, neither=neither)
    assert row.kappa == turned.kappa
    assert row.kappa is None or -1 <= row.kappa <= 1
    assert (row.kappa == 1) == (first == second == 0 and both > 0 and neither > 0)


def test_agreement_counts_answers_that_both_labelled(tmp_path: Path) -> None:
    first = write_gold(
        tmp_path, labels("x-a01", True, True, False, True), labels("x-a02", False, True, False, True), name="1"
    )
    second = write_gold(
        tmp_path,
        labels("x-a02", True, True, False, False),
        labels("x-a01", True, False, False, True),
        labels("x-a03", True, True, True, True),
        name="2",
    )
    result, reasoning, failure, verification = agreement(load_labels(first), load_labels(second))
    assert (result.both_met, result.first_only, result.second_only, result.neither) == (1, 0, 1, 0)
    assert (reasoning.both_met, reasoning.first_only) == (1, 1)
    assert failure.neither == 2
    assert verification.first_only == 1


def test_borderline_labels_can_be_left_out(tmp_path: Path) -> None:
    unsure = labels("x-a02", False, False, False, False)
    assert isinstance(unsure["labels"], dict)
    unsure["labels"]["result"]["borderline"] = True
    clear = labels("x-a01", True, True, True, True)
    path = write_gold(tmp_path, clear, unsure)
    read = load_labels(path)
    assert [row.n for row in agreement(read, read)] == [2, 2, 2, 2]
    assert [row.n for row in agreement(read, read, clear_only=True)] == [1, 2, 2, 2]


def test_labels_of_other_answers_cannot_be_compared(tmp_path: Path) -> None:
    first = load_labels(write_gold(tmp_path, labels("x-a01", True, True, True, True), name="1"))
    second = load_labels(write_gold(tmp_path, labels("y-a01", True, True, True, True), name="2"))
    with pytest.raises(GoldError, match="no answer is labelled by both"):
        agreement(first, second)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert f"all of test {len(load_split().test)}" in " ".join(capsys.readouterr().out.split())

    assert main(["--blind", "--item", GOLD[0].item_id]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["item_id"] for line in lines} == {GOLD[0].item_id}

    second = write_gold(tmp_path, LINE, labels("x-a02", True, True, True, True))
    first = write_gold(tmp_path, labels("seats-a01", True, True, False, True), name="first.jsonl")
    assert main(["--agreement", str(first), str(second), "--list"]) == 0
    said = capsys.readouterr().out
    assert "seats-a01 failure: not_met (Read.) / met (Says so.)" in said
    assert "1 answers labelled by both, 1 by one only" in said


def test_a_command_with_a_missing_file_says_so_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--agreement", str(tmp_path / "none.jsonl"), str(tmp_path / "none.jsonl")]) == 2
    assert main(["--blind", "--item", "pack/lesson/none"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert "none.jsonl: cannot be read" in said[0]
    assert "no answers to pack/lesson/none" in said[1]
