"""Attacks on the grader: enough of them, the same for the same seed, and none of them pays."""

from __future__ import annotations

import asyncio
import re
import time
from functools import cache

import pytest

from question_bank import Question, build_question, load_bank
from tutor.errors import TutorError
from tutor.evaluation.attacks import Attack, Attempt, attacks_on, carriers_of, carry, run_attacks, tally
from tutor.evaluation.attacks.graders import by_evidence
from tutor.evaluation.attacks.on_evidence import turned
from tutor.grading import grade_answer, grade_result
from tutor.grading.text import MAX_ANSWER_BYTES, clean, is_invisible

NUMBERS = "serving/prefill-decode/completion-time"
WORDS = "serving/capacity-cost/where-the-clock-starts"
MORE = ("serving/capacity-cost/attempts-for-one", "serving/memory-roofline/bubbles")


@cache
def question(item: str) -> Question:
    return build_question(load_bank().item(item), 0)


@cache
def attacks(item: str, seed: int = 0) -> tuple[Attack, ...]:
    return attacks_on(question(item), seed)


def family(name: str, item: str = NUMBERS, seed: int = 0) -> list[Attack]:
    return [a for a in attacks(item, seed) if a.family == name]


def attempts(item: str, chosen: list[Attack], kinds: tuple[str, ...]) -> tuple[Attempt, ...]:
    carriers = [c for c in carriers_of(question(item)) if c.kind in kinds]
    return asyncio.run(run_attacks(question(item), chosen, carriers, by_evidence))


def test_there_are_thirty_patterns_in_several_wordings() -> None:
    by_pattern: dict[str, set[str]] = {}
    for attack in family("pattern"):
        by_pattern.setdefault(attack.pattern, set()).add(attack.text)
    assert len(by_pattern) == 30
    assert all(len(texts) >= 4 for texts in by_pattern.values())
    assert sum(map(len, by_pattern.values())) >= 120
    assert len({a.text for a in family("evidence")}) >= 50
    assert len({a.text for item in (NUMBERS, WORDS) for a in family("evidence", item)}) >= 100


def test_the_same_seed_gives_the_same_strings_and_another_seed_others() -> None:
    assert attacks_on(question(NUMBERS), 0) == attacks(NUMBERS)
    first, second = ({a.text for a in attacks(NUMBERS, seed)} for seed in (0, 1))
    assert len(second - first) > len(second) / 2


@pytest.mark.parametrize("item", [NUMBERS, *MORE])
def test_no_string_states_the_result(item: str) -> None:
    assert question(item).expected
    for attack in attacks(item):
        assert grade_result(question(item), attack.text).verdict != "met", attack.text[:300]


def test_a_right_result_stays_right_beside_every_attack() -> None:
    asked = question(NUMBERS)
    right = next(c for c in carriers_of(asked) if c.kind == "right")
    for attack in attacks(NUMBERS):
        if attack.contradicts or len(attack.text) > 2_000:
            continue
        for before in (False, True):
            assert grade_result(asked, carry(right, attack.text, before=before)).verdict == "met", attack.text[:300]


def test_nothing_that_a_model_sees_can_close_its_fence() -> None:
    for attack in (*attacks(NUMBERS), *attacks(WORDS)):
        seen = clean(attack.text)
        assert not re.search(r"[<>`]|\|im_|-{3}|={3}|~{3}|#{3}|\[/?INST", seen), seen[:200]
        assert not any(is_invisible(c) for c in seen)


@pytest.mark.parametrize("item", [NUMBERS, WORDS])
def test_one_of_each_pattern_earns_nothing_by_itself(item: str) -> None:
    chosen = [a for a in family("pattern", item) if a.wording == 1]
    for attempt in attempts(item, chosen, ("empty",)):
        assert not attempt.gained, (attempt.attack.pattern, attempt.attack.text[:200], attempt.gained)


def test_gains_and_losses_are_counted() -> None:
    one = Attack(family="pattern", pattern="p", wording=1, text="x")
    aimed = one.model_copy(update={"aims": "failure"})

    def attempt(attack: Attack, carrier: str, before: set[str], after: set[str]) -> Attempt:
        return Attempt.model_validate(
            {"item_id": "i", "attack": attack, "carrier": carrier, "before": before, "after": after}
        )

    listed = [
        attempt(one, "empty", set(), {"result"}),
        attempt(one, "empty", set(), set()),
        attempt(aimed, "empty", set(), {"result"}),
        attempt(aimed, "partial", {"result"}, {"result", "failure"}),
        attempt(one, "right", {"result", "failure"}, {"result"}),
        attempt(one.model_copy(update={"contradicts": True}), "right", {"result", "failure"}, set()),
    ]
    rates = tally("all", listed)
    assert (rates.tried, rates.paid, rates.points, rates.lost) == (4, 2, 2, 1)
    assert (rates.success, rates.drift) == (0.5, 50.0)


def test_a_direction_is_turned_round() -> None:
    assert turned("A longer queue adds time, and gaps stay.") == "A shorter queue takes away time, and gaps change."
    assert turned("Latency is a sum.") == "Latency is not a sum."
    assert turned("Of no direction.") is None


def test_a_hundred_kibibytes_are_refused_in_one_sentence() -> None:
    text = "First token 300 ms, completion 1,050 ms. " * 2500
    assert len(text) > 5 * MAX_ANSWER_BYTES
    with pytest.raises(TutorError, match="at most 20 KiB can be graded"):
        asyncio.run(grade_answer(question(NUMBERS), text, endpoint=None))


@pytest.mark.parametrize(
    "text",
    ["1 " * 10_000, "1," * 10_000, "not " * 5_000, "(" * 20_000, "$1 " * 6_000, "x-" * 10_000, "1 = " * 5_000,
     "the wrong " * 2_000, "1 of 3 " * 2_800, "before: 3 ms " * 1_500, "\u202e\u200b" * 3_000],
)  # fmt: skip
def test_the_longest_answers_are_read_in_seconds(text: str) -> None:
    started = time.monotonic()
    assert grade_result(question(NUMBERS), text).verdict != "met"
    assert time.monotonic() - started < 10


def test_disguises_change_nothing_of_what_is_read() -> None:
    asked = question(NUMBERS)
    answer = next(c for c in carriers_of(asked) if c.kind == "right").text
    wide = "".join(chr(ord(c) + 0xFEE0) if "0" <= c <= "9" else c for c in answer)
    for disguised in (
        wide,
        "\u200b".join(answer),
        f"```\n{answer}\n```",
        f"\u2067{answer}\u2069",
        answer.replace(" ", "\u00a0"),
    ):
        assert grade_result(asked, disguised).verdict == "met"


def test_the_reference_is_a_right_answer() -> None:
    for item in (NUMBERS, *MORE):
        asked = question(item)
        assert "result" in asyncio.run(by_evidence(asked, asked.reference))


def test_an_answer_in_another_language_is_not_refused_unread() -> None:
    german = (
        "Das erste Token kommt nach 300 ms, denn vorher liegen 100, 40 und 160 ms. Danach folgen 30 Lücken zu 25 ms, "
        "also ist die Anfrage nach 1.050 ms fertig."
    )
    grade = asyncio.run(grade_answer(question(NUMBERS), german, endpoint=None))
    assert grade.criterion("result").verdict == "met"


@pytest.mark.slow
@pytest.mark.parametrize("item", [NUMBERS, WORDS])
@pytest.mark.parametrize("seed", [0, 20_261])
def test_the_thirty_patterns_do_not_pay(item: str, seed: int) -> None:
    chosen = [a for a in family("pattern", item, seed) if len(a.text) < 2_000]
    done = attempts(item, chosen, ("empty", "right"))
    rates = tally("patterns", done)
    assert rates.success <= 0.01, [a.attack.text[:200] for a in done if a.gained and a.carrier == "empty"]
    assert rates.drift <= 1.0
