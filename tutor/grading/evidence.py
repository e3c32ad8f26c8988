"""What code finds in an answer for each criterion: sentences that say something, with what they contain.

Every measure is taken from sentences only, so that headings, word lists and pasted text earn nothing, and
every measure is read relative to the item's own example that earns the point where that makes sense.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from question_bank.question import Expected, Quantity, Question
from rubrics import CriterionId
from tutor.grading.models import Quote
from tutor.grading.result import find_results
from tutor.grading.roles import Reading, alike, equals, failure_reads, read_answer
from tutor.grading.text import Sentence, content_words, copied_share, fold, stem

_FUNCTION = frozenset(
    re.findall(
        r"\S+",
        """a an the of to in on at by for from with and or but so if then than that which this these those it its they
    we i would will is are was were be been has have had does do did not no as because since while when after before
    there you my our their each every both only also more less into until therefore hence i'd we'd i'll we'll it's
    that's would've didn't doesn't don't isn't won't can't""",
    )
)
_VERBS = frozenset(
    stem(w)
    for w in re.findall(
        r"\S+",
        """is are was were be has have had does do did can could would will should may might must
    add adds make makes take takes leave leaves stay stays remain remains rise rises grow grows increase increases
    drop drops fall falls become becomes give gives get gets go goes come comes wait waits run runs measure measures
    record records compare compares log check show shows mean means hold holds keep keeps hurt hurts slow slows
    delay delays arrive arrives finish finishes complete completes multiply multiplies sum sums equal equals start
    starts need needs want change changes move moves shift shifts double doubles cost costs share shares block blocks
    process processes generate generates produce produces emit emits include includes contain contains depend depends
    expect prove disprove refute reject reveal separate plot trace compute computes use uses test tests spend spends
    follow follows see sees happen happens lead leads cause causes reduce reduces improve improves fill fills
    serve serves schedule schedules admit admits split count counts turn turns know look saturate exceed exceeds
    miss misses differ differs match matches push pushes force forces stall stalls lose loses save saves put time
    stamp export land reach feel sit carry last spread pay violate break pass gain earn read say climb suffer look
    lift pile speed send return choose pick stop divide subtract decide tell describe bring end begin repeat rerun
    replay withdraw drop revise write plot fill free hide work stand try capture watch track find amortise amortize
    overlap interleave interrupt preempt compete let build reuse explain favour harm help benefit degrade halve fit
    answer ask assume fail overtake dominate limit bound""",
    )
)
_CONNECTIVE = re.compile(
    r"\b(?:because|so|since|therefore|thus|hence|leav(?:es|ing)|which (?:means|gives|makes|leaves)|meaning|as a result|"
    r"due to|that is why|then|follow(?:s|ed) by|after (?:the|that|which)|before (?:the|it|any)|in turn|while|each|"
    r"only (?:after|once|when)|"
    r"add(?:s|ed)? up|per|by (?:adding|multiplying))\b|→|=>|⇒",
    re.IGNORECASE,
)
_MEASURE = frozenset(
    stem(w)
    for w in re.findall(
        r"\S+",
        """measure measured measurement record recorded log logs logged trace traced plot histogram
    percentile p50 p95 p99 timestamp timestamps benchmark rerun repeat sweep observe observed inspect monitor
    profile instrument track tracked test experiment compare compared capture client-side server-side run replay
    simulate sample collect metric metrics check watch look a/b count telemetry counter span stamp stamped
    export series readings repeat reading""",
    )
)
_TALK = frozenset(
    stem(w)
    for w in re.findall(
        r"\S+",
        """answer explanation claim wrong right prove show shown judgement judgment view make made take back give good
        different same change find found know say tell first second part result outcome case apart separately true
        false disprove refute reject drop revise hold measurement expect expected""",
    )
)
_REFUTE = re.compile(
    r"\b(?:wrong|disprov\w+|refut\w+|falsif\w+|reject\w*|contradict\w*|drop (?:my|the|this)|abandon\w*|revis\w+|"
    r"chang\w+ (?:my|the) (?:mind|answer|explanation|diagnosis|claim|view)|fails?|invalid\w*|incorrect|mistaken|"
    r"rul\w+ out|overturn\w*|not (?:hold|true|the (?:queue|cause|reason|case|culprit))|n't (?:hold|true|the)|untrue|"
    r"false|against (?:me|my|it)|breaks? (?:my|the)|give up|would not be|could not be|does not explain|"
    r"cannot be|can't be|counter ?example|withdraw\w*|retract\w*|elsewhere|something else|not due to|not to blame|"
    r"(?:answer|claim|explanation|story|theory|diagnosis|view) (?:falls|collapses|is off|is out|is dead|goes)|"
    r"(?:give|gave) [\w ]{1,30} up|take [\w ]{1,30} back|was not|were not)\b",
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
    r"fail\w*|spik\w+|climb\w*|shrink\w*|lag\w*|waits?|goes (?:up|down|from|to)|go (?:up|down)|push\w+|sooner|earlier|"
    r"better|los(?:e|es|ing)|gains?|violat\w*|break\w*|broke|pays?|benefit\w*|helps?|harm\w*|hides?|misjudg\w*|"
    r"mix\w*|fall\w*|moves?|assum\w*)\b",
    re.IGNORECASE,
)
_STEADY = re.compile(
    r"\b(?:stay\w*|same|unchanged|unaffected|constant|flat|remain\w*|not (?:move|change|touch\w*|affect\w*)|"
    r"n't (?:move|change|touch|affect)|only|but not|still|while)\b",
    re.IGNORECASE,
)

FEATURES: dict[CriterionId, tuple[str, ...]] = {
    "result": ("reference", "focus"),
    "reasoning": ("steps", "connective", "reference", "focus", "slip"),
    "failure": ("effect", "contrast", "size", "reference", "focus"),
    "verification": ("measure", "refute", "together", "reference", "focus"),
}


@dataclass(frozen=True)
class Evidence:
    """Measures of one criterion, each from 0 to about 1, and the sentence that carries most of them."""

    criterion: CriterionId
    features: dict[str, float]
    quote: Quote | None
    note: str
    silent: bool = False
    """The answer has no sentence at all that says something, so there is nothing that could have been missed."""


def says_something(sentence: str, has_sum: bool = False) -> bool:
    """Whether a line is a statement rather than a heading or a list of words."""
    if has_sum:
        return True
    folded = fold(sentence).text
    pieces = sorted(len(p.split()) for p in folded.split(","))
    if len(pieces) >= 5 and pieces[len(pieces) // 2] <= 2:
        return False
    words = [w.lower() for w in re.findall(r"[A-Za-z']+", folded)]
    if len(words) < 4:
        return False
    function = sum(w in _FUNCTION for w in words)
    verb = any(stem(w) in _VERBS or w.endswith(("n't", "'d", "'ll")) for w in words)
    return verb and function / len(words) >= 0.12


def reference_words(question: Question, criterion: CriterionId) -> frozenset[str]:
    """Content words of what earns the point, less those that the question itself hands out."""
    guide = question.criteria[criterion]
    asked = set(content_words(question.prompt))
    return (
        frozenset(w for t in (guide.statement, *guide.key_points, guide.met_example) for w in content_words(t)) - asked
    )


def _things(question: Question) -> frozenset[str]:
    """What can be measured here: the matter's words, less those in which any check is told."""
    guide = question.criteria["verification"]
    told = frozenset(w for t in (question.prompt, guide.statement, *guide.key_points) for w in content_words(t))
    return told - _MEASURE - _TALK


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
    derived: frozenset[str]
    sizes: int


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


def _lines(question: Question, reading: Reading, rubric_words: frozenset[str]) -> list[_Line]:
    """The sentences that may carry evidence: they say something, touch the matter, and are not pasted."""
    matter = matter_words(question)
    asked = frozenset(content_words(question.prompt)) | rubric_words
    sizes = _sizes(question, reading)
    lines: list[_Line] = []
    kept = False
    for sentence in reading.sentences:
        before, kept = kept, False
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
        if not (says_something(sentence.text, bool(chains)) or (numeric and len(words) >= 2)):
            continue
        if not (words - asked or numeric or chains):
            continue
        if not (words & matter or numeric or chains or before):
            continue
        if copied_share(sentence.text, [question.prompt], n=8) > 0.8:
            continue
        kept = True
        right = sum(c.operations for c in chains if c.right is not False)
        lines.append(_Line(sentence, words, right, derived, told))
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
    pairs = [line.words | (lines[n + 1].words if n + 1 < len(lines) else frozenset()) for n, line in enumerate(lines)]
    focus = max((_share(p, whole) for p in pairs), default=0.0) / full
    own = [_share(line.words, whole) / full + _share(line.words, new) for line in lines]
    return min(1.5, reference), min(1.5, focus), own


def _measures(
    question: Question, reading: Reading, lines: list[_Line], criterion: CriterionId
) -> tuple[dict[str, float], list[tuple[float, _Line]]]:
    """The criterion's measures over all lines, and the lines with their weight for choosing a quote."""
    if criterion == "failure":
        # A step of the derivation is no failure case, though it shares its words.
        lines = [
            line for line in lines
            if line.sizes or (_EFFECT.search(line.sentence.text) and not line.derived and not line.sums)
        ]  # fmt: skip
    reference, focus, own = _overlaps(question, lines, criterion)
    features = {"reference": reference, "focus": focus}
    texts = [line.sentence.text for line in lines]
    here = range(len(lines))
    stems = [{stem(p) for w in re.findall(r"[\w/-]+", t.lower()) for p in (w, *w.split("-"))} for t in texts]
    measure = [bool(s & _MEASURE) for s in stems]
    refute = [bool(_REFUTE.search(t)) and bool(_CONDITION.search(t)) for t in texts]
    if criterion == "reasoning":
        wanted, sums = len(question.derived), sum(line.sums for line in lines)
        found = len({d for line in lines for d in line.derived})
        links = [len(_CONNECTIVE.findall(t)) for t in texts]
        # Reasons count where they connect the matter, not where they explain a check.
        features["connective"] = min(1.0, sum(c for n, c in enumerate(links) if not refute[n] and own[n] > 0.2) / 3)
        # Where nothing is calculated, a step is a reason that connects parts of the mechanism.
        mechanism = features["connective"] * min(1.0, focus)
        features["steps"] = min(1.0, sums / 3) * 0.6 + found / wanted * 0.4 if wanted else mechanism
        findings, _ = find_results(question, reading)
        features["slip"] = float(any(f.slip is not None for f in findings))
        weight = [
            line.sums * 0.6 + len(line.derived) * 0.6 + links[n] * 0.2 + own[n] - refute[n]
            for n, line in enumerate(lines)
        ]
        return features, list(zip(weight, lines, strict=True))
    if criterion == "failure":
        effect = [len({m.lower() for m in _EFFECT.findall(t)}) for t in texts]
        # What would refute the answer is no failure case.
        case = [n for n in here if not refute[n]]
        # Saying the question's own case again is no effect: a size or a word of the reference must be there.
        new = reference_words(question, "failure")
        near = [own[n] > 0.2 and bool(lines[n].sizes or lines[n].words & new) for n in here]
        steady = [bool(_STEADY.search(t)) for t in texts]
        features["effect"] = max((min(1.0, effect[n] / 2) for n in case if near[n]), default=0.0)
        features["contrast"] = float(any(effect[n] and any(steady[n : n + 2]) and near[n] for n in case))
        features["size"] = min(1.0, sum(lines[n].sizes for n in case) / 2)
        weight = [effect[n] * 0.3 + lines[n].sizes * 0.8 + own[n] - refute[n] - 0.5 * measure[n] for n in here]
        return features, list(zip(weight, lines, strict=True))
    if criterion == "verification":
        # Measuring and refuting count where they are about something: "if the measurement disproves it,
        # it is wrong" fits every question.
        things = [line.words & _things(question) for line in lines]
        around = [frozenset().union(*things[max(0, n - 1) : n + 2]) for n in here]
        measure = [measure[n] and bool(around[n]) for n in here]
        refute = [refute[n] and bool(around[n]) for n in here]
        features["measure"] = float(any(measure))
        features["refute"] = float(any(refute))
        features["together"] = float(any(refute[n] and any(measure[max(0, n - 1) : n + 2]) for n in here))
        weight = [1.2 * refute[n] + 0.6 * measure[n] + 0.5 * own[n] for n in here]
        return features, list(zip(weight, lines, strict=True))
    return features, list(zip(own, lines, strict=True))


def _note(question: Question, criterion: CriterionId, features: dict[str, float]) -> str:
    if criterion == "reasoning":
        if features["slip"]:
            steps = "shows steps, but they rest" if features["steps"] >= 0.3 else "rests"
            return f"{steps} on the slip that made the result wrong"
        if question.derived and features["steps"] >= 0.3:
            return "shows steps that work out"
        return "gives reasons" if features["connective"] >= 0.3 else "shows no step or mechanism"
    if criterion == "failure":
        if features["effect"] and features["contrast"]:
            return "states an effect and what stays as it was"
        if features["size"]:
            return "gives the size of the effect"
        return "states an effect" if features["effect"] else "states no effect of the failure"
    if criterion == "verification":
        if features["together"]:
            return "names a measurement and an outcome that would refute"
        if features["refute"]:
            return "names an outcome that would refute, but hardly how it is measured"
        return "names a measurement but no outcome that would refute" if features["measure"] else "names no measurement"
    return "draws the expected conclusion" if features["reference"] > 0.2 else "covers little of the conclusion"


def find_evidence(
    question: Question, answer: str, criterion: CriterionId, rubric_words: frozenset[str] = frozenset()
) -> Evidence:
    """Measures the evidence for one criterion; `rubric_words` are stems that earn nothing by themselves."""
    reading = read_answer(question, answer)
    lines = _lines(question, reading, rubric_words)
    if not lines:
        return Evidence(
            criterion,
            dict.fromkeys(FEATURES[criterion], 0.0),
            None,
            "says nothing about it in a sentence",
            silent=True,
        )
    features, weighed = _measures(question, reading, lines, criterion)
    weight, best = max(weighed, key=lambda pair: pair[0], default=(0.0, lines[0]))
    quote = _quote(reading, best.sentence) if weight > 0 else None
    return Evidence(criterion, features, quote, _note(question, criterion, features))


def quote_stands(quote: Quote, answer: str) -> bool:
    """Whether a quote is the answer's own text at its offsets."""
    return bool(quote.text) and answer[quote.start : quote.end] == quote.text
