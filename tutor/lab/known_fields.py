"""Which fields a scenario could also set, for completion: those of the parts it has, with their defaults' names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import BaseModel

from tutor.lab.scenario_text import leaves

if TYPE_CHECKING:
    from sim import Scenario


def addable(scenario: Scenario, text: str) -> list[str]:
    """Paths that may be set and do not stand in the text, in the order of the scenario's parts."""
    there = [leaf.path for leaf in leaves(text) or ()]
    return [
        path
        for path in _paths(scenario, ())
        if not any(one == path or one.startswith(f"{path}.") or path.startswith(f"{one}.") for one in there)
    ]


def _paths(part: BaseModel, way: tuple[str, ...]) -> Iterator[str]:
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, BaseModel):
            yield from _paths(value, (*way, name))
        elif isinstance(value, tuple) and value and all(isinstance(one, BaseModel) for one in value):
            for number, one in enumerate(value):
                yield from _paths(one, (*way, name, str(getattr(one, "name", number))))
        else:
            yield ".".join((*way, name))
