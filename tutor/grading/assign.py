"""Which result each asserted number states: by its unit, the words beside it, its place, and its value last."""

from __future__ import annotations

import re
from dataclasses import replace

from question_bank.question import Expected, Question, Slip
from tutor.grading.quantities import close, ends_in_unit, equals, fits, quantity_unit
from tutor.grading.roles import Reading, Use, is_change
from tutor.grading.wording import CORRECTION

OR = re.compile(
    r"^\W*(?:or\b(?! rather)|maybe|perhaps|possibly|alternatively|could be|/|else|otherwise|if not)\b[^.]{0,25}$|"
    r"^\s*/\s*$",
    re.IGNORECASE,
)
_FALLS = re.compile(r"\b(?:drop|reduction|sav(?:ing|ed)|decrease|fall|shorter|less)", re.IGNORECASE)
_NEAR = 120
_BOTH = re.compile(
    r"\b(?:both|each time|same|unchanged|still|as before|stays?|either way|equal(?:ly)?)\b", re.IGNORECASE
)


def _turn(use: Use, expected: Expected) -> float:
    """-1 where the words beside a change say that it goes the other way than its figure would."""
    if not is_change(expected):
        return 1.0
    signed = use.read.value < 0 or use.read.text.startswith("+")
    if _FALLS.search(expected.label):
        return -1.0 if use.read.value < 0 or (use.direction > 0 and not signed) else 1.0
    if signed:
        return 1.0
    return -1.0 if use.direction < 0 else 1.0


def values_of(use: Use, expected: Expected) -> tuple[float, ...]:
    """What a number states, in the expected unit, with the sign that its words give a change; both ends of a range."""
    turn = _turn(use, expected)
    return tuple(turn * v for v in ends_in_unit(use.read, expected))


def is_right(use: Use, expected: Expected) -> bool:
    """Whether a number is the expected result, within its tolerance."""
    values = values_of(use, expected)
    return fits(use.read, expected) and all(close(v, expected, expected.rel_tolerance) for v in values)


def slip_of(use: Use, expected: Expected, question: Question) -> Slip | None:
    """The known slip that leads to a number, if any."""
    for slip in question.slips:
        if slip.expected == expected.name:
            target = expected.model_copy(update={"value": slip.value, "unit": slip.unit})
            if equals(use.read, target, min(expected.rel_tolerance, 0.005)):
                return slip
    return None


def _by_right(question: Question, reading: Reading, use: Use, uses: list[Use]) -> Use:
    """The number with the result that its value is right for, where the words beside it name another one by chance.

    "152 by the limit, 240 by memory" ties 240 to the limit; but the limit has its own right value, which nothing else
    claims. Where two values are exchanged, each is tied to the other's name, and stays so.
    """
    apart = re.search(r"[,;]\W*$", reading.folded.text[max(0, use.read.start - 5) : use.read.start])
    if not use.tight or use.target is None or not apart:
        return use
    named = question.expected_named(use.target)
    own = [e for e in question.expected if is_right(use, e)]
    if named is None or not own or named in own:
        return use
    free = [u for u in uses if u is not use and is_right(u, named) and (u.target in {None, named.name} or not u.tight)]
    taken = {
        u.target for u in uses if u is not use and u.tight and any(is_right(u, e) and e.name == u.target for e in own)
    }
    wanted = [e for e in own if e.name not in taken]
    return replace(use, target=wanted[0].name) if free and wanted else use


def _likeliest(use: Use, able: list[Expected], given: dict[str, list[Use]]) -> Expected:
    """Of results with one value the one whose unit is the number's own, and that has none yet."""

    def rank(expected: Expected) -> tuple[bool, bool]:
        return quantity_unit(expected).dimension != use.read.dimension, bool(given[expected.name])

    return min(able, key=rank)


def assign(question: Question, reading: Reading, uses: list[Use]) -> tuple[dict[str, list[Use]], list[Use]]:
    """Gives each number to the expected result it states; what fits none is left over."""
    given: dict[str, list[Use]] = {e.name: [] for e in question.expected}
    loose: list[Use] = []
    for use in (_by_right(question, reading, u, uses) for u in uses):
        able = [e for e in question.expected if fits(use.read, e)]
        named = next((e for e in able if e.name == use.target), None)
        by_value = [e for e in able if is_right(use, e)]
        by_slip = [e for e in able if slip_of(use, e, question)]
        if named and (use.tight or named in by_value or (not by_value and named in by_slip)):
            given[named.name].append(use)
        elif by_value:
            given[_likeliest(use, by_value, given).name].append(use)
        elif by_slip:
            given[by_slip[0].name].append(use)
        elif named and use.read.dimension != "none":
            given[named.name].append(use)
        else:
            loose.append(use)
    _sole_claims(question, given, loose)
    _join_to_neighbours(question, reading, given, loose)
    _by_order(question, given, loose)
    _said_for_both(question, reading, given)
    _said_again(question, reading, given, loose)
    for listed in given.values():
        listed.sort(key=lambda u: u.read.start)
    return given, loose


def _sole_claims(question: Question, given: dict[str, list[Use]], loose: list[Use]) -> None:
    """A value that is led up to as the answer, whatever it is, states the only result that its unit fits."""
    measured = any(u.read.dimension != "none" for u in (*loose, *(u for us in given.values() for u in us)))
    for use in list(loose):
        able = [e for e in question.expected if fits(use.read, e)]
        bare = use.read.dimension == "none" and (len(question.expected) > 1 or measured)
        if len(able) == 1 and not bare and (use.leads or use.offered) and use.role == "assertion":
            given[able[0].name].append(use)
            loose.remove(use)


def _join_to_neighbours(question: Question, reading: Reading, given: dict[str, list[Use]], loose: list[Use]) -> None:
    """A number beside "or", or said instead of one, states the same result as the number it stands beside."""
    text = reading.folded.text
    position = {u.read.start: n for n, u in enumerate(reading.uses)}
    placed = {position[u.read.start]: name for name, us in given.items() for u in us}
    for use in list(loose):
        here = position[use.read.start]
        for near in (here - 1, here + 1):
            if near not in placed:
                continue
            other = reading.uses[near].read
            first, second = sorted((use.read, other), key=lambda r: r.start)
            between = text[first.end : second.start]
            again = here > near and len(between) < _NEAR and bool(CORRECTION.search(between))
            bare = use.read.dimension == "none" and other.dimension == "none"
            target = question.expected_named(placed[near])
            able = target is not None and (fits(use.read, target) or use.read.dimension == "none")
            if (
                able
                and (use.read.dimension != "none" or bare or use.offered)
                and (OR.match(between) or again or (use.offered and reading.uses[near].offered))
            ):
                given[placed[near]].append(use)
                loose.remove(use)
                break


def _said_for_both(question: Question, reading: Reading, given: dict[str, list[Use]]) -> None:
    """A value said of several results at once: "7.04 ms both times", "5 s, as before"."""
    if not _BOTH.search(reading.folded.text):
        return
    for expected in question.expected:
        if given[expected.name]:
            continue
        same = [
            u for e in question.expected if e.unit == expected.unit for u in given[e.name] if is_right(u, expected)
        ]  # fmt: skip
        given[expected.name] += same[:1]


def _said_again(question: Question, reading: Reading, given: dict[str, list[Use]], loose: list[Use]) -> None:
    """A value led up to as the answer, though every result has one, is about the result that was spoken of last."""
    placed = {id(u): e for e in question.expected for u in given[e.name]}
    for use in list(loose):
        if not (use.leads or use.offered) or use.read.dimension == "none":
            continue
        here = next(n for n, u in enumerate(reading.uses) if u is use)
        following = reading.uses[here + 1 : here + 2]
        before = [u for u in reading.uses[:here] if id(u) in placed and fits(use.read, placed[id(u)])]
        # "1.2 s, no, 1.05 s": an unnamed value that follows at once speaks of the same
        near = [u for u in following if id(u) in placed and not u.target and fits(use.read, placed[id(u)])] or before[
            -1:
        ]
        if near:
            given[placed[id(near[0])].name].append(use)
            loose.remove(use)


def _by_order(question: Question, given: dict[str, list[Use]], loose: list[Use]) -> None:
    """What no word names is taken in the order asked where there are as many numbers as results left."""
    empty = [e for e in question.expected if not given[e.name]]
    for measured in (True, False):
        able = [
            u for u in loose
            if (u.read.dimension not in {"none", "count"}) == measured and any(fits(u.read, e) for e in empty)
        ]  # fmt: skip
        if empty and len(able) == len(empty) and all(fits(u.read, e) for u, e in zip(able, empty, strict=True)):
            for use, expected in zip(able, empty, strict=True):
                given[expected.name].append(use)
                loose.remove(use)
            return


def take_bare_answers(question: Question, reading: Reading, given: dict[str, list[Use]]) -> None:
    """Where an answer is just as many numbers as are asked for, one that happens to be a given is an answer too."""
    if all(given.values()):
        return
    uses = [
        u
        for u in reading.uses
        if u.role == "assertion"
        or (u.role == "given" and not u.named and any(fits(u.read, e) for e in question.expected))
    ]
    if len(uses) != len(question.expected) or any(u.tight or u.chain for u in uses):
        return
    if all(fits(u.read, e) for u, e in zip(uses, question.expected, strict=True)):
        given.update({e.name: [u] for u, e in zip(uses, question.expected, strict=True)})


def turned_round(question: Question, given: dict[str, list[Use]]) -> bool:
    """Whether two values that nothing names stand in the other order than asked, so that which is which is a guess."""
    if len(question.expected) != 2:
        return False
    first, second = question.expected
    uses = [u for e in question.expected for u in given[e.name]]
    alike = quantity_unit(first).dimension == quantity_unit(second).dimension
    if not (alike or all(u.read.dimension == "none" for u in uses)):
        return False
    if any(len(us) != 1 for us in given.values()) or any(u.target or u.chain for u in uses):
        return False
    return uses[0].read.start > uses[1].read.start
