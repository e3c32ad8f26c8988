"""What code finds in an answer for each criterion: sentences that say something, with what they contain.

Every measure is taken from sentences only, so that headings, word lists and pasted text earn nothing, and
every measure is read relative to the item's own example that earns the point where that makes sense.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from question_bank.question import Question
from rubrics import CriterionId
from tutor.grading.models import Quote
from tutor.grading.roles import Reading, equals, read_answer
from tutor.grading.text import Sentence, content_words, copied_share, stem

_FUNCTION = frozenset(
    """a an the of to in on at by for from with and or but so if then than that which this these those it its they
    we i would will is are was were be been has have had does do did not no as because since while when after before
    there you my our their each every both only also more less into until because therefore hence""".split()
)
_VERBS = frozenset(
    stem(w)
    for w in """is are was were be has have had does do did can could would will should may might must
    add adds make makes take takes leave leaves stay stays remain remains rise rises grow grows increase increases
    drop drops fall falls become becomes give gives get gets go goes come comes wait waits run runs measure measures
    record records compare compares log check show shows mean means hold holds keep keeps hurt hurts slow slows
    delay delays arrive arrives finish finishes complete completes multiply multiplies sum sums equal equals start
    starts need needs want change changes move moves shift shifts double doubles cost costs share shares block blocks
    process processes generate generates produce produces emit emits include includes contain contains depend depends
    expect prove disprove refute reject reveal separate plot trace compute computes use uses test tests spend spends
    follow follows see sees happen happens lead leads cause causes reduce reduces improve improves fill fills
    serve serves schedule schedules admit admits split count counts turn turns know look saturate exceed exceeds
    miss misses differ differs match matches push pushes force forces stall stalls lose loses save saves""".split()
)
_CONNECTIVE = re.compile(
    r"\b(?:because|so|since|therefore|thus|hence|leav(?:es|ing)|which (?:means|gives|makes|leaves)|meaning|as a result|"
    r"due to|that is why|then|follow(?:s|ed) by|after (?:the|that|which)|before (?:the|it|any)|only (?:after|once|when)|"
    r"add(?:s|ed)? up|in turn|while|each|per|by (?:adding|multiplying))\b|→|=>|⇒",
    re.IGNORECASE,
)
_MEASURE = frozenset(
    stem(w)
    for w in """measure measured measurement record recorded log logs logged trace traced plot histogram percentile
    p50 p95 p99 timestamp timestamps benchmark rerun repeat sweep observe observed inspect monitor profile instrument
    track tracked test experiment compare compared capture client-side server-side run replay simulate sample
    collect metric metrics check watch look a/b count telemetry counter span""".split()
)
_REFUTE = re.compile(
    r"\b(?:wrong|disprov\w+|refut\w+|falsif\w+|reject\w*|contradict\w*|drop (?:my|the|this)|abandon\w*|revis\w+|"
    r"chang\w+ (?:my|the) (?:mind|answer|explanation|diagnosis|claim|view)|fails?|invalid\w*|incorrect|mistaken|"
    r"rul\w+ out|overturn\w*|not (?:hold|true|the (?:queue|cause|reason|case|culprit))|n't (?:hold|true|the)|untrue|"
    r"false|against (?:me|my|it)|breaks? (?:my|the)|give up|would not be|could not be|does not explain|"
    r"cannot be|can't be|counter ?example|withdraw\w*|retract\w*|elsewhere|something else|not due to)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|should|were|otherwise|when|whenever|had|would|in case|any (?:reading|value|result))\b",
    re.IGNORECASE,
)
_EFFECT = re.compile(
    r"\b(?:ris\w+|rose|add(?:s|ed|ing)?|increas\w+|grow\w*|grew|longer|later|slow\w*|delay\w*|stay\w*|same|unchanged|"
    r"unaffected|constant|flat|hurt\w*|wors\w+|miss\w*|exceed\w*|block\w*|higher|lower|drop\w*|decreas\w*|stall\w*|"
    r"starv\w+|shift\w*|up by|remain\w*|not (?:move|change)|does ?n[o']t (?:move|change)|degrad\w+|suffer\w*|jump\w*|"
    r"fail\w*|spik\w+|climb\w*|shrink\w*|lag\w*|wait\w*|becomes?|goes (?:up|from|to)|push\w+|more)\b",
    re.IGNORECASE,
)
_STEADY = re.compile(
    r"\b(?:stay\w*|same|unchanged|unaffected|constant|flat|remain\w*|not (?:move|change|touch\w*|affect\w*)|"
    r"n't (?:move|change|touch|affect)|only|but not|still|while)\b",
    re.IGNORECASE,
)

FEATURES: dict[CriterionId, tuple[str, ...]] = {
    "result": ("reference", "connective"),
    "reasoning": ("steps", "connective", "reference"),
    "failure": ("effect", "contrast", "reference"),
    "verification": ("measure", "refute", "together", "reference"),
}


@dataclass(frozen=True)
class Evidence:
    """Measures of one criterion, each from 0 to about 1, and the sentence that carries most of them."""

    criterion: CriterionId
    features: dict[str, float]
    quote: Quote | None
    note: str


def says_something(sentence: str, has_sum: bool = False) -> bool:
    """Whether a line is a statement rather than a heading or a list of words."""
    if has_sum:
        return True
    words = [w.lower() for w in re.findall(r"[A-Za-z']+", sentence)]
    if len(words) < 4:
        return False
    function = sum(w in _FUNCTION for w in words)
    verb = any(stem(w) in _VERBS or w.endswith("n't") for w in words)
    return verb and function / len(words) >= 0.12


def reference_words(question: Question, criterion: CriterionId) -> frozenset[str]:
    """Content words of what earns the point, less those that the question itself hands out."""
    guide = question.criteria[criterion]
    asked = set(content_words(question.prompt))
    return (
        frozenset(
            w for t in (guide.statement, *guide.key_points, guide.met_example) for w in content_words(t)
        )
        - asked
    )


def matter_words(question: Question) -> frozenset[str]:
    """Every content word of the matter: the question, what earns its points, and the model answer."""
    texts = [question.prompt, question.reference]
    for guide in question.criteria.values():
        texts += [guide.statement, *guide.key_points, guide.met_example]
    return frozenset(w for t in texts for w in content_words(t))


@dataclass(frozen=True)
class _Line:
    sentence: Sentence
    words: frozenset[str]
    sums: int
    wrong_sums: int
    derived: frozenset[str]


def _lines(question: Question, reading: Reading, rubric_words: frozenset[str]) -> list[_Line]:
    """The sentences that may carry evidence: they say something, touch the matter, and are not pasted."""
    matter = matter_words(question)
    asked = frozenset(content_words(question.prompt)) | rubric_words
    lines = []
    for sentence in reading.sentences:
        chains = [c for c in reading.chains if sentence.start <= c.start < sentence.end]
        words = frozenset(content_words(sentence.text))
        derived = frozenset(
            q.name
            for q in question.derived
            for r in reading.reads
            if sentence.start <= r.start < sentence.end and _is_derived(r.value, q.value, equals(r, q))
        )
        fresh = bool(words - asked) or bool(derived) or bool(chains)
        if not says_something(sentence.text, bool(chains) or bool(derived)) or not fresh:
            continue
        if not (words & matter or derived or chains):
            continue
        if copied_share(sentence.text, [question.prompt], n=8) > 0.8:
            continue
        right = sum(c.operations for c in chains if c.right is not False)
        lines.append(_Line(sentence, words, right, sum(c.right is False for c in chains), derived))
    return lines


def _is_derived(written: float, wanted: float, same: bool) -> bool:
    return same or abs(written - wanted) <= 0.002 * abs(wanted)


def _quote(reading: Reading, line: Sentence) -> Quote:
    start, end = line.start, line.end
    if end - start > 240:
        cut = reading.folded.text.rfind(" ", start, start + 240)
        end = cut if cut > start else start + 240
    s, e = reading.folded.span(start, end)
    return Quote(text=reading.folded.source[s:e], start=s, end=e)


def _share(words: frozenset[str], reference: frozenset[str]) -> float:
    return len(words & reference) / len(reference) if reference else 0.0


def _raw(
    question: Question, reading: Reading, lines: list[_Line], criterion: CriterionId
) -> tuple[dict[str, float], list[float]]:
    """The criterion's measures over all lines, and each line's own weight for choosing a quote."""
    reference = reference_words(question, criterion)
    every = frozenset(w for line in lines for w in line.words)
    overlap = _share(every, reference)
    share = [_share(line.words, reference) for line in lines]
    texts = [line.sentence.text for line in lines]
    joined = [t if n + 1 == len(texts) else t + " " + texts[n + 1] for n, t in enumerate(texts)]
    measure = [
        bool({stem(p) for w in re.findall(r"[\w/-]+", t.lower()) for p in (w, *w.split("-"))} & _MEASURE)
        for t in texts
    ]
    refute = [bool(_REFUTE.search(t)) and bool(_CONDITION.search(t)) for t in texts]
    effect = [len({m.lower() for m in _EFFECT.findall(t)}) for t in texts]
    if criterion == "reasoning":
        wanted = len(question.derived)
        found = len({d for line in lines for d in line.derived})
        sums = sum(line.sums for line in lines)
        steps = min(1.0, sums / 3) * 0.6 + (found / wanted if wanted else min(1.0, sums / 3)) * 0.4
        connective = len([m for t in texts for m in _CONNECTIVE.findall(t)])
        weight = [
            line.sums * 0.6 + len(line.derived) * 0.8 + len(_CONNECTIVE.findall(t)) * 0.3 + s * 2
            for line, t, s in zip(lines, texts, share, strict=True)
        ]
        return {"steps": steps, "connective": min(1.0, connective / 3), "reference": overlap}, weight
    if criterion == "failure":
        # What would refute the answer is no failure case.
        case = [n for n in range(len(lines)) if not refute[n]]
        strength = max((min(1.0, effect[n] / 2) for n in case), default=0.0)
        contrast = max((float(bool(_STEADY.search(joined[n])) and effect[n] > 0) for n in case), default=0.0)
        weight = [
            effect[n] * 0.4 + share[n] * 3 - 1.0 * refute[n] - 0.5 * measure[n] for n in range(len(lines))
        ]
        return {"effect": strength, "contrast": contrast, "reference": overlap}, weight
    if criterion == "verification":
        near = range(len(lines))
        together = max(
            (
                float(refute[n] and any(measure[m] for m in (n - 1, n, n + 1) if 0 <= m < len(lines)))
                for n in near
            ),
            default=0.0,
        )
        weight = [1.2 * refute[n] + 0.8 * measure[n] + share[n] * 2 for n in near]
        features = {
            "measure": float(any(measure)), "refute": float(any(refute)), "together": together, "reference": overlap,
        }  # fmt: skip
        return features, weight
    connective = len([m for t in texts for m in _CONNECTIVE.findall(t)])
    return {"reference": overlap, "connective": min(1.0, connective / 3)}, share


def _note(criterion: CriterionId, features: dict[str, float]) -> str:
    if criterion == "reasoning":
        if features["steps"] >= 0.4:
            return "shows steps that work out"
        return (
            "connects statements with reasons"
            if features["connective"] >= 0.3
            else "shows no step or mechanism"
        )
    if criterion == "failure":
        if features["effect"] and features["contrast"]:
            return "states an effect and what stays as it was"
        return "states an effect" if features["effect"] else "states no effect of the failure"
    if criterion == "verification":
        if features["together"]:
            return "names a measurement and an outcome that would refute"
        if features["measure"]:
            return "names a measurement but no outcome that would refute"
        return "names no measurement"
    return (
        "covers part of the expected conclusion"
        if features["reference"] > 0.2
        else "covers little of the conclusion"
    )


def find_evidence(
    question: Question, answer: str, criterion: CriterionId, rubric_words: frozenset[str] = frozenset()
) -> Evidence:
    """Measures the evidence for one criterion; `rubric_words` are stems that earn nothing by themselves."""
    reading = read_answer(question, answer)
    lines = _lines(question, reading, rubric_words)
    if not lines:
        return Evidence(
            criterion, dict.fromkeys(FEATURES[criterion], 0.0), None, "says nothing about it in a sentence"
        )
    features, weight = _raw(question, reading, lines, criterion)
    # The item's own example that earns the point sets what a full overlap with the reference is.
    example = frozenset(content_words(question.criteria[criterion].met_example))
    full = max(0.25, _share(example, reference_words(question, criterion)))
    features["reference"] = min(1.5, features["reference"] / full)
    best = max(range(len(lines)), key=lambda n: weight[n])
    quote = _quote(reading, lines[best].sentence) if weight[best] > 0 else None
    return Evidence(criterion, features, quote, _note(criterion, features))


def quote_stands(quote: Quote, answer: str) -> bool:
    """Whether a quote is the answer's own text at its offsets."""
    return bool(quote.text) and answer[quote.start : quote.end] == quote.text
