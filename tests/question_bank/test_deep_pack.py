"""The built-in packs pass the deep check, with a reference or a scenario behind every number."""

from __future__ import annotations

from pathlib import Path

import pytest

from question_bank import load_bank
from question_bank.deep import check_deep, load_references

REFERENCES = Path(__file__).parent / "references"


@pytest.mark.slow
def test_the_built_in_packs_pass_the_deep_check() -> None:
    report = check_deep(load_bank(), load_references(REFERENCES))
    assert [str(problem) for problem in report.problems] == []
    assert report.by_reference > 0
    assert report.directions > 0
