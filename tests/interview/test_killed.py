"""A program that is killed without warning loses no stored answer and no saved draft."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from question_bank.load import Bank
from tutor.interview import Session, check_interviews, unfinished
from tutor.store import open_store

if TYPE_CHECKING:
    from tests.interview.conftest import MakeGrade

# Runs one interview up to the step that is named, says what it has done, and then waits to be killed.
VICTIM = """
import sys, time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from question_bank.load import Bank
from question_bank.schema import Lesson
from tutor.grading.models import CRITERIA, CriterionGrade, Grade, Provenance
from tutor.interview import Session, lesson_plan
from tutor.store import open_store

path, lesson_file, step = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
lesson = Lesson.model_validate_json(lesson_file.read_text(encoding="utf-8"))
bank = Bank(packs=(), lessons=(lesson,), paths={})
start = time.monotonic()

def clock():
    return datetime(2026, 3, 1, 9, 0, tzinfo=UTC) + timedelta(seconds=time.monotonic() - start)

def reached(name, text=""):
    print(name, text, flush=True)
    if name == step:
        time.sleep(600)

grade = Grade(
    criteria=tuple(
        CriterionGrade(criterion=one, verdict="not_met" if one == "failure" else "met", decided_by="model", reason="r")
        for one in CRITERIA
    ),
    provenance=Provenance(item_id="i", item_version=1, seed=0, answer_hash="a"),
)
store = open_store(path)
session = Session.start(store, bank, lesson_plan(lesson, 0), clock)
session.save_draft("before the confidence")
reached("draft")
session.set_confidence(2)
if step == "typing":
    n = 0
    while True:
        n += 1
        session.save_draft(f"typed {n}")
        print("saved", n, flush=True)
if step == "answering":
    while True:
        attempt = session.submit(f"answer {time.monotonic()}")
        print("submitted", attempt, session.pending_attempt[1], flush=True)
        session.record_ungraded(attempt, "cancelled")
if step == "inside":
    with store.writing():
        session.submit("260 ms, never committed")
        reached("inside")
session.save_draft("260 ms, then")
attempt = session.submit("260 ms, then 1,050 ms")
reached("submitted")
session.record_ungraded(attempt, "cancelled")
reached("cancelled")
session.submit("260 ms, then 1,050 ms")
session.record_grade(attempt, grade)
reached("graded")
session.ask_follow_up()
session.save_draft("half a follow-up")
reached("follow-up")
session.answer_follow_up("the whole follow-up")
session.show_reference()
session.advance()
reached("advanced")
"""


@contextmanager
def victim(path: Path, step: str) -> Iterator[subprocess.Popen[str]]:
    lesson = Path(__file__).parent / "small_lesson.json"
    process = subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(path), str(lesson), step], stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def kill_at(path: Path, step: str) -> None:
    with victim(path, step) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(step):
                break
        else:
            pytest.fail(f"the program ended before {step}")
        process.kill()
        assert process.wait() == -9


Resume = Callable[[], Session]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "killed" / "tutor.db"


@pytest.fixture
def resume(path: Path, bank: Bank, clock: Callable[[], datetime]) -> Iterator[Resume]:
    stores = []

    def open_again() -> Session:
        store = open_store(path)
        stores.append(store)
        assert store.check() == []
        assert check_interviews(store) == []
        (summary,) = unfinished(store)
        return Session.resume(store, bank, summary.interview_id, clock)

    yield open_again
    for store in stores:
        store.close()


def test_after_a_draft(path: Path, resume: Resume) -> None:
    kill_at(path, "draft")
    session = resume()
    assert (session.phase, session.draft) == ("confidence", "before the confidence")


def test_inside_the_transaction_of_an_answer_the_draft_is_still_there(path: Path, resume: Resume) -> None:
    kill_at(path, "inside")
    session = resume()
    assert (session.phase, session.draft) == ("answering", "before the confidence")
    assert session.pending_attempt is None


def test_after_an_answer_and_while_it_is_graded(path: Path, resume: Resume, grade: MakeGrade) -> None:
    kill_at(path, "submitted")
    session = resume()
    assert (session.phase, session.draft) == ("grading", "260 ms, then 1,050 ms")
    assert session.pending_attempt is not None
    attempt, text = session.pending_attempt
    assert text == session.draft
    assert session.regrade() == attempt
    assert session.record_grade(attempt, grade())
    assert session.phase == "graded"
    assert session.draft == ""


def test_after_grading_was_cancelled(path: Path, resume: Resume) -> None:
    kill_at(path, "cancelled")
    session = resume()
    assert (session.phase, session.draft) == ("answering", "260 ms, then 1,050 ms")


def test_after_the_grade(path: Path, resume: Resume) -> None:
    kill_at(path, "graded")
    session = resume()
    assert session.phase == "graded"
    assert session.effective("failure") == "not_met"
    assert session.follow_up is not None
    assert session.follow_up.id == "ask-failure"


def test_during_a_follow_up(path: Path, resume: Resume) -> None:
    kill_at(path, "follow-up")
    session = resume()
    assert (session.phase, session.draft) == ("follow_up", "half a follow-up")


def test_at_the_next_question(path: Path, resume: Resume) -> None:
    kill_at(path, "advanced")
    session = resume()
    assert (session.position, session.phase, session.draft) == (1, "confidence", "")
    assert session.entry(0).follow_ups[0].answer == "the whole follow-up"


@pytest.mark.parametrize("after_s", [0.0, 0.013, 0.1])
def test_in_the_middle_of_typing_what_was_saved_is_there(path: Path, resume: Resume, after_s: float) -> None:
    with victim(path, "typing") as process:
        assert process.stdout is not None
        said = [next(line for line in process.stdout if line.startswith("saved"))]
        time.sleep(after_s)
        process.kill()
        said += process.stdout.readlines()
    last = max(int(line.split()[1]) for line in said if line.endswith("\n"))
    kept = int(resume().draft.removeprefix("typed "))
    # The one being saved when it was killed may have reached the disk too.
    assert kept in {last, last + 1}


@pytest.mark.parametrize("after_s", [0.0, 0.017, 0.1])
def test_in_the_middle_of_answering_no_answer_is_lost(path: Path, resume: Resume, after_s: float) -> None:
    with victim(path, "answering") as process:
        assert process.stdout is not None
        said = [next(line for line in process.stdout if line.startswith("submitted"))]
        time.sleep(after_s)
        process.kill()
        said += process.stdout.readlines()
    whole = [line.split(maxsplit=2) for line in said if line.startswith("submitted") and line.endswith("\n")]
    kept = {attempt.id: attempt.text for attempt in resume().entry().state.attempts}
    assert whole
    for _, attempt_id, text in whole:
        assert kept[attempt_id] == text.strip()
    assert len(kept) - len(whole) in {0, 1}
