"""The first lesson: every figure worked out by hand here, and what each item must offer."""

from __future__ import annotations

import pytest

from question_bank import Bank, Item, Question, build_question, check_bank, load_bank
from question_bank.schema import Checkpoint
from rubrics import CRITERION_IDS

LESSON = "serving/prefill-decode"
SEEDS = range(201)


@pytest.fixture(scope="module")
def bank() -> Bank:
    return load_bank()


def default(bank: Bank, name: str) -> Question:
    return build_question(bank.item(f"{LESSON}/{name}"), 0)


def expected(question: Question) -> dict[str, float]:
    return {each.name: each.value for each in question.expected}


def slips(question: Question) -> dict[tuple[str, str], float]:
    return {(slip.id, slip.expected): slip.value for slip in question.slips}


def all_text(bank: Bank) -> str:
    lesson = bank.lesson(LESSON)
    return "\n".join(section.text for section in lesson.sections)


def test_the_bank_has_no_problems(bank: Bank) -> None:
    assert check_bank(bank, range(8)) == []


def test_the_lesson_is_complete(bank: Bank) -> None:
    lesson = bank.lesson(LESSON)
    kinds = [item.kind for item in lesson.items]
    assert set(kinds) == {"exercise", "probe", "checkpoint", "recall", "prediction"}
    assert lesson.minutes == 25
    assert {each.id for each in lesson.misconceptions} == {"rate-is-speed", "ttft-is-prefill"}
    assert {"vllm-metrics", "vllm-prefix-caching"} <= {source.id for source in lesson.sources}
    assert "original practice" in lesson.evidence_class.casefold()
    assert lesson.wrap_up


@pytest.mark.parametrize(
    "figure",
    [
        # two classes and their mean: (256 + 8192) / 2
        "| Short chat | 256 | 128 |",
        "| Documents | 8,192 | 64 |",
        "4,224",
        # three trials and their limits
        "| Baseline | 500 | 35 | 1,900 | 900 |",
        "| Larger prompt batch | 900 | 70 | 1,500 | 1,080 |",
        "| Bounded prompt chunks | 550 | 40 | 1,750 | 1,010 |",
        "| *Limit* | *700* | *50* | *2,000* | |",
        "20 %",
        "12.2 %",
        # the trace: decode 8 ms, chunk 20 ms, so 0, 8, 8 + 20, 28 + 8, 36 + 20
        "| 00 |",
        "| 08 |",
        "| 28 |",
        "| 36 |",
        "| 56 |",
        "8 ms",
        "20 ms",
        # the worked example
        "120 + 30 + 250   =   400 ms",
        "400 + 49 × 20    = 1,380 ms",
        "120 + 30 + 180   =   330 ms",
        "330 + 49 × 28    = 1,702 ms",
    ],
)
def test_the_figure_stands_in_the_text(bank: Bank, figure: str) -> None:
    assert figure in all_text(bank)


def test_every_line_of_the_text_fits_a_terminal(bank: Bank) -> None:
    tables_and_code = [line for line in all_text(bank).splitlines() if line.startswith(("|", "    "))]
    assert max(map(len, tables_and_code)) <= 76


def test_completion_time_has_the_lessons_own_numbers(bank: Bank) -> None:
    question = default(bank, "completion-time")
    # 100 + 40 + 160; 31 tokens leave 30 gaps of 25 ms: 300 + 750
    assert expected(question) == {"ttft": 300, "completion": 1050}
    assert slips(question) == {
        ("n-gaps", "completion"): 300 + 31 * 25,  # 1,075
        ("no-queue", "ttft"): 200,
        ("no-queue", "completion"): 950,
        ("no-preprocessing", "ttft"): 260,
        ("no-preprocessing", "completion"): 1010,
        ("prefill-alone", "ttft"): 160,
        ("prefill-alone", "completion"): 910,
        ("decode-only", "completion"): 750,
        ("decode-only-n-gaps", "completion"): 775,
    }
    assert {each.name: each.value for each in question.derived} == {"gaps": 30, "decode_ms": 750}
    failure = question.criteria["failure"]
    assert "adds 100 ms to both" in failure.statement
    assert "stay at 25 ms" in failure.statement
    assert any("400 ms" in point for point in failure.key_points)
    assert any("1,150 ms" in point for point in failure.key_points)


def test_change_tradeoff_is_the_worked_example(bank: Bank) -> None:
    question = default(bank, "change-tradeoff")
    assert expected(question) == {
        "ttft_before": 120 + 30 + 250,
        "completion_before": 400 + 49 * 20,
        "ttft_after": 120 + 30 + 180,
        "completion_after": 330 + 49 * 28,
    }
    assert expected(question)["completion_before"] == 1380
    assert expected(question)["completion_after"] == 1702
    assert "70 ms sooner" in question.reference
    assert "322 ms later" in question.reference.replace("the last 322", "322")


def test_three_trials_gains(bank: Bank) -> None:
    question = default(bank, "three-trials")
    gains = expected(question)
    assert gains["batch_gain"] == pytest.approx(20)  # 180 / 900
    assert gains["chunk_gain"] == pytest.approx(12.2222, abs=1e-4)  # 110 / 900
    assert "12.2 %" in question.reference


@pytest.mark.parametrize("seed", SEEDS)
def test_three_trials_keep_their_pattern(bank: Bank, seed: int) -> None:
    p = build_question(bank.item(f"{LESSON}/three-trials"), seed).parameters
    assert p["batch_chat_ttft_ms"] > 700
    assert p["batch_gap_ms"] > 50
    assert p["batch_doc_ttft_ms"] <= 2000
    assert p["chunk_chat_ttft_ms"] <= 700
    assert p["chunk_gap_ms"] <= 50
    assert p["chunk_doc_ttft_ms"] <= 2000
    assert p["base_rate"] < p["chunk_rate"] < p["batch_rate"]


def test_two_rates(bank: Bank) -> None:
    question = default(bank, "two-rates")
    # (256 + 8192) / 2; 600 requests in 60 s; 300 × 128 + 300 × 64 = 57,600 tokens in 60 s
    assert expected(question) == {"mean_prompt": 4224, "request_rate": 10, "output_rate": 960}
    # twice the lengths, 200 of each: 200 × 256 + 200 × 128 = 76,800 tokens and 400 requests in 60 s
    assert question.parameters["output_rate_b"] == 1280
    assert question.parameters["request_rate_b"] == pytest.approx(400 / 60)


def test_chunk_limit(bank: Bank) -> None:
    question = default(bank, "chunk-limit")
    # before: 4 + 512 / 32 = 20 ms a chunk and 8 ms a decode step, the lesson's trace
    assert question.parameters["gap_before"] == 28
    # after: 4 + 256 / 32 = 12 ms; 32 chunks and 31 decode steps: 384 + 248
    assert expected(question) == {"gap_after": 20, "document_after": 632}
    # before: 16 chunks and 15 decode steps: 320 + 120
    assert question.parameters["document_before"] == 440


def open_items(bank: Bank) -> list[Item]:
    return [item for item in bank.items if not isinstance(item, Checkpoint)]


def test_every_seed_draws_and_no_slip_is_within_tolerance(bank: Bank) -> None:
    """The lesson's first items; the deep check does the same for all of them."""
    for item in bank.lesson(LESSON).items[:6]:
        if isinstance(item, Checkpoint):
            continue
        for seed in SEEDS:
            question = build_question(item, seed)
            right = {each.name: each for each in question.expected}
            for slip in question.slips:
                target = right[slip.expected]
                assert abs(slip.value - target.value) > target.rel_tolerance * abs(target.value), (
                    item.id,
                    seed,
                    slip,
                )


def test_seeds_give_other_numbers(bank: Bank) -> None:
    for name in ("completion-time", "change-tradeoff", "three-trials", "two-rates"):
        item = bank.item(f"{LESSON}/{name}")
        prompts = {build_question(item, seed).prompt for seed in range(40)}
        assert len(prompts) > 35, name


def test_numbers_in_prompts_have_thousands_separators(bank: Bank) -> None:
    assert "8,192 prompt" in default(bank, "two-rates").prompt


def test_every_open_item_says_what_earns_each_point(bank: Bank) -> None:
    for item in open_items(bank):
        question = build_question(item, 0)
        assert tuple(question.criteria) == CRITERION_IDS, item.id
        assert {each.criterion for each in question.follow_ups} >= set(CRITERION_IDS), item.id
        assert len(question.hints) == 4 or item.kind in {"probe", "recall"}, item.id
        assert question.reference


def test_the_probe(bank: Bank) -> None:
    question = default(bank, "batching-slower-chat")
    assert question.expected == ()
    assert len(question.weak_indicators) == 3
    assert any("long document prompts" in each.text for each in question.follow_ups)


def test_the_recall_has_three_levels(bank: Bank) -> None:
    levels = default(bank, "from-memory").levels
    assert [(each.level, each.label) for each in levels] == [
        (1, "not yet"),
        (2, "getting there"),
        (3, "confident"),
    ]


KEYS = {
    "gaps-rise-queue-fixed": "decode-turns",
    "twenty-one-tokens": "twenty-gaps",
    "next-experiment": "bound-chunks",
    "stays-stable": "token-gaps",
    "longer-answers": "match-lengths",
}


@pytest.mark.parametrize(("name", "key"), KEYS.items())
def test_checkpoints_are_keyed_by_id_whatever_the_order(bank: Bank, name: str, key: str) -> None:
    item = bank.item(f"{LESSON}/{name}")
    places = set()
    for seed in range(60):
        question = build_question(item, seed)
        assert [option.id for option in question.options if option.correct] == [key]
        assert len({option.id for option in question.options}) == 4
        assert all(option.reason for option in question.options)
        places.add([option.id for option in question.options].index(key))
    assert places == {0, 1, 2, 3}


def test_twenty_one_tokens(bank: Bank) -> None:
    texts = {option.id: option.text for option in default(bank, "twenty-one-tokens").options}
    assert texts == {
        "twenty-gaps": f"{250 + 20 * 30} ms",
        "one-too-many": f"{250 + 21 * 30} ms",
        "gaps-of-all-tokens": f"{21 * 30} ms",
        "gaps-alone": f"{20 * 30} ms",
    }
