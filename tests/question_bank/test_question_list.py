"""Simple lists become items that load; a new pack from the template passes the check."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from question_bank import BankError, check_bank, load_bank
from question_bank.question_list import ListedOption, ListedQuestion, read_list, to_items, to_yaml
from question_bank.schema import ItemFile
from question_bank.template import new_pack

MARKDOWN = """# What a token keeps
What does a token keep in the cache, {really}?

- [x] keys and values
  Later tokens need both.
- [ ] its query

## Why so
Why are queries not kept?
Answer: They are used once.
Then they are forgotten.
"""
CSV = """question,option_1,option_2,answer,reason_1,topic,difficulty
"One, two?",yes,no,2,because,kv,3
Why?,,,so it is,,,
"""


def listed(folder: Path, name: str, text: str) -> list[ListedQuestion]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_list(path)


def test_markdown_questions_with_options_and_with_answers(tmp_path: Path) -> None:
    first, second = listed(tmp_path, "q.md", MARKDOWN)
    assert (first.title, first.line) == ("What a token keeps", 1)
    assert first.options == [
        ListedOption("keys and values", True, "Later tokens need both."),
        ListedOption("its query", False),
    ]
    assert (second.text, second.answer) == (
        "Why are queries not kept?",
        "They are used once.\nThen they are forgotten.",
    )


def test_csv_questions(tmp_path: Path) -> None:
    first, second = listed(tmp_path, "q.csv", CSV)
    assert [option.right for option in first.options] == [False, True]
    assert (first.text, first.topic, first.difficulty, first.options[0].reason) == ("One, two?", "kv", 3, "because")
    assert (second.answer, second.options) == ("so it is", [])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("q.md", "# A\nWhat?\n- [ ] x\n- [ ] y\n", "q.md:1: 'A' has 0 right options"),
        ("q.md", "# A\nWhat?\n- [x] x\n", "has 1 options; give 2 to 8"),
        ("q.md", "# A\n\n# B\nWhat?\nAnswer: x\n", "q.md:1: 'A' has no text"),
        ("q.md", "# A\nWhat?\n", "neither options nor an answer"),
        ("q.md", "no heading", "holds no question"),
        ("q.csv", "text,answer\na,b\n", "q.csv:1: the header needs the columns question and answer"),
        ("q.csv", "question,answer,difficulty\na,b,9\n", "q.csv:2: difficulty '9'"),
        ("q.txt", "", "ends in .md or .csv"),
    ],
)
def test_what_a_list_must_not_be(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(BankError) as caught:
        listed(tmp_path, name, text)
    assert says in str(caught.value)


def test_imported_items_load_into_a_new_pack_and_pass_the_check(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    files = new_pack(folder, "mine")
    assert {path.name for path in files} >= {"pack.yaml", "topics.yaml", "sources.yaml", "examples.yaml"}
    questions = listed(tmp_path, "q.md", MARKDOWN)
    (folder / "items" / "list.yaml").write_text(to_yaml(to_items(questions, "mine/first-lesson", "adding")))
    bank = load_bank([folder], built_in=False)
    assert check_bank(bank) == []
    item = bank.item("mine/first-lesson/what-a-token-keeps")
    assert item.kind == "checkpoint"
    assert item.prompt == "What does a token keep in the cache, {{really}}?"
    assert bank.item("mine/first-lesson/why-so").kind == "probe"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            ListedQuestion,
            line=st.just(1),
            title=st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40).filter(str.strip),
            text=st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=80).filter(str.strip),
            answer=st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=80).filter(str.strip),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_list_becomes_items_with_ids_of_their_own(questions: list[ListedQuestion]) -> None:
    data = yaml.safe_load(to_yaml(to_items(questions, "tiny/lesson", "sums")))
    file = ItemFile.model_validate(data)
    assert len({item.id for item in file.items}) == len(questions)


def test_a_new_pack_is_not_written_over_anything(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("x")
    with pytest.raises(BankError, match="not empty"):
        new_pack(tmp_path / "there", "there")
    with pytest.raises(BankError, match="small letters"):
        new_pack(tmp_path / "new", "Not An Id")
