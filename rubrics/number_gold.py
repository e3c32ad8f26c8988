"""The labelled snippets in `gold/numbers.jsonl`: what a reader of results should take each to assert.

The format is described in `gold/README.md`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

GOLD_DIR = Path(__file__).parent / "gold"

Label = float | tuple[float, ...] | Literal["ambiguous"] | None
"""A value asserted, several on offer, "ambiguous" (ask), or None where nothing is asserted."""
GoldVerdict = Literal["met", "not_met", "unsure"]


class GoldError(ValueError):
    """Labelled data that cannot be used; `str()` is one sentence naming the file and the line."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GoldQuantity(_Frozen):
    """A number that the question states, or that a good derivation shows on the way."""

    name: str
    label: str
    value: float
    unit: str


class GoldExpected(GoldQuantity):
    """A number asked for; `rel_tolerance` is the largest accepted |answer − value| / |value|."""

    rel_tolerance: float = Field(ge=0)
    synonyms: tuple[str, ...] = ()


class GoldSlip(_Frozen):
    """A typical wrong value and what led to it."""

    id: str
    expected: str
    value: float
    unit: str
    diagnosis: str


class NumberQuestion(_Frozen):
    """A question to which snippets are answers."""

    id: str
    prompt: str
    givens: tuple[GoldQuantity, ...]
    derived: tuple[GoldQuantity, ...]
    expected: tuple[GoldExpected, ...] = Field(min_length=1)
    slips: tuple[GoldSlip, ...]


class NumberSnippet(_Frozen):
    """One labelled answer; the label's values are in the units asked for, by the name of the quantity."""

    id: str
    question: NumberQuestion
    category: str
    hard: bool
    text: str
    label: dict[str, Label]
    note: str = ""

    @cached_property
    def held_out(self) -> bool:
        """Whether it belongs to the half on which nothing is tuned: told by the id, so it never changes."""
        return hashlib.sha256(self.id.encode()).digest()[0] % 2 == 1

    @cached_property
    def verdict(self) -> GoldVerdict:
        """What the label means for the point: one quantity not right refuses it, else one ambiguous asks.

        Several values on offer, or the ends of a range, are right only where each of them is.
        """
        verdict: GoldVerdict = "met"
        for expected in self.question.expected:
            label = self.label[expected.name]
            if label == "ambiguous":
                verdict = "unsure"
                continue
            values = label if isinstance(label, tuple) else () if label is None else (label,)
            right = (math.isclose(v, expected.value, rel_tol=expected.rel_tolerance, abs_tol=1e-12) for v in values)
            if not values or not all(right):
                return "not_met"
        return verdict


T = TypeVar("T")


def _valid(adapter: TypeAdapter[T], raw: str | bytes, where: str) -> T:
    try:
        return adapter.validate_json(raw)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(str(part) for part in problem["loc"]) or "the line"
        raise GoldError(f"{where}: {field}: {problem['msg']}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise GoldError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise GoldError(f"{path}: is not UTF-8 text") from error


def _snippet(raw: str, questions: Mapping[str, NumberQuestion], where: str) -> NumberSnippet:
    try:
        data = json.loads(raw)
    except ValueError as error:
        raise GoldError(f"{where}: not valid JSON ({error})") from error
    named = data.get("question") if isinstance(data, dict) else None
    if not isinstance(named, str) or named not in questions:
        raise GoldError(f"{where}: question: {named!r} is none of those in number_questions.json")
    question = questions[named]
    adapter = TypeAdapter(NumberSnippet)
    snippet = _valid(adapter, json.dumps({**data, "question": question.model_dump()}), where)
    names = {expected.name for expected in question.expected}
    if set(snippet.label) != names:
        raise GoldError(f"{where}: label: must name {', '.join(sorted(names))} and nothing else")
    return snippet


def load_number_gold(folder: Path = GOLD_DIR) -> tuple[NumberSnippet, ...]:
    """The labelled snippets in the file's order.

    Raises GoldError when a file is missing or a line is not what the format says.
    """
    path = folder / "number_questions.json"
    listed = _valid(TypeAdapter(tuple[NumberQuestion, ...]), _read(path), str(path))
    questions = {question.id: question for question in listed}
    path = folder / "numbers.jsonl"
    snippets: list[NumberSnippet] = []
    for number, line in enumerate(_read(path).splitlines(), 1):
        if line.strip():
            snippets.append(_snippet(line, questions, f"{path}, line {number}"))
    ids = [snippet.id for snippet in snippets]
    for one in ids:
        if ids.count(one) > 1:
            raise GoldError(f"{path}: the id {one} stands more than once")
    return tuple(snippets)
