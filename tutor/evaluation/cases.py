"""What is evaluated: answers with their questions and the points that people gave, whatever file they came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from question_bank import Question
from rubrics import CRITERION_IDS, CriterionId
from tutor.errors import TutorError

MAX_FILE_BYTES = 256 * 1024 * 1024
Split = Literal["calibration", "test"]
M = TypeVar("M", bound=BaseModel)


class EvaluationError(TutorError):
    """Labelled answers that cannot be used: file, line and field, and what to do about it."""


class Case(BaseModel):
    """One labelled answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: Question
    anchor: Question
    """The question whose examples a model is anchored on; the same for all draws of an item."""
    answer: str
    labels: dict[CriterionId, bool]
    """The points that people gave; a criterion that nobody labelled is absent."""
    score: float | None = Field(default=None, ge=0, le=1)
    """Partial credit from 0 to 1, where the source gives it."""
    split: Split | None = None
    kinds: tuple[str, ...] = ()
    """What the answer tries, in the source's own words."""

    @property
    def item(self) -> str:
        """What answers are grouped by: all answers to one item belong together, whatever its numbers."""
        return self.question.item_id

    @property
    def content_hash(self) -> str:
        """SHA-256 (hex) of all that a grade of it depends on, apart from the grader."""
        parts = (self.question.model_dump_json(), self.anchor.model_dump_json(), self.answer)
        raw = json.dumps([*parts, sorted(self.labels)]).encode()
        return hashlib.sha256(raw).hexdigest()


class CaseSet(BaseModel):
    """The answers of one source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Short, for a file's name."""
    kind: Literal["gold", "pairs", "khan", "saf"]
    cases: tuple[Case, ...]
    criteria: tuple[CriterionId, ...]
    """Those that occur in the labels, in the rubric's order."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures has to know about the source."""


def make_set(
    name: str, kind: Literal["gold", "pairs", "khan", "saf"], cases: Sequence[Case], notes: Sequence[str] = ()
) -> CaseSet:
    """A set with its criteria worked out; answers to one item stand together, items in their first order."""
    order = {item: n for n, item in enumerate(dict.fromkeys(case.item for case in cases))}
    seen = {c for case in cases for c in case.labels}
    return CaseSet(
        name=name,
        kind=kind,
        cases=tuple(sorted(cases, key=lambda case: order[case.item])),
        criteria=tuple(c for c in CRITERION_IDS if c in seen),
        notes=tuple(notes),
    )


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """("FILE, line N", object) of every line of a JSONL file that is not blank.

    Raises:
        EvaluationError: the file cannot be read, or a line is not a JSON object.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise EvaluationError(f"{path}: larger than {MAX_FILE_BYTES >> 20} MiB.", hint="Split it.")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise EvaluationError(
            f"{path}: cannot be read ({error.strerror or error}).", hint="Give a readable JSONL file."
        ) from error
    except UnicodeDecodeError as error:
        raise EvaluationError(f"{path}: byte {error.start} is not UTF-8 text.", hint="Save it as UTF-8.") from error
    # Not splitlines: an answer may hold U+2028, which JSON allows inside a string.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise EvaluationError(
                f"{where}: not valid JSON ({error}).", hint='Each line is one JSON object; text in "…".'
            ) from error
        if not isinstance(row, dict):
            raise EvaluationError(f"{where}: is no JSON object.", hint='Each line has the form {"id": …}.')
        yield where, row


def validated(model: type[M], row: dict[str, Any], where: str, remedy: str) -> M:
    """The row as `model`.

    Raises:
        EvaluationError: naming file, line and the first field that is wrong, with `remedy`.
    """
    try:
        return model.model_validate(row)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(str(part) for part in problem["loc"]) or "the line"
        said = str(problem["msg"]).removeprefix("Value error, ")
        raise EvaluationError(f"{where}: {field}: {said}.", hint=remedy) from None


def unique(seen: dict[str, str], identity: str, where: str) -> None:
    """Remembers an id.

    Raises:
        EvaluationError: it stands on two lines.
    """
    if identity in seen:
        raise EvaluationError(
            f"{where}: id: {identity!r} stands in {seen[identity]} already.", hint="Give each line an id of its own."
        )
    seen[identity] = where


def numbered(ids: Sequence[str]) -> list[str]:
    """The ids, made unique by a number where a source repeats them."""
    count: dict[str, int] = {}
    out = []
    for one in ids:
        count[one] = count.get(one, 0) + 1
        out.append(one if count[one] == 1 else f"{one}-{count[one]}")
    return out


def counted(number: int, thing: str) -> str:
    """ "1 answer", "2 answers"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
