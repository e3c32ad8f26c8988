"""Items out to Anki, reviews back from it, and tables that both read."""

from __future__ import annotations

import csv
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from question_bank.load import Bank
from tests.drills.conftest import Clock
from tutor.drills import Deck, Drills, Outcome, Rating
from tutor.drills import events as ev
from tutor.drills.anki import as_html, guid_of, write_apkg
from tutor.drills.anki_history import read_history
from tutor.drills.tables import _headers, item_table, read_notes, review_table
from tutor.errors import TutorError
from tutor.store import Store, state_hash

SUM = "small/lesson/sum"


@pytest.fixture
def small(store: Store, small_bank: Bank, new_id: Callable[[], str]) -> Iterator[Drills]:
    with Drills(store, Deck.from_bank(small_bank), new_id=new_id) as drills:
        yield drills


def unpacked(package: Path, folder: Path) -> Path:
    with zipfile.ZipFile(package) as archive:
        archive.extract("collection.anki2", folder)
    return folder / "collection.anki2"


def answered_in_anki(collection: Path, reviews: list[tuple[str, str, int, int]]) -> None:
    """Adds to the collection what Anki writes for answers: guid, moment, button, type."""
    database = sqlite3.connect(collection)
    for guid, moment, button, kind in reviews:
        (card_id,) = database.execute(
            "SELECT c.id FROM cards c JOIN notes n ON n.id = c.nid WHERE n.guid = ?", (guid,)
        ).fetchone()
        milliseconds = round(datetime.fromisoformat(moment).timestamp() * 1000)
        database.execute(
            "INSERT INTO revlog (id, cid, usn, ease, ivl, lastIvl, factor, time, type) "
            "VALUES (?, ?, -1, ?, 1, 0, 0, ?, ?)",
            (milliseconds, card_id, button, 4_500, kind),
        )
    database.commit()
    database.close()


def berlin(moment: datetime) -> datetime:
    return moment.astimezone(ZoneInfo("Europe/Berlin"))


# -- out --------------------------------------------------------------------------------------------------------------


def test_every_item_is_a_note_with_a_stable_guid(small: Drills, clock: Clock, tmp_path: Path) -> None:
    small.note(SUM, "mine & <mine>", clock())
    assert write_apkg(small, tmp_path / "deck.apkg", timestamp=1.0) == 5
    database = sqlite3.connect(unpacked(tmp_path / "deck.apkg", tmp_path))
    notes = {guid: fields.split("\x1f") for guid, fields in database.execute("SELECT guid, flds FROM notes")}
    assert set(notes) == {guid_of(item.id) for item in small.deck.items}
    item_id, front, back, note = notes[guid_of(SUM)]
    assert item_id == SUM
    assert "Queue 100 ms, prefill 160 ms" in front
    assert "260 ms" in back
    assert note == "mine &amp; &lt;mine&gt;"
    tags = dict(database.execute("SELECT guid, tags FROM notes"))
    assert tags[guid_of(SUM)].split() == ["timing"]
    database.close()


def test_a_file_that_is_there_is_not_overwritten(small: Drills, tmp_path: Path) -> None:
    (tmp_path / "deck.apkg").write_text("precious")
    with pytest.raises(TutorError, match="is there already"):
        write_apkg(small, tmp_path / "deck.apkg", timestamp=1.0)
    assert (tmp_path / "deck.apkg").read_text() == "precious"


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("One line\nwrapped", "<p>One line wrapped</p>"),
        ("**a** and `b < c`", "<p><b>a</b> and <code>b &lt; c</code></p>"),
        ("First:\n\n- one\n- two\n  more", "<p>First:</p><ul><li>one</li><li>two more</li></ul>"),
        ("1. one\n2. two", "<ol><li>one</li><li>two</li></ol>"),
        ("    a = 1\n    b = 2\n\nend", "<pre>a = 1\nb = 2</pre><p>end</p>"),
        ("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>"),
        ("", ""),
    ],
)
def test_the_little_markdown_as_html(markdown: str, html: str) -> None:
    assert as_html(markdown) == html


@given(st.text(max_size=80))
def test_no_text_brings_tags_of_its_own(text: str) -> None:
    rest = as_html(text)
    for tag in ("p", "b", "code", "ul", "ol", "li", "pre"):
        rest = rest.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    assert "<" not in rest


# -- reviews back -----------------------------------------------------------------------------------------------------


@pytest.fixture
def collection(small: Drills, tmp_path: Path) -> Path:
    write_apkg(small, tmp_path / "deck.apkg", timestamp=1.0)
    found = unpacked(tmp_path / "deck.apkg", tmp_path)
    guid = guid_of(SUM)
    answered_in_anki(
        found,
        [
            (guid, "2026-03-02T08:00:00+00:00", 3, 0),
            # 2:30 at night in Berlin on the day the clock was put forward, so it belongs to the evening before.
            (guid, "2026-03-29T01:30:00+00:00", 1, 1),
            (guid, "2026-03-30T09:00:00+00:00", 3, 2),
            (guid, "2026-03-31T09:00:00+00:00", 3, 3),
            (guid, "2026-04-01T09:00:00+00:00", 0, 4),
            (guid, "2026-04-02T09:00:00+00:00", 3, 5),
        ],
    )
    return found


def test_answers_count_and_cramming_does_not(small: Drills, collection: Path) -> None:
    report = read_history(small, collection, local=berlin)
    assert (report.added, report.known, report.not_counted, report.of_others) == (3, 0, 3, 0)
    reviews = [entry.payload for _, entry in small.log.reviews()]
    assert [(each.day.isoformat(), each.rating, each.source) for each in reviews if isinstance(each, ev.Reviewed)] == [
        ("2026-03-02", Rating.GOOD, "anki"),
        ("2026-03-28", Rating.AGAIN, "anki"),
        ("2026-03-30", Rating.GOOD, "anki"),
    ]
    state = small.card(SUM).state
    assert (state.reviews, state.lapses) == (3, 1)
    assert small.check() == []


def test_reading_it_twice_changes_nothing_and_undo_leaves_it_alone(
    small: Drills, collection: Path, clock: Clock
) -> None:
    read_history(small, collection, local=berlin)
    before = state_hash(small.store)
    report = read_history(small, collection, local=berlin)
    assert (report.added, report.known) == (0, 3)
    assert state_hash(small.store) == before
    assert small.undo(clock()) is None


def test_a_history_that_comes_late_is_put_in_its_place(small: Drills, collection: Path, clock: Clock) -> None:
    clock.now = datetime(2026, 4, 10, 9, 0, tzinfo=UTC)
    shown = small.present(SUM, "new", clock())
    small.record(shown, Outcome(Rating.GOOD, True, "right"), clock())
    assert small.card(SUM).state.reviews == 1
    read_history(small, collection, local=berlin)
    state = small.card(SUM).state
    assert (state.reviews, state.first_day, state.last_day) == (4, datetime(2026, 3, 2).date(), clock.now.date())  # noqa: DTZ001
    assert small.check() == []


def test_a_package_and_a_newer_collection_in_it(small: Drills, collection: Path, tmp_path: Path) -> None:
    package = tmp_path / "history.apkg"
    with zipfile.ZipFile(package, "w") as archive:
        archive.write(collection, "collection.anki21")
        archive.writestr("collection.anki2", b"an older stand-in")
    assert read_history(small, package, local=berlin).added == 3


@pytest.mark.parametrize("content", ["text", "zip", "newest", "sqlite", "missing", "cut"])
def test_what_is_not_of_anki_is_refused_in_a_sentence(
    small: Drills, collection: Path, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "given.apkg"
    if content == "text":
        file.write_text("no collection")
    elif content == "zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("other", b"x")
    elif content == "newest":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("collection.anki21b", b"\x28\xb5\x2f\xfd")
    elif content == "sqlite":
        database = sqlite3.connect(file)
        database.execute("CREATE TABLE other (x)")
        database.close()
    elif content == "cut":
        file.write_bytes((tmp_path / "deck.apkg").read_bytes()[:200])
    with pytest.raises(TutorError) as refused:
        read_history(small, file)
    assert str(file) in refused.value.message
    assert refused.value.hint
    assert small.store.events() == []


# -- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("separator", "char"), [("tab", "\t"), ("comma", ",")])
def test_a_table_has_ankis_headers_and_a_row_an_item(small: Drills, separator: str, char: str) -> None:
    lines = list(item_table(small, "tab" if separator == "tab" else "comma"))
    assert lines[:7] == [
        f"#separator:{separator}",
        "#html:true",
        "#notetype:Tutor item",
        "#guid column:1",
        "#deck column:2",
        "#tags column:3",
        "#columns:" + char.join(["GUID", "Deck", "Tags", "Item", "Front", "Back", "Note"]),
    ]
    rows = list(csv.reader(lines[7:], delimiter=char))
    assert [row[3] for row in rows] == [item.id for item in small.deck.items]
    assert {len(row) for row in rows} == {7}
    assert rows[0][0] == guid_of(SUM)


def test_notes_go_out_and_come_back_and_schedules_are_kept(small: Drills, clock: Clock) -> None:
    small.record(small.present(SUM, "new", clock()), Outcome(Rating.GOOD, True, "right"), clock())
    due = small.card(SUM).due_day
    small.note(SUM, "a < b & c\nsecond line", clock.forward(minutes=1))
    lines = list(item_table(small))
    same = read_notes(small, lines, clock.forward(minutes=1), source="x.tsv")
    assert (same.changed, same.same, same.of_others) == (0, 5, 0)
    small.note(SUM, "", clock.forward(minutes=1))
    assert read_notes(small, lines, clock.forward(minutes=1), source="x.tsv").changed == 1
    assert small.card(SUM).state.note == "a < b & c\nsecond line"
    assert small.card(SUM).due_day == due


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\tb\n", "columns are not named"),
        ("#columns:Item\tFront\nx\ty\n", "Note and Item or GUID are needed"),
        ("#separator:rubbish\n", "line 1"),
        ("#separator:comma\n#columns:Item,Note\nsmall/lesson/sum\n", "line 3"),
        ("#separator:comma\n#columns:Item,Note\nsmall/lesson/sum," + "x" * 2001 + "\n", "2,001 characters"),
        ("", "columns are not named"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_with_its_line(small: Drills, clock: Clock, text: str, words: str) -> None:
    with pytest.raises(TutorError) as refused:
        read_notes(small, text.splitlines(keepends=True), clock(), source="given.tsv")
    assert words in str(refused.value)
    assert "given.tsv" in str(refused.value)
    assert small.store.events() == []


def test_rows_of_others_are_counted_and_passed_over(small: Drills, clock: Clock) -> None:
    lines = ["#separator:comma\n", "#columns:Item,Note\n", "elsewhere,x\n", "small/lesson/sum,y\n", "\n"]
    report = read_notes(small, lines, clock(), source="given.csv")
    assert (report.changed, report.of_others) == (1, 1)


@given(st.lists(st.text(max_size=60), max_size=12))
def test_headers_and_rows_are_all_the_lines(lines: list[str]) -> None:
    every = [f"{line}\n" for line in lines if not line.lower().lstrip("# ").startswith("separator")]
    separator, columns, body, above = _headers(every, "drawn")
    assert separator == "\t"
    assert above + len(body) == len(every)
    assert all(column == column.strip().lower() for column in columns)


def test_reviews_as_a_table_that_other_tools_read(small: Drills, clock: Clock) -> None:
    shown = small.present(SUM, "new", clock())
    small.record(shown, Outcome(Rating.AGAIN, False, "Wrong, by a comma."), clock.forward(seconds=20), confidence=3)
    rows = list(csv.DictReader(review_table(small)))
    assert len(rows) == 1
    assert rows[0]["card_id"] == SUM
    assert (rows[0]["review_rating"], rows[0]["review_duration"]) == ("1", "20000")
    assert datetime.fromisoformat(rows[0]["review_time"]) == clock.now
    assert rows[0]["reason"] == "Wrong, by a comma."
