"""Archives and databases from anybody: an Anki package, a packed run, and what they unpack to."""

from __future__ import annotations

import gzip
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sim.fit.runs
from question_bank import load_bank
from sim.errors import ScenarioError
from tutor.drills import Deck, Drills
from tutor.drills.anki import guid_of
from tutor.drills.anki_history import read_history
from tutor.errors import TutorError
from tutor.store import open_store

LIMIT_S = 3.0
TABLES = {
    "revlog": "CREATE TABLE revlog (id INTEGER PRIMARY KEY, cid, ease, type, time)",
    "cards": "CREATE TABLE cards (id INTEGER PRIMARY KEY, nid)",
    "notes": "CREATE TABLE notes (id INTEGER PRIMARY KEY, guid)",
}
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


@pytest.fixture(scope="module")
def deck() -> Deck:
    return Deck.from_bank(load_bank())


@pytest.fixture
def drills(deck: Deck, tmp_path: Path) -> Iterator[Drills]:
    with open_store(tmp_path / "data" / "tutor.db") as store, Drills(store, deck) as found:
        yield found


@pytest.fixture
def collection(tmp_path: Path) -> Callable[..., Path]:
    def made(*more: str, **tables: str) -> Path:
        """A collection with these statements in place of those of its tables, and `more` after them."""
        file = tmp_path / "collection.anki2"
        database = sqlite3.connect(file)
        database.executescript(";".join((*{**TABLES, **tables}.values(), *more)))
        database.close()
        return file

    return made


def refused(drills: Drills, file: Path) -> str:
    """What is said; nothing was taken."""
    began = time.perf_counter()
    with pytest.raises(TutorError) as said:
        read_history(drills, file)
    assert time.perf_counter() - began < LIMIT_S
    assert not list(drills.store.events())
    return said.value.message


@pytest.mark.parametrize("table", TABLES)
def test_a_view_that_never_ends_is_not_read(drills: Drills, collection: Callable[..., Path], table: str) -> None:
    view = f"CREATE VIEW {table} AS {ENDLESS} SELECT i id, 1 cid, 3 ease, 1 type, 1 time, 1 nid, 'x' guid FROM n"
    assert "is not a collection of Anki" in refused(drills, collection(**{table: view}))


def test_a_computed_column_is_not_read(drills: Drills, collection: Callable[..., Path]) -> None:
    table = "CREATE TABLE notes (id INTEGER PRIMARY KEY, guid AS (hex(zeroblob(400000000))))"
    assert "does not write" in refused(drills, collection(notes=table))


def test_rows_that_multiply_are_not_joined(drills: Drills, collection: Callable[..., Path]) -> None:
    file = collection(
        f"INSERT INTO cards {ENDLESS} SELECT 1, 1 FROM n LIMIT 50000",
        f"INSERT INTO notes {ENDLESS} SELECT 1, 'x' FROM n LIMIT 50000",
        "INSERT INTO revlog VALUES (1, 1, 3, 1, 1)",
        cards="CREATE TABLE cards (id, nid)",
        notes="CREATE TABLE notes (id, guid)",
    )
    assert "does not write" in refused(drills, file)


@pytest.mark.parametrize("row", ["(1, 1, 'good', 1, 1)", "(1, 1, 3, NULL, 1)", "(1, 1, 3, 1, x'00')"])
def test_cells_of_the_wrong_kind_are_refused(drills: Drills, collection: Callable[..., Path], row: str) -> None:
    file = collection(
        "INSERT INTO cards VALUES (1, 1)", "INSERT INTO notes VALUES (1, 'x')", f"INSERT INTO revlog VALUES {row}"
    )
    assert "does not write" in refused(drills, file)


def test_a_moment_beyond_the_calendar_does_not_count(drills: Drills, collection: Callable[..., Path]) -> None:
    guid = guid_of(drills.deck.items[0].id)
    file = collection(
        "INSERT INTO cards VALUES (1, 1)",
        f"INSERT INTO notes VALUES (1, '{guid}')",
        "INSERT INTO revlog VALUES (-5, 1, 3, 1, 1), (9000000000000000000, 1, 3, 1, 1)",
    )
    assert (read_history(drills, file).added, read_history(drills, file).not_counted) == (0, 2)


def test_a_zip_bomb_is_not_unpacked(drills: Drills, tmp_path: Path) -> None:
    file = tmp_path / "deck.apkg"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package, package.open("collection.anki2", "w") as out:
        for _ in range(64):
            out.write(bytes(1 << 20))
    assert file.stat().st_size < 100_000
    assert "would unpack to" in refused(drills, file)


def test_a_package_that_lies_about_its_size_is_refused(drills: Drills, tmp_path: Path) -> None:
    file = tmp_path / "deck.apkg"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("collection.anki2", b"x" * 5000)
    honest = file.read_bytes()
    assert honest.count((5000).to_bytes(4, "little")) == 2
    file.write_bytes(honest.replace((5000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    assert "is damaged" in refused(drills, file)


def test_only_the_collection_leaves_the_package(drills: Drills, tmp_path: Path) -> None:
    file = tmp_path / "deck.apkg"
    with zipfile.ZipFile(file, "w") as package:
        package.writestr("../../escaped", "x")
        package.writestr("collection.anki2", "no database")
    before = {path for path in tmp_path.parent.rglob("*") if path.name == "escaped"}
    refused(drills, file)
    assert {path for path in tmp_path.parent.rglob("*") if path.name == "escaped"} == before == set()


def test_a_packed_run_is_unpacked_to_its_limit_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sim.fit.runs, "MAX_FILE_BYTES", 1 << 20)
    file = tmp_path / "run.jsonl.gz"
    with gzip.open(file, "wb") as packed:
        packed.write(b" " * (4 << 20))
    assert file.stat().st_size < 1 << 14
    with pytest.raises(ScenarioError, match="unpacks to more than"):
        list(sim.fit.runs.read_rows(file))


def test_a_packed_run_that_is_cut_is_told(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"arrival_s": 1}\n' * 100)[:-20])
    with pytest.raises(ScenarioError, match="cannot be read"):
        list(sim.fit.runs.read_rows(file))
    file.write_bytes(gzip.compress(b"x")[:10] + b"\xff" * 40)
    with pytest.raises(ScenarioError, match="cannot be read"):
        list(sim.fit.runs.read_rows(file))
