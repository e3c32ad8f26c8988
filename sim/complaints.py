"""Pydantic's errors about a scenario, said again as one sentence with the field and the remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from sim import scenario as model
from sim.errors import nearest

Location = tuple[int | str, ...]

_FIELDS: dict[str, tuple[type[BaseModel], ...]] = {
    "": (model.Scenario,),
    "classes": (model.TrafficClass,),
    "prompt_tokens": (model.FixedLength, model.UniformLength, model.LognormalLength),
    "output_tokens": (model.FixedLength, model.UniformLength, model.LognormalLength),
    "arrivals": (model.ArrivalTimes, model.DeterministicArrivals, model.PoissonArrivals),
    "slo": (model.Slo,),
    "server": (model.Server,),
    "step_cost": (model.FixedCost, model.LinearCost),
}
# What pydantic puts in an error's location to say which of several models it tried.
_TAGS = {"fixed", "uniform", "lognormal", "times", "deterministic", "poisson", "linear"}


def complaint(error: ValidationError) -> tuple[Location, str]:
    """Where the most telling mistake is, and a sentence about it."""
    # The mistake a person made comes before the complaints that follow from it.
    first = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    location = tuple(part for i, part in enumerate(first["loc"]) if not _is_tag(first["loc"], i))
    where = _path(location)
    what = _say(first["type"], first["msg"], first.get("ctx", {}), location, first.get("input"))
    return location, f"{where}: {what}" if where else what


def _is_tag(location: Location, index: int) -> bool:
    before = location[index - 1] if index else None
    return location[index] in _TAGS and before in ("prompt_tokens", "output_tokens", "arrivals", "step_cost")


def _path(location: Location) -> str:
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            # A key comes from the file: it may be long or hold line breaks.
            key = part if part.isidentifier() and len(part) <= 40 else _shown(part)
            text += f".{key}" if text else key
    return text


def _known_fields(location: Location) -> list[str]:
    parent = next((part for part in reversed(location[:-1]) if isinstance(part, str)), "")
    return sorted({name for part in _FIELDS.get(parent, ()) for name in part.model_fields})


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _say(kind: str, message: str, context: Mapping[str, object], location: Location, value: object) -> str:
    """Pydantic's error in our words, with what to do about it."""
    if kind == "extra_forbidden":
        known = _known_fields(location)
        key = str(location[-1])
        close = nearest(key, known)
        remedy = f"; known here: {', '.join(known)}" if known and not close else "; remove or rename it"
        return f"unknown field{close}{remedy}"
    if kind == "missing":
        return "this field is missing; add it"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        tag = str(context.get("discriminator", "kind")).strip("'")
        options = {"dist": "fixed, uniform, lognormal"}.get(
            tag, "fixed, linear" if location[-1] == "step_cost" else "times, deterministic, poisson"
        )
        given = context.get("tag")
        close = nearest(str(given), options.split(", ")) if given else ""
        return f"{tag} must be one of {options}{close}"
    if kind == "literal_error":
        allowed = re.findall(r"'(\w+)'", str(context["expected"]))
        return f"must be one of {', '.join(allowed)}{nearest(str(value), allowed)}, not {_shown(value)}"
    if kind == "value_error":
        text = message.removeprefix("Value error, ")
        return f"{text}, not {_shown(value)}" if text == "must be a number" else text
    if kind in ("greater_than_equal", "greater_than", "less_than_equal", "less_than"):
        words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
        name, bound = next((name, context[name]) for name in words if name in context)
        return f"must be {words[name]} {bound:,}, not {_shown(value)}"
    if kind == "finite_number":
        return f"must be a finite number, not {_shown(value)}"
    if kind == "int_from_float":
        return f"must be a whole number, not {_shown(value)}"
    if kind == "string_pattern_mismatch":
        return f"must be a letter followed by at most 39 letters, digits, - or _, not {_shown(value)}"
    if kind == "tuple_type":
        return f"must be a list, not {_shown(value)}"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"must be a mapping of fields, not {_shown(value)}"
    if kind == "too_short":
        return "must hold at least one entry"
    if kind == "too_long":
        return f"must hold at most {context.get('max_length', 0):,} entries"
    return f"{message[:1].lower()}{message[1:]}, not {_shown(value)}"
