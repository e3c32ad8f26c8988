"""Running a grader over labelled answers: resuming, breaking off, a model that fails, one that changes its mind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from question_bank import Question
from tests.grading.questions import make_question
from tests.llm.faulty_server import FaultyServer, closed_port, says
from tutor.evaluation.cases import Case, EvaluationError
from tutor.evaluation.measures import Asked
from tutor.evaluation.record import GraderIdentity
from tutor.evaluation.runner import ModelFailed, Progress, evaluate, identity
from tutor.evaluation.state import StateFile, state_path
from tutor.grading.models import CRITERIA
from tutor.llm.types import Capabilities, Deadlines, Endpoint

QUICK = Deadlines(connect_s=1, first_token_s=2, idle_s=2, total_s=4)
FULL = make_question().reference
ANSWERS = ("", "300 ms and 1,050 ms.", FULL, "I do not know, it depends.", "300 ms, then 1,075 ms")


def make_cases(answers: tuple[str, ...] = ANSWERS, question: Question | None = None) -> tuple[Case, ...]:
    asked = question or make_question()
    labels = dict.fromkeys(CRITERIA, True)
    return tuple(
        Case(id=f"a{n}", question=asked, anchor=asked, answer=text, labels=labels) for n, text in enumerate(answers)
    )


def asked_of(base_url: str, deadlines: Deadlines = QUICK) -> Asked:
    endpoint = Endpoint(name="Test server", provider="openai", base_url=base_url, model="served")
    return Asked(endpoint, Capabilities(), deadlines)


def named(model: str | None) -> GraderIdentity:
    return identity(None).model_copy(update={"model": model})


async def test_code_alone_grades_every_labelled_criterion(tmp_path: Path) -> None:
    outcome = await evaluate(make_cases(), named(None), None, StateFile(tmp_path / "s.jsonl"))
    verdicts = {r.case_id: [c.verdict for c in r.criteria.values()] for r in outcome.records}
    assert verdicts["a0"] == ["not_met"] * 4
    assert verdicts["a1"][0] == "met"
    assert verdicts["a2"] == ["met"] * 4
    assert verdicts["a4"][0] == "not_met"


async def test_without_a_model_the_evidence_decides_and_what_the_program_shows_is_kept(tmp_path: Path) -> None:
    outcome = await evaluate(make_cases((FULL,)), named(None), None, StateFile(None))
    reasoning = outcome.records[0].criteria["reasoning"]
    assert reasoning.decided_by == "evidence"
    assert reasoning.p_met == reasoning.alone
    assert reasoning.features["steps"] > 0.5
    assert reasoning.quote in FULL


async def test_what_was_graded_is_not_graded_again(tmp_path: Path) -> None:
    path, cases = tmp_path / "s.jsonl", make_cases()
    first = await evaluate(cases, named(None), None, StateFile(path))
    again = await evaluate(cases, named(None), None, StateFile(path))
    assert (first.kept, again.kept) == (0, len(cases))
    assert again.records == first.records
    assert len(path.read_text().splitlines()) == len(cases)


async def test_a_change_of_question_or_answer_is_graded_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    await evaluate(make_cases(), named(None), None, StateFile(path))
    other = await evaluate(make_cases(question=make_question(queue=200)), named(None), None, StateFile(path))
    more = await evaluate(make_cases((*ANSWERS, "350 ms")), named(None), None, StateFile(path))
    assert (other.kept, more.kept) == (0, len(ANSWERS))


async def test_breaking_off_loses_only_the_answer_in_work(tmp_path: Path) -> None:
    path, cases = tmp_path / "s.jsonl", make_cases()

    def stop(progress: Progress) -> None:
        if progress.done == 3:
            raise RuntimeError("stopped")

    state = StateFile(path)
    with pytest.raises(RuntimeError, match="stopped"):
        await evaluate(cases, named(None), None, state, tell=stop)
    state.close()
    assert len(path.read_text().splitlines()) == 3
    seen: list[Progress] = []
    resumed = await evaluate(cases, named(None), None, StateFile(path), tell=seen.append)
    assert (resumed.kept, len(resumed.records)) == (3, 5)
    assert [(p.done, p.kept) for p in seen] == [(1, 1), (2, 2), (3, 3), (4, 3), (5, 3)]
    assert seen[0].left_s is None
    assert seen[-1].left_s == 0


async def test_cancelling_in_the_middle_of_a_call_keeps_what_was_done(tmp_path: Path) -> None:
    hanging = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang(exchange: Any) -> None:
        loop.call_soon_threadsafe(hanging.set)
        exchange.wait_for_hang_up()

    # The blank answer reaches no model; six examples and three criteria of the full one do, then it hangs.
    with FaultyServer(*[says("yes")] * 9, hang) as server:
        state = StateFile(tmp_path / "s.jsonl")
        cases = make_cases(("", FULL, f"{FULL} So it is."))
        work = asyncio.ensure_future(evaluate(cases, named("served"), asked_of(server.base_url), state))
        await asyncio.wait_for(hanging.wait(), 30)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 2


async def test_a_torn_last_line_is_dropped_and_another_file_refused(tmp_path: Path) -> None:
    path, cases = tmp_path / "s.jsonl", make_cases()
    await evaluate(cases, named(None), None, StateFile(path))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    resumed = await evaluate(cases, named(None), None, StateFile(path))
    assert resumed.kept == len(cases) - 1
    assert path.read_bytes().count(b"\n") == len(cases)
    path.write_text('{"id": 1}\n')
    with pytest.raises(EvaluationError, match="not a file of graded answers"):
        StateFile(path)
    StateFile(path, fresh=True).close()
    assert path.read_bytes() == b""


async def test_each_run_asks_the_model_anew_and_an_item_is_scored_once_a_run() -> None:
    examples = [says("yes")] * 3 + [says("no")] * 3
    with FaultyServer(*examples, *[says("yes")] * 3, *examples, *[says("no")] * 3) as server:
        outcome = await evaluate(
            make_cases((FULL,)), named("served"), asked_of(server.base_url), StateFile(None), runs=2
        )
        assert len(server.exchanges) == 18
    first, second = (record.criteria["reasoning"] for record in outcome.records)
    # A bare yes is worth as much as a bare no, and the examples' middle is zero.
    assert first.anchored == pytest.approx(1.5)
    assert second.anchored == pytest.approx(-1.5)
    assert first.alone == second.alone
    assert (first.p_met or 0) > (first.alone or 0) > (second.p_met or 0)
    # Three calls of the answer at seven tokens; the examples are not counted with it.
    assert [record.prompt_tokens for record in outcome.records] == [21, 21]
    assert len(outcome.example_seconds) == 2


async def test_several_answers_at_once_share_the_scored_examples() -> None:
    cases = make_cases(tuple(f"{FULL} Thus {n}." for n in range(4)))
    with FaultyServer(says("yes")) as server:
        outcome = await evaluate(cases, named("served"), asked_of(server.base_url), StateFile(None), parallel=3)
        assert len(server.exchanges) == 6 + 4 * 3
    assert [record.case_id for record in outcome.records] == [case.id for case in cases]


async def test_a_model_that_is_gone_ends_the_evaluation_and_nothing_false_is_kept(tmp_path: Path) -> None:
    gone = asked_of(f"http://127.0.0.1:{closed_port()}/v1", Deadlines(connect_s=1, total_s=0.2))
    state = StateFile(tmp_path / "s.jsonl")
    with pytest.raises(ModelFailed, match="3 answers in a row could not be graded") as caught:
        await evaluate(make_cases((FULL, f"{FULL} 1", f"{FULL} 2", f"{FULL} 3")), named("served"), gone, state)
    assert caught.value.exit_code == 3
    assert (tmp_path / "s.jsonl").read_bytes() == b""


async def test_an_answer_too_long_to_grade_is_not_graded_and_not_tried_for_ever(tmp_path: Path) -> None:
    path, cases = tmp_path / "s.jsonl", make_cases(("word " * 10_000,))
    outcome = await evaluate(cases, named(None), None, StateFile(path))
    assert {c.verdict for c in outcome.records[0].criteria.values()} == {"not_graded"}
    assert "KiB" in outcome.records[0].criteria["result"].reason
    assert (await evaluate(cases, named(None), None, StateFile(path))).kept == 1


def test_graders_do_not_share_a_file(tmp_path: Path) -> None:
    paths = {state_path(tmp_path, named(model)) for model in (None, "a/b c", "a b/c", "x" * 300)}
    assert len(paths) == 4
    assert all(path.parent == tmp_path / "evaluations" for path in paths)
    other = named(None).model_copy(update={"code_hash": "0"})
    assert other.key != named(None).key
