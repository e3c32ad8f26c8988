"""A store in a folder of its own, and a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tutor.store import Store, open_store


@pytest.fixture
def at() -> datetime:
    return datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "data" / "tutor.db") as opened:
        yield opened
