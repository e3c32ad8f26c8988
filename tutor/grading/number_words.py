"""Numbers spelt out in English: "one thousand fifty", "thirty", "one and a half", "half a"."""

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
_SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_FRACTIONS = {"half": 0.5, "quarter": 0.25, "third": 1 / 3, "quarters": 0.25, "thirds": 1 / 3}
_SMALL = "|".join([*_ONES, *_TENS])
_TOKEN = re.compile(r"[a-z]+")
SPELT = re.compile(
    rf"(?<![\w-])(?:(?:a|an)[ -](?=hundred|thousand|million|half|quarter|third)|half(?= an? )|quarter(?= of an? )|"
    rf"(?:{_SMALL}|hundred|thousand)(?![a-z]))"
    rf"(?:[ -](?:and[ -])?(?:(?:a|an)[ -](?=half|quarter|third|hundred|thousand))?"
    rf"(?:{_SMALL}|hundred|thousand|million|billion|half|quarters?|thirds?|point)(?![a-z]))*",
    re.IGNORECASE,
)


def value_of(phrase: str) -> float | None:
    """The number that a matched phrase spells; None where the words do not make a number."""
    words = [w for w in _TOKEN.findall(phrase.lower()) if w not in {"and", "a", "an"}]
    total = current = 0.0
    decimals: str | None = None
    seen = False
    for word in words:
        if decimals is not None:
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
        elif word in _FRACTIONS:
            if word in {"quarters", "thirds"} and current:
                current *= _FRACTIONS[word]
            else:
                current += _FRACTIONS[word]
            seen = True
    value = total + current
    if decimals:
        value += float("0." + decimals)
    return value if seen else None
