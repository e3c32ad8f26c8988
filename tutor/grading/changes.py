"""Words that tell of a change: differences ("adds 100 ms"), their direction, and the bounds of a range."""

from __future__ import annotations

import re

from tutor.grading.wording import Around

_DELTA_BEFORE = re.compile(
    r"(?:\b(?:adds?|added|adding|"
    r"(?<!done )(?<!ready )(?<!out )(?<!complete )(?<!finished )(?<!there )(?<=[a-z] )by|extra|additional|another|plus|"
    r"increase of|delay of|saves?|costs? an?|difference of|"
    r"gains?|loses?|up)\s+(?:about |exactly |an? |the |same |extra |further )*[≈~]?\+?\s*|(?<![\d)])\s\+\s?)$",
    re.IGNORECASE,
)
_DELTA_AFTER = re.compile(
    r"^\s*(?:more|longer|later|extra|slower|higher|added|worse|less|lower|faster|earlier|on top|to (?:both|each|"
    r"all|either|every)|(?:is|are) added|in both|on both)\b",
    re.IGNORECASE,
)
_UP = (
    r"ris\w*|rose|increas\w*|grow\w*|grew|up|higher|more|longer|later|slower|adds?|added|gain\w*|climb\w*|goes up|"
    r"improv\w*|larger|bigger|above"
)
_DOWN = (
    r"drop\w*|fall\w*|fell|decreas\w*|reduc\w*|down|lower|less|fewer|shorter|earlier|sooner|sav\w*|cuts?|shr[iau]nk\w*|"
    r"smaller|below|declin\w*|los\w*"
)
_DIRECTION = re.compile(rf"\b(?:(?P<up>{_UP})|(?P<down>{_DOWN}))\b", re.IGNORECASE)
_LOW = re.compile(r"(?:\bat least|\bnot? less than|\bmore than|\bover|\babove|≥|>=?)\s*[≈~]?$", re.IGNORECASE)
_HIGH = re.compile(r"(?:\bat most|\bnot? more than|\bless than|\bunder|\bbelow|\bup to|≤|<=?)\s*[≈~]?$", re.IGNORECASE)


def is_delta(around: Around) -> bool:
    """Whether the number is a difference: "adds 100 ms", "100 ms later"."""
    return bool(_DELTA_BEFORE.search(around.before[-90:]) or _DELTA_AFTER.match(around.after[:40]))


def bounds(first: Around, second: Around) -> bool:
    """Whether two numbers are the lower and the upper bound of a range: "not less than …, not more than …"."""
    return bool(_LOW.search(first.before[-24:]) and _HIGH.search(second.before[-24:]))


def direction_of(text: str, start: int, end: int) -> int:
    """Which way the words nearest to a number say that something goes: 1 up, -1 down, 0 not said."""
    before = re.split(r"[,;:.]\s|\bbut\b|\band\b", text[max(0, start - 60) : start])[-1]
    after = re.split(r"[,;:.]|\bbut\b|\band\b", text[end : end + 30])[0]
    told = list(_DIRECTION.finditer(before))
    if not told:  # "falls from 480 to 300 ms, i.e. by 180 ms"
        told = list(_DIRECTION.finditer(re.split(r"(?<!i\.e)(?<!e\.g)[.;]\s", text[max(0, start - 90) : start])[-1]))
    match = _DIRECTION.search(after[:14]) or (told[-1] if told else None)
    if match is None:
        return 0
    return 1 if match["up"] else -1
