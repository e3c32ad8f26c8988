"""Words of denial, of a low opinion, of taking back: whether a number or a sentence is meant as the candidate's own.

`wording.rejected` knows the usual ways of turning a value down; `doubted` is wider, and what it tells is worth asking
about rather than accepted.
"""

from __future__ import annotations

import re
from typing import Literal

from tutor.grading.wording import MODEST, Around, after_last, any_of

Stance = Literal["stated", "denied", "asked", "reported", "unknown"]

_ATTITUDE = any_of(
    r"""(?:I|we|I'd)(?: \w+)? (?:refuse|deny|dispute|reject|dismiss) | doubt\w* | disagree\w* | disbelie\w+ |
    silly | absurd\w* | foolish\w* | ridiculous\w* | nonsens\w* | bogus | fake | far from | nowhere near |
    nothing like | unlikely | implausibl\w* | impossibl\w* | unreasonabl\w* | unrealistic\w* | hardly | scarcely |
    untrue | false\w* | wrong\w* | incorrect\w* | mistake\w* | mistaken\w* | naive\w* | fall for | fooled | misled |
    mislead\w* | tempt\w* | pretend\w* | myth | fallacy | trap | beware | avoid\w* | out of the question |
    anything but | unable | fails? to"""
)
_SCORN = any_of(
    r"""refus\w+ to | silly | absurd\w* | foolish\w* | ridiculous\w* | nonsens\w* | bogus |
    far from | nowhere near | nothing like | fall for | out of the question | wrong"""
)
_SCORN_BEFORE = re.compile(
    rf"\b(?:{_SCORN})(?:\s+[a-z']+){{0,4}}\s+$|"
    r"\b(?:(?:does|do|did|will|would|can|could|is|are)(?: \w+)? not|cannot|\w+n't|never)(?: \w+)? \w+ "
    r"(?:at|in|after|by|to|until|for)\s+$",
    re.IGNORECASE,
)
_SCORN_AFTER = re.compile(
    r"^(?:\s+[a-z]+){0,4}\s+(?:cannot possibly|is out of the question|is (?:plainly |simply |clearly )?"
    r"(?:absurd|nonsense|ridiculous|silly|impossible))\b|"
    r"^[^.;]{0,60},? but (?:neither|none|both are (?:wrong|off))\b",
    re.IGNORECASE,
)
_WHETHER = re.compile(r"\bwhether\b", re.IGNORECASE)
_DOUBT_BEFORE = re.compile(
    rf"\b(?:{_ATTITUDE})\b(?:\W+[\w']+){{0,6}}\W*$|(?:\b(?:not|never|cannot|neither|nor)|n't)(?:\s+[a-z']+){{0,4}}\s+$",
    re.IGNORECASE,
)
# Whole words (++), or an endless one could be divided into five in as many ways as it has letters, to the fifth.
_DOUBT_AFTER = re.compile(
    rf"^(?:[\s*)\"']*+[a-z']++){{0,5}}[\s*)\"']*\b(?:{_ATTITUDE}|cannot|can't|couldn't|isn't|wasn't|won't|neither|"
    r"(?:is|are|be|was|does|do|will|would|could|can) (?:never|not))\b",
    re.IGNORECASE,
)


_MAYBE = re.compile(r"\b(?:could|might|may|can)(?: \w+)? be[\s≈~]*$|^\W*(?:who knows|no idea)\b", re.IGNORECASE)
# "That it completes at 1,050 ms is …" passes a judgement, whatever it is.
_THAT = re.compile(
    r"^\W*(?:that|the idea|the claim|the view)\b(?! (?:is|means|gives|makes|leaves|was|adds|takes))", re.I
)


_RETRACTED = re.compile(
    r"\bI (?:take (?:it|that|this|all of it|everything) back|withdraw|retract)\b|\bscratch (?:that|it)\b|"
    r"\bforget (?:it|that)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(r"\b(?:if|when|should|unless|were|would|until|otherwise|in case)\b", re.IGNORECASE)


def retracted(sentence: str) -> bool:
    """Whether a sentence takes back what was said and puts nothing in its place; "if …, I take it back" does not."""
    match = _RETRACTED.search(sentence)
    return bool(match) and not _CONDITIONAL.search(sentence) and not re.search(r"\d", after_last(_RETRACTED, sentence))


_GUESSED = re.compile(r"\b(?:guess|want to hear|maybe|perhaps|is it|could it|would it)\b", re.IGNORECASE)


_SAID = re.compile(r"\b(?:answered|replied|wrote|guessed|claimed|told|said|believed)\b(?: \w+){0,3}\s*$", re.IGNORECASE)


def doubted(around: Around) -> bool:
    """Whether the number's clause holds words of denial or of a low opinion, in whatever phrase.

    Known ways of turning a value down are told by `rejected`; this is wider and only makes it worth asking.
    """
    before = re.split(r"[.;:!?,(]\s|\n|\bbut\b|\bso\b|=", around.before[-100:])[-1]
    after = re.split(r"[.;:!?,)(]|\n|\bbut\b|\band\b|\bnot \d|\d", around.after[:80])[0]
    if _GUESSED.search(around.before) and re.match(r"[\s*)]*\?", around.after):
        return True
    if _SAID.search(before) and not re.search(r"\b(?:I|we)\b", before):
        return True
    if _MAYBE.search(before) or (_THAT.match(around.before) and re.search(r"\bis\b", around.after)):
        return True
    return bool(_DOUBT_BEFORE.search(MODEST.sub("", before)) or _DOUBT_AFTER.match(MODEST.sub("", after)))


def scorned(around: Around) -> bool:
    """Whether a number is asked about ("whether it is …") or turned down in words that leave no doubt."""
    clause = re.split(r"[.;:!?,(]\s|\n|\bbut\b|\bso\b|=", around.before[-90:])[-1]
    return bool(_WHETHER.search(clause) or _SCORN_BEFORE.search(clause) or _SCORN_AFTER.match(around.after[:90]))


_DENIED = re.compile(
    r"\bit(?:'s| is| was) (?:not|never|hardly|simply not) (?:true|so|right|correct|the case)\b|"
    r"\b(?:false|untrue|wrong|a myth|nonsense|a mistake) (?:is )?(?:to (?:say|claim|think|believe) )?that\b|"
    r"\bI (?:do not|don't|cannot|can't|would not|wouldn't|never) "
    r"(?:(?:think|believe|accept|agree)\b|(?:say|claim) that\b)|"
    r"\b(?:I (?:doubt|deny|reject|dispute)|nobody|no ?one|by no means)\b|"
    r"[,;:–-]\s*(?:which|that|this|and that|but (?:that|this|it)) (?:is|'s|was) (?:plainly |simply |just |quite )?"
    r"(?:wrong|false|not true|untrue|incorrect|a mistake|nonsense|not so|mistaken)\W*$",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:somebody|someone|some(?: people)?|people|many|others?|one|they|you|"
    r"the (?:book|paper|reference|colleague|blog)) (?:might|may|could|would|will|often|sometimes)? ?"
    r"(?:claims?|says?|said|thinks?|thought|argues?|believes?|expects?|writes?|assumes?|be tempted)\b",
    re.IGNORECASE,
)
_OPEN_QUESTION = re.compile(
    r"\?\W*$|^\W*(?:is it|could it|might it|would it|does it|are we|who knows)\b|\bwhether or not\b|"
    r"\bI (?:wonder|cannot say|can't say|don't know|do not know|am not sure|have no idea)\b|\bno idea (?:if|whether)\b",
    re.IGNORECASE,
)


def stance(sentence: str) -> Stance:
    """Whether a sentence states its content, denies it as a whole, asks it, reports it of others, or leaves it open.

    A condition ("if it stays flat, I am wrong") and a negation inside ("the gaps do not change") are statements.
    """
    if _DENIED.search(sentence):
        return "denied"
    if _TOLD.search(sentence):
        return "reported"
    if _OPEN_QUESTION.search(sentence):
        return "asked" if "?" in sentence else "unknown"
    return "stated"
