"""Words around a number that say how it is meant: asserted, rejected, reported, supposed, one of several.

The lists are of English function words and turns of phrase, not of the matter; what they miss makes an answer
unsure rather than accepted, since a value that nothing tells apart from another one is asked about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal


def any_of(*phrases: str) -> str:
    """An alternation of patterns; one text may hold several, with " | " and line breaks between them."""
    return "(?:" + "|".join(p for text in phrases for p in re.split(r"\s+\|\s+", text)) + ")"


_OPEN = r"[\s≈~*\"'(]*$"
_FILL = any_of(
    r"""equal to | be | at | the | about | exactly | just | get | take | come to | a | it is | it's | it | that |
    is | of"""
)
_TURNED_DOWN = any_of(
    r"""(?<!if )not | never | isn't | aren't | wasn't | rather than | other than | instead of | no longer |
    without | nor | unlike | neither | as opposed to | contrary to | beware of | avoid | strike | discard |
    reject | rule out | exclude | take back | take back the | anything but | all but | disagree with | forget"""
)
# "no more than 1,050 ms" names a bound, "more than 1,050 ms" turns the value down
_THAN = (
    "".join(
        f"(?<!{w} )"
        for w in (
            "no more",
            "not more",
            "no less",
            "not less",
            "no longer",
            "not longer",
            "no later",
            "take more",
            "take longer",
        )
    )
    + "than"
)
_REJECT_BEFORE = re.compile(rf"(?:\b(?:{_TURNED_DOWN}|{_THAN})|≠|!=|n't)\s+(?:{_FILL}\s+)*{_OPEN}", re.IGNORECASE)
_DENY_WORDS = any_of(
    r"""think | say | believe | be | it | that | this | is | it's | the | an? | get | equal | take | to | answer |
    claim | go | with | about | exactly | just | at | result | completion | total | value | simply | really |
    agree | end | up | come | out | as | right"""
)
_DENY = re.compile(
    rf"(?:\b(?:(?<!if )not|never|cannot|neither)|n't)\s+(?:{_DENY_WORDS}\s+){{1,7}}{_OPEN}", re.IGNORECASE
)
_IS = any_of(
    r"""is | was | are | being | 's | would be | would have been | must be | has to be | seems | looks | sounds"""
)
_FAULT = any_of(
    r"""wrong | incorrect | mistaken | false | untrue | tempting | naive | impossible | not right |
    not correct | not it | not true |
    not the (?:answer|right) | an? (?:mistake|error|trap|slip|fallacy) |
    the (?:trap|mistake|error|slip|fallacy) |
    (?:the|an?) (?:(?:classic|common|usual|typical) )?(?:off-by-one|slip|mistake|error|trap) | off by |
    too (?:high|low|large|small|much|long|short|big) | what (?:people|many|most|some) |
    what (?:you|one|we|they)(?:'d| would)? get (?:if|when)"""
)
_FAILS = any_of(
    r"""forgets? | ignores? | neglects? | overlooks? | misses | leaves? out | double-counts? | miscounts? |
    counts? (?:one|a|an extra|too) | (?:can't|cannot|could not|couldn't) be (?:right|true|correct|it) |
    does(?:n't| not) hold |
    would (?:\w+ )?(?:count|need|require|forget|ignore|miss|leave out|double|imply|assume) |
    (?:would|is|was|will) (?:only )?(?:be )?(?:right|correct|true) (?:only|if) | would (?:only hold|hold only)"""
)
_REJECT_AFTER = re.compile(
    rf"^[\s*\"'~)(]*(?:,?\s*(?:which|that|this)\s+)?(?:{_IS}\s+)?(?:clearly |just |simply |plainly )?"
    rf"(?:{_FAULT}|{_FAILS})\b",
    re.IGNORECASE,
)
_LOOKS = re.compile(rf"\b(?:looks?|seems?|appears?) (?:to be |like )?{_OPEN}", re.IGNORECASE)
_OTHERS = any_of(
    r"""people | someone | somebody | some | others | another | many | most | candidates | beginners | whoever |
    anyone who | those who | the candidate who |
    (?:a |my |the |one )?(?:colleague|candidate|friend|beginner|interviewer|grader|naive reader) |
    (?:a |my |the |one )?(?:(?:text)?book|paper|blog|docs|documentation|lecture|solution|chatgpt)"""
)
_THINK = any_of(
    r"""think | say | expect | guess | assume | answer | claim | argue | believe | conclude | reckon | suppose |
    write | compute | calculate | report | quote | state | arrive at | come up with | be tempted"""
)
_REPORTED = re.compile(
    r"\b"
    + any_of(
        rf"(?:one|you|we|they) (?:might|may|could) (?:\w+ ){{0,2}}{_THINK}\b",
        rf"{_OTHERS}\b[\w\s']{{0,24}}\b(?:{_THINK}(?:e?s)?|said|told|thought|claimed|answered|wrote|replied|guessed|believed|"
        r"computed|calculated|reported|stated|gets?|calculates?|counts?)\b",
        rf"they {_THINK}\b",
        r"one would get\b",
        r"naive(?:ly)?\b",
        r"(?:common|usual|typical|classic|frequent) (?:mistake|error|slip|trap)",
        r"tempt(?:ed|ing) to\b",
        r"at first (?:glance|sight)\b",
        r"I (?:first|initially|originally) (?:thought|got|had|wrote|said)",
        r"first,? I (?:got|had|thought|wrote|said)",
        r"at first I (?:got|had|thought|wrote|said)",
        r"(?:earlier|before) I (?:got|had|thought|wrote|said)",
        r"I said\b",
        r"the wrong (?:answer|value|result)\b",
        r"(?:doubt|deny|except|all but|no ?one|nobody)\b",
        r"(?:false|untrue|not true|wrong|incorrect) that\b",
        r"the (?:reference\b|(?:expected|official|model|sample) (?:answer|solution|value|result)\b)",
        r"the (?:trap|slip|mistake)(?: here)? (?:is|would be|gives)\b",
        r"wrong to (?:say|answer|claim|think|write)\b",
    ),
    re.IGNORECASE,
)
# Where a new statement begins within a sentence, so that what was said before no longer bears on the number.
_NEW = re.compile(
    r"\b(?:but|however|yet|whereas|actually|in fact|in reality|in truth|really|correctly)\b|;|(?<=[a-z)])[.!?](?=\s)|"
    r"[,:–-]\s*(?:and |so |then |now |while |yet )?"
    r"(?:it's|it is|I|I'd|now|so|the (?:real|right|correct|true|answer)|with \d+)\b|"
    r"\bmeant\b|\bnow\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^\W*(?:is|are|was|would|could|should|does|do|did|what|which|why|how|can|might|isn't|wouldn't|so is)\b",
    re.IGNORECASE,
)
# "if I counted right" supposes nothing about the matter
MODEST = re.compile(
    r"\bif (?:I|we|my)\b(?:'m| am| are|'ve| have| did| counting| memory)?(?:n't| not)? ?"
    r"(?:right|mistaken|wrong|count\w*|miscount\w*|read|remember|recall|underst\w+|calculat\w*|add(?:ed)?|serves?|got|"
    r"correct\w*|miss\w*)\b[^,;:.]{0,30}|\bif (?:and only if )?you (?:insist|like|must)\b|\bif so desired\b|"
    r"\bbefore (?:the|it) (?:\w+ )?doubl\w*",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"\b"
    + any_of(
        r"""let (?:the )?(?:\w+ ){0,2}(?:=|be) | (?<!\w )assume(?=\s*$) | (?<!only )if |
    suppose | supposing | imagine | ^\W*were | (?<=[.,;:] )were (?:the|it|there|this|that|we|I) | doubl\w* |
    twice | in that case |
    had (?:the|we|it|there|I) | should (?:the|it|they) | instead(?! of) | e\.g | (?<!hmm),\s+say,?(?=\s*$) |
    after(?=:\s*$) | such as |
    in (?:the|an?|such an?|some) (?:\w+ )?(?:case|scenario|situation) |
    (?:makes|turns?|push(?:es)?|brings?|takes?|drives?|moves?) it (?:in)?(?:to )?(?=[\s≈~]*$) |
    for (?:example|instance)"""
    )
    + r"(?!\w)|(?<![\d.,])\b2\s?[x×](?!\s?\d)|"
    r"(?<![\d)] )(?<![\d)])[x×]\s?2\b(?!\s?(?:[x×*+.\d]|=(?!>)|[A-Za-z]{1,6}\s*[=x×*/)]))",
    re.IGNORECASE,
)
_MOVES = any_of(
    r"""becomes? | rises? | rose | approach\w* | tends? to | towards? |
    (?:comes?|gets?) (?:near|close to) | climbs? | grows? | jumps? | goes (?:up )?to | moves? (?:from|to) |
    go (?:up )?to | increas\w+ | shifts?"""
)
_MOVING = re.compile(rf"\b{_MOVES}\b|→\s*|->\s*", re.IGNORECASE)
# "With FP8 weights 4 ms", but not "with 30 gaps" or "with the given numbers"
_SETTING = re.compile(
    r"^\W*(?:with|on|using|under|without)\s+(?!\d|thirty|n\b|the (?:given|above|numbers))", re.IGNORECASE
)
# "300 ms → 400 ms" tells of a change, "1 ms on top → 6.97 ms" of an outcome.
_ARROW = r"\d[\d.,]*\s?[A-Za-z%/]{0,9}\s?(?:→|->)\s*[≈~*]*$"
_WEAK = re.compile(rf"\b(?:would|could|assuming|with (?:the|a|that)|{_MOVES})\b|{_ARROW}", re.IGNORECASE)
_SUPPOSE_BREAK = re.compile(
    r"\b(?:but (?:it|as|here|in|the|our|actually|really|that|with|now)|however|otherwise|actually|in our case|"
    r"in this case|here|as it stands|as given|in ours)\b[^.;]{0,20}$|;",
    re.IGNORECASE,
)
_SUPPOSE_AFTER = re.compile(
    r"^[^,;.(\d]{0,12}\b(?:if|in the (?:best|worst|ideal) case|with (?:a|the|double\w*|twice)|"
    r"after (?:the|it) \w+ (?:doubl|grow|ris|increas)\w*)\b",
    re.IGNORECASE,
)
_WHEN_AFTER = re.compile(r"^[^,;.(\d]{0,12}\b(?:when|once)\b", re.IGNORECASE)
_WOULD_REFUTE = re.compile(
    r"^[^.;]{0,40}\b(?:would|could|will)\s+(?:\w+\s+)?"
    + any_of(
        r"""prove | refute | disprove | falsify | contradict | show | make | surprise | mean (?:i|my|that) | change |
    force | kill"""
    )
    + r"\b",
    re.IGNORECASE,
)
_MENTIONED = re.compile(
    r"^\s+(?:appears?|occurs?|stands|is (?:mentioned|written|shown|printed|named))\b(?!\s+(?:at|after)\b)", re.I
)
_PREMISE = re.compile(r"^\W*(?:suppose|supposing|imagine|assume|let us assume|say)\b", re.IGNORECASE)
_OR = any_of(
    r"""\bor\b(?! rather) | \botherwise\b | \balternatively\b | \belse\b | \bif not\b |
    \b(?:could|might|may)(?: also| even| as well)? be\b"""
)
_HEDGED = any_of("maybe | perhaps | possibly | even | about | it is | it | is | rather | else | then | as much as")
_OFFER_BEFORE = re.compile(rf"{_OR}[\s,:(≈~*]*(?:{_HEDGED}(?:'s)?[\s,]*)*[≈~*]?$", re.IGNORECASE)
_EITHER = re.compile(
    r"\b(?:either|somewhere among|one of|(?:decide|hesitate|choose|torn) between|maybe|perhaps|possibly)[\s≈~*]*$",
    re.IGNORECASE,
)
_POSSIBLE = re.compile(
    r"^[\s*]*(?:is|are|would be|seems)?\s*(?:also |equally |both )?(?:possible|plausible|conceivable|thinkable)",
    re.IGNORECASE,
)
_OFFER_AFTER = re.compile(
    r"^[\s*,)]*\(?or\b(?! (?:so|rather|a bit|there|thereabouts|less|more|fewer|below|above|under|over|even|higher|"
    r"lower|worse|better)\b)",
    re.IGNORECASE,
)
# Words that lead up to an answer and say nothing else: "So the final answer is".
_LEAD = frozenset(
    re.findall(
        r"\S+",
        """so thus hence therefore then now and but it it's is its that that's this which gives give makes make get gets
    i i'd i'll we we'd we'll say think believe guess reckon expect would should will must be my the a an
    final finally result
    value correct right actual real true answer answers total sum overall in all about approximately roughly exactly
    around circa equals equal takes take taking need needs comes come to at after by mean meant like more most likely
    correctly really actually no wait sorry oops nope update edit correction corrected reflection on second thought
    thoughts for everything altogether conclusion short found find have has as they are time figure number of bad let me
    redo recompute recheck recount miscounted rechecking recounting fixing count gap yes well ok okay arrive end up
    because hmm again both either thing whole just simply only ms seconds done ready out stay stick go pick choose
    settle one""",
    )
)


CORRECTION = re.compile(
    r"\b"
    + any_of(
        r"""(?<=[.,;:!?(-] )wait | wait(?=\s?[,!.:-]) | no,? wait |
    correction | corrected | correcting | sorry | actually | scratch | i mean | meant | oops | edit |
    redo | recount\w* | recheck\w* | checking | re-?c[ao]\w*l?ut?e?\w* | on second thoughts? | on reflection |
    let me | mistake | mistaken | miscount(?:ed)? | rather | revis\w+ | (?:was|is|that's|that is) wrong |
    wrong | should (?:be|have been) | nope | my bad | update | fixing | fixed | make it | take back |
    after all |
    the (?:correct|right|proper|true|real) (?:\w+ )?(?:is|was|one|value|answer|figure|count|number|result) |
    forgot | (?<!s )left out | hmm | strike | instead | in truth | really | then it's"""
    )
    + r"\b|(?:^|[\s.,;:!?-])no\b(?:\W|\s*$)(?!\s?(?:more|less|other|queue|need|change))|"
    r"\bbut (?:it|it's|is|the|really|actually|in|i|meant|that|that's|with|there|after|now)\b",
    re.IGNORECASE,
)
_FINAL = re.compile(
    r"\b"
    + any_of(
        r"""final(?:ly)? | the truth is | in conclusion | to conclude | in summary | to sum up | summary | conclusion |
    (?:my|the) answer (?:is|:) | so the answer |
    (?:correct|right|real|true) (?:answer|figure|value|number|result)"""
    )
    + r"\b",
    re.IGNORECASE,
)
_MINE = re.compile(
    r"\b(?:my (?:final )?(?:answer|pick|choice)|I(?:'d|'ll| will| would)? "
    r"(?:say|answer|get|conclude|claim|state|settle|choose|pick|go with|stick))\b",
    re.IGNORECASE,
)


CONCLUDES = re.compile(r"\b(?:hence|conclusion|in conclusion|to conclude|in short|to sum up)\b", re.IGNORECASE)
"""Words that say that what follows is what the answer comes to, so that a value before them was on the way."""


def finality(lead: str) -> int:
    """How much the words before a number mark it as the answer: 2 as one's own, 1 as the final one, 0 not at all."""
    return 2 if _MINE.search(lead) else int(bool(_FINAL.search(lead)))


@dataclass(frozen=True)
class Around:
    """The text of a number's own sentence before and after it, since the number before it, and the sentence before."""

    before: str
    after: str
    since: str
    previous: str


def after_last(pattern: re.Pattern[str], text: str) -> str:
    """What follows a pattern's last match."""
    at = 0
    for match in pattern.finditer(text):
        at = match.end()
    return text[at:]


def leads_up(around: Around) -> bool:
    """Whether nothing but words that lead up to an answer stands between the last break and the number."""
    lead = re.split(r"[.;!?)(]\s|[:;,|(\n→=≈]|=>|->|\s[–-]\s", around.since)[-1]
    lead = re.sub(r"\b(?:go|stay|stick|settle|end up) with\b", "", lead)
    amount = re.match(r"\s+of\b(?! (?:latency|time|completion))", around.after[:24])
    return not amount and all(w in _LEAD for w in re.findall(r"[a-z'’]+", lead.lower()))


def rejected(around: Around) -> bool:
    """Whether the number is denied, said to be wrong, put into another's mouth, or asked about."""
    before, after = around.before, around.after
    near = before[-90:]
    if _REJECT_BEFORE.search(near) or _DENY.search(near) or _REJECT_AFTER.match(after[:90]):
        return True
    if _LOOKS.search(near) and re.match(r"[\s,]*\bbut\b", after[:8]):
        return True
    if _REPORTED.search(after_last(_NEW, before)):
        return True
    asked = _QUESTION.match(re.split(r"[,:]\s", before)[-1])
    return bool(asked) and bool(re.match(r"[^.!;]{0,40}\?", after))


def supposed(around: Around, changes: bool) -> Literal["strong", "weak", ""]:
    """Whether the number holds in a supposed case only; "weak" where it may still be meant as the answer.

    Where a change is asked for (`changes`), words of movement suppose nothing.
    """
    before = MODEST.sub("", after_last(_SUPPOSE_BREAK, around.before))
    after = MODEST.sub("", around.after[:90])
    if _WOULD_REFUTE.match(after) or _STRONG.search(before) or _SUPPOSE_AFTER.match(after[:48]):
        return "strong"
    if _WHEN_AFTER.match(after[:48]):
        return "weak"
    if _MENTIONED.match(after):
        return "strong"
    if _PREMISE.match(around.previous) and not re.search(r"\b(?:here|in our case|but|actually)\b", around.before, re.I):
        return "strong"
    if re.match(r"[\s*)]*\?", around.after):
        return "weak"
    if _SETTING.match(around.before):
        return "weak"
    weak = _WEAK.search(before)
    return "weak" if weak and not (changes and not _WEAK.search(_MOVING.sub("", before))) else ""


def offered(around: Around) -> bool:
    """Whether the number is one of several on offer: "either", "or", "could be", "otherwise"."""
    near = around.before[-60:]
    if _POSSIBLE.match(around.after[:40]):
        return True
    return bool(_OFFER_BEFORE.search(near) or _EITHER.search(near) or _OFFER_AFTER.match(around.after[:20]))
