"""The example in docs/writing-a-bank.md loads and passes the check."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from question_bank import check_bank
from tests.question_bank.bank_kit import bank_with, lesson

GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-bank.md"


def test_the_example_is_sound(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (item,) = yaml.safe_load(next(block for block in blocks if block.startswith("- id:")))
    for criterion in ("reasoning", "failure", "verification"):
        item["criteria"][criterion] = item["criteria"]["result"]
    item["id"] = "tiny/lesson/sum"
    assert check_bank(bank_with(tmp_path, lesson(item))) == []
