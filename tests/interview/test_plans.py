"""Plans that pick items: time, no repetition, seeds, balance, what was just seen, weak topics, the rule that adapts.

The general properties are held on banks made by Hypothesis, in any mix of kinds, topics, difficulties and minutes;
the shape of real plans on the bank that comes with the program.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from question_bank import load_bank
from question_bank.load import Bank
from question_bank.schema import Lesson, Pack
from tests.interview.conftest import LESSON_FILE, Begin, MakeGrade
from tutor.grading.models import Verdict
from tutor.interview import Past, Plan, PlanEntry, PlanError, Session, make_plan, past_of, section_plan, weak_topics
from tutor.interview.adaptive import next_item, outcome
from tutor.interview.plan import Alternative
from tutor.interview.plans import DIFFICULTY_SHARES, MINUTES_A_CHECKPOINT
from tutor.interview.state import fold
from tutor.store import Store

REAL = load_bank()
SMALL = Lesson.model_validate_json(LESSON_FILE.read_text(encoding="utf-8"))
BY_KIND = {item.kind: item for item in SMALL.items}
KINDS = ("checkpoint", "recall", "exercise", "probe", "prediction")
SEEDS = st.integers(0, 2**32 - 1)


def bank_of(specs: list[tuple[str, int, int, int]]) -> Bank:
    """A bank of items given as (kind, topic, difficulty, minutes), half of them in a second lesson."""
    sections = SMALL.sections
    items: dict[str, list[Any]] = {"made/one": [], "made/two": []}
    for number, (kind, topic, difficulty, minutes) in enumerate(specs):
        lesson = ("made/one", "made/two")[number % 2]
        change = {
            "id": f"{lesson}/i{number}",
            "topics": (f"t{topic}",),
            "difficulty": difficulty,
            "minutes": float(minutes),
            "section": sections[number // 2 % 2].id,
        }
        items[lesson].append(BY_KIND[kind].model_copy(update=change))  # type: ignore[index]
    lessons = tuple(
        SMALL.model_copy(update={"id": lesson, "items": tuple(each)}) for lesson, each in items.items()
    )  # fmt: skip
    pack = Pack(id="made", title="Made", description="Made up.", licence="CC0-1.0", lessons=("one", "two"))
    return Bank(packs=(pack,), lessons=lessons, paths={lesson.id: LESSON_FILE for lesson in lessons})


SPECS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 8), st.integers(1, 3), st.integers(1, 9)), min_size=1, max_size=60
)


def items_of(bank: Bank, plan: Plan) -> list[Any]:
    return [bank.item(entry.item_id) for entry in plan.entries]


@settings(max_examples=150, deadline=None)
@given(SPECS, SEEDS, st.sampled_from(["screen", "loop", "made/one"]), st.sampled_from([10.0, 25.0]), st.booleans())
def test_any_plan_fits_its_time_on_every_path_and_repeats_nothing(
    specs: list[tuple[str, int, int, int]], seed: int, name: str, minutes: float, adaptive: bool
) -> None:
    bank = bank_of(specs)
    try:
        plan = make_plan(bank, name, seed, minutes=minutes, adaptive=adaptive)
    except PlanError:
        kinds = {"checkpoint", "exercise", "probe"} if name == "screen" else set(KINDS)
        pool = [item for item in bank.items if item.id.startswith(name if "/" in name else "made/")]
        assert not any(item.kind in kinds and item.minutes <= minutes for item in pool)
        return
    assert plan.planned_minutes <= minutes
    for entry in plan.entries:
        assert entry.minutes is not None
        assert max(bank.item(choice.item_id).minutes for choice in entry.choices) == entry.minutes
        planned = bank.item(entry.item_id)
        for other, step in ((entry.easier, -1), (entry.harder, 1)):
            if other is not None:
                found = bank.item(other.item_id)
                assert (found.kind, found.difficulty) == (planned.kind, planned.difficulty + step)
    every = [choice.item_id for entry in plan.entries for choice in entry.choices]
    assert len(set(every)) == len(every)
    # Full: nothing but a checkpoint beyond their limit would still fit.
    kinds_here = {"checkpoint", "exercise", "probe"} if name == "screen" else set(KINDS)
    spare = minutes - sum(item.minutes for item in items_of(bank, plan))
    checkpoints = sum(item.kind == "checkpoint" for item in items_of(bank, plan))
    assert checkpoints <= max(1, minutes // MINUTES_A_CHECKPOINT)
    planned_ids = {entry.item_id for entry in plan.entries}
    for item in bank.items:
        if name == "made/one" and not item.id.startswith("made/one/"):
            continue
        if item.id not in planned_ids and item.kind in kinds_here - {"checkpoint"}:
            assert item.minutes > spare


@settings(max_examples=60, deadline=None)
@given(SPECS, SEEDS)
def test_one_seed_is_one_plan_and_following_the_answers_changes_no_planned_item(
    specs: list[tuple[str, int, int, int]], seed: int
) -> None:
    bank = bank_of(specs)
    try:
        plan = make_plan(bank, "loop", seed)
    except PlanError:
        return
    assert plan == make_plan(bank_of(specs), "loop", seed)
    fixed = make_plan(bank, "loop", seed, adaptive=False)
    assert [(one.item_id, one.seed) for one in fixed.entries] == [(one.item_id, one.seed) for one in plan.entries]
    assert all(len(one.choices) == 1 for one in fixed.entries)


def test_a_plan_does_not_depend_on_the_process() -> None:
    program = (
        "from question_bank import load_bank\nfrom tutor.interview import make_plan\n"
        "print(make_plan(load_bank(), 'loop', 11).model_dump_json())"
    )
    root = Path(__file__).parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], cwd=root, env={"PYTHONHASHSEED": hash_seed}, capture_output=True,
            text=True, check=True,
        ).stdout.strip()
        for hash_seed in ("1", "2")
    }  # fmt: skip
    assert outputs == {make_plan(REAL, "loop", 11).model_dump_json()}


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from(["screen", "loop"]))
def test_a_plan_is_balanced_when_the_bank_allows_it(seed: int, name: str) -> None:
    """Each kind, topic and difficulty in both lessons, five minutes each: only the rule decides."""
    bank = bank_of(
        [
            (kind, topic, difficulty, 5)
            for kind in KINDS
            for topic in range(9)
            for difficulty in (1, 2, 3)
            for _lesson in range(2)
        ]
    )
    items = items_of(bank, make_plan(bank, name, seed, adaptive=False))
    lessons = Counter(item.id.rpartition("/")[0] for item in items)
    topics = Counter(item.topics[0] for item in items)
    assert max(lessons.values()) - min(lessons.values()) <= 1
    assert max(topics.values()) - min(topics[f"t{topic}"] for topic in range(9)) <= 1
    levels = Counter(item.difficulty for item in items if item.kind != "checkpoint")
    for difficulty, share in DIFFICULTY_SHARES.items():
        assert abs(levels[difficulty] - share * levels.total()) <= 1.0
    assert [item.difficulty for item in items] == sorted(item.difficulty for item in items)


@pytest.mark.parametrize("seed", range(25))
def test_the_bank_gives_whole_screens_and_loops(seed: int) -> None:
    screen, loop = make_plan(REAL, "screen", seed), make_plan(REAL, "loop", seed)
    for plan in (screen, loop):
        items = items_of(REAL, plan)
        assert plan.minutes is not None
        assert plan.minutes - 5 < plan.planned_minutes <= plan.minutes  # every open item takes 4 minutes or more
        lessons = Counter(item.id.rpartition("/")[0] for item in items)
        assert set(lessons) == {lesson.id for lesson in REAL.lessons if lesson.id.startswith("serving/")}
        assert len({item.topics[0] for item in items}) >= len(items) - 1
    assert {"exercise", "probe"} <= {item.kind for item in items_of(REAL, screen)}
    assert {item.kind for item in items_of(REAL, loop)} == set(KINDS)
    assert len({item.difficulty for item in items_of(REAL, loop)}) == 3


@pytest.mark.parametrize("name", ["screen", "loop"])
def test_a_plan_keeps_to_the_pack_it_is_made_for(name: str) -> None:
    plans = [make_plan(REAL, name, seed, pack_id="sql-tuning") for seed in range(5)]
    for plan in plans:
        assert {entry.item_id.split("/")[0] for entry in plan.entries} == {"sql-tuning"}
        assert {"exercise", "probe"} <= {item.kind for item in items_of(REAL, plan)}
    for plan in (make_plan(REAL, name, seed) for seed in range(5)):
        assert {entry.item_id.split("/")[0] for entry in plan.entries} == {"serving"}


def test_other_seeds_ask_other_things() -> None:
    asked = Counter(entry.item_id for seed in range(40) for entry in make_plan(REAL, "loop", seed).entries)
    assert len(asked) > len(REAL.items) / 3
    assert max(asked.values()) <= 30


@pytest.mark.parametrize("lesson", [one for one in REAL.lessons if one.items], ids=lambda lesson: lesson.id)
def test_a_lesson_is_asked_in_reading_order_and_each_section_alone(lesson: Lesson) -> None:
    order = [section.id for section in lesson.sections if list(lesson.items_on(section.id))]
    items = items_of(REAL, make_plan(REAL, lesson.id, 5))
    places = [order.index(item.section) for item in items]
    assert places == sorted(places)
    assert len(set(places)) == min(len(places), len(order))  # none is asked twice before each was asked once
    for section in lesson.sections:
        bound = list(lesson.items_on(section.id))
        if bound:
            quiz = items_of(REAL, section_plan(REAL, lesson.id, section.id, 5))
            assert min(2, len(bound)) <= len(quiz) <= 3
            assert {item.id for item in quiz} <= {item.id for item in bound}
            assert sum(item.minutes for item in quiz) <= 15
            assert quiz[0].kind == "checkpoint" or all(item.kind != "checkpoint" for item in bound)
            assert make_plan(REAL, f"{lesson.id}/{section.id}", 5) == section_plan(REAL, lesson.id, section.id, 5)


def test_what_was_just_seen_is_asked_again_only_when_nothing_else_fits() -> None:
    first = make_plan(REAL, "loop", 3)
    seen = tuple(choice.item_id for entry in first.entries for choice in entry.choices)
    second = make_plan(REAL, "loop", 3, past=Past(seen=seen))
    assert not {choice.item_id for entry in second.entries for choice in entry.choices} & set(seen)
    lesson = REAL.lessons[0]
    section = next(one for one in lesson.sections if len(list(lesson.items_on(one.id))) == 2)
    everything = tuple(item.id for item in lesson.items)
    again = section_plan(REAL, lesson.id, section.id, 3, past=Past(seen=everything))
    assert len(again.entries) == 2


def test_weak_topics_are_those_that_went_badly() -> None:
    bank = bank_of([("exercise", topic, 2, 5) for topic in (0, 0, 1, 1, 2, 2)])
    ids = [item.id for item in bank.items]
    bad, mixed, good = (next(i.id for i in bank.items if i.topics == (f"t{topic}",)) for topic in (0, 1, 2))
    past = Past(results={bad: ("poor", "poor"), mixed: ("good", "poor"), good: ("good", "good")})
    # (0 + 1) / 4 = 0.25 and (1 + 1) / 4 = 0.5 are below 0.6; (2 + 1) / 4 = 0.75 is not.
    assert weak_topics(bank, past) == ("t0", "t1")
    # One good answer alone gives (1 + 1) / 3 = 0.67; one fair one (0.5 + 1) / 3 = 0.5.
    assert weak_topics(bank, Past(results={good: ("good",)})) == ()
    assert weak_topics(bank, Past(results={good: ("fair",)})) == ("t2",)
    plan = make_plan(bank, "weak", 1, past=past)
    assert {item.topics[0] for item in items_of(bank, plan)} == {"t0", "t1"}
    assert set(ids) > {entry.item_id for entry in plan.entries}
    with pytest.raises(PlanError, match="No topic is known to be weak"):
        make_plan(bank, "weak", 1)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("sceen", {}, "Known are screen, loop, weak"),
        ("serving/prefill-decode/nope", {}, "Its sections are"),
        ("screen", {"minutes": 2}, "5 to 480"),
        ("screen", {"minutes": float("nan")}, "5 to 480"),
        ("loop", {"pack_id": "none"}, "Known are serving"),
    ],
)
def test_what_cannot_be_planned_is_said_in_a_sentence(name: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(PlanError) as caught:
        make_plan(REAL, name, 1, **options)
    assert says in str(caught.value)


# -- following the answers --------------------------------------------------------------------------------------------

SUM, CHOICE = "small/lesson/sum", next(item.id for item in SMALL.items if item.kind == "checkpoint")


def four_questions() -> Plan:
    """Three sums and then one that may become easier or harder; all the same item but for the seeds."""
    plain = tuple(PlanEntry(item_id=SUM, seed=seed, minutes=5) for seed in (0, 1))
    probe = next(item.id for item in SMALL.items if item.kind == "probe")
    last = PlanEntry(
        item_id=SUM, seed=2, minutes=5,
        easier=Alternative(item_id=CHOICE, seed=3), harder=Alternative(item_id=probe, seed=4),
    )  # fmt: skip
    return Plan(id="four", title="Four", entries=(*plain, last, last))


def answered(session: Session, grade: MakeGrade, met: int | None) -> None:
    """Answer with so many of four criteria met; None skips."""
    if met is None:
        session.skip()
        return
    session.set_confidence(2)
    attempt = session.submit("260 ms")
    verdicts: list[Verdict] = ["met" if place < met else "not_met" for place in range(4)]
    session.record_grade(attempt, grade(*verdicts))
    session.advance()


@pytest.mark.parametrize(
    ("met", "kind"),
    [((4, 3), "probe"), ((1, 0), "checkpoint"), ((None, 1), "checkpoint"), ((4, 2), "exercise"), ((0, 4), "exercise")],
)
def test_two_answers_that_agree_change_the_difficulty(
    begin: Begin, grade: MakeGrade, store: Store, met: tuple[int | None, int], kind: str
) -> None:
    session = begin(plan=four_questions())
    for each in met:
        answered(session, grade, each)
    assert session.question is not None
    assert session.question.kind == kind
    # The log alone gives the same questions again, and says at each step what the rule says.
    from tutor.interview import events as ev

    log = [(ev.parse(one.kind, one.payload), one.at) for one in store.events(f"interview:{session.interview_id}")]
    for place, (payload, _) in enumerate(log):
        if isinstance(payload, ev.Presented):
            before = fold(log[:place])
            assert before is not None
            assert next_item(before).item_id == payload.item_id
    state = fold(log)
    assert state is not None
    assert state.entries == session.state.entries


def test_an_alternative_is_read_again_with_its_own_numbers(
    begin: Begin, grade: MakeGrade, store: Store, bank: Bank, clock: Callable[[], datetime]
) -> None:
    session = begin(plan=four_questions())
    answered(session, grade, 0)
    answered(session, grade, None)
    assert session.question is not None
    again = Session.resume(store, bank, session.interview_id, clock)
    assert again.question == session.question
    assert again.question.item_id == CHOICE


def test_hints_and_open_criteria_keep_an_answer_from_counting_as_good(begin: Begin, grade: MakeGrade) -> None:
    session = begin(plan=four_questions())
    session.set_confidence(2)
    session.take_hint()
    session.take_hint()
    attempt = session.submit("260 ms")
    assert outcome(session.state.entries[0]) is None
    session.record_grade(attempt, grade())
    assert outcome(session.state.entries[0]) == "fair"
    assert outcome(replace(session.state.entries[0], hints_used=1)) == "good"
    only_result = grade("met", "not_graded", "not_graded", "unsure")
    undecided = grade("unsure", "not_graded", "not_graded", "not_graded")
    entry = session.state.entries[0]
    assert entry.attempt is not None
    for one, expected in ((only_result, "good"), (undecided, None)):
        changed = replace(entry.attempt, grade=one.model_dump(mode="json"))
        assert outcome(replace(entry, attempts=(changed,), hints_used=0)) == expected


def test_the_past_is_read_from_the_store(begin: Begin, grade: MakeGrade, store: Store) -> None:
    session = begin(plan=four_questions())
    answered(session, grade, 4)
    answered(session, grade, 0)
    other = begin("pick")
    assert other.question is not None
    store.append("interview:damaged", "interview.started", {"plan": 3}, datetime(2026, 3, 1, tzinfo=UTC))
    past = past_of(store)
    assert past.seen == (other.question.item_id, SUM)
    assert past.results == {SUM: ("good", "poor")}
