"""Several programs on one log: nothing is lost, nothing counts twice."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.drills.conftest import drill_item, name
from tutor.drills import Deck, Drills, Rating
from tutor.drills import events as ev
from tutor.store import Store, open_store

# Answers one item after another as fast as it can, and says so once an answer has been given back.
WRITER = """
import random, sys
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tutor.drills import Deck, DrillItem, Drills, Outcome, Rating
from tutor.store import open_store

path, who, writes = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
deck = Deck(
    DrillItem(f"pack/lesson/item-{n}", "exercise", 1, f"Item {n}", (f"topic-{n}",), "pack/lesson", 1, 5)
    for n in range(6)
)
rng = random.Random(who)
with open_store(path) as store, Drills(store, deck) as drills:
    print("open", flush=True)
    sys.stdin.readline()
    for n in range(writes):
        now = datetime(2026, 3, 2, 9, tzinfo=UTC) + timedelta(hours=7 * n)
        shown = drills.present(f"pack/lesson/item-{rng.randrange(6)}", "review", now)
        rating = rng.randrange(1, 5)
        outcome = Outcome(Rating(rating), rating > 1, "drawn")
        answered = drills.record(shown, outcome, now, confidence=rng.randrange(1, 4), answer=f"{who} {n}")
        assert answered.recorded.added
        print("kept", shown.id, flush=True)
        if n % 7 == 3:
            drills.undo(now)
print("done", flush=True)
"""


def writer(path: Path, who: str, writes: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), who, str(writes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def begin(*writers: subprocess.Popen[str]) -> None:
    for each in writers:
        assert each.stdout is not None
        assert each.stdout.readline() == "open\n"
    for each in writers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()


def kept(store: Store) -> list[ev.Reviewed]:
    reviews = [ev.parse(event.kind, event.payload) for event in store.events(kind=ev.Reviewed.kind)]
    return [review for review in reviews if isinstance(review, ev.Reviewed)]


def consistent(store: Store) -> None:
    assert store.check() == []
    with Drills(store, Deck([drill_item(number) for number in range(6)])) as drills:
        assert drills.check() == []
        drills.counts(datetime(2026, 6, 1, tzinfo=UTC))


@pytest.mark.slow
def test_two_programs_record_300_reviews_each_without_an_error_or_a_loss(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tutor.db"
    writers = [writer(path, who, 300) for who in ("a", "b")]
    begin(*writers)
    for each in writers:
        out, err = each.communicate(timeout=120)
        assert (each.returncode, err) == (0, "")
        assert out.splitlines()[-1] == "done"
    with open_store(path) as store:
        reviews = kept(store)
        for who in ("a", "b"):
            assert [each.answer for each in reviews if each.answer.startswith(who)] == [
                f"{who} {n}" for n in range(300)
            ]
        assert len({each.presentation_id for each in reviews}) == 600
        consistent(store)


def test_a_program_killed_between_log_and_cache_is_caught_up_with(tmp_path: Path) -> None:
    # The log has the answer, the cache does not: what a kill in between leaves behind.
    deck = Deck([drill_item(number) for number in range(6)])
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    with open_store(tmp_path / "tutor.db") as store:
        with Drills(store, deck) as drills:
            drills.counts(now)
            review = ev.Reviewed(
                presentation_id="p",
                version=1,
                seed=1,
                day=now.date(),
                rollover_h=4,
                rating=Rating.GOOD,
                right=True,
                reason="Right.",
                mode="numbers",
            )
            drills.log.record(name(0), review, now)
        with Drills(store, deck) as drills:
            assert drills.card(name(0)).state.reviews == 1
            assert drills.check() == []
