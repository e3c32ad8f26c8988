"""The studies of docs/simulator/library.md give what the page says they give."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "simulator" / "library.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_studies_print_what_the_page_shows() -> None:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 3
    names: dict[str, object] = {"__name__": "study"}
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == shown
