"""Killed at random moments, again and again: the log stays consistent and nothing that was given back is lost.

One parent imports the program and opens nothing; each life is a fork of it that opens the store, submits reviews and
interview answers as fast as it can, tells a pipe about each one once it has been given back, and is killed with
SIGKILL. What the pipe holds must be in the log.
"""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.drills.conftest import SMALL_LESSON
from tutor.drills import Deck, DrillItem, Drills
from tutor.interview import check_interviews
from tutor.store import Store, open_store, state_hash

# The parent of all lives: it forks one for each line it reads, and says which process that is.
NURSERY = """
import os, random, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from question_bank.load import Bank
from question_bank.schema import Lesson
from tutor.drills import Deck, DrillItem, Drills, Outcome, Rating
from tutor.grading.models import Grade
from tutor.interview import Session, single_item_plan
from tutor.store import open_store
import tutor.drills.bridge, tutor.drills.way_in, tutor.interview.follow_ups, question_bank.variants

lesson = Lesson.model_validate_json(Path(sys.argv[2]).read_text(encoding="utf-8"))
bank = Bank(packs=(), lessons=(lesson,), paths={})
deck = Deck(
    DrillItem(f"pack/lesson/item-{n}", "exercise", 1, f"Item {n}", (f"topic-{n}",), "pack/lesson", 1, 5)
    for n in range(6)
)

def live(life):
    rng = random.Random(life)
    start = datetime(2026, 3, 2, 9, tzinfo=UTC) + timedelta(days=life)
    with open_store(Path(sys.argv[1])) as store, Drills(store, deck) as drills:
        os.write(1, b"open\\n")
        for n in range(100_000):
            now = start + timedelta(minutes=n)
            if n % 3 == 2:
                session = Session.start(store, bank, single_item_plan("small/lesson/sum", 0), lambda: now)
                session.set_confidence(2)
                session.save_draft("typing")
                attempt = session.submit(f"life {life} answer {n}")
                os.write(1, f"kept {attempt}\\n".encode())
                continue
            shown = drills.present(f"pack/lesson/item-{rng.randrange(6)}", "review", now)
            rating = Rating(rng.randrange(1, 5))
            drills.record(shown, Outcome(rating, rating > 1, "drawn"), now, confidence=2, answer=f"{life} {n}")
            os.write(1, f"kept {shown.id}\\n".encode())
            if n % 7 == 3:
                drills.undo(now)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            live(int(line))
        except BaseException as error:
            os.write(1, f"BROKE {type(error).__name__} {error}\\n".encode())
        os._exit(1)
    os.write(1, f"child {child}\\n".encode())
    os.waitpid(child, 0)
    os.write(1, b"dead\\n")
"""


class Nursery:
    """Starts lives and reads what they say."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", NURSERY, str(path), str(SMALL_LESSON)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.rest = b""

    def line(self, limit_s: float = 30.0) -> str:
        assert self.process.stdout is not None
        end = monotonic() + limit_s
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - monotonic()))
            assert ready, "the program said nothing"
            piece = os.read(self.process.stdout.fileno(), 65536)
            assert piece, "the program ended"
            self.rest += piece
        found, _, self.rest = self.rest.partition(b"\n")
        return found.decode()

    def live(self, number: int, seconds: float) -> list[str]:
        """One life of so many seconds from the moment the store is open; returns what was given back in it."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{number}\n".encode())
        self.process.stdin.flush()
        child, said = 0, [self.line()]
        while not (child and "open" in said):
            if said[-1].startswith("child "):
                child = int(said[-1].split()[1])
            if not (child and "open" in said):
                said.append(self.line())
        sleep(seconds)
        os.kill(child, signal.SIGKILL)
        while said[-1] != "dead":
            said.append(self.line())
        broken = [each for each in said if each.startswith("BROKE")]
        assert broken == []
        return [each.split()[1] for each in said if each.startswith("kept ")]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


def given_back(store: Store) -> set[str]:
    """Presentations and attempts in the log."""
    found = store.query(
        "SELECT coalesce(json_extract(payload, '$.presentation_id'), json_extract(payload, '$.attempt_id')) "
        "FROM events WHERE kind IN ('drill.reviewed', 'answer.submitted')"
    )
    return {str(row[0]) for row in found}


def killed(path: Path, lives: int, every: int) -> None:
    """So many lives in one store; after every few of them the whole log is replayed and compared."""
    rng, told = random.Random(11), set[str]()
    deck = Deck(
        DrillItem(f"pack/lesson/item-{n}", "exercise", 1, f"Item {n}", (f"topic-{n}",), "pack/lesson", 1, 5)
        for n in range(6)
    )
    nursery = Nursery(path)
    try:
        for number in range(lives):
            told |= set(nursery.live(number, rng.uniform(0.0, 0.06)))
            with open_store(path) as store:
                assert told <= given_back(store)
                if number % every == every - 1 or number == lives - 1:
                    assert store.check() == []
                    assert check_interviews(store) == []
                    with Drills(store, deck) as drills:
                        assert drills.check() == []
    finally:
        nursery.close()
    with open_store(path) as store:
        whole = state_hash(store)
    with open_store(path) as store:
        assert state_hash(store) == whole
    assert len(told) > lives  # they did get to work


def test_killed_25_times_nothing_given_back_is_lost(tmp_path: Path) -> None:
    killed(tmp_path / "tutor.db", 25, every=5)


@pytest.mark.slow
def test_killed_500_times_nothing_given_back_is_lost(tmp_path: Path) -> None:
    killed(tmp_path / "tutor.db", 500, every=50)
