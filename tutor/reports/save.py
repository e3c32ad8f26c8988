"""Writing a report to a file: whole or not at all, and readable by its owner only."""

from __future__ import annotations

import os
import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from tutor.paths import FILE_MODE
from tutor.reports.html import as_html
from tutor.reports.markdown import as_markdown
from tutor.reports.models import ReportError
from tutor.text import sanitize

if TYPE_CHECKING:
    from tutor.reports.models import Report

Format = Literal["md", "html", "json"]
_ENDINGS: Final[dict[str, Format]] = {".md": "md", ".html": "html", ".htm": "html", ".json": "json"}


def rendered(report: Report, form: Format) -> str:
    """The report in one of its forms."""
    if form == "html":
        return as_html(report)
    # Markdown is read in terminals too.
    return sanitize(as_markdown(report)) if form == "md" else report.model_dump_json(indent=2) + "\n"


def format_of(path: Path) -> Format:
    """The form that a file's ending asks for.

    Raises:
        ReportError: it is none of them.
    """
    form = _ENDINGS.get(path.suffix.lower())
    if form is not None:
        return form
    raise ReportError(f"{path.name}: a report is written as .html, .md or .json.", hint="Change the ending.")


def file_name(title: str, day: date, form: Format) -> str:
    """A name for the file of a report, such as `25-minute-screen-2026-03-02.html`."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-")
    return f"{words or 'report'}-{day}.{form}"


def write(text: str, path: Path) -> None:
    """Write a text in one piece; a file that is there already is replaced as a whole or not at all.

    Raises:
        ReportError: it cannot be written; nothing was changed.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Answers are private.
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ReportError(
            f"{path} cannot be written: {error.strerror or error}.", hint="Choose another place; nothing was changed."
        ) from None


def free_path(path: Path) -> Path:
    """The path itself, or with a number where something is there already."""
    found, number = path, 1
    while found.exists():
        number += 1
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return found
