"""A pack of several files: items beside lessons, topics, shared sources, follow-up trees, drafts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from question_bank import BankError, build_question, check_bank, load_bank
from tests.question_bank.bank_kit import Data, checkpoint, exercise, lesson, to_yaml, write_pack


def items_file(*items: Data, lesson_id: str = "tiny/lesson") -> str:
    return to_yaml({"lesson": lesson_id, "items": list(items)})


def source(name: str, **changes: Any) -> Data:
    data = {
        "id": name,
        "name": "A book",
        "section": "1",
        "url": "https://example.org/b",
        "date": 2024,
        "supports": "It.",
    }
    return data | changes


def pack(folder: Path, data: Data | None = None, **files: str) -> Path:
    """A pack with one lesson; `files` are more files, with / written as __ in their names."""
    write_pack(folder, data or lesson())
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(BankError) as caught:
        load_bank([folder], built_in=False)
    return str(caught.value)


def test_items_of_other_files_join_their_lesson_in_order_of_names(tmp_path: Path) -> None:
    more = checkpoint(id="tiny/lesson/more")
    folder = pack(tmp_path, items__b=items_file(more), items__a__c=items_file(checkpoint()))
    bank = load_bank([folder], built_in=False)
    assert [item.id for item in bank.items] == ["tiny/lesson/sum", "tiny/lesson/choice", "tiny/lesson/more"]
    assert bank.lesson_of("tiny/lesson/more").id == "tiny/lesson"
    assert bank.places["tiny/lesson/more"] == f"{folder}/items/b.yaml:3"


def test_a_lesson_may_have_all_its_items_elsewhere_but_not_none(tmp_path: Path) -> None:
    bare = lesson() | {"items": []}
    assert "has no items" in refusal(pack(tmp_path / "a", bare))
    folder = pack(tmp_path / "b", bare, items__x=items_file(checkpoint()))
    assert len(load_bank([folder], built_in=False).items) == 1


def test_an_item_file_of_an_unknown_lesson_names_the_nearest(tmp_path: Path) -> None:
    stray = checkpoint(id="tiny/leson/choice")
    message = refusal(pack(tmp_path, items__x=items_file(stray, lesson_id="tiny/leson")))
    assert "items/x.yaml:1: lesson:" in message
    assert "did you mean 'tiny/lesson'?" in message


def test_the_same_id_in_two_files_is_refused_with_both_places(tmp_path: Path) -> None:
    message = refusal(pack(tmp_path, items__x=items_file(exercise())))
    assert "items/x.yaml:3: id 'tiny/lesson/sum' is already used at" in message
    assert "one.yaml:" in message


def test_topics_bind_the_items_of_their_pack(tmp_path: Path) -> None:
    topics = to_yaml({"topics": [{"id": "summing", "title": "Sums"}]})
    message = refusal(pack(tmp_path / "a", topics=topics))
    assert "items.0.topics: 'sums' is not in the pack's topics.yaml; did you mean 'summing'?" in message
    fine = to_yaml(
        {"topics": [{"id": "first", "title": "F"}, {"id": "sums", "title": "S", "prerequisites": ["first"]}]}
    )
    bank = load_bank([pack(tmp_path / "b", topics=fine)], built_in=False)
    assert [topic.id for topic in bank.topics["tiny"]] == ["first", "sums"]


@pytest.mark.parametrize(
    ("topics", "says"),
    [
        ([{"id": "sums", "title": "S"}, {"id": "sums", "title": "T"}], "stands twice"),
        (
            [{"id": "sums", "title": "S", "prerequisites": ["later"]}, {"id": "later", "title": "L"}],
            "does not stand above",
        ),
    ],
)
def test_topics_stand_once_and_below_those_to_know_first(tmp_path: Path, topics: list[Data], says: str) -> None:
    assert says in refusal(pack(tmp_path, topics=to_yaml({"topics": topics})))


def test_a_lesson_gets_the_shared_sources_that_it_names(tmp_path: Path) -> None:
    shared = to_yaml({"sources": [source("used"), source("unused")]})
    folder = pack(tmp_path, lesson(exercise(sources=["used"])), sources=shared)
    bank = load_bank([folder], built_in=False)
    assert [(each.id, each.date) for each in bank.lessons[0].sources] == [("used", "2024")]
    assert check_bank(bank) == []


def test_what_leads_nowhere_is_reported_with_its_place(tmp_path: Path) -> None:
    shared = to_yaml({"sources": [source("book")]})
    bad = exercise(sources=["boo", "book"], section="on", case="boot")
    bank = load_bank([pack(tmp_path, lesson(bad), sources=shared)], built_in=False)
    told = [str(problem) for problem in check_bank(bank)]
    assert len(told) == 3
    assert all("one.yaml:" in each for each in told)
    assert any("section 'on' is no section of tiny/lesson; did you mean 'one'?" in each for each in told)
    assert any("names the source 'boo'" in each and "did you mean 'book'?" in each for each in told)
    assert any("case 'boot' is not among the item's sources" in each for each in told)


def test_a_date_in_another_form_is_refused(tmp_path: Path) -> None:
    assert "sources.0.date" in refusal(pack(tmp_path, sources=to_yaml({"sources": [source("x", date="May 2024")]})))


def test_a_file_that_leads_out_of_its_pack_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text(items_file(checkpoint()), encoding="utf-8")
    folder = pack(tmp_path / "pack")
    (folder / "items").mkdir()
    os.symlink(outside, folder / "items" / "link.yaml")
    assert "leads out of its pack" in refusal(folder)


def test_a_draft_is_loaded_as_if_it_stood_in_its_pack(tmp_path: Path) -> None:
    folder = pack(tmp_path / "pack")
    draft = tmp_path / "draft.yaml"
    draft.write_text(items_file(checkpoint()), encoding="utf-8")
    bank = load_bank([folder], drafts=[draft], built_in=False)
    assert bank.places["tiny/lesson/choice"] == f"{draft}:3"
    assert check_bank(bank, only={"tiny/lesson/choice"}) == []


def test_follow_ups_below_one_inherit_what_it_is_asked_for(tmp_path: Path) -> None:
    tree = [
        {
            "id": "root",
            "criterion": "failure",
            "text": "Why {wait_ms}?",
            "good": "So.",
            "then": [{"id": "child", "text": "And then?", "then": [{"id": "leaf", "text": "And then?"}]}],
        },
    ]
    bank = load_bank([pack(tmp_path, lesson(exercise(follow_ups=tree)))], built_in=False)
    asked = build_question(bank.items[0], 0).follow_ups
    assert [(each.id, each.after, each.criterion) for each in asked] == [
        ("root", None, "failure"),
        ("child", "root", "failure"),
        ("leaf", "child", "failure"),
    ]
    assert (asked[0].text, asked[0].good) == ("Why 100?", "So.")


def test_the_same_follow_up_twice_in_a_tree_is_reported(tmp_path: Path) -> None:
    tree = [{"id": "a", "criterion": "result", "text": "?", "then": [{"id": "a", "text": "??"}]}]
    bank = load_bank([pack(tmp_path, lesson(exercise(follow_ups=tree)))], built_in=False)
    assert [problem.code for problem in check_bank(bank)] == ["duplicate-id"]
