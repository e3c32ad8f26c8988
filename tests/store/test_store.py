"""The log only grows, writes are whole, and every failure of the file is one sentence."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tutor.store import Event, Store, StoreError, open_store
from tutor.store.errors import explain


def test_an_event_comes_back_as_it_was_written(store: Store, at: datetime) -> None:
    there = at.astimezone(timezone(timedelta(hours=5, minutes=30)))
    written = store.append("lesson:a", "opened", {"text": "größer ≈ \ud800", "n": [1, None, 2.5]}, there)
    (read,) = store.events()
    assert read == written
    assert read.at.utcoffset() == timedelta(hours=5, minutes=30)
    assert read.payload == {"text": "größer ≈ \ud800", "n": [1, None, 2.5]}


def test_events_are_read_by_stream_kind_and_place(store: Store, at: datetime) -> None:
    written = [store.append(stream, kind, {}, at) for stream in ("a", "b") for kind in ("x", "y")]

    def ids(events: list[Event]) -> list[str]:
        return [event.id for event in events]

    assert ids(store.events()) == ids(written)
    assert ids(store.events("b")) == ids(written[2:])
    assert ids(store.events(kind="y")) == [written[1].id, written[3].id]
    assert ids(store.events("a", "y")) == [written[1].id]
    assert ids(store.events(after=written[1].seq)) == ids(written[2:])
    assert store.streams() == ["a", "b"]
    assert store.streams("b") == ["b"]


def test_what_cannot_be_stored_is_refused(store: Store, at: datetime) -> None:
    with pytest.raises(ValueError, match="offset"):
        store.append("a", "x", {}, at.replace(tzinfo=None))
    with pytest.raises(ValueError, match="not JSON"):
        store.append("a", "x", {"n": float("nan")}, at)
    with pytest.raises(TypeError):
        store.append("a", "x", {"n": object()}, at)
    with pytest.raises(StoreError):
        store.append("", "x", {}, at)
    assert store.events() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET payload = '{}'",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events (seq, id, stream, kind, at, payload) VALUES (1, 'i', 's', 'k', 'a', '{}')",
    ],
)
def test_the_log_refuses_to_be_changed(store: Store, at: datetime, statement: str) -> None:
    store.append("a", "x", {"kept": True}, at)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        store._db.conn.execute(statement)
    assert store.events()[0].payload == {"kept": True}


def test_an_attempt_is_stored_once(store: Store, at: datetime) -> None:
    store.append("interview:a", "answer.submitted", {"attempt_id": "a.1.1"}, at)
    with pytest.raises(StoreError, match="stored already"):
        store.append("interview:a", "answer.submitted", {"attempt_id": "a.1.1"}, at)
    store.append("interview:a", "attempt.graded", {"attempt_id": "a.1.1"}, at)
    assert len(store.events()) == 2


def test_a_block_is_kept_whole_or_not_at_all(store: Store, at: datetime) -> None:
    def fails_at_the_end() -> None:
        with store.writing():
            store.append("a", "x", {}, at)
            store.save_draft("a", 1, "text", at)
            with store.writing():
                store.append("a", "y", {}, at)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails_at_the_end()
    assert store.events() == []
    assert store.draft("a", 1) is None
    with store.writing(), store.writing():
        store.append("a", "x", {}, at)
    assert len(store.events()) == 1


def test_one_draft_a_position_and_the_last_one_counts(store: Store, at: datetime) -> None:
    store.save_draft("a", 1, "fir", at)
    store.save_draft("a", 1, "first", at + timedelta(seconds=2), slot="follow_up:x")
    store.save_draft("a", 2, "second", at)
    draft = store.draft("a", 1)
    assert draft is not None
    assert (draft.text, draft.slot, draft.at) == ("first", "follow_up:x", at + timedelta(seconds=2))
    assert [one.position for one in store.drafts()] == [1, 2]
    store.clear_draft("a", 1)
    assert store.draft("a", 1) is None


def test_queries_only_read(store: Store, at: datetime) -> None:
    store.append("a", "x", {}, at)
    assert store.query("SELECT count(*) FROM events WHERE stream = ?", ("a",)) == [(1,)]
    with pytest.raises(StoreError, match="reading"):
        store.query("DELETE FROM drafts")


def test_settings_of_the_connection(store: Store) -> None:
    pragmas = {name: store.query(f"SELECT * FROM pragma_{name}")[0][0] for name in ("journal_mode", "foreign_keys")}
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1}
    tables = dict(store.query("SELECT name, strict FROM pragma_table_list WHERE name IN ('events', 'drafts')"))
    assert tables == {"events": 1, "drafts": 1}


def test_files_are_private(store: Store, at: datetime) -> None:
    store.append("a", "x", {}, at)
    files = list(store.path.parent.iterdir())
    assert {file.name for file in files} >= {"tutor.db", "tutor.db-wal", "tutor.db.marker"}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert store.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_sound_file_has_no_problems_and_a_lost_guard_is_one(store: Store, at: datetime) -> None:
    store.append("a", "x", {}, at)
    assert store.check() == []
    store._db.conn.execute("DROP TRIGGER events_never_vanish")
    (problem,) = store.check()
    assert "events_never_vanish" in problem.what


# -- failures of the file ------------------------------------------------------------------------------------------


def one_sentence(error: StoreError, path: Path) -> str:
    text = str(error)
    assert str(path) in text
    assert "\n" not in text
    assert error.hint
    return text


def test_a_store_that_has_vanished_is_not_replaced(tmp_path: Path, at: datetime) -> None:
    path = tmp_path / "tutor.db"
    with open_store(path) as store:
        store.append("a", "x", {}, at)
    kept = path.read_bytes()
    path.unlink()
    with pytest.raises(StoreError, match="vanished") as caught:
        open_store(path)
    assert "tutor.db.marker" in one_sentence(caught.value, path)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreError, match="vanished or is empty"):
        open_store(path)
    path.write_bytes(kept)
    with open_store(path) as store:
        assert len(store.events()) == 1


def test_a_lost_marker_is_put_back(tmp_path: Path) -> None:
    path = tmp_path / "tutor.db"
    open_store(path).close()
    (tmp_path / "tutor.db.marker").unlink()
    open_store(path).close()
    assert (tmp_path / "tutor.db.marker").exists()


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "tutor.db"
    path.write_bytes(b"not a database at all, but long enough to be looked at\n" * 100)
    with pytest.raises(StoreError, match="damaged or is not a store") as caught:
        open_store(path)
    one_sentence(caught.value, path)
    assert path.read_bytes().startswith(b"not a database")


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "tutor.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE recipes (id INTEGER)")
    other.close()
    with pytest.raises(StoreError, match="is not a store of this program") as caught:
        open_store(path)
    one_sentence(caught.value, path)


def test_a_damaged_page_is_said(tmp_path: Path, at: datetime) -> None:
    path = tmp_path / "tutor.db"
    with open_store(path) as store:
        for _ in range(200):
            store.append("a", "x", {"text": "y" * 200}, at)
    whole = bytearray(path.read_bytes())
    whole[8192 : len(whole) - 4096] = b"\xff" * (len(whole) - 12288)
    path.write_bytes(whole)
    with pytest.raises(StoreError, match="damaged") as caught, open_store(path) as store:
        store.events()
    one_sentence(caught.value, path)


def test_a_store_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "tutor.db").mkdir()
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        open_store(tmp_path / "tutor.db")
    one_sentence(caught.value, tmp_path / "tutor.db")


def test_a_full_disk_keeps_what_was_stored(store: Store, at: datetime) -> None:
    store.append("a", "x", {"kept": True}, at)
    pages = store.query("SELECT page_count FROM pragma_page_count")[0][0]
    store._db.conn.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="no room left") as caught:
        store.append("a", "x", {"text": "y" * 100_000}, at)
    one_sentence(caught.value, store.path)
    assert caught.value.exit_code == 3
    store.append("a", "x", {"small": True}, at)
    assert [set(event.payload) for event in store.events()] == [{"kept"}, {"small"}]


def test_a_file_without_the_right_to_write(store: Store, at: datetime) -> None:
    reader = sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError) as caught:
        reader.execute("INSERT INTO drafts VALUES ('a', 1, 'answer', 't', 'now')")
    reader.close()
    assert "cannot be written" in one_sentence(explain(store.path, caught.value), store.path)


def test_another_program_that_keeps_the_lock(store: Store, at: datetime) -> None:
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store._db.conn.execute("PRAGMA busy_timeout = 50")
    with pytest.raises(StoreError, match="being written by another program") as caught:
        store.append("a", "x", {}, at)
    one_sentence(caught.value, store.path)
    other.execute("COMMIT")
    other.close()
    store.append("a", "x", {}, at)
