"""`--set path=value`: changes to a scenario's data before it is checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.errors import ScenarioError, nearest
from sim.loading import read_yaml

_LONGEST_SHOWN = 80

Change = tuple[str, object]
"""A path such as `server.max_seqs` or `classes.chat.arrivals.rate_per_s`, and its new value."""


def parse_change(text: str) -> Change:
    """`path=value`, the value in YAML. Raises ScenarioError."""
    path, value = _split(text)
    return path, _yaml(value, text)


def parse_choices(text: str) -> tuple[str, list[object]]:
    """`path=v1,v2,…`, the values in YAML, so that commas inside brackets or quotes do not divide.

    Raises ScenarioError.
    """
    path, values = _split(text)
    found = _yaml(f"[{values}]", text)
    assert isinstance(found, list)
    if not found:
        raise ScenarioError(f"--set {_said(text)}: no value is given; write path=v1,v2")
    return path, found


def _said(text: str) -> str:
    """Text from outside on one line and not too long."""
    plain = text if text.isprintable() else repr(text)
    return plain if len(plain) <= _LONGEST_SHOWN else plain[: _LONGEST_SHOWN - 1] + "…"


def _split(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals or not path.strip() or not value.strip():
        raise ScenarioError(f"--set {_said(text)}: write path=value, for example server.max_seqs=16")
    return path.strip(), value


def _yaml(value: str, text: str) -> object:
    try:
        return read_yaml(value, "--set")[0]
    except ScenarioError:
        raise ScenarioError(
            f"--set {_said(text)}: the value is not YAML; put text with special signs in quotes"
        ) from None


def apply_changes(data: dict[str, Any], changes: Sequence[Change]) -> None:
    """Make the changes, in order, in a scenario's plain data.

    A part of a path names a field, or in a list a place from 0 or the entry whose `name` it is. Raises
    ScenarioError when a path leads nowhere; what a field may hold is checked later, with the whole scenario.
    """
    for path, value in changes:
        place: Any = data
        *way, last = path.split(".")
        for depth, part in enumerate(way):
            place = _enter(place, part, path, ".".join(way[: depth + 1]))
        key = _key(place, last, path)
        place[key] = value


def _enter(place: Any, part: str, path: str, so_far: str) -> Any:
    key = _key(place, part, path)
    if isinstance(place, dict):
        # A part that the file leaves out has its defaults; naming one of its fields makes it.
        inside = place.setdefault(key, {})
        if inside is None:
            inside = place[key] = {}
    else:
        inside = place[key]
    if not isinstance(inside, dict | list):
        raise ScenarioError(
            f"--set {_said(path)}: {_said(so_far)} is {_said(str(inside))} and has no fields; "
            f"set {_said(so_far)} itself"
        )
    return inside


def _key(place: Any, part: str, path: str) -> Any:
    if not part:
        raise ScenarioError(f"--set {_said(path)}: two dots, or one at an end; write names with single dots between")
    if isinstance(place, dict):
        return part
    names = [entry.get("name") for entry in place if isinstance(entry, dict)]
    if part in names:
        return names.index(part)
    if part.isdecimal() and int(part) < len(place):
        return int(part)
    known = [name for name in names if isinstance(name, str)]
    raise ScenarioError(
        f"--set {_said(path)}: there is no entry {_said(part)!r}{nearest(part, known)}; "
        f"name one of {', '.join(known) or 'them'}, or give its place from 0 to {len(place) - 1}"
    )
