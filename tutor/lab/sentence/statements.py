"""The statements of a sentence: numbers that are measured, paired clause by clause with what is said of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from tutor.lab.quantities import BY_ID
from tutor.lab.sentence import words
from tutor.lab.sentence.parts import Statement, Text
from tutor.lab.sentence.relations import Said, relations
from tutor.lab.sentence.settings import class_pattern

_BREAK: Final = re.compile(
    r"[,;]|\.(?!\d)|→|->|\b(?:and|but|while|whereas|yet|although|though|then|when|if|because|so)\b", re.IGNORECASE
)
QUANTITY, _STATISTIC = words.one_of(words.QUANTITIES), words.one_of(words.STATISTICS)
_VERB_OF = words.one_of(words.VERBS_OF)


class _Named(NamedTuple):
    start: int
    end: int
    quantity: str


def statements_in(whole: Text, classes: Sequence[str]) -> list[Statement]:
    """The statements, in order; the stretches that they were made of are marked as read."""
    text = whole.text
    # "in 95 % of cases" is a percentile: its number says nothing else.
    said = relations(text, [m.span() for m in _STATISTIC.finditer(text) if "%" in m[0] or "cent" in m[0].lower()])
    named = [_Named(*m.span(), words.QUANTITIES[(m.lastindex or 1) - 1][0]) for m in QUANTITY.finditer(text)]
    found: list[Statement] = []
    pending: list[tuple[_Named, int, int]] = []
    last_class = ""
    beside: list[str] = []
    for start, end in _clauses(text, said):
        here = [one for one in named if start <= one.start < end]
        told = [one for one in said if start <= one.start < end]
        if not here and told:
            here = [_Named(*m.span(), words.VERBS_OF[(m.lastindex or 1) - 1][0])
                    for m in _VERB_OF.finditer(text, start, end)] if not pending else []  # fmt: skip
        if not told:
            pending += [(one, start, end) for one in here]
            # "document and chat ttft lower": a class alone before "and" shares what comes.
            beside = [
                n for n in classes if not here and re.search(rf"{class_pattern(n, classes)}\s*$", text[start:end], re.I)
            ]
            continue
        if not here and found and not pending:
            # "…, by at least 10 %" goes on about the number before; so does "…, documents under 2 s" of another class.
            other = _class_in(text, start, end, _Named(start, start, ""), classes)
            found += _more_about(found, told, _statistic_alone(whole, start, end), other)
            _mark(whole, told, classes, start, end)
            continue
        both = [(one, s, e) for one, s, e in pending] + [(one, start, end) for one in here]
        pending = []
        for one, low, high in both:
            mine = _nearest(one, told, here)
            class_name = _class_in(text, low, high, one, classes)
            if not class_name and BY_ID[one.quantity].statistics:
                class_name = last_class  # a time goes on about the same class, a rate is the whole server's
            last_class = class_name or last_class
            statistic = _statistic_in(text, low, high, one, [each for each, _, _ in both])
            made = [
                each
                for what in mine
                for name in dict.fromkeys((*(beside if class_name else ()), class_name))
                for each in _made(one.quantity, name, statistic, what)
            ]
            found += [each for each in made if each not in found]
            if made:
                whole.take(one.start, one.end)
                _mark(whole, mine, classes, low, high)
        beside = []
    return found


def _mark(whole: Text, said: Sequence[Said], classes: Sequence[str], start: int, end: int) -> None:
    """What a statement was made of is read: what was said, with a percentile and a class of the same clause."""
    for one in said:
        whole.take(one.start, one.end)
    patterns = [_STATISTIC, *(re.compile(class_pattern(name, classes), re.IGNORECASE) for name in classes)]
    for pattern in patterns:
        for match in pattern.finditer(whole.text, start, end):
            whole.take(*match.span())


def _statistic_alone(whole: Text, start: int, end: int) -> str:
    match = _STATISTIC.search(whole.text, start, end)
    return words.STATISTICS[(match.lastindex or 1) - 1][0] if match else ""


def _clauses(text: str, said: Sequence[Said]) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _BREAK.finditer(text):
        if any(one.start <= match.start() < one.end for one in said):
            continue
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _more_about(found: list[Statement], told: Sequence[Said], statistic: str, class_name: str) -> list[Statement]:
    timed = BY_ID[found[-1].quantity].statistics
    other = bool(class_name) and class_name != found[-1].class_name
    if statistic and not found[-1].statistic and timed and not other:
        found[-1] = replace(found[-1], statistic=statistic)
    last = found[-1]
    out = []
    for each in told:
        for made in _made(last.quantity, class_name or last.class_name, statistic or last.statistic, each):
            if last.relation in ("lower", "higher") and made.relation.startswith(last.relation + "_") and not other:
                found[-1] = made
            elif made != last:
                out.append(made)
    return out


def _nearest(named: _Named, told: Sequence[Said], here: Sequence[_Named]) -> list[Said]:
    """What is said of a number: all of it where the number stands alone in the clause, else what is nearest."""
    if len(here) <= 1 or len(told) == 1:
        fitting = [one for one in told if _fits(named.quantity, one)]
        exact = [one for one in fitting if one.amount]
        # "brings it down to 80 ms" is a bound and no second claim.
        return exact or fitting[:1]

    def far(one: Said) -> float:
        after = one.start - named.end
        return after if after >= 0 else 1.5 * (named.start - one.end)

    fitting = [one for one in told if _fits(named.quantity, one)]
    return [min(fitting, key=far)] if fitting else []


def _fits(quantity: str, said: Said) -> bool:
    unit = said.unit
    if said.kind.endswith(("_by", "_less", "_within")) or not said.amount or not unit:
        return True
    kind = BY_ID[quantity].unit
    return {"ms": kind == "ms", "s": kind == "ms", "%": kind == "%"}.get(unit, unit == kind)


def _made(quantity: str, class_name: str, statistic: str, said: Said) -> list[Statement]:
    of = BY_ID[quantity]
    kind, amount, statistic = said.kind, said.amount, statistic if of.statistics else ""
    if kind == "same_within":
        return [Statement(class_name, quantity, statistic, way, amount) for way in ("higher_at_most", "lower_at_most")]
    if not _fits(quantity, said):
        return []
    if said.unit in ("% over", "% under") and of.unit == "%":
        kind = "at_least" if said.unit == "% over" else "at_most"
    base, by = kind.removesuffix("_by").removesuffix("_less"), kind.partition("_")[2]
    if base in ("less", "more", "better", "worse"):
        rate = quantity in words.RATES
        lower = base == "less" or (base == "better" and not rate) or (base == "worse" and rate)
        way = "lower" if lower else "higher"
        relation = f"{way}_by" if by == "by" else f"{way}_at_most" if by == "less" else way
    else:
        relation = kind
        if amount and said.unit == "s" and of.unit == "ms":
            amount = " to ".join(words.shown(float(part) * 1000) for part in amount.split(" to "))
    return [Statement(class_name, quantity, statistic, relation, amount)]


def _class_in(text: str, start: int, end: int, named: _Named, classes: Sequence[str]) -> str:
    best, distance = "", math.inf
    for name in classes:
        for match in re.finditer(class_pattern(name, classes), text[start:end], re.IGNORECASE):
            at = start + match.start()
            far = named.start - at if at < named.start else 1.2 * (at - named.end) + 1
            if far < distance:
                best, distance = name, far
    return best


def _statistic_in(text: str, start: int, end: int, named: _Named, others: Sequence[_Named]) -> str:
    best, distance = "", math.inf
    for match in _STATISTIC.finditer(text, start, end):
        far = named.start - match.end() if match.start() < named.start else match.start() - named.end
        nearer = any(
            one != named and min(abs(one.start - match.end()), abs(match.start() - one.end)) < far for one in others
        )
        if far < distance and not nearer:
            best, distance = words.STATISTICS[(match.lastindex or 1) - 1][0], far
    return best
