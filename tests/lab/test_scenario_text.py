"""Scenario texts: fields with their places, changes that keep layout and comments, and what differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.lab.differences import differences
from tutor.lab.gallery import builtin_entries, new_entry
from tutor.lab.known_fields import addable
from tutor.lab.scenario_text import STARTER, check, leaves, replaced, with_field
from tutor.lab.topics import topics_of

ENTRIES = [*builtin_entries(), new_entry()]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.title)
def test_every_value_can_be_written_back_where_it_stands(entry) -> None:  # type: ignore[no-untyped-def]
    checked = check(entry.text, entry.folder)
    assert checked.scenario is not None
    found = leaves(entry.text)
    assert found
    for leaf in found:
        assert entry.text[leaf.start : leaf.end] == leaf.text
        assert entry.text.splitlines()[leaf.line - 1].find(leaf.text.split("\n")[0]) >= 0
        assert replaced(entry.text, leaf, leaf.text) == entry.text
    assert differences(entry.text, entry.text) == ()
    for path in addable(checked.scenario, entry.text):
        assert path not in {leaf.path for leaf in found}


def test_a_change_keeps_comments_and_is_the_only_difference() -> None:
    text = with_field(STARTER, "server.max_seqs", "32")
    assert text.replace("max_seqs: 32", "max_seqs: 64") == STARTER
    assert [one.words() for one in differences(STARTER, text)] == ["server.max_seqs 64 → 32"]


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("server.watermark", "0.05", "kv_blocks: 6000, watermark: 0.05}"),
        ("fleet.replicas", "2", "fleet: {replicas: 2}"),
        ("classes.chat.priority", "1", "    priority: 1"),
        ("horizon_s", "60", "horizon_s: 60"),
    ],
)
def test_fields_that_were_not_there_are_added(path: str, value: str, line: str) -> None:
    text = with_field(STARTER, path, value)
    assert line in text
    assert check(text).scenario is not None
    (only,) = differences(STARTER, text)
    assert only.words() == f"{path} (default) → {value}"


@pytest.mark.parametrize("path", ["", "a..b", " server", "classes.nobody.slo.ttft_s"])
def test_a_path_that_leads_nowhere_is_a_sentence(path: str) -> None:
    with pytest.raises(ValueError, match=r"is no path|There is no"):
        with_field(STARTER, path, "1")


def test_equal_numbers_written_otherwise_are_no_difference() -> None:
    assert differences(STARTER, STARTER.replace("rate_per_s: 10", "rate_per_s: 10.0").replace("{", "{ ")) == ()
    assert differences(STARTER, STARTER.replace("My scenario", "Another name")) == ()


def test_a_mistake_has_its_line_and_field() -> None:
    wrong = check(STARTER.replace("max_seqs: 64", "max_seqs: 0"))
    assert (wrong.scenario, wrong.line, wrong.path) == (None, 10, "server.max_seqs")
    assert wrong.sentence == "line 10: server.max_seqs: must be at least 1, not 0"
    inside = check(STARTER.replace("ttft_s: 0.5", "ttft_s: -1"))
    assert (inside.line, inside.path) == (9, "classes.chat.slo.ttft_s")
    assert check("name: [").line == 1
    assert check("x" * 300_000).scenario is None


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_a_sentence(text: str) -> None:
    found = check(text)
    assert found.scenario is not None or found.sentence
    for leaf in leaves(text) or ():
        assert 0 <= leaf.start <= leaf.end <= len(text)


@given(st.sampled_from([leaf.path for leaf in leaves(STARTER) or ()]), st.text(max_size=12))
def test_whatever_is_typed_into_a_field_leaves_the_others_alone(path: str, value: str) -> None:
    leaf = next(leaf for leaf in leaves(STARTER) or () if leaf.path == path)
    text = replaced(STARTER, leaf, value)
    assert text.startswith(STARTER[: leaf.start])
    assert text.endswith(STARTER[leaf.end :])


def test_topics_follow_the_change_before_the_metric() -> None:
    assert topics_of(["server.kv_blocks"], "chat.ttft_s.p95") == ("kv-cache-size", "preemption")
    assert topics_of([], "chat.ttft_s.p95") == ("ttft",)
    assert topics_of(["server.kv_blocks"], "x", {"preemption"}) == ("preemption",)
