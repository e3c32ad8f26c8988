"""What a scenario's text changes against another one, field by field."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from tutor.lab.scenario_text import leaves

NOT_COMPARED = ("name", "description")


@dataclass(frozen=True, slots=True)
class Difference:
    """One field as written on either side; None where it does not stand, and so has its default."""

    path: str
    before: str | None
    after: str | None

    def words(self) -> str:
        """`server.kv_blocks 1400 → 4000`."""
        return f"{self.path} {_said(self.before)} → {_said(self.after)}"


def differences(before: str, after: str) -> tuple[Difference, ...]:
    """Every field with another value, in the order of the text. Layout, comments, name and description do not count."""
    one, other = ({leaf.path: leaf.text for leaf in leaves(text) or ()} for text in (before, after))
    paths = [*one, *(path for path in other if path not in one)]
    return tuple(
        Difference(path, one.get(path), other.get(path))
        for path in paths
        if path not in NOT_COMPARED and _value(one.get(path)) != _value(other.get(path))
    )


def _value(text: str | None) -> object:
    """Numbers that are equal are no change, however they are written."""
    try:
        return None if text is None else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return text


def _said(text: str | None) -> str:
    if text is None:
        return "(default)"
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:39] + "…"
