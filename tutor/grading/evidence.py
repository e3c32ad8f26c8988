"""What code finds in an answer for each criterion: sentences that say something, with what they contain.

Every measure is taken from sentences that the candidate states, so that headings, word lists, pasted text, questions
and what others are said to think earn nothing. Where a sentence encoder is at hand, one more measure is taken: how
near the sentences come to what earns the point, beyond how near they come to what does not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from question_bank.question import Expected, Quantity, Question
from rubrics import CriterionId
from tutor.grading.directions import Way, agreement, ways
from tutor.grading.doubts import stance
from tutor.grading.evidence_words import CONNECTIVE, EFFECT, MEASURE, TALK, says_something
from tutor.grading.heard import scattered
from tutor.grading.likeness import SentenceEncoder, likeness
from tutor.grading.models import CRITERIA, Quote
from tutor.grading.refuting import concedes, outcome
from tutor.grading.result import find_results
from tutor.grading.roles import Reading, alike, equals, failure_reads, read_answer
from tutor.grading.text import Sentence, content_words, copied_share, stem
from tutor.grading.wordorder import is_ordered

FEATURES: dict[CriterionId, tuple[str, ...]] = {
    "result": ("reference", "focus"),
    "reasoning": ("steps", "own", "slip"),
    "failure": ("size", "own", "effect", "against"),
    "verification": ("measure", "refute", "own", "focus"),
}
"""The measures of each criterion without an encoder."""
NEAR = "near"
"""The measure that an encoder adds."""
_CARRYING = 3
"""Sentences of a criterion that are looked at together for whether they hang together."""
TAKES_AWAY = frozenset({"slip", "against"})
"""Measures that speak against the point."""


@dataclass(frozen=True)
class Evidence:
    """Measures of one criterion, mostly from 0 to about 1, and the sentence that carries most of them."""

    criterion: CriterionId
    features: dict[str, float]
    quote: Quote | None
    note: str
    silent: bool = False
    """The answer has no sentence at all that says something, so there is nothing that could have been missed."""
    sound: dict[str, float] | None = None
    """The measures from the sentences alone that can be believed by their words; None where those are all."""


def reference_words(question: Question, criterion: CriterionId) -> frozenset[str]:
    """Content words of what earns the point, less those that the question itself hands out."""
    return _guide_words(question, criterion) - frozenset(content_words(question.prompt))


def _guide_words(question: Question, criterion: CriterionId) -> frozenset[str]:
    guide = question.criteria[criterion]
    return frozenset(w for t in (guide.statement, *guide.key_points, guide.met_example) for w in content_words(t))


def own_words(question: Question, criterion: CriterionId) -> frozenset[str]:
    """The words that speak for this criterion alone: neither the question nor another criterion has them."""
    others = frozenset(w for c in question.criteria if c != criterion for w in _guide_words(question, c))
    return reference_words(question, criterion) - others


def _things(question: Question) -> frozenset[str]:
    """What can be measured here: the matter's words, less those in which any check is told."""
    guide = question.criteria["verification"]
    told = frozenset(w for t in (question.prompt, guide.statement, *guide.key_points) for w in content_words(t))
    return told - MEASURE - TALK


def matter_words(question: Question) -> frozenset[str]:
    """Every content word of the matter: the question, what earns its points, and the model answer."""
    texts = [question.prompt, question.reference]
    for guide in question.criteria.values():
        texts += [guide.statement, *guide.key_points, guide.met_example]
    return frozenset(w for t in texts for w in content_words(t))


@dataclass(frozen=True)
class _Line:
    sentence: Sentence
    place: int
    """Its number among all sentences of the answer."""
    words: frozenset[str]
    sums: int
    derived: frozenset[str]
    sizes: int
    refutes: bool


def _sizes(question: Question, reading: Reading) -> frozenset[int]:
    """Indexes of the numbers that tell the failure's size: those its key points name and the result does not."""
    told = failure_reads(question)
    known: tuple[Quantity | Expected, ...] = (*question.givens, *question.expected)
    found = set()
    for index, use in enumerate(reading.uses):
        if use.role == "step" or not any(alike(use.read, t) for t in told):
            continue
        if use.role in {"delta", "supposed"} or not any(equals(use.read, q) for q in known):
            found.add(index)
    return frozenset(found)


def _sizes_wanted(question: Question) -> bool:
    """Whether the failure's key points name numbers of their own."""
    known: tuple[Quantity | Expected, ...] = (*question.givens, *question.expected)
    return any(t.unit and not any(equals(t, q) for q in known) for t in failure_reads(question))


def _lines(question: Question, reading: Reading, rubric_words: frozenset[str]) -> list[_Line]:
    """The sentences that may carry evidence: stated, saying something, touching the matter, and not pasted."""
    matter = matter_words(question)
    asked = frozenset(content_words(question.prompt)) | rubric_words
    sizes = _sizes(question, reading)
    lines: list[_Line] = []
    kept = False
    before_text = ""
    for place, sentence in enumerate(reading.parts):
        before, kept = kept, False
        previous, before_text = before_text, sentence.text
        chains = [
            c for c in reading.chains
            if sentence.start <= c.start < sentence.end and not (c.right is None and "/" in c.text)
        ]  # fmt: skip
        inside = [n for n, r in enumerate(reading.reads) if sentence.start <= r.start < sentence.end]
        words = frozenset(content_words(sentence.text))
        derived = frozenset(
            q.name for q in question.derived for n in inside
            if equals(reading.reads[n], q) or math.isclose(reading.reads[n].value, q.value, rel_tol=0.002)
        )  # fmt: skip
        told = len(sizes & set(inside))
        numeric = bool(derived) or bool(told)
        gives_up = concedes(sentence.text)
        refutes = gives_up and (outcome(sentence.text) or outcome(previous))
        # "equal → hypothesis dead" is a statement in telegraph style.
        terse = refutes and (before or bool(words & matter)) and len(sentence.text.split()) <= 20
        if not (says_something(sentence.text, bool(chains)) or (numeric and len(words) >= 2) or terse):
            continue
        if not (words - asked or numeric or chains):
            continue
        if not (words & matter or numeric or chains or before):
            continue
        if stance(sentence.text) in ({"reported"} if refutes else {"denied", "asked", "reported"}):
            continue
        if copied_share(sentence.text, [question.prompt], n=8) > 0.8 or not is_ordered(sentence.text):
            continue
        kept = True
        right = sum(c.operations for c in chains if c.right is not False)
        lines.append(_Line(sentence, place, words, right, derived, told, refutes))
    return lines


def _quote(reading: Reading, line: Sentence) -> Quote:
    start, end = line.start, line.end
    if end - start > 240:
        cut = reading.folded.text.rfind(" ", start, start + 240)
        end = cut if cut > start else start + 240
    s, e = reading.folded.span(start, end)
    return Quote(text=reading.folded.source[s:e], start=s, end=e)


def _share(words: frozenset[str], reference: frozenset[str]) -> float:
    return len(words & reference) / len(reference) if reference else 0.0


def _pairs(lines: Sequence[_Line]) -> list[frozenset[str]]:
    """The words of each line with those of the next, where it follows at once."""
    out = []
    for n, line in enumerate(lines):
        follows = n + 1 < len(lines) and lines[n + 1].place == line.place + 1
        out.append(line.words | lines[n + 1].words if follows else line.words)
    return out


def _overlaps(question: Question, lines: list[_Line], criterion: CriterionId) -> tuple[float, float, list[float]]:
    """How much of what earns the point is covered, in all, in one place, and by each line.

    Each is relative to what the item's own example that earns the point covers.
    """
    guide = question.criteria[criterion]
    example = frozenset(content_words(guide.met_example))
    new = reference_words(question, criterion)
    whole = frozenset(w for t in (guide.statement, *guide.key_points) for w in content_words(t))
    every = frozenset(w for line in lines for w in line.words)
    reference = _share(every, new) / max(0.25, _share(example, new))
    full = max(0.2, _share(example, whole))
    focus = max((_share(p, whole) for p in _pairs(lines)), default=0.0) / full
    each = [_share(line.words, whole) / full + _share(line.words, new) for line in lines]
    return min(1.5, reference), min(1.5, focus), each


Weighed = list[tuple[float, _Line]]


def _result(question: Question, lines: list[_Line]) -> tuple[dict[str, float], Weighed]:
    reference, focus, each = _overlaps(question, lines, "result")
    return {"reference": reference, "focus": focus}, list(zip(each, lines, strict=True))


def _reasoning(question: Question, reading: Reading, lines: list[_Line]) -> tuple[dict[str, float], Weighed]:
    _, focus, each = _overlaps(question, lines, "reasoning")
    wanted, sums = len(question.derived), sum(line.sums for line in lines)
    found = len({d for line in lines for d in line.derived})
    links = [len(CONNECTIVE.findall(line.sentence.text)) for line in lines]
    # Reasons count where they connect the matter, not where they explain a check.
    told = sum(c for c, line, near in zip(links, lines, each, strict=True) if not line.refutes and near > 0.2)
    connective = min(1.0, told / 3)
    findings, _ = find_results(question, reading)
    features = {
        # Where nothing is calculated, a step is a reason that connects parts of the mechanism.
        "steps": min(1.0, sums / 3) * 0.6 + found / wanted * 0.4 if wanted else connective * min(1.0, focus),
        "own": _own(question, "reasoning", [line for line in lines if not line.refutes]),
        "slip": float(any(f.slip is not None for f in findings)),
    }
    weight = [
        line.sums * 0.6 + len(line.derived) * 0.6 + links[n] * 0.2 + each[n] - line.refutes
        for n, line in enumerate(lines)
    ]
    return features, list(zip(weight, lines, strict=True))


def _own(question: Question, criterion: CriterionId, lines: list[_Line]) -> float:
    own = own_words(question, criterion)
    return min(1.5, max((len(p & own) for p in _pairs(lines)), default=0) / 2)


@lru_cache(maxsize=512)
def _failure_ways(texts: tuple[str, ...]) -> frozenset[tuple[str, Way]]:
    return frozenset(pair for text in texts for pair in ways(text))


def _failure(question: Question, lines: list[_Line]) -> tuple[dict[str, float], Weighed]:
    # What would refute the answer is no failure case, and a step of the derivation is none.
    case = [line for line in lines if not line.refutes and (line.sizes or not (line.sums or line.derived))]
    guide, own = question.criteria["failure"], own_words(question, "failure")
    reference = _failure_ways((guide.statement, *guide.key_points, guide.met_example))
    _, _, each = _overlaps(question, case, "failure")
    effects = [len({m.lower() for m in EFFECT.findall(line.sentence.text)}) for line in case]
    told = [pair for line, near in zip(case, each, strict=True) if near > 0.2 for pair in ways(line.sentence.text)]
    _, otherwise = agreement(told, reference)
    # A word of effect counts once, as that: "fails" beside nothing else of the matter is anybody's word.
    new = frozenset(w for w in reference_words(question, "failure") if not EFFECT.fullmatch(w))
    features = {
        # Read around zero, so that an item without sizes is neither helped nor hurt.
        "size": min(1.0, sum(line.sizes for line in lines) / 2) - 0.5 if _sizes_wanted(question) else 0.0,
        "own": _own(question, "failure", case),
        "effect": max(
            (min(1.0, e / 2) for e, line in zip(effects, case, strict=True) if line.sizes or line.words & new),
            default=0.0,
        ),
        "against": min(1.0, otherwise / 2),
    }
    # One word alone that happens to be the failure's is no case: an effect, a size or two words make one.
    weight = [
        (effects[n] * 0.1 + line.sizes * 0.8 + each[n] + len(line.words & own) * 0.5)
        * bool(line.sizes or effects[n] or len(line.words & new) >= 2)
        - 0.5 * bool(_stems(line) & MEASURE)
        for n, line in enumerate(case)
    ]
    return features, list(zip(weight, case, strict=True))


def _stems(line: _Line) -> frozenset[str]:
    return frozenset(stem(p) for w in re.findall(r"[\w/-]+", line.sentence.text.lower()) for p in (w, *w.split("-")))


def _verification(question: Question, lines: list[_Line]) -> tuple[dict[str, float], Weighed]:
    # Measuring and refuting count where they are about something: "if the measurement disproves it, it is wrong"
    # fits every question.
    things = _things(question)
    here = [bool(line.words & things) or bool(re.search(r"\d", line.sentence.text)) for line in lines]
    around = [any(here[max(0, n - 2) : n + 1]) for n in range(len(lines))]
    measure = [bool(_stems(line) & MEASURE) and here[n] for n, line in enumerate(lines)]
    refute = [line.refutes and around[n] for n, line in enumerate(lines)]
    _, focus, each = _overlaps(question, lines, "verification")
    features = {
        "measure": float(any(measure)),
        "refute": float(any(refute)),
        "own": _own(question, "verification", lines),
        "focus": focus,
    }
    weight = [1.2 * refute[n] + 0.6 * measure[n] + 0.5 * each[n] for n in range(len(lines))]
    return features, list(zip(weight, lines, strict=True))


def _note(question: Question, criterion: CriterionId, features: dict[str, float]) -> str:
    if criterion == "reasoning":
        if features["slip"]:
            steps = "shows steps, but they rest" if features["steps"] >= 0.3 else "rests"
            return f"{steps} on the slip that made the result wrong"
        if question.derived and features["steps"] >= 0.3:
            return "shows steps that work out"
        return "gives reasons" if features["steps"] + features["own"] >= 0.5 else "shows no step or mechanism"
    if criterion == "failure":
        if features["against"] >= 1:
            return "tells the failure's effect the other way round"
        if features["size"] > 0:
            return "gives the size of the effect"
        return "states an effect" if features["effect"] else "states no effect of the failure"
    if criterion == "verification":
        if features["refute"]:
            how = "names a measurement and an outcome that would refute"
            return how if features["measure"] else "names an outcome that would refute"
        return "names a measurement but no outcome that would refute" if features["measure"] else "names no measurement"
    return "draws the expected conclusion" if features["reference"] > 0.2 else "covers little of the conclusion"


def find_all(
    question: Question,
    answer: str,
    criteria: Sequence[CriterionId] = CRITERIA,
    rubric_words: frozenset[str] = frozenset(),
    encoder: SentenceEncoder | None = None,
) -> dict[CriterionId, Evidence]:
    """The evidence for several criteria from one reading; `rubric_words` are stems that earn nothing by themselves.

    With an `encoder` the measure NEAR is there too.
    """
    reading = read_answer(question, answer)
    lines = _lines(question, reading, rubric_words)
    kept = [line for line in lines if line.place in reading.believed]
    found: dict[CriterionId, Evidence] = {}
    for criterion in criteria:
        if not lines:
            names = (*FEATURES[criterion], *((NEAR,) if encoder else ()))
            note = "says nothing about it in a sentence"
            found[criterion] = Evidence(criterion, dict.fromkeys(names, 0.0), None, note, silent=True)
            continue
        features, weighed = _measured(question, criterion, reading, lines, encoder)
        note = _note(question, criterion, features)
        carrying = [line for _, line in sorted(weighed, key=lambda pair: -pair[0])[:_CARRYING]]
        apart = {carrying[n].place for n in scattered(question, [line.sentence.text for line in carrying])}
        believed = [line for line in kept if line.place not in apart]
        only = _measured(question, criterion, reading, believed, encoder)[0] if len(believed) < len(lines) else None
        weight, best = max(weighed, key=lambda pair: pair[0], default=(0.0, lines[0]))
        quote = _quote(reading, best.sentence) if weight > 0 else None
        found[criterion] = Evidence(criterion, features, quote, note, sound=only)
    return found


def _measured(
    question: Question,
    criterion: CriterionId,
    reading: Reading,
    lines: list[_Line],
    encoder: SentenceEncoder | None,
) -> tuple[dict[str, float], Weighed]:
    """The measures of one criterion from these sentences, and how much each of them carries."""
    if criterion == "reasoning":
        features, weighed = _reasoning(question, reading, lines)
    elif criterion == "failure":
        features, weighed = _failure(question, lines)
    elif criterion == "verification":
        features, weighed = _verification(question, lines)
    else:
        features, weighed = _result(question, lines)
    if encoder is not None:
        texts = [(line.place, line.sentence.text) for line in lines if criterion == "verification" or not line.refutes]
        features[NEAR] = likeness(encoder, question, criterion, texts)
        if features.get("slip"):
            # What rests on a slip reads much like the reference; that speaks not for it.
            features[NEAR] = min(0.0, features[NEAR])
    return features, weighed


def find_evidence(
    question: Question,
    answer: str,
    criterion: CriterionId,
    rubric_words: frozenset[str] = frozenset(),
    encoder: SentenceEncoder | None = None,
) -> Evidence:
    """Measures the evidence for one criterion; see `find_all`."""
    return find_all(question, answer, (criterion,), rubric_words, encoder)[criterion]


def quote_stands(quote: Quote, answer: str) -> bool:
    """Whether a quote is the answer's own text at its offsets."""
    return bool(quote.text) and answer[quote.start : quote.end] == quote.text
