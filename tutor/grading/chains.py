"""Arithmetic written in prose: `300 + 30*25 = 1050`, `30 gaps × 25 ms`, `100 queue + 40 prep + 160 = 300`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tutor.grading.numbers import Read

_OPERATOR = {
    "+": "+", "plus": "+", "-": "-", "minus": "-", "less": "-", "*": "*", "×": "*", "·": "*", "x": "*",
    "times": "*", "\\times": "*", "\\cdot": "*", "multiplied by": "*", "/": "/", "÷": "/",
    "divided by": "/", "over": "/", "=": "=", "≈": "=", "==": "=", "~=": "=", "=>": "=", "->": "=",
    "→": "=", "⇒": "=", "equals": "=", "gives": "=", "makes": "=", "is": "=", "are": "=",
    "which is": "=", "comes to": "=", "adds up to": "=", "sums to": "=", "yields": "=", "totals": "=",
    "\\approx": "=", "of": "*", "at": "*", "@": "*", "= ~": "=", "=~": "=", "= about": "=",
    "is about": "=",
}  # fmt: skip
_OPS = "|".join(re.escape(o) for o in sorted(_OPERATOR, key=len, reverse=True))
# At most three words of label may stand beside an operator: "100 ms queue + 40 ms preprocessing".
_LABEL = r"(?:\(?[A-Za-z][\w/-]*\)?[ ]){0,3}?"
_BETWEEN = re.compile(
    rf"[\s$]*(?P<close>\)*)\s*(?:of )?{_LABEL}(?P<close2>\)*)\s*(?:\bthe )?(?<![A-Za-z])(?P<op>{_OPS})(?![A-Za-z])"
    rf"[\s$]*(?:about |the |a |≈ ?|~ ?)?(?:\*\*)?(?P<open>\(*)[\s$]*",
    re.IGNORECASE,
)
_NEXT_EQUATION = re.compile(r"\n[^\n=]*[A-Za-z][^\n=]*=")


@dataclass(frozen=True)
class Chain:
    """A chain of arithmetic.

    `indexes` are positions in the list of reads; `sides` the values on each side of an equals sign;
    `finals` the indexes that state an outcome (a side of its own); `right` is None where nothing is
    equated, else whether every equation holds within 0.6 %.
    """

    start: int
    end: int
    text: str
    indexes: tuple[int, ...]
    operations: int
    value: float
    right: bool | None
    finals: tuple[int, ...]


def _evaluate(tokens: list[str | float]) -> float | None:
    """Arithmetic with precedence and parentheses over numbers; None where it does not parse."""
    at = 0

    def atom() -> float | None:
        nonlocal at
        if at >= len(tokens):
            return None
        token = tokens[at]
        at += 1
        if token == "(":
            value = total()
            if at < len(tokens) and tokens[at] == ")":
                at += 1
            return value
        return token if isinstance(token, float) else None

    def product() -> float | None:
        nonlocal at
        value = atom()
        while value is not None and at < len(tokens) and tokens[at] in ("*", "/"):
            op = tokens[at]
            at += 1
            right = atom()
            if right is None or (op == "/" and right == 0):
                return None
            value = value * right if op == "*" else value / right
        return value

    def total() -> float | None:
        nonlocal at
        value = product()
        while value is not None and at < len(tokens) and tokens[at] in ("+", "-"):
            op = tokens[at]
            at += 1
            right = product()
            if right is None:
                return None
            value = value + right if op == "+" else value - right
        return value

    return total()


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=0.006, abs_tol=1e-9)


def _same(a: tuple[float | None, float | None], b: tuple[float | None, float | None], mixed: bool) -> bool:
    """Whether two sides agree, in written or in canonical units; a side without a unit may be in ms."""
    raw_a, can_a = a
    raw_b, can_b = b
    if raw_a is not None and raw_b is not None and not mixed and _close(raw_a, raw_b):
        return True
    if can_a is None or can_b is None:
        return False
    return any(_close(can_a * f, can_b) for f in (1.0, *((1e-3, 1e3) if mixed else ())))


def _spelt(link: re.Match[str]) -> str:
    """The operator as `_OPERATOR` spells it."""
    return re.sub(r"\s+", " ", link["op"].lower())


def _chain(text: str, reads: tuple[Read, ...], run: list[int], links: list[re.Match[str]]) -> Chain:
    sides: list[list[str | float]] = [[]]
    canon: list[list[str | float]] = [[]]
    members: list[list[int]] = [[]]
    operations = 0
    head = re.search(r"\(*\s*$", text[max(0, reads[run[0]].start - 3) : reads[run[0]].start])
    opening = head.group(0).count("(") if head else 0
    for n, index in enumerate(run):
        for side, value in ((sides, reads[index].value), (canon, reads[index].canonical)):
            side[-1].extend("(" for _ in range(opening))
            side[-1].append(value)
        members[-1].append(index)
        if n == len(links):
            break
        link = links[n]
        op = _OPERATOR[_spelt(link)]
        for side in (sides, canon):
            side[-1].extend(")" for _ in link["close"] + link["close2"])
            if op == "=":
                side.append([])
            else:
                side[-1].append(op)
        opening = len(link["open"])
        if op == "=":
            members.append([])
        else:
            operations += 1
    values = [(_evaluate(r), _evaluate(c)) for r, c in zip(sides, canon, strict=True)]
    units = {reads[i].unit for i in run if reads[i].dimension == "time"}
    mixed = len(units) > 1 or (bool(units) and any(len(m) > 1 for m in members))
    right: bool | None = None
    if len(values) > 1:
        right = True
        for n in range(len(values) - 1):
            after = values[n + 1]
            first = reads[members[n + 1][0]]
            running = len(members[n + 1]) > 1 and _same(values[n], (first.value, first.canonical), mixed)
            right = right and (running or _same(values[n], after, mixed))
    finals = tuple(
        m[0] for n, m in enumerate(members) if len(members) > 1 and (len(m) == 1 or 0 < n < len(members) - 1)
    )
    last = values[-1][0]
    start, end = reads[run[0]].start, reads[run[-1]].end
    return Chain(start, end, text[start:end], tuple(run), operations, math.nan if last is None else last, right, finals)


def read_chains(text: str, reads: tuple[Read, ...]) -> tuple[Chain, ...]:
    """The chains of arithmetic among the reads of a folded text (offsets are the reads' own)."""
    chains: list[Chain] = []
    run: list[int] = []
    links: list[re.Match[str]] = []

    def finish() -> None:
        if links and any(_OPERATOR[_spelt(m)] != "=" for m in links):
            chains.append(_chain(text, reads, list(run), list(links)))
        run.clear()
        links.clear()

    for index, read in enumerate(reads):
        if run:
            last = reads[run[-1]]
            between = text[last.end : read.start]
            link = _BETWEEN.fullmatch(between) if len(between) <= 60 and "\n\n" not in between else None
            if link and link["op"].lower() in {"of", "at", "@"}:
                # "30 gaps of 25 ms" multiplies; "750 ms later at 1,050 ms" does not
                gaps = last.unit.startswith(("gap", "interval"))
                fits = read.dimension not in {"count", "none"} or (gaps and read.dimension == "none")
                link = link if last.dimension == "count" and fits else None
            if link and (re.search(r"\n\s*[-*+]\s", between) or _NEXT_EQUATION.search(between)):
                link = None  # the next line of a list, or another equation under the last
            if link and _OPERATOR[_spelt(link)] == "=" and re.search(r"\b(?:and|then|so|while)\b", between):
                link = None  # "= 300 ms and E2E = 300 + …" begins another equation
            if link and not read.is_range and not last.is_range:
                links.append(link)
            else:
                finish()
        run.append(index)
        if len(run) > 1 and len(links) != len(run) - 1:
            run[:] = [index]
    finish()
    return tuple(chains)
