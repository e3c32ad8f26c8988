"""Pydantic's errors about a scenario, said again as one sentence with the field and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import get_args

from pydantic import BaseModel, ValidationError

from sim.errors import nearest
from sim.scenario import Scenario

Location = tuple[int | str, ...]

_DISCRIMINATORS = ("dist", "kind")


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


@cache
def _fields() -> dict[str, tuple[type[BaseModel], ...]]:
    """Field name to the parts that may stand there, over everything a scenario is made of."""
    found: dict[str, list[type[BaseModel]]] = {"": [Scenario]}
    todo: list[type[BaseModel]] = [Scenario]
    while todo:
        for name, field in todo.pop().model_fields.items():
            known = found.setdefault(name, [])
            new = [part for part in _models_in(field.annotation) if part not in known]
            known += new
            todo += new
    return {name: tuple(parts) for name, parts in found.items() if parts}


def _tags(part: type[BaseModel]) -> list[str]:
    """The values of `dist` or `kind` that choose this part."""
    for name in _DISCRIMINATORS:
        if name in part.model_fields:
            return [str(tag) for tag in get_args(part.model_fields[name].annotation)]
    return []


def _options(location: Location) -> list[str]:
    """Tags that may stand at a place, in the order the parts are declared in."""
    name = next((part for part in reversed(location) if isinstance(part, str)), "")
    return [tag for part in _fields().get(name, ()) for tag in _tags(part)]


def complaint(error: ValidationError) -> tuple[Location, str]:
    """Where the most telling mistake is, and a sentence about it."""
    # The mistake a person made comes before the complaints that follow from it.
    first = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    location = tuple(part for i, part in enumerate(first["loc"]) if not _is_tag(first["loc"], i))
    where = _path(location)
    known = _known_fields(first["loc"][:-1])
    what = _say(first["type"], first["msg"], first.get("ctx", {}), location, known, first.get("input"))
    return location, f"{where}: {what}" if where else what


def _is_tag(location: Location, index: int) -> bool:
    return bool(index) and location[index] in _options(location[:index])


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
    """Fields of the part at a place, which still holds the tags: those of the kind that was chosen."""
    names = [part for i, part in enumerate(location) if isinstance(part, str) and not _is_tag(location, i)]
    parts = _fields().get(names[-1] if names else "", ())
    if location and _is_tag(location, len(location) - 1):
        parts = tuple(part for part in parts if location[-1] in _tags(part))
    return sorted({name for part in parts for name in part.model_fields})


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _say(
    kind: str, message: str, context: Mapping[str, object], location: Location, known: list[str], value: object
) -> str:
    """Pydantic's error in our words, with what to do about it."""
    if kind == "extra_forbidden":
        key = str(location[-1])
        close = nearest(key, known)
        remedy = f"; known here: {', '.join(known)}" if known and not close else "; remove or rename it"
        return f"unknown field{close}{remedy}"
    if kind == "missing":
        return "this field is missing; add it"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        tag = str(context.get("discriminator", "kind")).strip("'")
        options = _options(location)
        given = context.get("tag")
        close = nearest(str(given), options) if given else ""
        return f"{tag} must be one of {', '.join(options)}{close}"
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
