"""Whether a number that was read can be a quantity of the question, and its value in that quantity's unit."""

from __future__ import annotations

import math
import re

from question_bank.question import Expected, Quantity
from tutor.grading.numbers import Read
from tutor.grading.units import Unit, base_of, unit_named

Asked = Quantity | Expected

_PER = re.compile(r"(?:\bper|\beach|\ban?|\bone|\bevery|\bof (?:the|a)|/)\s?(?:output )?([a-z]+)", re.IGNORECASE)
_PER_SOMETHING = re.compile(
    r"\b(?:per|each|every|step|gap|itl|tpot|inter-token|overhead|launch|token)\b", re.IGNORECASE
)
# Things counted that are not each other; what is in no group may be another word for anything.
_COUNTED = {
    "tokens": "tokens", "requests": "requests", "sequences": "requests", "users": "requests", "clients": "requests",
    "gaps": "gaps", "layers": "layers", "gpus": "gpus", "replicas": "replicas", "blocks": "blocks",
    "chunks": "chunks", "steps": "steps", "iterations": "steps",
}  # fmt: skip


def quantity_unit(quantity: Asked) -> Unit:
    """The unit of a question's quantity; an unknown name is taken as a bare number."""
    return unit_named(quantity.unit) or Unit(quantity.unit, "none", 1.0)


def _words(quantity: Asked) -> str:
    synonyms = quantity.synonyms if isinstance(quantity, Expected) else ()
    return " | ".join((quantity.label, *synonyms))


def _fits_per(read: Read, quantity: Asked, dimension: str) -> bool:
    """Whether "ms/token" may state this time: only where the quantity is one per token, or per something unnamed."""
    base, per = base_of(read.dimension)
    wanted, wanted_per = base_of(dimension)
    if base != wanted:
        return False
    if wanted_per:
        return not per and bool(re.search(wanted_per, _words(quantity), re.IGNORECASE))
    words = _words(quantity)
    nouns = {n.lower().removesuffix("s") for n in _PER.findall(words)}
    if per in nouns or (per == "sequence" and "request" in nouns):
        return True
    return bool(_PER_SOMETHING.search(words)) and not nouns & {"token", "request", "sequence", "gpu"}


def fits(read: Read, quantity: Asked) -> bool:
    """Whether a number's unit could be this quantity's (a bare number fits anything)."""
    unit = quantity_unit(quantity)
    if read.dimension == "none":
        return True
    if read.dimension == "count" and unit.dimension == "count":
        ours, asked = _COUNTED.get(read.unit), _COUNTED.get(unit.name)
        return ours is None or asked is None or ours == asked
    if read.dimension == unit.dimension:
        return True
    if unit.dimension == "none":
        # "fails four times" counts how often something happens
        often = read.spelt and read.dimension == "factor"
        return base_of(read.dimension)[0] in {"count", "factor", "fraction"} and not often
    if read.dimension == "rate":
        return unit.dimension.endswith("_rate")
    if read.dimension == "count_rate":
        return unit.dimension == "request_rate"
    if read.dimension == "money":
        return unit.dimension.startswith("money")  # "1.85 $" where a price per million is asked for
    if read.dimension == "fraction" and not read.unit:
        return unit.dimension == "factor"
    if read.dimension == "flop" and unit.dimension == "flop_rate":
        return read.unit.endswith("FLOPs")  # "320 TFLOPs" is said of rates as well
    return "/" in read.dimension + unit.dimension and _fits_per(read, quantity, unit.dimension)


def in_unit(read: Read, quantity: Asked, written: float | None = None) -> float:
    """A number's value in the quantity's unit, which it must fit; `written` replaces the value as written.

    A bare number counts in the unit asked for; where percent are asked for, a bare one from 0 to 1 is a share.
    """
    unit = quantity_unit(quantity)
    value = read.value if written is None else written
    if read.dimension == "none":
        # 0.216 is a share where 21.6 % are asked for, and so is 0.008 where 0.8 % are
        tolerance = quantity.rel_tolerance if isinstance(quantity, Expected) else 0.002
        exact = math.isclose(value / unit.factor, quantity.value, rel_tol=tolerance)
        share = unit.dimension == "fraction" and 0 < abs(value) <= 1 and (abs(quantity.value) > 1 or exact)
        return value / unit.factor if share else value
    if unit.dimension == "none" or (read.dimension == "fraction" and unit.dimension == "factor"):
        return value if read.unit else value * read.factor
    if read.dimension == "money" and unit.dimension.startswith("money"):
        return value * read.factor
    if read.dimension == unit.dimension == "count":
        return value
    return value * read.factor / unit.factor


def ends_in_unit(read: Read, quantity: Asked) -> tuple[float, ...]:
    """The value in the quantity's unit, or both ends of a range."""
    ends = (read.low, read.high) if read.is_range else (read.value,)
    return tuple(in_unit(read, quantity, e) for e in ends)


def close(value: float, quantity: Asked, tolerance: float) -> bool:
    """Whether a value in the quantity's unit is the quantity's."""
    return math.isclose(value, quantity.value, rel_tol=tolerance, abs_tol=1e-12)


def equals(read: Read, quantity: Asked, tolerance: float = 0.002) -> bool:
    """Whether a number is a quantity's value, by its unit, or bare in the quantity's own unit."""
    return fits(read, quantity) and all(close(v, quantity, tolerance) for v in ends_in_unit(read, quantity))


def alike(read: Read, told: Read) -> bool:
    """Whether two numbers as written are the same value; a bare one takes the other's unit."""
    bare = "none" in {read.dimension, told.dimension}
    if not bare and read.dimension != told.dimension:
        return False
    a, b = (read.value, told.value) if bare else (read.canonical, told.canonical)
    return math.isclose(a, b, rel_tol=0.005, abs_tol=1e-12)
