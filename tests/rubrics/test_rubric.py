"""The four-point rubric and its file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from rubrics import CRITERION_IDS, RubricError, load_rubric
from rubrics.schema import DEFAULT_PATH


def test_four_binary_criteria_in_a_fixed_order() -> None:
    rubric = load_rubric()
    assert tuple(criterion.id for criterion in rubric.criteria) == CRITERION_IDS
    assert CRITERION_IDS == ("result", "reasoning", "failure", "verification")
    assert rubric.criterion("failure").id == "failure"


def test_a_tool_name_alone_earns_no_reasoning_point() -> None:
    assert any("tool" in text for text in load_rubric().criterion("reasoning").not_enough)


def test_the_hash_follows_the_content_and_not_the_layout(tmp_path: Path) -> None:
    data = yaml.safe_load(DEFAULT_PATH.read_text(encoding="utf-8"))
    same = tmp_path / "same.yaml"
    same.write_text(yaml.safe_dump(data, width=40, sort_keys=True), encoding="utf-8")
    assert load_rubric(same).rubric_hash == load_rubric().rubric_hash
    assert len(load_rubric().rubric_hash) == 64

    data["criteria"][0]["question"] += " Really?"
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump(data), encoding="utf-8")
    assert load_rubric(other).rubric_hash != load_rubric().rubric_hash


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "rubric"),
        ("id: [", "not valid YAML"),
        ("id: x\nversion: 1\ntitle: t\ncriteria: []\n", "in this order"),
        ("id: x\nversion: 1\ntitle: t\ncriteria: []\nextra: 1\n", "extra"),
    ],
)
def test_a_bad_file_is_one_sentence_with_its_name(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RubricError, match=says) as caught:
        load_rubric(path)
    assert "bad.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RubricError, match=r"nowhere\.yaml: cannot be read"):
        load_rubric(tmp_path / "nowhere.yaml")
