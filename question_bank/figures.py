"""Numbers in a lesson's text: each is worked out by a formula, or is said to be given."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from question_bank.errors import FormulaError
from question_bank.formula import evaluate
from question_bank.problem import Problem
from question_bank.schema import Formula, Lesson, Section

# A number that is not part of a name such as H100, 8B, W4A16 or p95.
_NUMBER = re.compile(r"(?<![\w.,/])(?<!\w-)\d[\d,]*(?:\.\d+)?(?![\w]|-\w)")
_UNIT = re.compile(r"\s?(%|×|ms\b|s\b|GB\b|GiB\b|KiB\b|MiB\b|MB\b|TB\b|tokens?\b|requests?\b|TFLOP|FLOP|GPUs?\b)")
_LIST_MARKER = re.compile(r"^\s*\d+\.\s", re.MULTILINE)
SMALL = 10
"""Whole numbers up to this one, without a unit, may stand in a text unexplained."""


class Shown(NamedTuple):
    """A number as a text shows it."""

    value: float
    decimals: int
    has_unit: bool


def numbers_shown(text: str) -> Iterator[Shown]:
    """The numbers of a text that are no part of a name and no list marker."""
    plain = _LIST_MARKER.sub("", text)
    for found in _NUMBER.finditer(plain):
        digits = found.group().rstrip(",").replace(",", "")
        decimals = len(digits.partition(".")[2])
        yield Shown(float(digits), decimals, _UNIT.match(plain, found.end()) is not None)


def matches(shown: Shown, value: float) -> bool:
    """Whether the value, rounded to the digits shown, is the number shown."""
    return abs(shown.value - abs(value)) <= 0.5 * 10.0**-shown.decimals * (1 + 1e-9) + 1e-12 * abs(value)


def lesson_values(lesson: Lesson) -> dict[str, float]:
    """The lesson's `values` by name. Raises FormulaError."""
    values: dict[str, float] = {}
    for name, formula in lesson.values.items():
        values[name] = _number(formula, values)
    return values


def _number(formula: Formula, values: Mapping[str, float]) -> float:
    return evaluate(formula, values) if isinstance(formula, str) else float(formula)


def check_figures(lesson: Lesson) -> Iterator[Problem]:
    """Figures that do not agree with their formula, and numbers that nothing stands behind."""
    try:
        values = lesson_values(lesson)
    except FormulaError as error:
        yield Problem(lesson.id, "figure", f"values: {error}")
        return
    for section in lesson.sections:
        for problem in _section(section, values):
            yield Problem(lesson.id, "figure", f"section {section.id!r}: {problem}")


def _section(section: Section, values: Mapping[str, float]) -> Iterator[str]:
    # Line breaks inside a paragraph do not separate a number from its unit.
    flowed = re.sub(r"(?<=\S)[ ]*\n[ ]*(?=\S)", " ", section.text)
    for figure in section.figures:
        if figure.shown not in section.text and figure.shown not in flowed:
            yield f"the figure {figure.shown!r} does not stand in the text"
            continue
        numbers = list(numbers_shown(figure.shown))
        if len(numbers) != 1:
            yield f"the figure {figure.shown!r} holds {len(numbers)} numbers; give it one"
            continue
        try:
            value = _number(figure.formula, values)
        except FormulaError as error:
            yield f"the figure {figure.shown!r}: {error}"
            continue
        if not matches(numbers[0], value):
            yield f"the text shows {figure.shown!r}, but {figure.formula} is {value:,.6g}"
    worked = [number for figure in section.figures for number in numbers_shown(figure.shown)]
    known = [*values.values(), *section.given]
    bare: dict[str, None] = {}
    for number in numbers_shown(section.text):
        small = number.decimals == 0 and number.value <= SMALL and not number.has_unit
        if small or any(math.isclose(number.value, each.value) for each in worked):
            continue
        if not any(matches(number, value) for value in known):
            bare[f"{number.value:,.{number.decimals}f}"] = None
    if bare:
        yield (
            f"nothing stands behind {', '.join(bare)}; give a figure with its formula, name it in the lesson's values, "
            "or list it in the section's given"
        )
