"""Fixtures of the grading tests."""

from __future__ import annotations

import pytest

from question_bank.question import Question
from tests.grading.questions import make_question


@pytest.fixture
def completion_question() -> Question:
    """100 + 40 + 160 = 300 ms; 300 + 30 × 25 = 1,050 ms."""
    return make_question()
