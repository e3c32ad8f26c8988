"""The words by which evidence is told: what makes a statement, a reason, a measurement, an effect."""

from __future__ import annotations

import re

from tutor.grading.text import fold, stem

FUNCTION = frozenset(
    re.findall(
        r"\S+",
        """a an the of to in on at by for from with and or but so if then than that which this these those it its they
    we i would will is are was were be been has have had does do did not no as because since while when after before
    there you my our their each every both only also more less into until therefore hence i'd we'd i'll we'll it's
    that's would've didn't doesn't don't isn't won't can't""",
    )
)
VERBS = frozenset(
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
CONNECTIVE = re.compile(
    r"\b(?:because|so|since|therefore|thus|hence|leav(?:es|ing)|which (?:means|gives|makes|leaves)|meaning|as a result|"
    r"due to|that is why|then|follow(?:s|ed) by|after (?:the|that|which)|before (?:the|it|any)|in turn|while|each|"
    r"only (?:after|once|when)|"
    r"add(?:s|ed)? up|per|by (?:adding|multiplying))\b|→|=>|⇒",
    re.IGNORECASE,
)
MEASURE = frozenset(
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
TALK = frozenset(
    stem(w)
    for w in re.findall(
        r"\S+",
        """answer explanation claim wrong right prove show shown judgement judgment view make made take back give good
        different same change find found know say tell first second part result outcome case apart separately true
        false disprove refute reject drop revise hold measurement expect expected""",
    )
)
EFFECT = re.compile(
    r"\b(?:ris\w+|rose|add(?:s|ed|ing)?|increas\w+|grow\w*|grew|longer|later|slow\w*|delay\w*|stay\w*|same|unchanged|"
    r"unaffected|constant|flat|hurt\w*|wors\w+|miss\w*|exceed\w*|block\w*|higher|lower|drop\w*|decreas\w*|stall\w*|"
    r"starv\w+|shift\w*|up by|remain\w*|not (?:move|change)|does ?n[o']t (?:move|change)|degrad\w+|suffer\w*|jump\w*|"
    r"fail\w*|spik\w+|climb\w*|shrink\w*|lag\w*|waits?|goes (?:up|down|from|to)|go (?:up|down)|push\w+|sooner|earlier|"
    r"better|los(?:e|es|ing)|gains?|violat\w*|break\w*|broke|pays?|benefit\w*|helps?|harm\w*|hides?|misjudg\w*|"
    r"mix\w*|fall\w*|moves?|assum\w*)\b",
    re.IGNORECASE,
)
STEADY = re.compile(
    r"\b(?:stay\w*|same|unchanged|unaffected|constant|flat|remain\w*|not (?:move|change|touch\w*|affect\w*)|"
    r"n't (?:move|change|touch|affect)|only|but not|still|while)\b",
    re.IGNORECASE,
)


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
    function = sum(w in FUNCTION for w in words)
    verb = any(stem(w) in VERBS or w.endswith(("n't", "'d", "'ll")) for w in words)
    return verb and function / len(words) >= 0.12
