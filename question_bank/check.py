"""`tutor bank check`: what is wrong with the content of a bank beyond its form.

The loader has already refused unknown fields, duplicate ids of items and broken YAML. Here items are drawn with
many seeds, their numbers compared with their slips and with the simulator, and their texts searched for leaks.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches

from question_bank.errors import DrawError, FormulaError
from question_bank.load import Bank
from question_bank.problem import Problem
from question_bank.question import Question
from question_bank.schema import AnyItem, Checkpoint, Formula, Lesson, OpenItem
from question_bank.units import Unit, read_unit, unit_of
from question_bank.variants import build_question

SIM_SEEDS = 5
SHUFFLES = 240
# Upper 0.01 % point of the chi-square distribution for 1, 2, … degrees of freedom: at this level a sound bank of
# a hundred checkpoints is refused once in a hundred times.
_CHI_SQUARE_LIMIT = (15.14, 18.42, 21.11, 23.51, 25.74, 27.86, 29.88)
_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")
_LIST_MARKER = re.compile(r"^\s*\d+\.\s", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def check_bank(bank: Bank, seeds: Sequence[int] = range(50), only: Collection[str] | None = None) -> list[Problem]:
    """All problems found, in the bank's order; an empty list when there are none.

    With `only`, items whose id is not in it are passed over.
    """
    problems: list[Problem] = []
    for lesson in bank.lessons:
        if only is None:
            problems += check_lesson(bank, lesson)
        for item in lesson.items:
            if only is None or item.id in only:
                problems += check_item(lesson, item, seeds)[0]
    checkpoints = [item for item in bank.items if isinstance(item, Checkpoint) and (only is None or item.id in only)]
    problems += longest_key_bias(checkpoints)
    return with_places(bank, problems)


def check_item(lesson: Lesson, item: AnyItem, seeds: Sequence[int]) -> tuple[list[Problem], list[Question]]:
    """Problems of one item, and its questions as drawn with these seeds (one where all are alike).

    The questions are of no use where they could not all be drawn; they end before the seed that failed.
    """
    problems = list(_links_of_item(lesson, item))
    if isinstance(item, Checkpoint):
        return [*problems, *_checkpoint(item)], []
    questions: list[Question] = []
    problems += _open_item(lesson, item, seeds, questions)
    return problems, questions


def with_places(bank: Bank, problems: Iterable[Problem]) -> list[Problem]:
    """The same problems, with the file and line of what they are about."""
    return [replace(each, place=bank.places.get(each.where, each.place)) for each in problems]


# ---- links and ids -------------------------------------------------------------------------------------------


def _twice(ids: Iterable[str]) -> list[str]:
    return sorted(each for each, count in Counter(ids).items() if count > 1)


def check_lesson(bank: Bank, lesson: Lesson) -> Iterator[Problem]:
    """Links and ids of a lesson that lead nowhere or stand twice."""
    lessons = {each.id for each in bank.lessons}
    targets = lessons | {item.id for item in bank.items}
    for needed in lesson.prerequisites:
        if needed not in lessons:
            yield Problem(lesson.id, "dead-link", f"the prerequisite {needed!r} is no lesson of the bank")
    for double in _twice(section.id for section in lesson.sections):
        yield Problem(lesson.id, "duplicate-id", f"two sections have the id {double!r}")
    for double in _twice(each.id for each in lesson.sources if each.id is not None):
        yield Problem(lesson.id, "duplicate-id", f"two sources have the id {double!r}")
    for section in lesson.sections:
        yield from _unknown_sources(lesson, lesson.id, f"section {section.id!r}", section.sources)
    for double in _twice(each.id for each in lesson.misconceptions):
        yield Problem(lesson.id, "duplicate-id", f"two misconceptions have the id {double!r}")
    texts = [section.text for section in lesson.sections] + [item.prompt for item in lesson.items]
    for target in _LINK.findall("\n".join([*texts, lesson.wrap_up])):
        if "://" not in target and target not in targets:
            yield Problem(lesson.id, "dead-link", f"the text links to {target!r}, which is no lesson or item")


def _nearest(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1, cutoff=0.4)
    return f"; did you mean {close[0]!r}?" if close else ""


def _unknown_sources(lesson: Lesson, where: str, what: str, named: Iterable[str]) -> Iterator[Problem]:
    known = {source.id for source in lesson.sources if source.id is not None}
    for each in named:
        if each not in known:
            message = f"{what} names the source {each!r}, which neither the lesson nor sources.yaml has"
            yield Problem(where, "dead-link", message + _nearest(each, known))


def _links_of_item(lesson: Lesson, item: AnyItem) -> Iterator[Problem]:
    sections = [section.id for section in lesson.sections]
    if item.section is not None and item.section not in sections:
        message = f"section {item.section!r} is no section of {lesson.id}"
        yield Problem(item.id, "dead-link", message + _nearest(item.section, sections))
    yield from _unknown_sources(lesson, item.id, "the item", item.sources)
    if item.case is not None and item.case not in item.sources:
        yield Problem(item.id, "dead-link", f"the case {item.case!r} is not among the item's sources; add it there")
    if isinstance(item, Checkpoint):
        return
    known = {each.id for each in lesson.misconceptions}
    follow_ups = [each for root in item.follow_ups for each in root.walk()]
    for follow_up in follow_ups:
        if follow_up.misconception is not None and follow_up.misconception not in known:
            yield Problem(
                item.id,
                "dead-link",
                f"follow-up {follow_up.id!r} names the misconception {follow_up.misconception!r}, "
                "which the lesson does not have",
            )
    for slip in item.slips:
        if slip.misconception is not None and slip.misconception not in known:
            yield Problem(
                item.id,
                "dead-link",
                f"slip {slip.id!r} names the misconception {slip.misconception!r}, which the lesson does not have",
            )
    for double in _twice(each.id for each in follow_ups):
        yield Problem(item.id, "duplicate-id", f"two follow-ups have the id {double!r}")
    for double in _twice(each.id for each in item.slips):
        yield Problem(item.id, "duplicate-id", f"two slips have the id {double!r}")
    for double in _twice(each.id for each in item.example_answers):
        yield Problem(item.id, "duplicate-id", f"two example answers have the id {double!r}")
    for criterion, guide in item.criteria.items():
        if guide.met_example.casefold() == guide.nearly_example.casefold():
            yield Problem(item.id, "same-example", f"{criterion}: the met and the nearly met example are the same")


# ---- open items ----------------------------------------------------------------------------------------------


def _open_item(lesson: Lesson, item: OpenItem, seeds: Sequence[int], questions: list[Question]) -> Iterator[Problem]:
    """Problems of an open item; its questions are put into `questions`."""
    yield from _units(item, lesson.counts)
    # Without parameters every seed gives the same text.
    for seed in seeds if item.parameters else seeds[:1]:
        try:
            questions.append(build_question(item, seed))
        except DrawError as error:
            yield Problem(item.id, "unsatisfiable", str(error).removeprefix(f"{item.id}: "))
            return
        except FormulaError as error:
            code = "zero-division" if "divides by zero" in str(error) else "formula"
            yield Problem(item.id, code, f"{error} (seed {seed})")
            return
    told: set[tuple[str, str]] = set()
    for question in questions:
        for problem, about in [*_slips(question), *_leaks(question)]:
            # The same fault shows with many seeds; one report of it is enough.
            if (problem.code, about) not in told:
                told.add((problem.code, about))
                yield problem
    for question in questions[:SIM_SEEDS]:
        contradiction = next(_contradictions(question), None)
        if contradiction is not None:
            yield contradiction
            return


def _units(item: OpenItem, counts: Collection[str]) -> Iterator[Problem]:
    units: dict[str, Unit] = {}
    named: list[tuple[str, str, Formula | None]] = [(name, spec.unit, None) for name, spec in item.parameters.items()]
    named += [(name, each.unit, each.formula) for name, each in item.derived.items()]
    named += [(name, each.unit, each.formula) for name, each in item.expected.items()]
    for name, text, formula in named:
        try:
            units[name] = read_unit(text, counts)
            if isinstance(formula, str) and not _agrees(formula, units, units[name]):
                yield Problem(item.id, "unit", f"{name} is given in {text!r}, but {formula!r} gives another unit")
        except FormulaError as error:
            yield Problem(item.id, "unit", f"{name}: {error}")
            return
    for formula in item.constraints:
        try:
            if isinstance(formula, str):
                unit_of(formula, units)
        except FormulaError as error:
            yield Problem(item.id, "unit", f"constraint: {error}")


def _agrees(formula: str, units: dict[str, Unit], declared: Unit) -> bool:
    found = unit_of(formula, units)
    return found.literal or found.fits(declared)


def _slips(question: Question) -> Iterator[tuple[Problem, str]]:
    for expected in question.expected:
        tolerance = expected.rel_tolerance
        slips = [slip for slip in question.slips if slip.expected == expected.name]
        for position, slip in enumerate(slips):
            if abs(slip.value - expected.value) <= 2 * tolerance * abs(expected.value):
                yield (
                    Problem(
                        question.item_id,
                        "slip-is-right",
                        f"slip {slip.id!r} gives {slip.value:g}, within tolerance of the right "
                        f"{expected.name} of {expected.value:g} (seed {question.seed})",
                    ),
                    f"{slip.id}/{expected.name}",
                )
            for other in slips[:position]:
                if abs(slip.value - other.value) <= tolerance * max(abs(slip.value), abs(other.value)):
                    yield (
                        Problem(
                            question.item_id,
                            "slips-coincide",
                            f"slips {other.id!r} and {slip.id!r} both give {slip.value:g} for "
                            f"{expected.name} (seed {question.seed})",
                        ),
                        f"{other.id}/{slip.id}/{expected.name}",
                    )


def _numbers(text: str) -> list[float]:
    return [float(found.rstrip(",").replace(",", "")) for found in _NUMBER.findall(_LIST_MARKER.sub("", text))]


def _leaks(question: Question) -> Iterator[tuple[Problem, str]]:
    given = {quantity.value for quantity in question.givens}
    places = [("title", question.title), ("prompt", question.prompt)]
    places += [(f"hint {number}", hint) for number, hint in enumerate(question.hints, 1)]
    for place, text in places:
        for number in _numbers(text):
            if number in given:
                continue
            for expected in question.expected:
                # Half a unit in the third digit: a rounded result is a leak too.
                if math.isclose(number, expected.value, rel_tol=2e-3):
                    yield (
                        Problem(
                            question.item_id,
                            "leak",
                            f"the {place} shows {number:g}, which is the {expected.label} (seed {question.seed})",
                        ),
                        f"{place}/{expected.name}",
                    )


def _contradictions(question: Question) -> Iterator[Problem]:
    plan = question.simulation
    if plan is None:
        return
    # Imported here because SimPy is needed for this check only.
    from question_bank.simulated import SimulatedError, mean_metric

    for check in plan.checks:
        expected = question.expected_named(check.expected)
        assert expected is not None
        try:
            metric = mean_metric(plan, check.run, check.metric)
        except SimulatedError as error:
            yield Problem(question.item_id, "scenario", f"{error} (seed {question.seed})")
            return
        if not math.isclose(metric * check.scale, expected.value, rel_tol=check.tolerance, abs_tol=1e-9):
            yield Problem(
                question.item_id,
                "contradicted",
                f"{expected.name} should be {expected.value:g} {expected.unit}, but the simulator's "
                f"{check.metric} is {metric * check.scale:g} (seed {question.seed})",
            )


# ---- checkpoints ---------------------------------------------------------------------------------------------


def _checkpoint(item: Checkpoint) -> Iterator[Problem]:
    try:
        positions = Counter(_key_position(item, seed) for seed in range(SHUFFLES))
    except FormulaError as error:
        yield Problem(item.id, "formula", str(error))
        return
    for double in _twice(" ".join(option.text.casefold().split()) for option in item.options.values()):
        yield Problem(item.id, "duplicate-option", f"two options say {double!r}")
    counts = [positions[place] for place in range(len(item.options))]
    if position_is_biased(counts):
        yield Problem(item.id, "key-position", f"the right option's place is not even over shuffles: {counts}")
    key = item.options[item.answer].text
    others = [len(option.text) for name, option in item.options.items() if name != item.answer]
    if len(key) > 1.5 * max(others) and len(key) > 20:
        yield Problem(item.id, "key-length", "the right option is half as long again as any other; even them out")
    if len(key) > 20 and key.casefold() in item.prompt.casefold():
        yield Problem(item.id, "leak", "the prompt contains the right option")


def _key_position(item: Checkpoint, seed: int) -> int:
    return [option.correct for option in build_question(item, seed).options].index(True)


def position_is_biased(counts: Sequence[int]) -> bool:
    """Whether the right option's places (how often each) are further from even than chance allows."""
    total = sum(counts)
    if len(counts) < 2 or total == 0:
        return False
    even = total / len(counts)
    return sum((count - even) ** 2 / even for count in counts) > _CHI_SQUARE_LIMIT[len(counts) - 2]


def longest_key_bias(checkpoints: Sequence[Checkpoint]) -> list[Problem]:
    """A problem when the right option is the longest so often that choosing the longest pays.

    With n checkpoints of k options, chance makes it the longest in n/k; reported when a count as high as the one
    found has a probability under 1 %.
    """
    longest = [item for item in checkpoints if _key_is_longest(item)]
    if not longest:
        return []
    chance = sum(1 / len(item.options) for item in checkpoints) / len(checkpoints)
    n, found = len(checkpoints), len(longest)
    tail = sum(math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(found, n + 1))
    if tail >= 0.01:
        return []
    message = f"the right option is the longest in {found} of {n} checkpoints; shorten some or lengthen others"
    return [Problem(longest[0].id, "key-length", message)]


def _key_is_longest(item: Checkpoint) -> bool:
    key = len(item.options[item.answer].text)
    return all(len(option.text) < key for name, option in item.options.items() if name != item.answer)
