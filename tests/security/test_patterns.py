"""No regular expression of ours can be made to run without end: each is given texts made to make it try again."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import re
import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import signal
import time
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import pytest

PACKAGES = ("sim", "question_bank", "rubrics", "tutor")
LENGTH = 1_500
LIMIT_S = 0.6
"""For one text of LENGTH characters. A pattern that is linear takes 0.1 ms; one that tries every pair of places
takes a fifth of a second on a busy machine; one that is worse than that takes minutes, or never comes back."""
SHORT = {"tutor.grading.chains._BETWEEN": 60}
"""Patterns that are given at most so many characters by the code around them."""


def modules() -> Iterator[Any]:
    for package in PACKAGES:
        top = importlib.import_module(package)
        yield top
        for found in pkgutil.walk_packages(top.__path__, f"{package}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def inside(value: object, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, dict) and depth < 3:
        for key, each in value.items():
            yield from inside(key, depth + 1)
            yield from inside(each, depth + 1)
    elif isinstance(value, tuple | list | set | frozenset) and depth < 3:
        for each in islice(value, 500):
            yield from inside(each, depth + 1)


def patterns() -> dict[str, re.Pattern[str]]:
    """Every pattern that stands in a module, by the module and the name that lead to it."""
    found: dict[str, re.Pattern[str]] = {}
    seen: set[tuple[str, int]] = set()
    for module in modules():
        for name, value in list(vars(module).items()):
            for number, pattern in enumerate(inside(value)):
                if (pattern.pattern, pattern.flags) not in seen:
                    seen.add((pattern.pattern, pattern.flags))
                    found[f"{module.__name__}.{name}" + (f"[{number}]" if number else "")] = pattern
    return found


def letters(tree: Any) -> list[str]:
    """A character for each kind that repeated parts of a pattern take."""
    kinds = {
        op.CATEGORY_DIGIT: "1",
        op.CATEGORY_SPACE: " ",
        op.CATEGORY_WORD: "a",
        op.CATEGORY_NOT_DIGIT: "a",
        op.CATEGORY_NOT_SPACE: "a",
        op.CATEGORY_NOT_WORD: " ",
    }
    found: list[str] = []

    def walk(node: Any, repeated: bool) -> None:
        for code, argument in node:
            if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
                walk(argument[2], repeated or argument[1] > 8)
            elif code is op.SUBPATTERN:
                walk(argument[3], repeated)
            elif code is op.ATOMIC_GROUP:
                walk(argument, repeated)
            elif code in (op.ASSERT, op.ASSERT_NOT):
                walk(argument[1], repeated)
            elif code is op.BRANCH:
                for branch in argument[1]:
                    walk(branch, repeated)
            elif code is op.GROUPREF_EXISTS:
                for branch in argument[1:]:
                    if branch:
                        walk(branch, repeated)
            elif code is op.LITERAL and repeated:
                found.append(chr(argument))
            elif code is op.ANY and repeated:
                found.append("x")
            elif code is op.NOT_LITERAL and repeated:
                found.append("x" if argument != ord("x") else "y")
            elif code is op.IN and repeated:
                if argument[0][0] is op.NEGATE:
                    found.append("x")
                for kind, value in argument:
                    if kind is op.LITERAL:
                        found.append(chr(value))
                    elif kind is op.RANGE:
                        found.append(chr(value[0]))
                    elif kind is op.CATEGORY:
                        found.append(kinds.get(value, "a"))

    walk(tree, False)
    return list(dict.fromkeys(found))


def attacks(pattern: re.Pattern[str], length: int) -> Iterator[str]:
    """Long runs of what the pattern repeats, singly and in turns, after its own beginning, with an end it hates."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    taken = letters(tree)[:6]
    begin = ""
    for code, argument in tree:
        if code is not op.LITERAL:
            break
        begin += chr(argument)
    for first, second in product(taken, repeat=2):
        if first <= second:
            run = (first if first == second else first + second) * (length if first == second else length // 2)
            yield begin + run + "\x00"
    for each in taken[:3]:
        if begin:
            yield (begin + each) * (length // (len(begin) + 1)) + "\x00"


PATTERNS = patterns()


def test_the_patterns_were_found() -> None:
    assert len(PATTERNS) > 150
    assert any(name.startswith("tutor.text._STRINGS") for name in PATTERNS)
    assert any(name.startswith("tutor.grading.") for name in PATTERNS)


class TooLong(Exception):
    pass


def seconds(pattern: re.Pattern[str], text: str) -> float:
    """CPU time of a search, whatever else the machine does; one that goes on for twice the limit is broken off."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, 2 * LIMIT_S)
        with contextlib.suppress(TooLong):
            pattern.search(text)
            signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return time.process_time() - began


@pytest.mark.slow
def test_no_pattern_runs_without_end() -> None:
    slow = []
    for name, pattern in PATTERNS.items():
        for text in attacks(pattern, SHORT.get(name, LENGTH)):
            if (took := seconds(pattern, text)) > LIMIT_S:
                slow.append(f"{name}: more than {took:.1f} s for {text[:12]!r}…")
                break
    assert not slow, "\n".join(slow)


@pytest.mark.slow
@pytest.mark.parametrize("bad", [r"^(a+)+$", r"(x+x+)+y", r"^(\d+)*;$", r"(?:\s*,?\s*and)+\s*;"])
def test_the_attack_finds_patterns_that_do(bad: str) -> None:
    pattern = re.compile(bad)
    assert any(seconds(pattern, text) > LIMIT_S for text in attacks(pattern, LENGTH))
