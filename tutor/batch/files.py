"""Answers in, grades out: one JSON object a line, a table for spreadsheets, a page to read."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubrics import CRITERION_IDS
from tutor.errors import TutorError
from tutor.grading.models import Grade
from tutor.paths import private_opener
from tutor.text import sanitize

MAX_FILE_BYTES: Final = 200 << 20
SYMBOLS: Final = {"met": "✓", "not_met": "✗", "unsure": "?", "not_graded": "–"}
FORMULA_SIGNS: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would compute instead of showing it."""


class BatchAnswer(BaseModel):
    """One line of the input."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=200)]
    item: Annotated[str, Field(min_length=1)]
    answer: str
    seed: Annotated[int, Field(ge=0)] = 0
    candidate: str | None = None
    """Whose it is; kept with the grade."""

    @property
    def content_hash(self) -> str:
        """What a grade belongs to: the same id with another text is graded anew."""
        text = json.dumps([self.item, self.seed, self.answer], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class GradedAnswer(BaseModel):
    """One line of the output."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    item: str
    seed: int
    candidate: str | None = None
    content_hash: str
    server: str = ""
    """Which server graded it; empty where code did alone."""
    grade: Grade | None
    problem: str = ""
    """Why there is no grade, such as an answer that is too long."""


def read_answers(path: Path) -> list[BatchAnswer]:
    """The answers of a file.

    Raises:
        TutorError: naming the line that cannot be used, or an id that stands twice.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise TutorError(f"{path}: larger than {MAX_FILE_BYTES >> 20} MiB.", hint="Divide it.")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TutorError(f"{path}: {error.strerror or error}.", hint="Give a readable file.") from None
    except UnicodeDecodeError as error:
        raise TutorError(f"{path}: byte {error.start} is not UTF-8 text.", hint="Save it as UTF-8.") from None
    found: dict[str, BatchAnswer] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            answer = BatchAnswer.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise TutorError(
                f"{path}, line {number}: {f'{field}: ' if field else ''}{first['msg']}.",
                hint='A line looks like {"id": "a1", "item": "serving/…/…", "seed": 0, "answer": "…"}.',
            ) from None
        if answer.id in found:
            raise TutorError(f"{path}, line {number}: the id {answer.id!r} stands twice.", hint="Give each its own.")
        found[answer.id] = answer
    if not found:
        raise TutorError(f"{path}: holds no answers.", hint="Write one JSON object a line.")
    return list(found.values())


class Results:
    """The output file: a line on the disk for each answer as soon as it is graded; read again when resumed."""

    def __init__(self, path: Path) -> None:
        """Raises TutorError when the file cannot be used."""
        self.path = path
        self.graded: dict[str, GradedAnswer] = {}
        try:
            raw = path.read_bytes() if path.exists() else b""
            whole = raw[: raw.rfind(b"\n") + 1]  # a line that a power cut tore off is graded again
            for line in whole.split(b"\n"):
                if line.strip():
                    each = GradedAnswer.model_validate_json(line)
                    self.graded[each.id] = each
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.ftruncate(self._handle, len(whole))
        except OSError as error:
            raise TutorError(f"{path}: {error.strerror or error}.", hint="Choose another --out.") from None
        except ValidationError:
            raise TutorError(f"{path}: is no file of graded answers.", hint="Choose another --out.") from None

    def has(self, answer: BatchAnswer) -> bool:
        """Whether this very text was graded."""
        return answer.id in self.graded and self.graded[answer.id].content_hash == answer.content_hash

    def put(self, graded: GradedAnswer) -> None:
        """Keep a grade; on the disk when this returns.

        Raises:
            TutorError: it cannot be written.
        """
        try:
            os.write(self._handle, graded.model_dump_json().encode() + b"\n")
            os.fsync(self._handle)
        except OSError as error:
            raise TutorError(
                f"{self.path}: {error.strerror or error}.", hint="Make room, and run the same command to go on."
            ) from None
        self.graded[graded.id] = graded

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


def csv_text(answers: Sequence[BatchAnswer], graded: Mapping[str, GradedAnswer]) -> str:
    """A row an answer, in the order of the input; text that a spreadsheet would compute is quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["id", "candidate", "item", "seed", "points", "of", "unsure", "not_graded"]
        + [f"{criterion}{suffix}" for criterion in CRITERION_IDS for suffix in ("", "_reason", "_quote")]
        + ["model", "grader", "problem"]
    )
    for answer in answers:
        each = graded.get(answer.id)
        grade = each.grade if each is not None else None
        row: list[object] = [answer.id, answer.candidate or "", answer.item, answer.seed]
        if grade is None:
            row += ["", "", "", ""] + [""] * (3 * len(CRITERION_IDS)) + ["", "", each.problem if each else "not graded"]
        else:
            row += [grade.met_count, grade.of, grade.unsure_count, grade.not_graded_count]
            for one in grade.criteria:
                row += [one.verdict, one.reason, one.quote.text if one.quote is not None else ""]
            row += [grade.provenance.model or "none", grade.provenance.grader_version, ""]
        writer.writerow([_cell(value) for value in row])
    return out.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = sanitize(value)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def markdown_text(title: str, answers: Sequence[BatchAnswer], graded: Mapping[str, GradedAnswer]) -> str:
    """A page: counts per item and criterion, then a row an answer."""
    lines = [f"# {_inline(title)}", ""]
    done = [graded[answer.id] for answer in answers if answer.id in graded]
    lines += [f"{len(done):,} of {len(answers):,} answers graded.", ""]
    lines += ["| item | answers | " + " | ".join(CRITERION_IDS) + " | mean points |", "|---|--:|" + "--:|" * 5]
    for item in dict.fromkeys(answer.item for answer in answers):
        grades = [each.grade for each in done if each.item == item and each.grade is not None]
        cells = [str(sum(grade.criterion(each).verdict == "met" for grade in grades)) for each in CRITERION_IDS]
        mean = f"{sum(grade.met_count for grade in grades) / len(grades):.2f}" if grades else "–"
        lines.append(f"| {_inline(item)} | {len(grades)} | {' | '.join(cells)} | {mean} |")
    lines += ["", "| answer | candidate | item | " + " | ".join(CRITERION_IDS) + " | points |"]
    lines.append("|---|---|---|" + ":-:|" * len(CRITERION_IDS) + "--:|")
    for answer in answers:
        each = graded.get(answer.id)
        grade = each.grade if each is not None else None
        if grade is None:
            why = each.problem if each is not None else "not graded"
            shown, points = [_inline(why), *[""] * (len(CRITERION_IDS) - 1)], "–"
        else:
            shown, points = [SYMBOLS[one.verdict] for one in grade.criteria], f"{grade.met_count} of {grade.of}"
        who = _inline(answer.candidate or "")
        lines.append(f"| {_inline(answer.id)} | {who} | {_inline(answer.item)} | {' | '.join(shown)} | {points} |")
    sources = sorted({_source(each.grade) for each in done if each.grade is not None})
    lines += ["", "✓ met · ✗ not met · ? unsure · – not graded", "", *[f"Graded by {source}." for source in sources]]
    return "\n".join(lines) + "\n"


def _source(grade: Grade) -> str:
    from_ = grade.provenance
    return (
        f"{_inline(from_.model or 'code and evidence alone')}, grader {from_.grader_version}, "
        f"rubric {from_.rubric_hash[:8]}, prompts {from_.prompt_hash[:8] or 'none'}"
    )


def _inline(text: str) -> str:
    """Foreign text in a Markdown table."""
    plain = " ".join(sanitize(text).split())
    for sign in ("\\", "|", "<", "*", "_", "`", "["):
        plain = plain.replace(sign, f"\\{sign}" if sign != "<" else "&lt;")
    return plain


def write_text(path: Path, parts: Iterable[str]) -> None:
    """Write a file whole.

    Raises:
        TutorError: it cannot be written.
    """
    try:
        with open(path, "w", encoding="utf-8", opener=private_opener) as file:
            file.writelines(parts)
    except OSError as error:
        raise TutorError(f"{path}: {error.strerror or error}.", hint="Choose another place.") from None
