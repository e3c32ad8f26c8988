"""Numbers spelt out in English: "one thousand fifty", "one and a half", "three quarters", "two dozen"."""

from __future__ import annotations

import re

_ONES = {
    w: float(i)
    for i, w in enumerate(
        re.findall(
            r"\S+",
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen",
        )
    )
}
_TENS = {
    w: float(10 * (i + 2))
    for i, w in enumerate(re.findall(r"\S+", "twenty thirty forty fifty sixty seventy eighty ninety"))
} | {"fourty": 40.0}
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_DOZEN = {"dozen": 12.0, "score": 20.0}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_FRACTIONS = {w: 1 / n for w, n in _PARTS.items()} | {w + "s": 1 / n for w, n in _PARTS.items()} | {"halves": 0.5}
_SMALL = "|".join([*_ONES, *_TENS])
_PART = "|".join(sorted(_FRACTIONS, key=len, reverse=True))
_TOKEN = re.compile(r"[a-z]+")
_MEASURE = r"(?:(?:milli|micro|nano)?seconds?|minutes?|hours?|(?:kilo|mega|giga|kibi|mebi|gibi)?bytes?|percent)\b"
# "a third of" and "a fifth more" are parts; "the third token" and "a third request" count in order.
_AFTER_PART = (
    r"(?=\s+(?:of|more|less|higher|lower|faster|slower|longer|shorter|better|worse|as|an?)\b|\s*(?:[.,;:!?)=]|$))"
)
_FIRST = "|".join(
    (
        r"(?:a|an)[ -](?=hundred|thousand|million|dozen)",  # "a thousand", "a dozen"
        rf"(?:(?:an?|one)[ -])?half(?= an? | of |[ -]{_MEASURE}|$)",  # "half a second", "a half millisecond"
        rf"(?:an?|one)[ -]quarter(?=[ -]{_MEASURE})",
        rf"(?:an?|one)[ -](?:{_PART}){_AFTER_PART}",
        r"quarter(?= of an? )",
        rf"(?:{_SMALL}|hundred|thousand)(?![a-z])",
    )
)
_NEXT = (
    rf"(?:{_SMALL}|hundred|thousand|million|billion|dozen|score|half|quarters?|thirds?|fourths?|fifths|sixths|eighths|"
    r"tenths|point)(?![a-z])"
)
SPELT = re.compile(
    rf"(?<![\w-])(?:(?:minus|negative) )?(?:{_FIRST})"
    rf"(?:[ -](?:and[ -])?(?:an?[ -](?=(?:{_PART}|hundred|thousand|dozen)\b))?{_NEXT}|(?<=\ba )dozen\b)*",
    re.IGNORECASE,
)


def value_of(phrase: str) -> float | None:
    """The number that a matched phrase spells; None where the words do not make a number."""
    words = [w for w in _TOKEN.findall(phrase.lower()) if w not in {"a", "an"}]
    total = current = 0.0
    decimals: str | None = None
    seen = after_and = False
    sign = 1.0
    for word in words:
        if word == "and":
            after_and = True
            continue
        if word in {"minus", "negative"}:
            sign = -1.0
        elif decimals is not None:
            if word not in _ONES or _ONES[word] > 9:
                return None
            decimals += str(int(_ONES[word]))
        elif word == "point":
            decimals = ""
        elif word in _ONES or word in _TENS:
            step = _ONES.get(word, _TENS.get(word, 0.0))
            if seen and current % 100 and not (current % 100 >= 20 and current % 10 == 0 and step < 10):
                return None  # "one two" is a list, not a number
            current += step
            seen = True
        elif word == "hundred":
            current = (current or 1.0) * 100
            seen = True
        elif word in _SCALES:
            total += (current or 1.0) * _SCALES[word]
            current = 0.0
            seen = True
        elif word in _DOZEN:
            current = (current or 1.0) * _DOZEN[word]
            seen = True
        elif word in _FRACTIONS:
            # "three quarters" multiplies, "three and a quarter" adds
            current = current * _FRACTIONS[word] if current and not after_and else current + _FRACTIONS[word]
            seen = True
        after_and = False
    value = total + current
    if decimals:
        value += float("0." + decimals)
    return sign * value if seen else None


def is_part(phrase: str) -> bool:
    """Whether a phrase names a proper part of a whole: "a quarter", "two thirds"."""
    words = _TOKEN.findall(phrase.lower())
    value = value_of(phrase)
    return bool(words) and words[-1] in _FRACTIONS and value is not None and 0 < value < 1
