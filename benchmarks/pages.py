"""Measured tables inside a written page: each stands between two marks and is replaced by a new measurement."""

from __future__ import annotations

from pathlib import Path


def replace_part(page: Path, name: str, text: str) -> None:
    """Put `text` between `<!-- begin NAME -->` and `<!-- end NAME -->`.

    Raises SystemExit when the page does not have both marks, in this order.
    """
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    whole = page.read_text(encoding="utf-8")
    before, found, rest = whole.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{page}: has no part between the marks {begin.strip()} and {end}; add both")
    page.write_text(f"{before}{begin}\n{text.strip()}\n\n{end}{after}", encoding="utf-8")
