"""Exports from anybody: taken whole or not at all, and never able to change or hide what is here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tutor.errors import TutorError
from tutor.grading.grade import answer_hash
from tutor.imports import EventCheck, known_kinds
from tutor.interview import unfinished
from tutor.reports import held
from tutor.store import Store, export_lines, import_lines, open_store, state_hash

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HEADER = '{"type":"header","format":"tutor-export","version":1}'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "tutor.db") as found:
        found.append("interview:mine", "mine", {"mode": "study"}, AT)
        yield found


def event(**changes: object) -> str:
    line = {"type": "event", "id": "e1", "stream": "interview:theirs", "kind": "theirs", "at": AT.isoformat()}
    return json.dumps({**line, "payload": {}, **changes})


REFUSED = {
    "an id of another line": [event(id="")],
    "a time without its place": [event(at="2026-03-02T09:00:00")],
    "a field that is none of ours": [event(seq=1)],
    "a payload that is no object": [event(payload=[])],
    "nesting without end": [event(payload={}).replace("{}", '{"a":' * 500 + "1" + "}" * 500)],
    "a number without end": [event().replace("{}", '{"a": ' + "9" * 5_000 + "}")],
    "an infinite number": [event().replace("{}", '{"a": 1e999}')],
    "no number": [event().replace("{}", '{"a": NaN}')],
    "half a letter": [event().replace("{}", '{"a": "\\ud800"}')],
    "a line beyond all bounds": [event(stream="s" * 501)],
    "another format": ['{"type":"header","format":"other","version":1}'],
    "a draft at no place": [json.dumps({"type": "draft", "stream": "s", "position": -1, "slot": "", "text": ""})],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_export_is_refused_whole(store: Store, name: str) -> None:
    before = state_hash(store)
    lines = [HEADER, event(id="fine", stream="drills"), *REFUSED[name]]
    with pytest.raises(TutorError) as said:
        import_lines(store, lines, source="given.jsonl")
    assert "given.jsonl" in said.value.message
    assert len(said.value.message) < 1000
    assert state_hash(store) == before


def test_what_is_here_cannot_be_changed_or_continued_differently(store: Store) -> None:
    mine = next(iter(store.events()))
    before = state_hash(store)
    forged = event(id=mine.id, stream=mine.stream, kind=mine.kind, payload={"mode": "interview"})
    assert import_lines(store, [HEADER, forged], source="f").events_added == 0
    assert state_hash(store) == before, "an event that is here stays as it is"
    with pytest.raises(TutorError, match="went on differently"):
        import_lines(store, [HEADER, event(id="other", stream=mine.stream)], source="f")
    assert state_hash(store) == before


FORGED = {
    "an interview without questions": event(kind="interview.started", payload={}),
    "a grade in words": event(kind="attempt.graded", payload={"attempt_id": "a", "grade": {"criteria": "all met"}}),
    "a grade of no answer": event(
        kind="attempt.graded",
        payload={"attempt_id": "a", "grade": {"criteria": [], "provenance": {"answer_hash": "0"}}},
    ),
    "a rating that there is not": event(stream="drill:x", kind="drill.reviewed", payload={"rating": 99}),
    "a mark for a point that there is not": event(
        kind="criterion.self_marked", payload={"position": 0, "criterion": "charm", "verdict": "met"}
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_an_event_that_is_not_of_its_form_is_refused(store: Store, name: str) -> None:
    before = state_hash(store)
    with pytest.raises(TutorError, match="line 2"):
        import_lines(store, [HEADER, FORGED[name]], source="f", check=EventCheck())
    assert state_hash(store) == before


def test_a_grade_cannot_be_moved_to_another_answer(store: Store) -> None:
    submitted = {"position": 0, "attempt_id": "a", "number": 1, "text": "An excellent answer."}
    grade = {"criteria": [], "provenance": {"answer_hash": answer_hash("An excellent answer.")}}
    graded = event(id="e2", kind="attempt.graded", payload={"attempt_id": "a", "grade": grade})
    swapped = event(kind="answer.submitted", payload={**submitted, "text": "I do not know."})
    with pytest.raises(TutorError, match="belongs to another answer"):
        import_lines(store, [HEADER, swapped, graded], source="f", check=EventCheck())
    own = event(kind="answer.submitted", payload=submitted)
    assert import_lines(store, [HEADER, own, graded], source="f", check=EventCheck()).events_added == 2


def test_a_kind_of_a_newer_version_is_kept_and_hides_nothing(store: Store) -> None:
    import_lines(store, [HEADER, event(kind="no.such.kind", payload={"points": 4})], source="f", check=EventCheck())
    assert held(store) == []
    assert unfinished(store) == []
    assert len(list(export_lines(store))) == 3, "header, what was here, what was taken"


def test_the_program_s_own_kinds_are_all_looked_at() -> None:
    assert {"answer.submitted", "attempt.graded", "interview.started", "drill.reviewed", "lab.claim_settled"} <= set(
        known_kinds()
    )
