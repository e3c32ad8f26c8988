"""A claim in one line, for those who type faster than they choose.

    server.token_budget -> 512: chat itl p95 at most 20 ms and document ttft p95 lower by 10 %

Before the colon what is changed, after it what is claimed; without a colon it is all claimed. A path may be shortened
to its end where only one field ends so. Every complaint says which characters it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final, NamedTuple

from sim.experiment.terms import Relation, Term
from tutor.lab.known_fields import addable
from tutor.lab.quantities import ALL, BY_ID, STATISTICS, Chosen
from tutor.lab.scenario_text import check, leaves, with_field
from tutor.lab.surprise import read_number

WORDS: Final = {
    "ttft": "ttft_s",
    "itl": "itl_s",
    "gap": "itl_s",
    "tpot": "tpot_s",
    "e2e": "e2e_s",
    "queue": "queue_s",
    "tokens/s": "output_tokens_per_s",
    "output_rate": "output_tokens_per_s",
    "goodput": "goodput",
    "attainment": "attainment",
    "within_limits": "attainment",
}
"""Words for what is measured; the names of the simulator's metrics are understood too."""
UNITS: Final = {"ms": 0.001, "s": 1.0, "tokens/s": 1.0, "requests/s": 1.0, "%": 0.01, "": 0.0}
_TOKEN: Final = re.compile(
    r"->|→|<=|>=|≤|≥|[+-]?\d+(?:[,_]\d+)*(?:\.\d+)?(?:e[+-]?\d+)?|%|[^\s,;:%]+|[,;:]", re.IGNORECASE
)
_AND: Final = ("and", ",", ";", "&")


class LineError(ValueError):
    """A line that cannot be read; `start` and `end` are the characters that it is about."""

    def __init__(self, sentence: str, start: int, end: int) -> None:
        super().__init__(sentence)
        self.start, self.end = start, end


@dataclass(frozen=True, slots=True)
class ReadLine:
    """What a line says."""

    text: str
    """The scenario with the changes."""
    terms: tuple[Term, ...]


class _Word(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def low(self) -> str:
        return self.text.casefold()


class _Words:
    """The words of a line, one after another."""

    def __init__(self, words: Sequence[_Word], end: int) -> None:
        self._words, self._at, self._end = list(words), 0, end

    def peek(self) -> _Word:
        """The next word; an empty one at the end."""
        return self._words[self._at] if self._at < len(self._words) else _Word("", self._end, self._end)

    def take(self) -> _Word:
        """The next word, which is gone then."""
        word = self.peek()
        self._at += 1
        return word

    def take_if(self, *texts: str) -> bool:
        """Whether the next word is one of these; it is gone then."""
        if self.peek().low in texts:
            self._at += 1
            return True
        return False

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return self._at >= len(self._words)


def read_line(line: str, baseline: str, folder: Path | None = None) -> ReadLine:
    """What the line says about a scenario's text; `folder` is where paths of recorded traces in it start.

    Raises:
        LineError: it cannot be read; one sentence, with the characters that it is about.
    """
    words = [_Word(match[0], match.start(), match.end()) for match in _TOKEN.finditer(line)]
    colon = next((number for number, word in enumerate(words) if word.text == ":"), None)
    text = baseline
    if colon is not None:
        text = _changed(_Words(words[:colon], words[colon].start), baseline, folder)
        words = words[colon + 1 :]
    checked = check(text, folder)
    scenario = checked.scenario
    if scenario is None:
        raise LineError(f"With this change the scenario is not valid: {checked.sentence}", 0, len(line))
    classes = [item.name for item in scenario.classes]
    left = _Words(words, len(line))
    if left.done:
        raise LineError("Nothing is claimed. Say, for example: chat itl p95 at most 50 ms.", len(line), len(line))
    terms = list(_statements(left, classes, compares=text != baseline))
    return ReadLine(text, tuple(terms))


def read_statements(line: str, classes: Sequence[str], *, compares: bool) -> tuple[Term, ...]:
    """The statements of a line that has no changes in it, about classes that are known by name.

    Raises:
        LineError: it cannot be read; one sentence, with the characters that it is about.
    """
    words = [_Word(match[0], match.start(), match.end()) for match in _TOKEN.finditer(line)]
    colon = next((word for word in words if word.text == ":"), None)
    if colon is not None:
        raise LineError("What was changed lies in the two files; write only what is claimed.", 0, colon.end)
    if not words:
        raise LineError("Nothing is claimed. Say, for example: chat itl p95 at most 50 ms.", 0, len(line))
    return tuple(_statements(_Words(words, len(line)), classes, compares=compares))


# ---- what is changed -------------------------------------------------------------------------------


def _changed(words: _Words, text: str, folder: Path | None) -> str:
    while not words.done:
        path = words.take()
        known = _path(path, text, folder)
        before = words.peek()
        if words.take_if("->", "→", "="):
            value = words.take()
        else:
            # `path old -> new`: the old value is there to be read by people.
            words.take()
            if not words.take_if("->", "→", "="):
                raise LineError(f"After {path.text} comes “-> value”.", before.start, before.end)
            value = words.take()
        if not value.text:
            raise LineError(f"{path.text} gets no value.", path.start, path.end)
        text = with_field(text, known, value.text)
        if not words.done and not words.take_if(*_AND):
            other = words.peek()
            raise LineError("Changes are divided by commas.", other.start, other.end)
    return text


def _path(word: _Word, text: str, folder: Path | None) -> str:
    scenario = check(text, folder).scenario
    known = [leaf.path for leaf in leaves(text) or ()]
    known += [path for path in (addable(scenario, text) if scenario is not None else []) if path not in known]
    if word.text in known:
        return word.text
    ends = [path for path in known if path.endswith(f".{word.text}")]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise LineError(f"{word.text} could be {', '.join(ends[:4])}; write more of it.", word.start, word.end)
    near = get_close_matches(word.text, [*known, *(path.rpartition(".")[2] for path in known)], n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise LineError(f"The scenario has no field {word.text}.{hint}", word.start, word.end)


# ---- what is claimed -------------------------------------------------------------------------------


def _statements(words: _Words, classes: Sequence[str], *, compares: bool) -> Iterator[Term]:
    class_name = classes[0] if len(classes) == 1 else ALL
    while not words.done:
        chosen = _chosen(words, classes, class_name)
        class_name = chosen.class_name
        yield _relation(words, chosen, compares=compares)
        if not words.done and not words.take_if(*_AND):
            other = words.peek()
            raise LineError(
                f"“{other.text}” is not understood here; statements are joined by “and”.", other.start, other.end
            )


def _chosen(words: _Words, classes: Sequence[str], class_name: str) -> Chosen:
    names = {name.casefold(): name for name in (*classes, ALL)}
    word = words.take()
    if word.low in names:
        class_name, word = names[word.low], words.take()
    low = word.low
    while "." in low and low not in BY_ID:
        head, _, low = low.partition(".")
        if head not in names:
            break
        class_name = names[head]
    quantity = WORDS.get(low, low if low in BY_ID else low.removesuffix("s") if low.removesuffix("s") in WORDS else "")
    quantity = WORDS.get(quantity, quantity)
    if quantity not in BY_ID:
        near = get_close_matches(word.low, [*WORDS, *names, *BY_ID], n=1)
        hint = f" Did you mean {near[0]}?" if near else f" Known: {', '.join(WORDS)}, after {', '.join(names)}."
        raise LineError(f"“{word.text}” is no number that is measured.{hint}", word.start, word.end)
    statistic = "p95"
    if words.peek().low in STATISTICS:
        taken = words.take()
        statistic = taken.low
        if not BY_ID[quantity].statistics:
            raise LineError(f"{BY_ID[quantity].words} is one number, without a {taken.text}.", taken.start, taken.end)
    return Chosen(class_name, quantity, statistic)


def _relation(words: _Words, chosen: Chosen, *, compares: bool) -> Term:
    first = words.peek()
    words.take_if("is", "are", "stays", "goes")
    word = words.take()
    if word.low == "at":
        most = words.take()
        if most.low not in ("most", "least"):
            raise LineError("After “at” comes “most” or “least”.", most.start, most.end)
        return _bound(words, chosen, "at_most" if most.low == "most" else "at_least")
    if word.low in ("<=", "≤", "below", "under", "<"):
        return _bound(words, chosen, "at_most")
    if word.low in (">=", "≥", "above", "over", ">"):
        return _bound(words, chosen, "at_least")
    if word.low in ("between", "within", "from"):
        low = _amount(words, chosen)
        words.take_if("and", "to", "-", "–")
        high = _amount(words, chosen, unit_before=low)
        if low[0] >= high[0]:
            raise LineError("The upper amount must be above the lower one.", word.start, word.end)
        return Term(chosen.metric, "within", low[0], upper=high[0])
    if word.low in ("lower", "less", "higher", "more") or word.text[:1] in "+-":
        if not compares:
            raise LineError("Nothing is changed, so there is nothing to be lower or higher than.", word.start, word.end)
        return _comparison(words, chosen, word)
    shown = word if word.text else first
    raise LineError("Here comes at most, at least, between, lower or higher.", shown.start, max(shown.end, shown.start))


def _comparison(words: _Words, chosen: Chosen, word: _Word) -> Term:
    if word.text[:1] in "+-" and len(word.text) > 1:
        value = read_number(word.text)
        percent = words.take()
        if value is None or percent.text != "%":
            raise LineError("A change is written in per cent, such as +10%.", word.start, percent.end)
        return Term(chosen.metric, "at_least" if value >= 0 else "at_most", value / 100, "change")
    lower = word.low in ("lower", "less")
    if not words.take_if("by"):
        return Term(chosen.metric, "at_most" if lower else "at_least", 0.0, "difference")
    bounded = False
    if words.take_if("at"):
        bounded = words.peek().low == "most"
        words.take_if("least", "most")
    number = words.take()
    value, percent = read_number(number.text), words.take()
    if value is None or percent.text != "%":
        raise LineError(
            "By how much is written in per cent, such as by 10 %.", number.start, max(percent.end, number.end)
        )
    if lower and abs(value) >= 100:
        raise LineError("Nothing falls by 100 % or more; write a smaller part.", number.start, percent.end)
    # "lower by at most 2 %" is a floor for the change: it may also rise.
    relation: Relation = "at_most" if lower != bounded else "at_least"
    return Term(chosen.metric, relation, (-1 if lower else 1) * abs(value) / 100, "change")


def _bound(words: _Words, chosen: Chosen, relation: str) -> Term:
    value, _ = _amount(words, chosen)
    return Term(chosen.metric, "at_most" if relation == "at_most" else "at_least", value)


def _amount(words: _Words, chosen: Chosen, unit_before: tuple[float, str] | None = None) -> tuple[float, str]:
    """A value in the simulator's own unit, and the unit as written."""
    word = words.take()
    value = read_number(word.text)
    if value is None:
        what = f"“{word.text}” is no number" if word.text else "The amount is missing"
        raise LineError(f"{what}; write it in {chosen.of.unit}, such as 50.", word.start, max(word.end, word.start))
    unit = words.peek()
    if unit.low in UNITS and unit.text:
        words.take()
        wanted = ("ms", "s") if chosen.of.unit == "ms" else (chosen.of.unit,)
        if unit.low not in wanted:
            raise LineError(f"{chosen.of.words} is in {' or '.join(wanted)}, not in {unit.text}.", unit.start, unit.end)
        return value * UNITS[unit.low], unit.low
    return value / chosen.of.scale, ""
