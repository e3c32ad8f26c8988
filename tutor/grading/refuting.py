"""Whether a sentence says which outcome would overturn the candidate's own answer.

Two things make it: an outcome (a condition, a comparison, a reading) and what then becomes of the answer: it is taken
back, is wrong, or something else is to blame. The second is told by what is given up (one's own claim, a decision, a
suspect) and by words of giving up, which are many; either half alone is nothing.
"""

from __future__ import annotations

import re

_OWN = (
    r"(?:answer|claim|explanation|stor(?:y|ies)|theor(?:y|ies)|hypothes[ie]s|diagnosis|view|opinion|argument|"
    r"assumption|"
    r"formula|figure|number|calculation|mechanism|reasoning|model|conclusion|idea|estimate|derivation|guess|"
    r"independence|"
    r"judgement|judgment|promise|price|rate|factor|choice|sum|case|reading|percentage|share|bet|doubts?|part|"
    r"point|math|maths|arithmetic|"
    r"attribution|suspicion|recommendation|advice|decision|plan|prediction|result|thing|limit|cause|reason)"
)
_BAD = (
    r"(?:wrong|off|dead|rubbish|nonsense|out|bad|false|refuted|disproved|disproven|invalid|incorrect|mistaken|untrue|"
    r"falsified|unfounded|innocent|guilty|a mistake|a coincidence|useless|worthless|gone|over|void|"
    r"contradicted|broken|"
    r"overturned|rejected|dropped|withdrawn|not (?:true|right|so|good|it|the\b)|to blame|too \w+|cleared|finished|"
    r"rebutted|disqualified|unjustified|inapplicable|an illusion|indefensible|elsewhere)"
)
_GIVE_UP = (
    r"(?:retract|withdraw|concede|reconsider|switch|back out|stand corrected|apologi[sz]e|admit|drop|abandon|revise|"
    r"discard|reject|give (?:it |this |that |up|in\b)|gave up|go back|let go|change my|throw|toss|correct my|eat my|"
    r"take (?:\w+ ){1,8}back|take it away|say sorry|am (?:wrong|off|mistaken|out|refuted|sorry)|"
    r"was (?:wrong|off|mistaken)|be (?:wrong|off|mistaken|refuted)|would(?: have)? be(?:en)? (?:wrong|off)|"
    r"judged? wrong\w*|explained? (?:it |this |that )?wrong\w*|stop believing|believe (?:it |that )?no longer|"
    r"cannot defend|can't defend|have to (?:drop|give|take|look|revise|admit)|need another|lose the)"
)
_CONCEDES = re.compile(
    rf"\b(?:I|we|me|us)\b(?:'d|'m|'ve|'ll)?(?:\W+\w+){{0,4}}?\W+{_GIVE_UP}|"
    rf"\b{_OWN}\b(?:\W+\w+){{0,3}}?\W+(?:is|are|was|were|be|gets?|has|have|looks?|becomes?|"
    rf"stands?)\b(?:\W+\w+){{0,2}}?\W+"
    rf"{_BAD}\b|"
    rf"\b{_OWN}\b (?:{_BAD})\W*$|"
    rf"\b{_OWN}\b(?:\W+\w+){{0,2}}?\W+(?:fails?|falls?|collapses?|dies|goes|breaks?|crumbles?|do(?:es)? not hold|"
    r"do(?:es)?n't hold|has no basis|had no basis|would fail|would fall)\b|"
    r"\b(?:refut|falsif|disprov|contradict|overturn|invalidat|debunk|disqualif|rebut|acquit|exonerat|withdraw|"
    r"retract)\w*|"
    r"\b(?:rul\w+|knock\w*) (?:\w+ ){0,3}out\b|\b(?:kill|sink|clear|topple|undermine|speak)s? (?:\w+ )?(?:my|"
    r"the|this|against)\b|"
    r"\b(?:proof|evidence|argument|count(?:s)?|speaks?|is|be) against\b|\bwrong (?:if|when|in case)\b|"
    r"\b(?:is|are|was|were)(?: not|n't) (?:it|them|memory|the \w+|what|why|because|due|to blame|guilty|"
    r"responsible|my)\b|"
    r"\b(?:it|they|that|this) (?:is|are|was|were)(?: not|n't)\b|\b(?:is|are|was|were)n't (?:the|it|why|my)\b|"
    r"\bnot (?:the|due to|because of|from) (?:\w+ )?(?:retr\w+|cause|reason|culprit|quer?ue|source|problem|"
    r"bottleneck|"
    r"client|server|memory|batch\w*|scheduler|calls?)|\bnot \w+[,;.] (?:\w+ ){0,2}dead\b|"
    r"\b(?:it|they|that|this)(?:'s|'re) not (?:the|it|my|why|because|due)\b|\b(?:got|had|have) (?:it|this|"
    r"that) wrong\b|"
    r"\b(?:that|it|this|which) (?:was|is|were) a mistake\b|\bblamed the wrong\b|\btake (?:that|it|this|them) back\b|"
    r"\bmy (?:\S+ ){1,4}(?:has no basis|is (?:false|wrong|off|rubbish)|falls?|fails?)\b|"
    r"\b(?:innocent|culprit|to blame|guilty|coincidence|at fault)\b|"
    r"\b(?:something|somewhere|someone|anything) else\b|\b(?:other|another|different) (?:cause|reason|"
    r"explanation|time|"
    r"source|culprit)|\blook (?:\w+ )?elsewhere\b|\bforget (?:the|my|about)\b|\bback to (?:the )?\w+|"
    r"(?:→|=>|⇒|:|,|then|means?)\s*(?:I (?:was|am|'m) |I'm |it's |that's |is )?(?:wrong|refuted|falsified|"
    r"dropped|out|dead|"
    r"off|rejected|withdrawn|nonsense)\b|"
    r"\bno (?:promise|deal|speed-?up|gain)\b|\b(?:is|are|was|were) out\b|\b(?:takes?|took|puts?|"
    r"put) (?:\w+ ){1,4}(?:back|away|out)\b|"
    r"\b(?:am|was|were|is|be|been|'m|are) (?:wrong|mistaken|disproved|disproven|falsified|fooled)\b|"
    r"\bprove[ds]? (?:me|my|this|that|it) (?:\w+ )?(?:wrong|false)\b|\bmean(?:s)? (?:that )?I\b",
    re.IGNORECASE,
)
_READING = re.compile(
    r"\b(?:un(?:changed|affected|moved)|same|equal\w*|similar|identical|flat|constant|stay\w*|remain\w*|still|"
    r"low|high|lower|higher|longer|shorter|faster|slower|less|more|fewer|greater|larger|smaller|later|sooner|earlier|"
    r"below|above|under|over|beyond|beneath|exceed\w*|past|at least|at most|near|nearer|close|around|far|off|"
    r"zero|within|outside|ris(?:e|es|ing)|rose|falls?|fell|drops?|dropp\w+|grow\w*|grew|halv\w+|doubl\w+|improv\w+|"
    r"worse|better|no \w+|not|cross\w*|follow\w*|mov\w+|match\w*|differ\w*|shrink\w*|keeps?|elsewhere|ahead|"
    r"as often)\b|"
    r"n't\b|[<>≤≥≈≠]|\d",
    re.IGNORECASE,
)


def concedes(text: str) -> bool:
    """Whether words give up a claim, a decision or a suspect."""
    return bool(_CONCEDES.search(text))


def outcome(text: str) -> bool:
    """Whether words name how a reading comes out; a bare condition ("if it is so") names none."""
    return bool(_READING.search(_CONCEDES.sub(" ", text)))
